package live

import (
	"math"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// A Row is one measure of one arm.
type Row struct {
	Arm       string    `json:"arm"`
	Measure   string    `json:"measure"`
	Unit      string    `json:"unit"`
	Simulated float64   `json:"simulated"` // mean over the repetitions
	Live      []float64 `json:"live"`      // by repetition
	// Foretold says that the simulator is within a tenth of the mean on the cluster.
	Foretold bool `json:"foretold"`
	// Published is what a document says of this row, and Verdict whether the cluster agrees; both are empty where no document has a figure or a
	// direction for it, and Verdict also where what it compares with was not run.
	Published string      `json:"published,omitempty"`
	Verdict   lab.Verdict `json:"verdict,omitempty"`

	check *lab.Check // of Verdict
}

// A Verdict is how well the simulator has predicted the cluster.
type Verdict struct {
	Rows []Row `json:"rows"`
	// MedianError is of the time of a job, over all jobs, repetitions and arms.
	MedianError float64 `json:"median_error"`
	// Tau is Kendall's, of the order of the arms by the first measure; arms that the simulator holds for equal, within 2 per cent, do not count.
	Tau float64 `json:"tau"`
	// Ratio is by how much the simulator is off in the first measure of an arm over that of the first arm, in the worst arm.
	Ratio  float64 `json:"ratio_error"`
	Agrees bool    `json:"agrees"`
}

// The marks that a laboratory is held to.
const (
	maxError = 0.10
	minTau   = 0.9
	maxRatio = 0.15
	same     = 0.02
)

// Judge compares. simulated and live are by arm and repetition.
func (l *Laboratory) Judge(arms []Arm, quick bool, simulated, live [][]*Outcome) Verdict {
	var v Verdict
	var errors []float64
	for a := range arms {
		for _, m := range l.Measures {
			r := Row{Arm: arms[a].Name, Measure: m.Name, Unit: m.Unit}
			for i, o := range live[a] {
				jobs := l.Repetition(i).Jobs(quick)
				r.Live = append(r.Live, m.Of(jobs, o))
				r.Simulated += m.Of(jobs, simulated[a][i]) / float64(len(live[a]))
			}
			v.Rows = append(v.Rows, r)
		}
		for i, o := range live[a] {
			for j, seconds := range o.Seconds {
				errors = append(errors, math.Abs(simulated[a][i].Seconds[j]-seconds)/seconds)
			}
		}
	}
	l.quote(v.Rows, quick)
	v.MedianError = stats.Median(errors)
	v.Tau = tau(v.Rows, len(l.Measures))
	v.Ratio = ratio(v.Rows, len(l.Measures))
	v.Agrees = v.MedianError <= maxError && v.Tau >= minTau && v.Ratio <= maxRatio
	return v
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
			if math.Abs(a.Simulated-b.Simulated) <= same*max(a.Simulated, b.Simulated) {
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
