package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
)

// decisionOptions are the flags of scheduler log.
type decisionOptions struct {
	job    string
	follow bool
	asJSON bool
	export string
}

func newSchedulerLog() *cobra.Command {
	var m masterFlags
	var o decisionOptions
	cmd := &cobra.Command{
		Use: "log", Short: "Say what a cluster's policies decided lately, and why",
		Long: `Say what a cluster's policies decided lately: every launch, second attempt, stop and admission with its
reason and the jobs that had a task for that place, too, and why a job got nothing, when the reason changed. The
master remembers the last 20,000 since it was started. Of one job (--job) older ones come from its history: admissions,
launches, holds, and all stops, not only those of a policy; who else was eligible is not there.

--export writes all that the policies were told and asked since the master started: millrace scheduler verify replays
it. The master keeps 32 MiB of it in memory and 256 MiB, compressed, on disk; a log that outgrows both begins anew.`,
		Example: `  millrace scheduler log --follow --job job-12
  millrace scheduler log --export decisions.jsonl && millrace scheduler verify decisions.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withClient(&m, func(cl *client.Client) error {
				if o.export != "" {
					return o.write(cmd, cl)
				}
				return o.print(cmd, cl)
			})
		},
	}
	m.define(cmd)
	f := cmd.Flags()
	f.StringVar(&o.job, "job", "", "only decisions about this job")
	f.BoolVar(&o.follow, "follow", false, "go on with what is decided from now on, until Ctrl-C")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object for each decision")
	f.StringVar(&o.export, "export", "", "file for the log that millrace scheduler verify replays")
	cmd.MarkFlagsMutuallyExclusive("export", "follow")
	cmd.MarkFlagsMutuallyExclusive("export", "job")
	return cmd
}

// print prints decisions, and with follow also later ones.
func (o *decisionOptions) print(cmd *cobra.Command, cl *client.Client) error {
	ctx, w := cmd.Context(), cmd.OutOrStdout()
	if o.job != "" {
		if _, err := cl.Status(ctx, wire.JobID(o.job)); err != nil {
			return err
		}
		if err := o.recall(cmd, cl); err != nil {
			return err
		}
	}
	for from := uint64(0); ; {
		page, err := cl.Decisions(ctx, wire.DecisionsRequest{From: from, Job: wire.JobID(o.job)})
		if err != nil {
			if o.follow && ctx.Err() != nil {
				return nil //nolint:nilerr // Ctrl-C
			}
			return err
		}
		if page.Lost > 0 && !o.asJSON && (o.job == "" || from > 0) { // for a job, the history has the earlier ones
			fmt.Fprintf(w, "(%d decisions before these are forgotten)\n", page.Lost)
		}
		for i := range page.Decisions {
			if err := o.show(w, &page.Decisions[i]); err != nil {
				return err
			}
		}
		quiet := page.Next == from
		if from = page.Next; !quiet {
			continue
		}
		if !o.follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func (o *decisionOptions) show(w io.Writer, d *wire.Decision) error {
	if o.asJSON {
		return json.NewEncoder(w).Encode(d)
	}
	line := fmt.Sprintf("%10.3fs %-7s", time.Duration(d.At).Seconds(), d.Do)
	if d.Job != "" {
		line += " " + string(d.Job)
	}
	if d.Stage > 0 {
		line += fmt.Sprintf("/%d", d.Stage)
	}
	if d.Task != "" {
		line += fmt.Sprintf(" %s %d", d.Task, d.Index)
	}
	if d.Node != "" {
		line += " on " + string(d.Node)
	}
	if line = strings.TrimRight(line, " ") + ": " + human.Printable(d.Why); len(d.Others) > 0 {
		line += "; also eligible: " + joined(d.Others)
		if d.More > 0 {
			line += fmt.Sprintf(" and %d more", d.More)
		}
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

func joined(ids []wire.JobID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
}

// write exports the log.
func (o *decisionOptions) write(cmd *cobra.Command, cl *client.Client) (err error) {
	f := &lateFile{name: o.export}
	b := bufio.NewWriter(f)
	lines, err := exportDecisions(cmd.Context(), cl, b)
	if err = errors.Join(err, f.close(b, err == nil)); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%d lines are in %s\n", lines, human.Printable(o.export))
	return nil
}

// lateFile creates its file with the first byte: if the master does not answer, an existing file stays.
type lateFile struct {
	name string
	*os.File
}

func (f *lateFile) Write(p []byte) (n int, err error) {
	if f.File == nil {
		if f.File, err = os.Create(f.name); err != nil {
			return 0, err
		}
	}
	return f.File.Write(p)
}

// close closes the file; if whole, it first flushes what is buffered.
func (f *lateFile) close(b *bufio.Writer, whole bool) (err error) {
	if whole {
		err = b.Flush()
	}
	if f.File != nil {
		err = errors.Join(err, f.Close())
	}
	return err
}

// exportDecisions writes the log that a simulator replays, and returns how many lines it has.
func exportDecisions(ctx context.Context, cl *client.Client, w io.Writer) (lines int, err error) {
	for from := uint64(0); ; {
		page, err := cl.DecisionLines(ctx, from)
		if err != nil {
			return lines, err
		}
		if lines == 0 && from == 0 {
			fmt.Fprintf(w, "%s\n", page.Header)
		} else if page.Next-uint64(len(page.Lines)) != from {
			return lines, failed(errors.New("the master forgot lines faster than they were read: try again"))
		}
		for _, l := range page.Lines {
			if _, err := fmt.Fprintf(w, "%s\n", l); err != nil {
				return lines, err
			}
		}
		lines, from = lines+len(page.Lines), page.Next
		if !page.More {
			return lines, nil
		}
	}
}

func newSchedulerVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify LOG", Short: "Replay a decision log through the driver of the simulator, line by line",
		Long: `Replay a decision log (millrace scheduler log --export FILE): the policies that it names are told what those
of the cluster were told, and asked what they were asked, by the code that the simulator runs. The first decision that
differs is named with its line, and the exit code is 1.`,
		Example: "  millrace scheduler verify decisions.jsonl", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return failed(err)
			}
			defer f.Close()
			mk, stop := watchedNamed(args[0])
			defer stop()
			v, err := drive.Verify(f, args[0], mk)
			if err != nil {
				return failed(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d lines, %d rounds, %d decisions: the simulator decides the same\n", v.Lines, v.Rounds, v.Decisions)
			return nil
		},
	}
}

// watchedNamed is makeNamed for a log that may name a script: from there on it bounds memory, until stop is called.
func watchedNamed(log string) (mk drive.Maker, stop func()) {
	watch := func() {}
	mk = func(policy, admission drive.Named) (scheduler.Policy, scheduler.Admission, error) {
		if policy.Name == scriptPolicy {
			watch()
			watch = watchMemory("a script of "+log, apartMemory)
		}
		return makeNamed(policy, admission)
	}
	return mk, func() { watch() }
}

// makeNamed makes the policies that a log names.
func makeNamed(policy, admission drive.Named) (p scheduler.Policy, a scheduler.Admission, err error) {
	if policy.Name != "" {
		if p, err = namedPolicy(policy.Name, policy.Params, "the script of the log"); err != nil {
			return nil, nil, err
		}
	}
	if admission.Name != "" {
		a, err = policies.Admission(admission.Name, admission.Params)
	}
	return p, a, err
}
