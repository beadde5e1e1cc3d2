package live

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// A Laboratory is a question that a simulator and a cluster answer.
type Laboratory struct {
	ID, Title, Source string
	Seconds           int // it takes about, on two cores

	Workers, Containers int // in one rack; containers of each
	Arms                []Arm
	// Jobs makes the workload; quick is a shorter one of the same shape.
	Jobs func(quick bool) []*sim.Job
	// Measures are what is looked at. By the first the arms are ranked.
	Measures []Measure
	// Published says what is published of the first measure.
	Published string
}

// An Arm is what is compared: an assignment policy and an admission policy, by name and parameters.
type Arm struct {
	Name              string
	Policy, Admission drive.Named
	// Quick says that the short form has it.
	Quick bool
}

// A Measure makes a figure of how long the jobs took.
type Measure struct {
	Name, Unit string
	Of         func(jobs []*sim.Job, seconds []float64) float64
}

// Overheads are what a job costs beside its tasks.
type Overheads struct {
	Submit time.Duration // from its submission to the launch of its driver, where it need not wait
	Start  time.Duration // from the launch of its driver to its plan
	Task   time.Duration // that a task takes longer than it is told to
	End    time.Duration // from the end of its last task to its own
	// Maps and Reduces are how long each task took, by job, reduces from when they had all they needed; nil: as long as it was told to,
	// and Task.
	Maps    [][]time.Duration `json:"-"`
	Reduces [][]time.Duration `json:"-"`
	// At is when each job came, since the first; nil: when it was to.
	At []time.Duration `json:"-"`
}

// Costs are the same of many jobs and tasks, in nanoseconds.
type Costs struct {
	Submit, Start, Task, End []float64
	Maps, Reduces            [][]time.Duration // by job
	At                       []time.Duration   // by job
}

// Add adds others.
func (c *Costs) Add(o *Costs) {
	c.Submit, c.Start = append(c.Submit, o.Submit...), append(c.Start, o.Start...)
	c.Task, c.End = append(c.Task, o.Task...), append(c.End, o.End...)
}

// Overheads are the medians, of tasks the mean; the smallest of those that hold waiting, too.
func (c *Costs) Overheads() Overheads {
	of := func(x []float64, q float64) time.Duration {
		if len(x) == 0 {
			return 0
		}
		return max(0, time.Duration(stats.Quantile(stats.Sorted(x), q)))
	}
	return Overheads{Submit: of(c.Submit, 0), Start: of(c.Start, 0.5), Task: time.Duration(max(0, stats.Mean(c.Task))), End: of(c.End, 0.5), Maps: c.Maps, Reduces: c.Reduces, At: c.At}
}

// String writes them for people.
func (o Overheads) String() string {
	ms := func(d time.Duration) string { return d.Round(time.Millisecond).String() }
	return fmt.Sprintf("%s until its driver starts, %s until its first task does, %s for each task, %s after the last", ms(o.Submit), ms(o.Start), ms(o.Task), ms(o.End))
}

// Find returns the laboratory of an id.
func Find(id string) (*Laboratory, error) {
	known := []string{}
	for _, l := range All {
		if l.ID == id {
			return l, nil
		}
		known = append(known, l.ID)
	}
	return nil, fmt.Errorf("there is no live laboratory %q (there are %v)", id, known)
}

// Simulate predicts how many seconds each job takes.
func (l *Laboratory) Simulate(a *Arm, o Overheads, quick bool) ([]float64, error) {
	topo, err := topology.Uniform(1, l.Workers, 0, 0)
	if err != nil {
		return nil, err
	}
	cfg := sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{Containers: int32(l.Containers)}, State: scheduler.DefaultConfig(), Model: sim.NewFixed(),
		DriverStart: o.Start, Seed: 1, BreakDeadlocks: true, Refill: true, Seconds: drive.DefaultLATE(),
	}
	cfg.AskAgain = 100 * time.Millisecond // as the master does
	if cfg.Policy, err = policies.Policy(a.Policy.Name, policies.LiveParams(a.Policy.Name, a.Policy.Params)); err != nil {
		return nil, err
	}
	if cfg.Admission, err = policies.Admission(a.Admission.Name, policies.LiveParams(a.Admission.Name, a.Admission.Params)); err != nil {
		return nil, err
	}
	jobs := o.measured(l.Jobs(quick))
	res, err := sim.Run(cfg, jobs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	seconds := make([]float64, len(jobs))
	for i := range res.Jobs {
		seconds[i] = (res.Jobs[i].Finished - res.Jobs[i].Submitted + o.Submit).Seconds()
	}
	return seconds, nil
}

// measured gives jobs the times that they had.
func (o *Overheads) measured(jobs []*sim.Job) []*sim.Job {
	for i, j := range jobs {
		j.Spec.HasDriver, j.CleanUp = true, o.End
		for _, times := range [][]time.Duration{j.Maps, j.Reduces} {
			for k := range times {
				times[k] += o.Task
			}
		}
		if i < len(o.At) {
			if late := o.At[i] - j.Spec.Submit; j.Spec.Deadline > 0 {
				j.Spec.Deadline += late
			}
			j.Spec.Submit = o.At[i]
		}
		if i < len(o.Maps) {
			j.Maps, j.Reduces = o.Maps[i], o.Reduces[i]
		}
	}
	return jobs
}

// mean is the mean over jobs.
func mean(name string, which func(j *sim.Job) bool) Measure {
	return Measure{Name: name, Unit: "s", Of: func(jobs []*sim.Job, seconds []float64) float64 {
		var x []float64
		for i, j := range jobs {
			if which(j) {
				x = append(x, seconds[i])
			}
		}
		return stats.Mean(x)
	}}
}

// makespan is from the first submission to the last end.
var makespan = Measure{Name: "all jobs", Unit: "s", Of: func(jobs []*sim.Job, seconds []float64) (last float64) {
	for i, j := range jobs {
		last = max(last, j.Spec.Submit.Seconds()+seconds[i])
	}
	return last
}}

// inTime is the share of jobs that met their deadlines.
var inTime = Measure{Name: "in time", Unit: "%", Of: func(jobs []*sim.Job, seconds []float64) float64 {
	met, all := 0.0, 0.0
	for i, j := range jobs {
		if d := j.Spec.Deadline; d > 0 {
			all++
			if j.Spec.Submit.Seconds()+seconds[i] <= d.Seconds() {
				met++
			}
		}
	}
	return 100 * met / all
}}

func every(*sim.Job) bool { return true }

func named(name string) func(*sim.Job) bool {
	return func(j *sim.Job) bool { return j.Spec.Name == name }
}

func queued(queue string) func(*sim.Job) bool {
	return func(j *sim.Job) bool { return j.Spec.Queue == queue }
}
