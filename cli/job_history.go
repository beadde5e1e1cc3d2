package cli

import (
	"context"
	"fmt"
	"io"
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

// historyOptions are the flags of job history.
type historyOptions struct {
	user, state, since, export string
	limit                      int
	asJSON                     bool
}

func newJobHistory(m *masterFlags) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use: "history [JOB]", Short: "List jobs of the past, or tell the story of one",
		Long: `List jobs of the past, newest first, or tell the story of one: how long each phase took, its
counters, its slowest tasks, and attempts that failed. The history survives the job and restarts of the
master, and holds jobs that the master itself has forgotten.

--export writes the jobs, or the one, as a history file (docs/formats/history.md), which
millrace sim run --trace replays under any policy.`,
		Example: `  millrace job history --user ann --since 24h
  millrace job history job-12
  millrace job history --state FAILED --limit 5 --json
  millrace job history --export past.jsonl && millrace sim run --trace past.jsonl --policy fair,fifo`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := o.query(time.Now())
			if err != nil {
				return err
			}
			return withClient(m, func(cl *client.Client) error {
				if len(args) == 1 {
					return o.one(cmd, cl, wire.JobID(args[0]))
				}
				return o.list(cmd, cl, q)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.user, "user", "", "only jobs of this user")
	f.StringVar(&o.state, "state", "", "only jobs in this state: QUEUED, RUNNING, SUCCEEDED, FAILED or CANCELLED")
	f.StringVar(&o.since, "since", "", "only jobs submitted since: 90m, 24h, 7d, or a time such as 2026-01-31 or 2026-01-31T12:00:00Z")
	f.IntVar(&o.limit, "limit", 100, "at most so many jobs, the newest; 0 for all")
	f.StringVar(&o.export, "export", "", "file to write the jobs to, as a history that sim run can replay")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	return cmd
}

func (o *historyOptions) query(now time.Time) (q wire.PastQuery, err error) {
	q.User, q.State = o.user, wire.JobState(strings.ToUpper(o.state))
	if o.state != "" && !slices.Contains(wire.JobStates, q.State) {
		return q, fmt.Errorf("--state %q: must be one of %s", o.state, wire.JobStates)
	}
	if o.limit < 0 {
		return q, fmt.Errorf("--limit %d: must not be negative", o.limit)
	}
	if o.since != "" {
		t, err := parseSince(o.since, now)
		if err != nil {
			return q, err
		}
		q.Since = t.UnixMilli()
	}
	return q, nil
}

// parseSince reads an age or an instant.
func parseSince(s string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err == nil && n >= 0 && fmt.Sprint(n) == days {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	return now, fmt.Errorf("--since %q: must be an age such as 90m, 24h or 7d, or a time such as 2026-01-31", s)
}

// jobs fetches pages until it has all jobs, or as many as the limit.
func (o *historyOptions) jobs(ctx context.Context, cl *client.Client, q wire.PastQuery) (out []wire.PastJob, problem string, err error) {
	for {
		q.Limit = 1000
		if o.limit > 0 {
			q.Limit = min(q.Limit, o.limit-len(out))
		}
		got, err := cl.History(ctx, q)
		if err != nil {
			return nil, "", err
		}
		out, problem = append(out, got.Jobs...), got.Problem
		if !got.More || o.limit > 0 && len(out) >= o.limit {
			return out, problem, nil
		}
		q.Before = out[len(out)-1].Job
	}
}

func (o *historyOptions) list(cmd *cobra.Command, cl *client.Client, q wire.PastQuery) error {
	jobs, problem, err := o.jobs(cmd.Context(), cl, q)
	if err != nil {
		return err
	}
	if problem != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", problem)
	}
	switch {
	case o.export != "":
		return exportJobs(cmd, cl, o.export, jobs)
	case o.asJSON:
		if jobs == nil {
			jobs = []wire.PastJob{}
		}
		return printJSON(cmd, jobs)
	}
	t := newTable(cmd.OutOrStdout(), "job", "name", "user", "queue", "state", "submitted", "took", "maps", "reduces")
	for _, j := range jobs {
		took := ""
		if j.Over() {
			took = human.Duration(time.Duration(j.Ended - j.Submitted))
		}
		t.AppendRow(table.Row{
			j.Job, human.Printable(j.Name), human.Printable(j.User), queueName(j.Queue), j.State, wallTime(j.SubmittedWall), took, j.Maps, j.Reduces,
		})
	}
	t.Render()
	return nil
}

func wallTime(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05")
}

func (o *historyOptions) one(cmd *cobra.Command, cl *client.Client, id wire.JobID) error {
	s, err := cl.Summary(cmd.Context(), id)
	if err == nil && o.export != "" {
		return exportJobs(cmd, cl, o.export, []wire.PastJob{s.PastJob})
	}
	return answer(cmd, o.asJSON, &s, err, printStory)
}

func printStory(w io.Writer, s *wire.PastSummary) {
	fmt.Fprintf(w, "%s  %s of %s  %s", s.Job, human.Printable(s.Name), human.Printable(s.User), s.State)
	if s.Over() {
		fmt.Fprintf(w, "  after %s", human.Duration(time.Duration(s.Ended-s.Submitted)))
	}
	fmt.Fprintf(w, "\nsubmitted %s\ntasks     %s, %s, %s, %d of them failed or lost\n", wallTime(s.SubmittedWall), human.Many(int64(s.Maps), "map"), human.Many(int64(s.Reduces), "reduce"), human.Many(int64(s.Attempts), "attempt"), s.Failures)
	if s.Output != "" {
		fmt.Fprintf(w, "output    %s\n", human.Printable(s.Output))
	}
	if s.Error != "" {
		fmt.Fprintf(w, "error     %s\n", hanging(s.Error, 10))
	}
	if n := s.Local["node"] + s.Local["rack"] + s.Local["remote"]; n > 0 {
		fmt.Fprintf(w, "locality  %d node-local, %d rack-local, %d remote\n", s.Local["node"], s.Local["rack"], s.Local["remote"])
	}
	printPhases(w, s)
	flat := console.Flatten(mapreduce.Counts(s.Counts))
	if len(flat) > 0 {
		fmt.Fprintln(w, "\ncounters")
		for _, n := range sortedKeys(flat) {
			fmt.Fprintf(w, "  %-32s %s\n", human.Printable(n), human.Count(flat[n]))
		}
	}
	printAttempts(w, "slowest tasks", s, s.Slowest)
	printAttempts(w, "failed attempts", s, s.Failed)
}

func sortedKeys(m map[string]int64) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// hanging returns a text from outside as lines that all begin in the given column.
func hanging(s string, column int) string {
	return strings.ReplaceAll(human.Lines(strings.TrimRight(s, "\n")), "\n", "\n"+strings.Repeat(" ", column))
}

func printPhases(w io.Writer, s *wire.PastSummary) {
	fmt.Fprintln(w, "\nphases")
	for _, p := range s.Phases {
		name := p.Name
		if s.Stages > 1 {
			name = fmt.Sprintf("stage %d %s", p.Stage+1, p.Name)
		}
		took := "going on"
		if p.End > 0 {
			took = human.Duration(time.Duration(p.End - p.Begin))
		}
		fmt.Fprintf(w, "  %-16s from %10s  for %s\n", name, human.Duration(time.Duration(p.Begin-s.Submitted)), took)
	}
}

func printAttempts(w io.Writer, title string, s *wire.PastSummary, list []wire.PastAttempt) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, a := range list {
		fmt.Fprintf(w, "  %-12s try %-2d on %-12s %10s  %s", taskName(s.Stages, a), a.Number+1, a.Node, human.Duration(time.Duration(a.End-a.Begin)), a.How)
		if a.Locality != "" {
			fmt.Fprintf(w, ", %s-local", strings.Replace(a.Locality, "remote", "not", 1))
		}
		if first, _, _ := strings.Cut(a.Text, "\n"); first != "" {
			fmt.Fprintf(w, ": %s", human.Printable(first))
		}
		fmt.Fprintln(w)
	}
}

// taskName returns a task in the form that job logs --task wants.
func taskName(stages int, a wire.PastAttempt) string {
	name := string(a.Task)
	if a.Task != wire.DriverTask {
		name = fmt.Sprintf("%s:%d", a.Task, a.Index)
	}
	if stages > 1 {
		name = fmt.Sprintf("%d/%s", a.Stage+1, name)
	}
	return name
}
