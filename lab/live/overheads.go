package live

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// Overheads are what a job costs beside its tasks.
type Overheads struct {
	Submit time.Duration // from its submission to the launch of its driver, if it need not wait
	Start  time.Duration // from the launch of its driver to its plan
	Task   time.Duration // by which a task takes longer than it is told to
	Reduce time.Duration // by which a reduce does, without the wait for its input
	End    time.Duration // from the end of its last task to its own
	// Maps and Reduces are how long each task took, by job, where reduces count from when they had all they needed;
	// nil: as long as each was told to, and Task.
	Maps    [][]time.Duration `json:"-"`
	Reduces [][]time.Duration `json:"-"`
	// At is when each job came, counted from the first; nil: when it was to come.
	At []time.Duration `json:"-"`
	// Places are the machines that have copies of each split of each job; nil: unknown.
	Places [][][]int `json:"-"`
	// Order is the machines in the order in which the master came to know them; nil: in which they were started.
	Order []int `json:"-"`
}

// Costs are the overheads of many jobs and tasks, in nanoseconds.
type Costs struct {
	Submit, Start, Task, Reduce, End []float64
	Maps, Reduces                    [][]time.Duration // by job
	At                               []time.Duration   // by job
	Places                           [][][]int
	Order                            []int
}

// Add adds other costs.
func (c *Costs) Add(o *Costs) {
	c.Submit, c.Start = append(c.Submit, o.Submit...), append(c.Start, o.Start...)
	c.Task, c.Reduce, c.End = append(c.Task, o.Task...), append(c.Reduce, o.Reduce...), append(c.End, o.End...)
}

// Overheads returns the medians, but for tasks the mean, and for values that include waiting the smallest.
func (c *Costs) Overheads() Overheads {
	of := func(x []float64, q float64) time.Duration {
		if len(x) == 0 {
			return 0
		}
		return max(0, time.Duration(stats.Quantile(stats.Sorted(x), q)))
	}
	mean := func(x []float64) time.Duration {
		if len(x) == 0 {
			return 0
		}
		return time.Duration(max(0, stats.Mean(x)))
	}
	return Overheads{Submit: of(c.Submit, 0), Start: of(c.Start, 0.5), Task: mean(c.Task), Reduce: mean(c.Reduce), End: of(c.End, 0.5), Maps: c.Maps, Reduces: c.Reduces, At: c.At, Places: c.Places, Order: c.Order}
}

// String returns them for users.
func (o Overheads) String() string {
	ms := func(d time.Duration) string { return d.Round(time.Millisecond).String() }
	return fmt.Sprintf("%s until its driver starts, %s until its first task does, %s for each task, %s after the last", ms(o.Submit), ms(o.Start), ms(o.Task), ms(o.End))
}

// measured gives jobs the times that they had. It gives tasks theirs only if all machines are the same for them:
// otherwise a task of the simulator may run on another machine than it did, or read over another link, and takes what
// it was told to and Task.
func (o *Overheads) measured(jobs []*sim.Job, m *Machines) []*sim.Job {
	for i, j := range jobs {
		j.Spec.HasDriver, j.CleanUp = true, o.End
		for k := range j.Maps {
			j.Maps[k] += o.Task
		}
		for k := range j.Reduces {
			j.Reduces[k] += o.Reduce
		}
		if i < len(o.At) {
			j.Late = o.At[i] - j.Spec.Submit
			if j.Spec.Deadline > 0 {
				j.Spec.Deadline += j.Late
			}
			j.Spec.Submit = o.At[i]
		}
		if m.even() && i < len(o.Maps) && (!m.linked() || j.Spec.Splits.Len() == 0) {
			j.Maps = o.Maps[i]
		}
		if m.Alike() && i < len(o.Reduces) {
			j.Reduces = o.Reduces[i] // over links they have waited for each other
		}
		if i < len(o.Places) {
			j.Spec.Splits = o.placed(j.Spec.Splits, o.Places[i])
		}
	}
	return jobs
}

// placed returns splits with the nodes that have them.
func (o *Overheads) placed(s scheduler.Splits, at [][]int) (out scheduler.Splits) {
	for i := range min(len(s.Bytes), len(at)) {
		var nodes []topology.NodeID
		for _, machine := range at[i] {
			if n := slices.Index(o.Order, machine); n >= 0 {
				machine = n
			}
			nodes = append(nodes, topology.NodeID(machine))
		}
		out.Add(s.Bytes[i], nodes...)
	}
	return out
}
