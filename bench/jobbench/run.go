// Package jobbench measures jobs on a cluster of real processes on this machine: what a tiny job and
// a task cost, what the cluster adds to local running, how fast the shuffle is, how local maps are,
// how many tasks a master can hand out, and what an idle cluster takes.
//
//	rows, err := jobbench.Run(ctx, jobbench.Setup{Self: "/usr/bin/millrace", Dir: "/tmp/b", Size: 1e9, Rounds: 3}, nil, say)
package jobbench

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/millrace/millrace/bench/live"
	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/wire"
)

// Setup is what is measured, and where.
type Setup struct {
	Self   string // this program
	Dir    string // for clusters and files; emptied before and after
	Size   int64  // of large inputs
	Rounds int
	Tasks  int // of the job that does nothing; 0 means 10,000
	// Swarm is how many simulated workers call one master, and SwarmTasks how many tasks they run.
	Swarm, SwarmTasks int
}

func (s Setup) parts() []live.Part {
	return []live.Part{
		{IDs: []string{"tiny"}, What: "a tiny job on a warm cluster", Measure: s.tiny},
		{IDs: []string{"cold"}, What: "a cluster from nothing to its first result", Measure: s.cold},
		{IDs: []string{"tasks", "processes"}, What: "tasks that do nothing", Measure: s.tasks},
		{IDs: []string{"terasort", "wordcount"}, What: "large jobs, against local running", Measure: s.large},
		{IDs: []string{"shuffle"}, What: "a shuffle, against a bare stream", Measure: s.shuffle},
		{IDs: []string{"splits"}, What: "bytes that maps send for", Measure: s.splits},
		{IDs: []string{"local"}, What: "maps where their data is", Measure: s.local},
		{IDs: []string{"swarm"}, What: "a million tasks for a thousand simulated workers", Measure: s.swarm},
		{IDs: []string{"idle"}, What: "an idle cluster", Measure: s.idle},
	}
}

// IDs lists the rows.
func IDs() []string { return live.IDs(Setup{}.parts()) }

// Run measures the rows in only, or all. say is called before each part.
func Run(ctx context.Context, s Setup, only []string, say func(what string)) ([]live.Row, error) {
	s.Tasks, s.Swarm, s.SwarmTasks, s.Rounds = cmp.Or(s.Tasks, 10_000), cmp.Or(s.Swarm, 1_000), cmp.Or(s.SwarmTasks, 1_000_000), max(s.Rounds, 1)
	return live.Measure(ctx, s.Dir, s.parts(), only, say)
}

// with runs fn on a fresh cluster.
func (s Setup) with(ctx context.Context, settings, flags []string, fn func(c *live.Cluster, cl *client.Client) error) error {
	return live.With(ctx, s.Self, filepath.Join(s.Dir, "cluster"), settings, flags, fn)
}

// run runs a built-in job and waits for its end.
func run(ctx context.Context, cl *client.Client, spec wire.JobSpec, each func(wire.JobStatus)) (wire.JobStatus, error) {
	spec.Name, spec.Stages = "bench", max(spec.Stages, 1)
	id, err := cl.Submit(ctx, spec)
	if err != nil {
		return wire.JobStatus{}, err
	}
	st, err := cl.Wait(ctx, id, each)
	if err == nil && st.State != wire.Succeeded {
		err = fmt.Errorf("%s is %s: %s", id, st.State, st.Error)
	}
	return st, err
}

func builtin(output, job string, args ...string) wire.JobSpec {
	return wire.JobSpec{Output: output, Overwrite: true, Program: wire.Program{Builtin: job, Args: append(args, "--output", output)}}
}
