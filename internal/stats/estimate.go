package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/millrace/millrace/internal/chart"
)

// An Estimate is a mean over repetitions with its 95 % confidence interval, from
// Student's t distribution. The interval of a single value is the value.
type Estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"`
}

// NewEstimate estimates the mean of independent values.
func NewEstimate(x []float64) Estimate {
	m := Mean(x)
	if len(x) < 2 {
		return Estimate{m, m, m, len(x)}
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(x) - 1)}.Quantile(0.975)
	half := t * Deviation(x) / math.Sqrt(float64(len(x)))
	return Estimate{m, m - half, m + half, len(x)}
}

// Bar draws an estimate beside what was published; NaN where nothing was.
func (e Estimate) Bar(label string, published float64) chart.Bar {
	b := chart.Bar{Label: label, Value: e.Mean, Low: e.Low, High: e.High, Published: published}
	if e.N < 2 {
		b.Low, b.High = math.NaN(), math.NaN()
	}
	return b
}
