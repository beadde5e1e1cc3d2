package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

func newJob() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "job",
		Short: "Hand in, look at and stop the jobs of a cluster",
		Example: `  millrace job ls
  millrace job watch job-3`,
	}
	var m masterFlags
	m.define(cmd)
	cmd.AddCommand(newJobSubmit(&m), newJobLs(&m), newJobStatus(&m), newJobWatch(&m), newJobCounters(&m), newJobKill(&m), newJobWhy(&m), newJobHistory(&m), newJobLogs(&m))
	return cmd
}

// withClient runs fn with a connection to the cluster.
func withClient(m *masterFlags, fn func(cl *client.Client) error) error {
	cl, err := m.connect(nil)
	if err != nil {
		return err
	}
	defer cl.Close()
	return failed(fn(cl))
}

// newLs returns a command that lists things of a cluster, as a table or as JSON.
func newLs[T any](m *masterFlags, short, example string, get func(cl *client.Client, ctx context.Context) ([]T, error), titles []any, row func(T) table.Row) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ls", Short: short, Example: example, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withClient(m, func(cl *client.Client) error {
				list, err := get(cl, cmd.Context())
				return answer(cmd, asJSON, list, err, func(w io.Writer, list []T) {
					t := newTable(w, titles...)
					for _, v := range list {
						t.AppendRow(row(v))
					}
					t.Render()
				})
			})
		},
	}
	return withJSON(cmd, &asJSON, "JSON")
}

func newJobLs(m *masterFlags) *cobra.Command {
	var birth time.Time
	get := func(cl *client.Client, ctx context.Context) ([]wire.JobStatus, error) {
		var err error
		if birth, err = birthOf(ctx, cl); err != nil {
			return nil, err
		}
		return cl.Jobs(ctx)
	}
	return newLs(m, "List jobs, newest first", "  millrace job ls --json", get,
		[]any{"job", "name", "user", "queue", "state", "maps", "reduces", "attempts", "submitted", "took"}, func(s wire.JobStatus) table.Row {
			return table.Row{
				s.Job, human.Printable(s.Name), human.Printable(s.User), queueName(s.Queue), s.State,
				fmt.Sprintf("%d/%d", s.Maps.Done, s.Maps.Total), fmt.Sprintf("%d/%d", s.Reduces.Done, s.Reduces.Total), s.Attempts,
				birth.Add(time.Duration(s.Submitted) * time.Millisecond).Format(time.DateTime), took(s),
			}
		})
}

// queueName returns the name of a queue as queue ls prints it.
func queueName(q string) string { return human.Printable(cmp.Or(q, "default")) }

// birthOf returns when the cluster began, from which the times of jobs count.
func birthOf(ctx context.Context, cl *client.Client) (time.Time, error) {
	load, err := cl.Load(ctx)
	return time.Now().Add(-time.Duration(load.Now) * time.Millisecond), err
}

// took returns how long an ended job has taken.
func took(s wire.JobStatus) string {
	if s.Ended == 0 {
		return ""
	}
	return human.Duration(time.Duration(s.Ended-s.Submitted) * time.Millisecond)
}

// jobStatus is the form that scripts may rely on.
type jobStatus struct {
	Job      wire.JobID       `json:"job"`
	Name     string           `json:"name"`
	State    string           `json:"state"`
	User     string           `json:"user"`
	Maps     wire.TaskTotals  `json:"maps"`
	Reduces  wire.TaskTotals  `json:"reduces"`
	Attempts int              `json:"attempts"`
	Locality map[string]int   `json:"locality,omitempty"`
	Counters map[string]int64 `json:"counters"`
	Output   string           `json:"output,omitempty"`
	Error    string           `json:"error,omitempty"`
	Why      string           `json:"why,omitempty"`         // why it is QUEUED
	Deadline int64            `json:"deadline_ms,omitempty"` // after the submission
	GoalMet  *bool            `json:"goal_met,omitempty"`    // of a job that had a goal and has ended
}

func newJobStatus(m *masterFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status JOB", Short: "Print the state of a job", Example: "  millrace job status job-3", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withClient(m, func(cl *client.Client) error {
				s, err := cl.Status(cmd.Context(), wire.JobID(args[0]))
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd, jobStatus{s.Job, s.Name, string(s.State), s.User, s.Maps, s.Reduces, s.Attempts, s.Locality, flatCounts(s), s.Output, s.Error, s.Why, s.Allowed(), s.GoalMet()})
				}
				birth, err := birthOf(cmd.Context(), cl)
				if err != nil {
					return err
				}
				printStatus(cmd, s, birth)
				return nil
			})
		},
	}
	return withJSON(cmd, &asJSON, "JSON")
}

func flatCounts(s wire.JobStatus) map[string]int64 {
	return console.Flatten(mapreduce.Counts(s.Counts))
}

func printStatus(cmd *cobra.Command, s wire.JobStatus, birth time.Time) {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s  %s of %s  %s", s.Job, human.Printable(s.Name), human.Printable(s.User), s.State)
	if s.Stages > 1 {
		fmt.Fprintf(out, "  stage %d of %d", s.Stage, s.Stages)
	}
	if s.Ended > 0 {
		fmt.Fprintf(out, "  after %s", human.Duration(time.Duration(s.Ended-s.Submitted)*time.Millisecond))
	}
	if s.Why != "" {
		fmt.Fprintf(out, "\nwaits    %s", human.Printable(s.Why))
	}
	fmt.Fprintf(out, "\nmaps     %d done, %d running, of %d\nreduces  %d done, %d running, of %d\nattempts %d\n",
		s.Maps.Done, s.Maps.Running, s.Maps.Total, s.Reduces.Done, s.Reduces.Running, s.Reduces.Total, s.Attempts)
	if n := s.Locality; len(n) > 0 {
		fmt.Fprintf(out, "input    of %d maps on their node, of %d in their rack, of %d elsewhere\n", n["node"], n["rack"], n["remote"])
	}
	if moved := console.Travelled(mapreduce.Counts(s.Counts)); moved != "" {
		fmt.Fprintf(out, "shuffle  moved %s\n", moved)
	}
	printGoal(out, &s, birth)
	if s.Driver != "" {
		fmt.Fprintf(out, "driver   on %s\n", s.Driver)
	}
	if s.Output != "" {
		fmt.Fprintf(out, "output   %s\n", human.Printable(s.Output))
	}
	for _, b := range s.Bad {
		fmt.Fprintf(out, "skipped  %s at offset %d: %s\n", human.Printable(b.File), b.Offset, human.Printable(b.Reason))
	}
	if s.Error != "" {
		fmt.Fprintf(out, "error    %s\n", hanging(s.Error, 9))
	} else if s.LastError != "" {
		fmt.Fprintf(out, "last try %s\n", human.Printable(s.LastError))
	}
}

func newJobWatch(m *masterFlags) *cobra.Command {
	progress := "auto"
	cmd := &cobra.Command{
		Use: "watch JOB", Short: "Follow a job to its end", Example: "  millrace job watch job-3", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			mode, err := console.ParseMode(progress)
			if err != nil {
				return err
			}
			return withClient(m, func(cl *client.Client) error {
				remote := &console.Remote{Begin: time.Now()}
				stop := console.Watch(os.Stderr, mode, remote.Progress)
				s, err := cl.Wait(cmd.Context(), wire.JobID(args[0]), remote.Note)
				stop()
				if err != nil {
					return err
				}
				res, err := console.ResultOf(s)
				if err == nil {
					console.Summary(cmd.ErrOrStderr(), res)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&progress, "progress", progress, "auto, bar, plain or none")
	return cmd
}

func newJobCounters(m *masterFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "counters JOB", Short: "Print a job's counters", Example: "  millrace job counters job-3", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withClient(m, func(cl *client.Client) error {
				s, err := cl.Status(cmd.Context(), wire.JobID(args[0]))
				return answer(cmd, asJSON, flatCounts(s), err, func(w io.Writer, flat map[string]int64) {
					for _, n := range slices.Sorted(maps.Keys(flat)) {
						fmt.Fprintf(w, "%-32s %s\n", human.Printable(n), human.Count(flat[n]))
					}
				})
			})
		},
	}
	return withJSON(cmd, &asJSON, "JSON")
}

func newJobKill(m *masterFlags) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use: "kill JOB...", Short: "Stop jobs; they leave no output", Example: "  millrace job kill job-3 --why 'wrong input'", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withClient(m, func(cl *client.Client) error {
				var errs []error
				for _, id := range args {
					errs = append(errs, killJob(cmd, cl, wire.JobID(id), why))
				}
				return errors.Join(errs...)
			})
		},
	}
	cmd.Flags().StringVar(&why, "why", "", "reason, for those who ask later")
	return cmd
}

func killJob(cmd *cobra.Command, cl *client.Client, id wire.JobID, why string) error {
	if err := cl.Kill(cmd.Context(), id, why); err != nil {
		return err
	}
	s, err := cl.Status(cmd.Context(), id)
	switch {
	case err != nil:
		return err
	case s.State != wire.Cancelled:
		fmt.Fprintf(cmd.OutOrStdout(), "%s had ended before: %s\n", id, s.State)
	default:
		fmt.Fprintf(cmd.OutOrStdout(), "%s is cancelled\n", id)
	}
	return nil
}

func newJobWhy(m *masterFlags) *cobra.Command {
	return &cobra.Command{
		Use: "why JOB", Short: "Say why a job is not getting more, or why it failed", Example: "  millrace job why job-3", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withClient(m, func(cl *client.Client) error {
				id := wire.JobID(args[0])
				s, err := cl.Status(cmd.Context(), id)
				if err != nil {
					return err
				}
				text := fmt.Sprintf("%s is %s after %s: %s\nwhat its attempts said:   millrace job logs %s\nwhat happened, and when:  millrace job history %s", id, s.State, took(s), human.Printable(s.Error), id, id)
				if s.Error == "" || s.Ended == 0 {
					text, err = cl.Why(cmd.Context(), id)
				}
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), human.Lines(text))
				}
				return err
			})
		},
	}
}

func newNode() *cobra.Command {
	cmd := &cobra.Command{Use: "node", Short: "Look at the workers of a cluster, and take them out of service", Example: "  millrace node ls"}
	var m masterFlags
	m.define(cmd)
	ls := newLs(&m, "List the workers", "  millrace node ls --json", (*client.Client).Nodes,
		[]any{"node", "rack", "state", "running", "class", "capacity", "isolation", "address"}, func(n wire.NodeStatus) table.Row {
			return table.Row{n.Node, n.Rack, strings.TrimSpace(n.State + " " + human.Printable(n.Sick)), n.Running, human.Printable(n.Machine), n.Capacity, cmp.Or(human.Printable(n.Isolation), "?"), n.Addr}
		})
	cmd.AddCommand(ls, newNodeDrain(&m, false), newNodeDrain(&m, true))
	return cmd
}
