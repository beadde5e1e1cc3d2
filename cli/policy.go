package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/scheduler/script"
)

// scriptPolicy is the name of a policy made by a script, whose text is its parameter code. A name that ends in .star is
// such a policy in a file.
const scriptPolicy = scheduler.ScriptName

// makePolicy makes a policy by name, or from a script.
func makePolicy(a *arm) (scheduler.Policy, error) {
	return namedPolicy(a.policy, a.params, a.name)
}

// namedPolicy makes a policy that a log, a history or a user names. Errors of a script without a name use unnamed.
func namedPolicy(name string, params map[string]string, unnamed string) (scheduler.Policy, error) {
	if name != scriptPolicy {
		return policies.Policy(name, params)
	}
	p, err := script.Make(params, unnamed)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// readScript reads a script's file and returns its name and text. mine.star is called mine, but fair.star is not called
// fair: that is another policy.
func readScript(file string) (name, text string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", "", failed(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, script.MaxText+1))
	if err != nil {
		return "", "", failed(err)
	}
	if len(b) > script.MaxText {
		return "", "", fmt.Errorf("%s: a script has at most %d bytes", file, script.MaxText)
	}
	name = filepath.Base(file)
	if short := strings.TrimSuffix(name, ".star"); !slices.Contains(policies.Names(scheduler.Assignment), short) {
		name = short
	}
	return name, string(b), nil
}

// readScripts reads the files of policies that are scripts. A script whose name another policy has keeps the name of
// its file.
func (o *simOptions) readScripts() error {
	for i := range o.arms {
		a := &o.arms[i]
		if !strings.HasSuffix(a.policy, ".star") {
			continue
		}
		name, text, err := readScript(a.policy)
		if err != nil {
			return err
		}
		if a.name == a.policy && !slices.ContainsFunc(o.arms, func(b arm) bool { return b.name == name }) {
			a.name = name
		}
		a.policy, a.params = scriptPolicy, map[string]string{"code": text}
	}
	return nil
}

// taskMemory is how much memory a task may take in a run of which everything is kept.
const taskMemory = 1 << 10

// watchScripts bounds the memory of runs under scripts, until stop is called: to what the tasks need plus the
// playground's limit.
func watchScripts(cases []*simCase, source *workload) (stop func(), err error) {
	var names []string
	tasks := int64(0)
	for _, c := range cases {
		for i := range c.arms {
			if a := &c.arms[i]; a.policy == scriptPolicy && !slices.Contains(names, a.name) {
				names = append(names, a.name)
			}
		}
		w, err := c.tasks(nil)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			tasks = max(tasks, source.tasks(w.Shape, c.seed))
		}
	}
	if names == nil {
		return func() {}, nil
	}
	at := min(runtime.GOMAXPROCS(0), countRuns(cases)) // runs at the same time
	return watchMemory("a run under "+strings.Join(names, " or "), apartMemory+uint64(at)*taskMemory*uint64(tasks)), nil
}

// stopper ends a run that was cancelled, or whose script has failed.
func stopper(stop func() error, p scheduler.Policy) func() error {
	s, ok := p.(*script.Policy)
	if !ok {
		return stop
	}
	return func() error {
		if err := s.Err(); err != nil || stop == nil {
			return err
		}
		return stop()
	}
}
