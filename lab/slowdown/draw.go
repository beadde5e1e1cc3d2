package slowdown

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/lab"
)

// shown are the policies that charts show.
var shown = []string{"fifo", "fbq", "tags", "sita", "comp", "fair", "srpt"}

// drawPolicies draws what the checks measure, from the first repetition where single
// jobs are shown.
func drawPolicies(r *lab.Recorder, at lookup) {
	for _, load := range []float64{0.7, 0.9} {
		r.Figure(fmt.Sprintf("levels-%g", load), levelBars(at, load))
		cdf := chart.CDF{Frame: chart.Frame{Title: fmt.Sprintf("Slowdown, load %g", load), X: chart.Axis{Label: "slowdown", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
		for _, name := range shown {
			cdf.Samples = append(cdf.Samples, chart.Sample{Name: name, Values: at(name, load, 0.05).slow})
		}
		r.Figure(fmt.Sprintf("cdf-%g", load), cdf)
	}
	for _, pair := range [][2]string{{"fifo", "fbq"}, {"tags", "sita"}} {
		sc := chart.Scatter{Frame: chart.Frame{Title: "Slowdown against job size, load 0.7", X: chart.Axis{Label: "job size, slot-seconds", Log: true}, Y: chart.Axis{Label: "slowdown", Log: true}}}
		for _, name := range pair {
			s := at(name, 0.7, 0.05)
			sc.Groups = append(sc.Groups, chart.Series{Name: name, X: s.sizes, Y: s.slow})
		}
		r.Figure("scatter-"+pair[1], sc)
	}
	sizes := chart.Lines{Frame: chart.Frame{Title: "Mean slowdown by job size, load 0.7", X: chart.Axis{Label: "job size, slot-seconds", Log: true}, Y: chart.Axis{Label: "mean slowdown", Log: true}}}
	v := chart.Lines{Frame: chart.Frame{Title: "Variability V(q), load 0.7 (Fig. 11)", X: chart.Axis{Label: "percentile q"}, Y: chart.Axis{Label: "V(q): slowdown at q over median", Log: true}}}
	for _, name := range shown {
		of := at(name, 0.7, 0.05)
		s := chart.Series{Name: name, Y: of.bySize}
		for i := range s.Y {
			s.X = append(s.X, 10*math.Pow(10, 0.5*(float64(i)+0.5)))
		}
		sizes.Series = append(sizes.Series, s)
		v.Series = append(v.Series, chart.Curve(name, percentiles, func(q float64) float64 { return of.v(int(q)) }))
	}
	r.Figure("sizes", sizes)
	r.Figure("variability", v)
}

// levelBars draws the median and the 95th percentile of each policy.
func levelBars(at lookup, load float64) chart.Bars {
	bars := chart.Bars{
		Frame:  chart.Frame{Title: fmt.Sprintf("Median and 95th percentile of slowdown, load %g", load), X: chart.Axis{Label: "slowdown", Log: true}},
		Groups: []string{"median", "95th percentile"},
	}
	for _, name := range shown {
		s, median, tail := at(name, load, 0.05), math.NaN(), math.NaN()
		if name == "fifo" && load == 0.7 {
			median, tail = 2.8, 23.8
		}
		bars.Bars = append(bars.Bars, s.percentile(50).Bar(name, median), s.percentile(95).Bar(name+", p95", tail).In(1))
	}
	return bars
}
