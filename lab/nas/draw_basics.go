package nas

import (
	"math"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/nas"
	"github.com/millrace/millrace/trace"
)

// drawMix draws the classes of a day, and how its jobs' sizes are spread.
func drawMix(r *lab.Recorder, day []trace.Job, small float64, count [3]float64) {
	n := float64(len(day)) / 100
	bars := chart.Bars{Frame: chart.Frame{Title: "Jobs of the day by class", X: chart.Axis{Label: "% of all jobs"}}}
	bars.Bars = []chart.Bar{chart.Plain("small-input", small/n).Beside(50.02)}
	for i, published := range []float64{68.70, 12.58, 18.82} {
		bars.Bars = append(bars.Bars, chart.Plain(nas.Class(i).String(), count[i]/n).Beside(published))
	}
	r.Figure("classes", bars)
	lines := chart.Lines{
		Frame: chart.Frame{Title: "How much jobs read and shuffle", X: chart.Axis{Label: "MB (2^20 bytes)", Log: true}, Y: chart.Axis{Label: "share of jobs up to this", Max: 1}},
		Marks: []chart.Mark{{Name: "1", Value: 1, Vertical: true}, {Name: "10", Value: 10, Vertical: true}, {Name: "100", Value: 100, Vertical: true}},
	}
	for _, s := range []struct {
		name string
		of   func(trace.Job) float64
	}{
		{"input", func(j trace.Job) float64 { return float64(j.InputBytes) }},
		{"shuffle", func(j trace.Job) float64 { return float64(j.ShuffleBytes) }},
	} {
		all := lab.Each(day, func(j trace.Job) float64 { return s.of(j) / (1 << 20) })
		lines.Series = append(lines.Series, sharesUpTo(s.name, stats.Sorted(all)))
	}
	r.Figure("sizes", lines)
}

// sharesUpTo is the distribution of sorted sizes in MB, at steps of a logarithmic axis.
func sharesUpTo(name string, all []float64) chart.Series {
	s := chart.Series{Name: name}
	k := 0
	for e := -4.0; e <= 8; e += 0.1 {
		x := math.Pow(10, e)
		for k < len(all) && all[k] <= x {
			k++
		}
		s.X, s.Y = append(s.X, x), append(s.Y, float64(k)/float64(len(all)))
	}
	return s
}

// drawSkips draws the chances that nas-skips checks, over the bound on skips.
func drawSkips(r *lab.Recorder) {
	lines := chart.Lines{
		Frame: chart.Frame{Title: "Found within so many skips", X: chart.Axis{Label: "skips"}, Y: chart.Axis{Label: "chance, %", Max: 100}},
		Marks: []chart.Mark{{Name: "10", Value: 10, Vertical: true}, {Name: "40", Value: 40, Vertical: true}},
	}
	var upTo []float64
	for skips := range 61 {
		upTo = append(upTo, float64(skips))
	}
	for _, jobs := range []float64{3, 1} {
		name := map[float64]string{3: "three jobs", 1: "one job"}[jobs]
		lines.Series = append(lines.Series, chart.Curve(name, upTo, func(skips float64) float64 { return 100 * (1 - math.Pow(1-nearChance*fitChance, jobs*skips)) }))
	}
	r.Figure("skips", lines)
}

// drawFormulas draws the completion threshold, and what the place of reduces does to a rack's link.
func drawFormulas(r *lab.Recorder) {
	lines := chart.Lines{Frame: chart.Frame{Title: "Completion threshold by shuffle size", X: chart.Axis{Label: "shuffle of the job, MB", Log: true}, Y: chart.Axis{Label: "part of maps done", Min: 0, Max: 0.6}}}
	const small, large = 1.0, 1e6
	for i, name := range []string{"as published, in a line", "on a logarithmic scale"} {
		s := chart.Series{Name: name}
		for e := 0.0; e <= 6; e += 0.05 {
			size := math.Pow(10, e)
			s.X, s.Y = append(s.X, size), append(s.Y, nas.CompletionThreshold(size, small, large, 0.2, 0.5, i == 1))
		}
		lines.Series = append(lines.Series, s)
	}
	r.Figure("threshold", lines)
	bars := chart.Bars{Frame: chart.Frame{Title: "Map output 60, 30, 10 % in racks A, B, C", X: chart.Axis{Label: "% of the shuffle over the rack's link"}}, Groups: []string{"out of the rack", "into the rack"}}
	p := []float64{0.6, 0.3, 0.1}
	for _, where := range []struct {
		name string
		q    []float64
	}{{"in proportion", p}, {"all in A", []float64{1, 0, 0}}} {
		for i, rack := range []string{"A", "B", "C"} {
			bars.Bars = append(bars.Bars, chart.Plain("reduces "+where.name+": out of "+rack, 100*p[i]*(1-where.q[i])), chart.Plain("into "+rack, 100*where.q[i]*(1-p[i])).In(1))
		}
	}
	r.Figure("links", bars)
}
