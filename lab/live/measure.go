package live

import (
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/sim"
)

// An Outcome is what became of the jobs of a laboratory, in one run of one arm.
type Outcome struct {
	Seconds []float64 // by job, from its submission to its end
	// Local is the share of its maps that ran beside their input, by job, and Strong the share of its tasks that ran on machines of
	// the first class.
	Local, Strong []float64
	Congested     float64 // rack-seconds
	Cross         float64 // bytes between racks
}

// A Measure makes a figure of an outcome.
type Measure struct {
	Name, Unit string
	Of         func(jobs []*sim.Job, o *Outcome) float64
	which      func(j *sim.Job) bool // the jobs that it is a mean of; nil: it is no mean
}

// mean returns the measure of the mean over jobs.
func mean(name string, which func(j *sim.Job) bool) Measure {
	return Measure{Name: name, Unit: "s", which: which, Of: func(jobs []*sim.Job, o *Outcome) float64 {
		return stats.Mean(o.of(jobs, which))
	}}
}

// medianJob is the median over all jobs.
var medianJob = Measure{Name: "the median job", Unit: "s", Of: func(jobs []*sim.Job, o *Outcome) float64 { return stats.Median(o.of(jobs, every)) }}

// of returns how long jobs took.
func (o *Outcome) of(jobs []*sim.Job, which func(j *sim.Job) bool) (seconds []float64) {
	for i, j := range jobs {
		if which(j) {
			seconds = append(seconds, o.Seconds[i])
		}
	}
	return seconds
}

// slowdown returns the measure of a quantile over jobs of their times over what each would take alone on so many
// containers.
func slowdown(name string, q float64, containers int) Measure {
	return Measure{Name: name, Unit: "x", Of: func(jobs []*sim.Job, o *Outcome) float64 {
		var x []float64
		for i, j := range jobs {
			x = append(x, o.Seconds[i]/j.Alone(containers).Seconds())
		}
		return stats.Quantile(stats.Sorted(x), q)
	}}
}

// makespan is from the first submission to the last end.
var makespan = Measure{Name: "all jobs", Unit: "s", Of: func(jobs []*sim.Job, o *Outcome) (last float64) {
	for i, j := range jobs {
		last = max(last, j.Spec.Submit.Seconds()+o.Seconds[i])
	}
	return last
}}

// inTime is the share of jobs that met their deadlines.
var inTime = Measure{Name: "in time", Unit: "%", Of: func(jobs []*sim.Job, o *Outcome) float64 {
	met, all := 0.0, 0.0
	for i, j := range jobs {
		if d := j.Spec.Deadline; d > 0 {
			all++
			if j.Spec.Submit.Seconds()+o.Seconds[i] <= d.Seconds() {
				met++
			}
		}
	}
	return 100 * met / all
}}

// share returns the measure of the mean over jobs of a part of each, in per cent.
func share(name string, which func(j *sim.Job) bool, of func(o *Outcome) []float64) Measure {
	return Measure{Name: name, Unit: "%", Of: func(jobs []*sim.Job, o *Outcome) float64 {
		var x []float64
		for i, j := range jobs {
			if which(j) {
				x = append(x, 100*of(o)[i])
			}
		}
		return stats.Mean(x)
	}}
}

func local(o *Outcome) []float64  { return o.Local }
func strong(o *Outcome) []float64 { return o.Strong }

var (
	congested = Measure{Name: "congested", Unit: "rack-s", Of: func(_ []*sim.Job, o *Outcome) float64 { return o.Congested }}
	crossed   = Measure{Name: "between racks", Unit: "MB", Of: func(_ []*sim.Job, o *Outcome) float64 { return o.Cross / 1e6 }}
)

func every(*sim.Job) bool { return true }

func named(name string) func(*sim.Job) bool {
	return func(j *sim.Job) bool { return j.Spec.Name == name }
}

func queued(queue string) func(*sim.Job) bool {
	return func(j *sim.Job) bool { return j.Spec.Queue == queue }
}
