package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/millrace/millrace/internal/chart"
)

// An Estimate is a mean over repetitions with its 95 % confidence interval, from Student's t distribution. The
// interval of a single value is that value.
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

// LeaveOneOut estimates a figure of n values together, such as a ratio of means. It gets the interval by leaving out
// one value at a time. of returns the figure without one value, or of all values for -1.
func LeaveOneOut(n int, of func(without int) float64) Estimate {
	all := of(-1)
	if n < 2 {
		return NewEstimate([]float64{all})
	}
	apart := make([]float64, n)
	for i := range apart {
		apart[i] = float64(n)*all - float64(n-1)*of(i)
	}
	e := NewEstimate(apart)
	return Estimate{Mean: all, Low: all + e.Low - e.Mean, High: all + e.High - e.Mean, N: n}
}

// Text returns an estimate with its interval, if it has one.
func (e Estimate) Text() string {
	if e.N < 2 {
		return Text(e.Mean)
	}
	return Text(e.Mean) + " (" + Text(e.Low) + " to " + Text(e.High) + ")"
}

// Bar returns a bar for an estimate beside what was published; NaN if nothing was.
func (e Estimate) Bar(label string, published float64) chart.Bar {
	r := e.Interval()
	return chart.Bar{Label: label, Value: e.Mean, Low: r.Low, High: r.High, Published: published}
}

// Interval returns the interval of an estimate as charts draw it. A single value has none.
func (e Estimate) Interval() chart.Interval {
	if e.N < 2 {
		return chart.Interval{Low: math.NaN(), High: math.NaN()}
	}
	return chart.Interval{Low: e.Low, High: e.High}
}
