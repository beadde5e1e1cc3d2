package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/launch"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
)

// batchFile is the content of a file of job submit.
type batchFile struct {
	Jobs []batchJob `yaml:"jobs"`
}

// batchJob is one job of it: a built-in job with the flags that millrace run takes.
type batchJob struct {
	Name      string   `yaml:"name"`
	Run       string   `yaml:"run"`
	Args      []string `yaml:"args"`
	Input     []string `yaml:"input"`
	Output    string   `yaml:"output"`
	Overwrite bool     `yaml:"overwrite"`
	Recurring bool     `yaml:"recurring"`
	After     []string `yaml:"after"`
	At        string   `yaml:"at"`
}

// maxBatch bounds the jobs of a file.
const maxBatch = 1000

func newJobSubmit(m *masterFlags) *cobra.Command {
	var batch string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "submit --batch FILE", Short: "Hand in a list of jobs, each when those before it have succeeded, and wait for all",
		Long: `Hand in the jobs of a file. Those that recur are announced first, so that a policy that plans (jobpacker, corral) knows the whole
list; millrace scheduler plan ls shows what it makes of it. A job with after: waits until those jobs have succeeded, one with at: for its
time since the start, which plans know.
Each job is a built-in one with the flags of millrace run:

  jobs:
    - {name: sales,  run: wordcount, input: ["dfs:/sales"], output: "dfs:/out/sales", recurring: true}
    - {name: visits, run: wordcount, input: ["dfs:/visits"], output: "dfs:/out/visits", recurring: true, at: 10m}
    - {name: report, run: sort, input: ["dfs:/out/sales"], output: "dfs:/out/report", after: [sales], args: [--reducers, 2]}

Two jobs with one output are refused, unless the second comes after: the first and has overwrite: true, or both have.
A job that the master refuses keeps those after it from being handed in, and no others. When the command is interrupted, jobs that were
handed in go on, and those that wait for others are not handed in.`,
		Example: "  millrace job submit --batch nightly.yaml", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := readBatch(batch)
			if err != nil {
				return err
			}
			return withClient(m, func(cl *client.Client) error { return submitBatch(cmd, cl, list, asJSON) })
		},
	}
	m.defineUmask(cmd.Flags())
	cmd.Flags().StringVar(&batch, "batch", "", "file with the jobs")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list of how the jobs ended")
	_ = cmd.MarkFlagRequired("batch")
	return cmd
}

func readBatch(name string) ([]dueJob, error) {
	data, err := readBounded(name)
	if err != nil {
		return nil, err
	}
	return parseBatch(name, data)
}

// parseBatch reads and checks a list of jobs. An error names the line.
func parseBatch(name string, data []byte) (out []dueJob, err error) {
	var b batchFile
	if err := decodeYAML(name, data, &b); err != nil {
		return nil, err
	}
	if len(b.Jobs) == 0 || len(b.Jobs) > maxBatch {
		return nil, fmt.Errorf("%s: %d jobs: there must be 1 to %d (jobs: [{name: a, run: wordcount, input: [\"dfs:/in\"], output: \"dfs:/out\"}])", name, len(b.Jobs), maxBatch)
	}
	index := map[string]int{}
	for i := range b.Jobs {
		j := &b.Jobs[i]
		spec, err := j.spec()
		var at time.Duration
		if err == nil {
			at, err = j.due()
		}
		if _, twice := index[j.Name]; err == nil && twice {
			err = fmt.Errorf("two jobs are called %q", j.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: job %q: %w", name, lineOf(data, fmt.Sprintf("$.jobs[%d]", i)), j.Name, err)
		}
		index[j.Name] = i
		out = append(out, dueJob{at: at, spec: spec})
	}
	line := func(path string, at ...any) int { return lineOf(data, fmt.Sprintf(path, at...)) }
	if err := b.order(out, index, line); err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	if err := checkOutputs(out, func(i int) int { return line("$.jobs[%d]", i) }); err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	return out, nil
}

// order sets which jobs each job comes after. It refuses unknown names and circles.
func (b *batchFile) order(out []dueJob, index map[string]int, line func(path string, at ...any) int) error {
	for i, j := range b.Jobs {
		for k, before := range j.After {
			at, ok := index[before]
			if !ok {
				return fmt.Errorf("%d: job %q comes after %q, and no job is called so", line("$.jobs[%d].after[%d]", i, k), j.Name, before)
			}
			out[i].after = append(out[i].after, at)
		}
	}
	if ring := circle(out); ring != nil {
		return fmt.Errorf("%d: the jobs %s wait for each other: take one out of an after", line("$.jobs[%d]", ring[0]), jobNames(out, ring))
	}
	return nil
}

// spec returns the job in the cluster's form.
func (j *batchJob) spec() (wire.JobSpec, error) {
	if j.Name == "" {
		return wire.JobSpec{}, fmt.Errorf("it needs a name")
	}
	args := []string{"--name", j.Name}
	for _, in := range j.Input {
		args = append(args, "--input", in)
	}
	if j.Output != "" {
		args = append(args, "--output", j.Output)
	}
	if j.Recurring {
		args = append(args, "--recurring")
	}
	args = append(args, j.Args...)
	stages, err := jobs.Parse(j.Run, args)
	if err != nil {
		return wire.JobSpec{}, err
	}
	s := client.SpecOf(stages, wire.Program{Builtin: j.Run, Args: args}, j.Overwrite)
	if s.Name != j.Name {
		return s, fmt.Errorf("its args name it %q", s.Name)
	}
	if s.Output == "" {
		return s, fmt.Errorf("it needs an output, as output: dfs:/out/%s", s.Name)
	}
	return s, nil
}

// due returns when the job is submitted, counted from the first.
func (j *batchJob) due() (time.Duration, error) {
	if j.At == "" {
		return 0, nil
	}
	at, err := time.ParseDuration(j.At)
	if err != nil || at < 0 || at > 24*time.Hour {
		return 0, fmt.Errorf("at: %q is no time from 0s to 24h (at: 90s)", j.At)
	}
	return at, nil
}

// circle returns jobs that wait for each other, or nil.
func circle(list []dueJob) []int {
	state := make([]int8, len(list)) // 1: on the way, 2: done
	var path []int
	var visit func(i int) []int
	visit = func(i int) []int {
		switch state[i] {
		case 1:
			for path[0] != i {
				path = path[1:]
			}
			return path
		case 2:
			return nil
		}
		state[i], path = 1, append(path, i)
		for _, b := range list[i].after {
			if ring := visit(b); ring != nil {
				return ring
			}
		}
		state[i], path = 2, path[:len(path)-1]
		return nil
	}
	for i := range list {
		if ring := visit(i); ring != nil {
			return ring
		}
	}
	return nil
}

func jobNames(list []dueJob, which []int) string {
	var out []string
	for _, i := range which {
		out = append(out, human.Printable(list[i].spec.Name))
	}
	return strings.Join(out, ", ")
}

// batchResult is how a job of a list ended.
type batchResult struct {
	Name    string        `json:"name"`
	Job     wire.JobID    `json:"job,omitempty"`
	State   wire.JobState `json:"state,omitempty"` // "" if it was not submitted
	Seconds float64       `json:"elapsed_s"`
	Error   string        `json:"error,omitempty"`
}

// submitBatch announces the jobs, submits them and follows them.
func submitBatch(cmd *cobra.Command, cl *client.Client, list []dueJob, asJSON bool) error {
	if err := announceBatch(cmd.Context(), cl, list); err != nil {
		return err
	}
	w := newBatch(cmd, cl, list, asJSON)
	if err := errors.Join(w.run(cmd.Context()), takeBack(cmd.Context(), cl, list)); err != nil {
		return err
	}
	bad, out := 0, []batchResult{}
	for i := range list {
		j := &list[i]
		r := batchResult{Name: j.spec.Name, Job: j.id, State: j.status.State, Error: j.status.Error}
		if j.ended {
			r.Seconds = j.seconds()
		}
		if j.refused != nil {
			r.Error = j.refused.Error()
		}
		if !j.succeeded() {
			bad++
		}
		out = append(out, r)
	}
	if asJSON {
		if err := printJSON(cmd, out); err != nil {
			return err
		}
	}
	if bad > 0 {
		return failed(fmt.Errorf("%d of %d jobs did not succeed", bad, len(list)))
	}
	return nil
}

// newBatch returns a workflow of a file's jobs. It reports what the policies lack once for each queue.
func newBatch(cmd *cobra.Command, cl *client.Client, list []dueJob, asJSON bool) *workflow {
	w := &workflow{cl: cl, jobs: list}
	queues := map[string]bool{} // of jobs that were submitted
	w.tell = func(j *dueJob) {
		if !asJSON {
			tellBatch(cmd.OutOrStdout(), w, j)
		}
		if j.id != "" && !queues[j.spec.Queue] {
			queues[j.spec.Queue] = true
			launch.Warn(cmd.Context(), cl, &j.spec, cmd.ErrOrStderr())
		}
	}
	return w
}

// recurring returns the jobs that are announced.
func recurring(list []dueJob) (out []wire.JobSpec) {
	for i := range list {
		if s := list[i].spec; s.Recurring {
			s.Expect.InMillis = list[i].at.Milliseconds()
			out = append(out, s)
		}
	}
	return out
}

// announceBatch announces the recurring jobs to the cluster.
func announceBatch(ctx context.Context, cl *client.Client, list []dueJob) error {
	r := wire.PlanRequest{Jobs: recurring(list)}
	if len(r.Jobs) == 0 {
		return nil
	}
	_, err := cl.Plans(ctx, r)
	return err
}

// takeBack withdraws announcements of jobs that will not come: else containers would be kept for them.
func takeBack(ctx context.Context, cl *client.Client, list []dueJob) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	dropped := map[string]bool{}
	for i := range list {
		if j := &list[i]; j.spec.Recurring && j.id == "" && !dropped[j.spec.Name] {
			dropped[j.spec.Name] = true
			_, e := cl.Plans(ctx, wire.PlanRequest{Drop: j.spec.Name})
			if wire.KindOf(e) != wire.NotFound { // it may never have been planned
				err = errors.Join(err, e)
			}
		}
	}
	return err
}

// tellBatch prints what became of a job.
func tellBatch(out io.Writer, w *workflow, j *dueJob) {
	name := human.Printable(j.spec.Name)
	switch {
	case j.refused != nil:
		fmt.Fprintf(out, "%s is refused: %s\n", name, human.Printable(j.refused.Error()))
	case j.barred > 0:
		fmt.Fprintf(out, "%s is not handed in: %s did not succeed\n", name, human.Printable(w.jobs[j.barred-1].spec.Name))
	case !j.ended:
		fmt.Fprintf(out, "%s is %s\n", name, j.id)
	case j.succeeded():
		fmt.Fprintf(out, "%s %s after %s\n", name, j.status.State, took(j.status))
	default:
		fmt.Fprintf(out, "%s %s after %s: %s\n", name, j.status.State, took(j.status), human.Printable(j.status.Error))
	}
}
