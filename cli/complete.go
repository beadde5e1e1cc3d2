package cli

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/bench"
	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/lab/all"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
)

// completer returns what the last word of a command line can become.
type completer = cobra.CompletionFunc

// completeWait bounds how long a shell waits for a cluster.
const completeWait = 2 * time.Second

// wordCompleters maps the word for an argument in a command's usage to its completer.
var wordCompleters = map[string]completer{
	"JOB":    ofCluster(jobIDs),
	"NODE":   ofCluster(nodeNames),
	"PATH":   ofCluster(dfsPaths),
	"SRC":    ofCluster(dfsPaths),
	"DIR":    ofCluster(dfsPaths),
	"POLICY": ofList(func() []string { return slices.Sorted(maps.Keys(policies.All)) }),
	"ID":     ofList(experimentIDs),
}

// flagCompleters maps the name of a flag to its completer.
var flagCompleters = map[string]completer{
	"policy":    ofList(func() []string { return policies.Names(scheduler.Assignment) }),
	"admission": ofList(func() []string { return policies.Names(scheduler.Admitting) }),
	"placement": ofList(func() []string { return policies.Names(scheduler.Placing) }),
	"model":     ofList(modelNames),
	"only":      ofList(func() []string { return caseIDs(bench.Setup{Large: true}) }),
	"progress":  ofList(func() []string { return []string{"auto", "bar", "plain", "none"} }),
	"input":     ofCluster(dfsPaths),
	"output":    ofCluster(dfsPaths),
	"left":      ofCluster(dfsPaths),
	"right":     ofCluster(dfsPaths),
	"queue":     ofCluster(queueNames),
	"job":       ofCluster(jobIDs),
	"node":      ofCluster(nodeNames),
}

// complete lets the shell complete arguments and flags of a command and its subcommands.
func complete(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		complete(sub)
	}
	for _, word := range strings.FieldsFunc(cmd.Use, func(r rune) bool { return strings.ContainsRune(" |[].", r) }) {
		if c := wordCompleters[word]; c != nil && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = c
		}
	}
	for name, c := range flagCompleters {
		if cmd.Flags().Lookup(name) != nil {
			cobra.CheckErr(cmd.RegisterFlagCompletionFunc(name, c))
		}
	}
}

func experimentIDs() (ids []string) {
	for _, e := range all.Experiments() {
		ids = append(ids, e.ID)
	}
	return append(ids, "all")
}

// ofList completes words of a list, also after a comma.
func ofList(list func() []string) completer {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		before := word[:strings.LastIndexByte(word, ',')+1]
		var out []string
		for _, name := range list() {
			if strings.HasPrefix(before+name, word) {
				out = append(out, before+name)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// ofCluster completes from what a cluster knows. A cluster that does not answer, or is not named, completes nothing.
func ofCluster(find func(ctx context.Context, cl *client.Client, word string) ([]string, cobra.ShellCompDirective, error)) completer {
	return func(cmd *cobra.Command, _ []string, word string) (out []string, how cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(context.Background(), completeWait)
		defer cancel()
		err := withClient(masterOf(cmd), func(cl *client.Client) (err error) {
			out, how, err = find(ctx, cl, word)
			return err
		})
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
			return nil, cobra.ShellCompDirectiveDefault
		}
		return out, how
	}
}

// masterOf returns the flags that say where the cluster of a command is.
func masterOf(cmd *cobra.Command) *masterFlags {
	value := func(name string) string {
		if f := cmd.Flag(name); f != nil {
			return f.Value.String()
		}
		return ""
	}
	return &masterFlags{master: value("master"), user: value("as"), key: keyFlags{value("key"), value("cert")}}
}

func jobIDs(ctx context.Context, cl *client.Client, word string) (out []string, _ cobra.ShellCompDirective, err error) {
	list, err := cl.Jobs(ctx)
	for _, j := range list {
		if strings.HasPrefix(string(j.Job), word) {
			out = append(out, cobra.CompletionWithDesc(string(j.Job), oneLine(string(j.State)+" "+j.Name)))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder, err
}

func nodeNames(ctx context.Context, cl *client.Client, word string) (out []string, _ cobra.ShellCompDirective, err error) {
	list, err := cl.Nodes(ctx)
	for _, n := range list {
		if strings.HasPrefix(string(n.Node), word) {
			out = append(out, cobra.CompletionWithDesc(string(n.Node), oneLine(n.State)))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp, err
}

func queueNames(ctx context.Context, cl *client.Client, word string) (out []string, _ cobra.ShellCompDirective, err error) {
	list, err := cl.Queues(ctx)
	for _, q := range list {
		if strings.HasPrefix(q.Queue, word) {
			out = append(out, oneLine(q.Queue))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp, err
}

var errLocalPath = errors.New("a path of this machine")

// dfsPaths completes paths of the block store, which begin with dfs:/ or, below `millrace dfs`, with /.
func dfsPaths(ctx context.Context, cl *client.Client, word string) (out []string, _ cobra.ShellCompDirective, err error) {
	plain, isDFS := strings.CutPrefix(word, "dfs:")
	if !isDFS && !strings.HasPrefix(word, "/") {
		return nil, 0, errLocalPath
	}
	dir := path.Dir(plain + "x")
	list, err := cl.DFS().ListAll(ctx, dir)
	for _, f := range list {
		if name := word[:len(word)-len(plain)] + completed(f); strings.HasPrefix(name, word) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace, err
}

// completed returns the path of a file, with a slash after that of a directory.
func completed(f wire.FileInfo) string {
	if f.Dir {
		return f.Path + "/"
	}
	return f.Path
}

// oneLine returns a description as a single line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
