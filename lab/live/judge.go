package live

import (
	"math"
	"slices"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// A Row is one measure of one arm.
type Row struct {
	Arm       string    `json:"arm"`
	Measure   string    `json:"measure"`
	Unit      string    `json:"unit"`
	Simulated float64   `json:"simulated"` // mean over the repetitions and their draws
	Live      []float64 `json:"live"`      // by repetition
	// Foretold says that the simulator is within a tenth of the mean on the cluster.
	Foretold bool `json:"foretold"`
	// Published is what a document says of this row, and Verdict whether the cluster agrees. Both are empty if no
	// document has a figure or a direction for it, and Verdict also if what it compares with was not run.
	Published string      `json:"published,omitempty"`
	Verdict   lab.Verdict `json:"verdict,omitempty"`

	check  *lab.Check // of Verdict
	chance float64    // how much the mean of the repetitions varies by chance: the standard error of the simulator's draws
}

// A Job is one job under one arm, by number from 1 in the order in which they come.
type Job struct {
	Arm       string    `json:"arm"`
	Job       int       `json:"job"`
	Name      string    `json:"name"`
	Sequence  int       `json:"sequence,omitempty"` // of arrivals, where each repetition has its own
	Simulated float64   `json:"simulated"`          // seconds, mean over the repetitions and their draws
	Live      []float64 `json:"live"`               // seconds, by repetition
}

// off returns the simulator's error, as a part of the mean on the cluster.
func (j *Job) off() float64 {
	mean := stats.Mean(j.Live)
	return math.Abs(j.Simulated-mean) / mean
}

// A Verdict is how well the simulator has predicted the cluster.
type Verdict struct {
	Rows []Row `json:"rows"`
	Jobs []Job `json:"jobs"`
	// MedianError is the median error of the time of a job, over all jobs and arms. If all repetitions have the same
	// jobs, it is the error of the mean over the repetitions.
	MedianError float64 `json:"median_error"`
	// Tau is Kendall's, for the order of the arms by the first measure. Pairs of arms that the simulator takes for
	// equal do not count: those within 2 per cent, or within twice what chance makes of so many repetitions.
	Tau float64 `json:"tau"`
	// Ratio is the simulator's largest error in the first measure of an arm over that of the first arm.
	Ratio  float64 `json:"ratio_error"`
	Agrees bool    `json:"agrees"`
}

// The marks for a laboratory.
const (
	maxError = 0.10
	minTau   = 0.9
	maxRatio = 0.15
	same     = 0.02
)

// Judge compares predictions with measurements. live is by arm and repetition, and simulated has the draws of each.
func (l *Laboratory) Judge(arms []Arm, quick bool, simulated [][][]*Outcome, live [][]*Outcome) Verdict {
	var v Verdict
	var errors []float64
	for a := range arms {
		for _, m := range l.Measures {
			v.Rows = append(v.Rows, l.row(arms[a].Name, m, quick, simulated[a], live[a]))
		}
		v.Jobs = append(v.Jobs, l.jobs(arms[a].Name, quick, simulated[a], live[a])...)
	}
	for i := range v.Jobs {
		errors = append(errors, v.Jobs[i].off())
	}
	l.quote(v.Rows, quick)
	v.MedianError = stats.Median(errors)
	v.Tau = tau(v.Rows, len(l.Measures))
	v.Ratio = ratio(v.Rows, len(l.Measures))
	v.Agrees = v.MedianError <= maxError && v.Tau >= minTau && v.Ratio <= maxRatio
	return v
}

// row returns a measure of an arm.
func (l *Laboratory) row(arm string, m Measure, quick bool, simulated [][]*Outcome, live []*Outcome) Row {
	r := Row{Arm: arm, Measure: m.Name, Unit: m.Unit}
	variance := 0.0
	for i, o := range live {
		jobs := l.Repetition(i).Jobs(quick)
		r.Live = append(r.Live, m.Of(jobs, o))
		var of []float64
		for _, draw := range simulated[i] {
			of = append(of, m.Of(jobs, draw))
		}
		d := stats.Deviation(of)
		r.Simulated, variance = r.Simulated+stats.Mean(of)/float64(len(live)), variance+d*d
	}
	r.chance = math.Sqrt(variance) / float64(len(live))
	return r
}

// jobs returns the jobs of an arm, over all repetitions or, if each has its own jobs, of each.
func (l *Laboratory) jobs(arm string, quick bool, simulated [][]*Outcome, live []*Outcome) (out []Job) {
	each := func(n, sequence int, simulated []*Outcome, live ...*Outcome) {
		for i, j := range l.Repetition(n).Jobs(quick) {
			took := func(outcomes []*Outcome) (seconds []float64) {
				for _, o := range outcomes {
					seconds = append(seconds, o.Seconds[i])
				}
				return seconds
			}
			out = append(out, Job{arm, i + 1, j.Spec.Name, sequence, stats.Mean(took(simulated)), took(live)})
		}
	}
	if l.Drawn == nil {
		each(0, 0, slices.Concat(simulated...), live...)
		return out
	}
	for n, o := range live {
		each(n, n+1, simulated[n], o)
	}
	return out
}

// ratio compares every step-th row with the first.
func ratio(rows []Row, step int) (worst float64) {
	for i := step; i < len(rows); i += step {
		worst = max(worst, math.Abs(rows[i].Simulated/rows[0].Simulated-stats.Mean(rows[i].Live)/stats.Mean(rows[0].Live)))
	}
	return worst
}

// tau compares the order of arms by every step-th row.
func tau(rows []Row, step int) float64 {
	agree, pairs := 0.0, 0.0
	for i := 0; i < len(rows); i += step {
		for k := 0; k < i; k += step {
			a, b := &rows[i], &rows[k]
			if math.Abs(a.Simulated-b.Simulated) <= max(same*max(a.Simulated, b.Simulated), 2*math.Hypot(a.chance, b.chance)) {
				continue
			}
			pairs++
			if (a.Simulated < b.Simulated) == (stats.Mean(a.Live) < stats.Mean(b.Live)) {
				agree++
			} else {
				agree--
			}
		}
	}
	if pairs == 0 {
		return 1
	}
	return agree / pairs
}
