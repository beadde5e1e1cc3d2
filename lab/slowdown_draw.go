package lab

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/chart"
)

// drawPolicies draws what the checks measure, from the first repetition where single
// jobs are shown.
func drawPolicies(r *Recorder, at lookup) {
	names := []string{"fifo", "fbq", "tags", "sita", "comp", "fair", "srpt"}
	for _, load := range []float64{0.7, 0.9} {
		r.figure(fmt.Sprintf("levels-%g", load), "Slow start 0.05. The thick lines: published, for FIFO at load 0.7 only. The further left both dots the better; the further apart they are, the less even is the policy.", levelBars(at, names, load))
		cdf := chart.CDF{Frame: chart.Frame{Title: fmt.Sprintf("Slowdown, load %g", load), X: chart.Axis{Label: "slowdown", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
		for _, name := range names {
			cdf.Samples = append(cdf.Samples, chart.Sample{Name: name, Values: at(name, load, 0.05).slow})
		}
		r.figure(fmt.Sprintf("cdf-%g", load), "One repetition, slow start 0.05. A curve further left is better, a steep one more even. fair and srpt (which knows all sizes) were not evaluated in the paper and are shown for comparison.", cdf)
	}
	for _, pair := range [][2]string{{"fifo", "fbq"}, {"tags", "sita"}} {
		sc := chart.Scatter{Frame: chart.Frame{Title: "Slowdown against job size, load 0.7", X: chart.Axis{Label: "job size, slot-seconds", Log: true}, Y: chart.Axis{Label: "slowdown", Log: true}}}
		for _, name := range pair {
			s := at(name, 0.7, 0.05)
			sc.Groups = append(sc.Groups, chart.Series{Name: name, X: s.sizes, Y: s.slow})
		}
		r.figure("scatter-"+pair[1], "A point is a job of the first repetition; flat clouds are even over sizes.", sc)
	}
	r.figure("sizes", "Mean slowdown by range of job size, each half a decade (Fig. 12), means over repetitions, slow start 0.05: even policies are flat.", sizeLines(at, names))
	v := chart.Lines{Frame: chart.Frame{Title: "Variability V(q), load 0.7 (Fig. 11)", X: chart.Axis{Label: "percentile q"}, Y: chart.Axis{Label: "V(q): slowdown at q over median", Log: true}}}
	for _, name := range names {
		s := chart.Series{Name: name}
		for _, q := range percentiles {
			s.X, s.Y = append(s.X, float64(q)), append(s.Y, at(name, 0.7, 0.05).v(q))
		}
		v.Series = append(v.Series, s)
	}
	r.figure("variability", "Means over repetitions, slow start 0.05. 1 at every percentile would be strictly fair. COMP starts below FIFO and ends above it.", v)
}

// levelBars draws the median and the 95th percentile of each policy.
func levelBars(at lookup, names []string, load float64) chart.Bars {
	bars := chart.Bars{
		Frame:  chart.Frame{Title: fmt.Sprintf("Median and 95th percentile of slowdown, load %g", load), X: chart.Axis{Label: "slowdown", Log: true}},
		Groups: []string{"median", "95th percentile"},
	}
	for _, name := range names {
		s, median, tail := at(name, load, 0.05), nan, nan
		if name == "fifo" && load == 0.7 {
			median, tail = 2.8, 23.8
		}
		b, c := NewEstimate(s.medians).bar(name, median), NewEstimate(s.tails).bar(name+", p95", tail)
		c.Group = 1
		bars.Bars = append(bars.Bars, b, c)
	}
	return bars
}

func sizeLines(at lookup, names []string) chart.Lines {
	l := chart.Lines{Frame: chart.Frame{Title: "Mean slowdown by job size, load 0.7", X: chart.Axis{Label: "job size, slot-seconds", Log: true}, Y: chart.Axis{Label: "mean slowdown", Log: true}}}
	for _, name := range names {
		s := chart.Series{Name: name, Y: at(name, 0.7, 0.05).bySze}
		for i := range s.Y {
			s.X = append(s.X, 10*math.Pow(10, 0.5*(float64(i)+0.5)))
		}
		l.Series = append(l.Series, s)
	}
	return l
}

// drawTableII draws run times and occupancies from the rows of the table, which come in pairs.
func drawTableII(r *Recorder) {
	bars := func(title, label string) chart.Bars {
		return chart.Bars{Frame: chart.Frame{Title: title, X: chart.Axis{Label: label, Log: true}}}
	}
	run, size := bars("Run time of each job alone", "s"), bars("Occupancy of each job", "slot-seconds")
	for i, c := range r.report.Checks {
		b := chart.Plain(tableIIJobs[i/2].name, c.scale.value)
		b.Published = c.scale.want
		if i%2 == 0 {
			run.Bars = append(run.Bars, b)
		} else {
			size.Bars = append(size.Bars, b)
		}
	}
	r.figure("run", "The thick line: published. Small jobs take about as long as one map and one reduce, whatever they do; the large ones need several waves of maps.", run)
	r.figure("occupancy", "The thick line: published (for GREP 50/5 without the decimal slip).", size)
}
