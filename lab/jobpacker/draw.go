package jobpacker

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// drawUse draws how busy a circuit is with transfers of a size.
func drawUse(r *lab.Recorder) {
	s := chart.Series{Name: "busy"}
	for gb := 0.0625; gb <= 8; gb *= math.Sqrt2 {
		use, err := circuitUse(gb * 1e9)
		r.Must(err)
		s.X, s.Y = append(s.X, gb), append(s.Y, 100*use)
	}
	r.Figure("use", chart.Lines{
		Frame:  chart.Frame{Title: "How busy a circuit of 100 Gb/s is", X: chart.Axis{Label: "size of each transfer, GB", Log: true}, Y: chart.Axis{Label: "% of the time", Min: 0, Max: 100}},
		Series: []chart.Series{s},
		Marks:  []chart.Mark{{Name: "90 %", Value: 90}, {Name: "threshold, 1.125 GB", Value: float64(simulated.threshold) / 1e9, Vertical: true}},
	})
}

// drawShare draws the shares, what they are shares of, and each repetition of Corral.
func drawShare(r *lab.Recorder, runs map[string][]packRun) {
	shares := chart.Bars{Frame: chart.Frame{Title: "Shuffle between racks that goes over circuits", X: chart.Axis{Label: "% of the bytes"}}}
	bytes := chart.Bars{Frame: chart.Frame{Title: "Shuffle between racks", X: chart.Axis{Label: "TB"}}}
	for _, s := range []struct {
		name      string
		published float64
	}{{"jobpacker", 98.3}, {"corral", 23.9}, {"f-hybrid", 1.3}} {
		shares.Bars = append(shares.Bars, stats.NewEstimate(lab.Each(runs[s.name], opticalShare)).Bar(packTitles[s.name], s.published))
		bytes.Bars = append(bytes.Bars, stats.NewEstimate(lab.Each(runs[s.name], crossed)).Bar(packTitles[s.name], math.NaN()))
	}
	r.Figure("share", shares)
	r.Figure("bytes", bytes)
	each := chart.Bars{Frame: chart.Frame{Title: "Corral, each repetition", X: chart.Axis{Label: "TB of shuffle between racks"}}}
	for i, run := range runs["corral"] {
		label := fmt.Sprintf("%d, %.0f %% over circuits", i+1, 100*run.optical)
		if run.cross == 0 {
			label = fmt.Sprintf("%d, nothing crosses", i+1)
		}
		each.Bars = append(each.Bars, chart.Plain(label, run.cross/1e12))
	}
	r.Figure("corral", each)
}

// drawBatch draws makespans at all rates, and by sub-batches.
func drawBatch(r *lab.Recorder, runs, slow map[string][]packRun) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Makespan with packets at 30 Gb/s", X: chart.Axis{Label: "over F-Hybrid's"}}}
	for _, s := range []struct {
		name      string
		published float64
	}{{"jobpacker", 0.65}, {"corral", 0.85}, {"f-eps", math.NaN()}} {
		bars.Bars = append(bars.Bars, lab.Ratio(runs[s.name], runs["f-hybrid"], packMakespan).Bar(packTitles[s.name], s.published))
	}
	r.Figure("makespan", bars)
	lines := chart.Lines{Frame: chart.Frame{Title: "Makespan by rate of the packet network", X: chart.Axis{Label: "packet network, Gb/s to a rack", Log: true}, Y: chart.Axis{Label: "makespan, min", Log: true}}}
	for _, name := range packNames {
		rates := []float64{1, 3, 10, fullRate}
		lines.Series = append(lines.Series, chart.Curve(packTitles[name], rates, func(gbps float64) float64 { return minutes(slow[atRate(name, gbps)]) }))
	}
	r.Figure("rates", lines, rateFacts(slow))
	batches := chart.Bars{Frame: chart.Frame{Title: "JobPacker's makespan by number of sub-batches", X: chart.Axis{Label: "over that with 5"}}}
	for _, b := range []string{"1", "5", "8", "10", "20"} {
		name := "B" + b
		if b == "5" {
			name = "jobpacker"
		}
		batches.Bars = append(batches.Bars, lab.Ratio(runs[name], runs["jobpacker"], packMakespan).Bar(b, math.NaN()))
	}
	r.Figure("sub-batches", batches, lab.Facts{"five": packRatio(runs, "jobpacker", "B1", packMakespan)})
}

func minutes(runs []packRun) float64 {
	return lab.Mean(runs, func(p packRun) float64 { return p.makespan / 60 })
}

// rateFacts are what the slowest packet network costs each system that uses it.
func rateFacts(runs map[string][]packRun) lab.Facts {
	slowest := slowRates[len(slowRates)-1]
	slowed := func(name string) float64 { return minutes(runs[atRate(name, slowest)]) / minutes(runs[name]) }
	return lab.Facts{"slowest": fmt.Sprintf("%g", slowest), "fair": slowed("f-hybrid"), "packer": slowed("jobpacker"), "corral": slowed("corral")}
}

// drawPackOnline draws the medians beside the published ones, and all completion times.
func drawPackOnline(r *lab.Recorder, runs map[string][]packRun) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Median completion time over F-Hybrid's", X: chart.Axis{Label: "ratio, 1 is F-Hybrid"}}}
	for _, s := range []struct {
		label, name, base string
		of                func(packRun) float64
		published         float64
	}{
		{"JobPacker", "jobpacker", "f-hybrid", packMedian, 0.57},
		{"Corral", "corral", "f-hybrid", packMedian, 0.79},
		{"F-EPS", "f-eps", "f-hybrid", packMedian, math.NaN()},
		{"JobPacker, mixed, recurring jobs", "mixed 1", "mixed f-hybrid", packMedian, 0.60},
		{"JobPacker, mixed, ad-hoc jobs", "mixed 1", "mixed f-hybrid", adhocMedian, 0.62},
		{"JobPacker, wrong plans", "wrong jobpacker", "f-hybrid", packMedian, math.NaN()},
		{"JobPacker, circuits every 3 s", "interval 3s", "f-hybrid", packMedian, 0.62},
	} {
		bars.Bars = append(bars.Bars, lab.Ratio(runs[s.name], runs[s.base], s.of).Bar(s.label, s.published))
	}
	r.Figure("medians", bars)
	cdf := chart.CDF{Frame: chart.Frame{Title: "Completion time, all jobs recurring, all repetitions", X: chart.Axis{Label: "completion time, s", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
	for _, name := range packNames {
		s := chart.Sample{Name: packTitles[name]}
		for i := range runs[name] {
			s.Values = append(s.Values, runs[name][i].recurring...)
		}
		cdf.Samples = append(cdf.Samples, s)
	}
	r.Figure("cdf", cdf, lab.Facts{"fair": stats.Median(cdf.Samples[0].Values), "packer": stats.Median(cdf.Samples[len(cdf.Samples)-1].Values)})
}
