package lab

import (
	"math"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler/nas"
	"github.com/millrace/millrace/trace"
)

// drawMix draws the classes of a day, and how its jobs' sizes are spread.
func (r *Recorder) drawMix(day []trace.Job, small float64, count [3]float64) {
	n := float64(len(day)) / 100
	bars := chart.Bars{Frame: chart.Frame{Title: "Jobs of the day by class", X: chart.Axis{Label: "% of all jobs"}}}
	for i, published := range []float64{50.02, 68.70, 12.58, 18.82} {
		b := chart.Plain("small-input", small/n)
		if i > 0 {
			b = chart.Plain(nas.Class(i-1).String(), count[i-1]/n)
		}
		b.Published = published
		bars.Bars = append(bars.Bars, b)
	}
	r.figure("classes", "The thick line: published. The three shuffle classes add up to 100 %; how much a job reads is another question.", bars)
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
		var all []float64
		for _, j := range day {
			all = append(all, s.of(j)/(1<<20))
		}
		lines.Series = append(lines.Series, sharesUpTo(s.name, sorted(all)))
	}
	r.figure("sizes", "Vertical lines: the limits of the classes, 1 and 100 MB of shuffle, 10 MB of input. Smaller jobs lie left of the chart, so the curves do not begin at 0; a third of the jobs shuffle nothing.", lines)
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
func (r *Recorder) drawSkips() {
	lines := chart.Lines{
		Frame: chart.Frame{Title: "Found within so many skips", X: chart.Axis{Label: "skips"}, Y: chart.Axis{Label: "chance, %", Max: 100}},
		Marks: []chart.Mark{{Name: "10", Value: 10, Vertical: true}, {Name: "40", Value: 40, Vertical: true}},
	}
	for _, s := range []struct {
		name  string
		tries float64 // per skip
	}{{"three jobs", 3}, {"one job", 1}} {
		line := chart.Series{Name: s.name}
		for skips := range 61 {
			line.X = append(line.X, float64(skips))
			line.Y = append(line.Y, 100*(1-math.Pow(1-nearChance*fitChance, s.tries*float64(skips))))
		}
		lines.Series = append(lines.Series, line)
	}
	r.figure("skips", "The closed form: 1 - (1 - p q)^(jobs x skips) with p = 0.1, q = 0.5. The rows of the table are for three jobs, at the vertical lines.", lines)
	bars := chart.Bars{Frame: chart.Frame{Title: "Drawn beside published", X: chart.Axis{Label: "%"}}}
	for _, c := range r.report.Checks {
		b := chart.Plain(c.Item[len("2: "):], c.scale.value)
		b.Published = c.scale.want
		bars.Bars = append(bars.Bars, b)
	}
	r.figure("drawn", "Bars: the share of 200,000 draws. The thick line: published.", bars)
}

// drawFormulas draws the completion threshold, and what the place of reduces does to a rack's link.
func (r *Recorder) drawFormulas() {
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
	r.figure("threshold", "For jobs between 1 MB and 1 TB. With one giant job in the cluster the published line leaves nearly all others at T_max = 0.5; the logarithmic one is ours, and not used in these experiments.", lines)
	bars := chart.Bars{Frame: chart.Frame{Title: "Map output 60, 30, 10 % in racks A, B, C", X: chart.Axis{Label: "% of the shuffle over the rack's link"}}, Groups: []string{"out of the rack", "into the rack"}}
	p := []float64{0.6, 0.3, 0.1}
	for _, where := range []struct {
		name string
		q    []float64
	}{{"in proportion", p}, {"all in A", []float64{1, 0, 0}}} {
		for i, rack := range []string{"A", "B", "C"} {
			up, down := chart.Plain("reduces "+where.name+": out of "+rack, 100*p[i]*(1-where.q[i])), chart.Plain("into "+rack, 100*where.q[i]*(1-p[i]))
			down.Group = 1
			bars.Bars = append(bars.Bars, up, down)
		}
	}
	r.figure("links", "Reduces in proportion to the map output load each rack's link equally in both directions. All of them in rack A send less in total, but fill A's link one way.", bars)
}
