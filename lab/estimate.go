package lab

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
	m := mean(x)
	if len(x) < 2 {
		return Estimate{m, m, m, len(x)}
	}
	half := studentT(len(x)-1) * deviation(x) / math.Sqrt(float64(len(x)))
	return Estimate{m, m - half, m + half, len(x)}
}

// studentT is the 97.5 % quantile of the t distribution.
func studentT(freedom int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(freedom)}.Quantile(0.975)
}

// deviation is the standard deviation of a sample.
func deviation(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	m, sum := mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}

// bar draws an estimate beside what was published; NaN where nothing was.
func (e Estimate) bar(label string, published float64) chart.Bar {
	b := chart.Bar{Label: label, Value: e.Mean, Low: e.Low, High: e.High, Published: published}
	if e.N < 2 {
		b.Low, b.High = math.NaN(), math.NaN()
	}
	return b
}
