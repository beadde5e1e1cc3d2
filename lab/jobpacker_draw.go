package lab

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/chart"
)

// drawUse draws how busy a circuit is with transfers of a size.
func (r *Recorder) drawUse() error {
	s := chart.Series{Name: "busy"}
	for gb := 0.0625; gb <= 8; gb *= math.Sqrt2 {
		use, err := circuitUse(gb * 1e9)
		if err != nil {
			return err
		}
		s.X, s.Y = append(s.X, gb), append(s.Y, 100*use)
	}
	r.figure("use", "The larger a transfer, the less the 10 ms of dark time before it matter. At the threshold the line crosses 90 %.", chart.Lines{
		Frame:  chart.Frame{Title: "How busy a circuit of 100 Gb/s is", X: chart.Axis{Label: "size of each transfer, GB", Log: true}, Y: chart.Axis{Label: "% of the time", Min: 0, Max: 100}},
		Series: []chart.Series{s},
		Marks:  []chart.Mark{{Name: "90 %", Value: 90}, {Name: "threshold, 1.125 GB", Value: float64(simulated.threshold) / 1e9, Vertical: true}},
	})
	return nil
}

// spreads draws how uneven the sub-batches of each sample are.
type spreads struct{ chart.Bars }

func newSpreads() *spreads {
	return &spreads{chart.Bars{
		Frame:  chart.Frame{Title: "How far the largest of five sub-batches exceeds their mean", X: chart.Axis{Label: "%, the worst of shuffle bytes, maps and reduces"}},
		Groups: []string{"no job larger than a sub-batch", "with such a job"}, Reference: "bound",
	}}
}

func (s *spreads) add(spread float64, giant bool) {
	b := chart.Plain(fmt.Sprintf("sample %d", len(s.Bars.Bars)+1), 100*spread)
	if giant {
		b.Group = 1
	} else {
		b.Published = 20
	}
	s.Bars.Bars = append(s.Bars.Bars, b)
}

// drawShare draws the shares, what they are shares of, and each repetition of Corral.
func (r *Recorder) drawShare(runs map[string][]packRun) {
	shares := chart.Bars{Frame: chart.Frame{Title: "Shuffle between racks that goes over circuits", X: chart.Axis{Label: "% of the bytes"}}}
	bytes := chart.Bars{Frame: chart.Frame{Title: "Shuffle between racks", X: chart.Axis{Label: "TB"}}}
	for _, s := range []struct {
		name      string
		published float64
	}{{"jobpacker", 98.3}, {"corral", 23.9}, {"f-hybrid", 1.3}} {
		var x []float64
		for i := range runs[s.name] {
			x = append(x, 100*runs[s.name][i].optical)
		}
		shares.Bars = append(shares.Bars, NewEstimate(x).bar(packTitles[s.name], s.published))
		bytes.Bars = append(bytes.Bars, crossed(runs[s.name]).bar(packTitles[s.name], math.NaN()))
	}
	r.figure("share", "The thick line: published.", shares)
	r.figure("bytes", "What the shares are shares of. Corral keeps most of the shuffle inside racks.", bytes)
	each := chart.Bars{Frame: chart.Frame{Title: "Corral, each repetition", X: chart.Axis{Label: "TB of shuffle between racks"}}}
	for i, run := range runs["corral"] {
		label := fmt.Sprintf("%d, %.0f %% over circuits", i+1, 100*run.optical)
		if run.cross == 0 {
			label = fmt.Sprintf("%d, nothing crosses", i+1)
		}
		each.Bars = append(each.Bars, chart.Plain(label, run.cross/1e12))
	}
	r.figure("corral", "What Corral sends between racks comes from few very large jobs, and not every sample has one. A repetition in which nothing crosses counts as 0 % over circuits.", each)
}

// drawBatch draws makespans at all rates, and by sub-batches.
func (r *Recorder) drawBatch(runs map[string][]packRun) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Makespan with packets at 30 Gb/s", X: chart.Axis{Label: "over F-Hybrid's"}}}
	for _, s := range []struct {
		name      string
		published float64
	}{{"jobpacker", 0.65}, {"corral", 0.85}, {"f-eps", math.NaN()}} {
		bars.Bars = append(bars.Bars, packEstimate(runs, s.name, "f-hybrid", packMakespan).bar(packTitles[s.name], s.published))
	}
	r.figure("makespan", "The thick line: published.", bars)
	lines := chart.Lines{Frame: chart.Frame{Title: "Makespan by rate of the packet network", X: chart.Axis{Label: "packet network, Gb/s to a rack", Log: true}, Y: chart.Axis{Label: "makespan, min", Log: true}}}
	for _, name := range packNames {
		s := chart.Series{Name: packTitles[name]}
		for i := len(slowRates) - 1; i >= 0; i-- {
			s.X, s.Y = append(s.X, slowRates[i]), append(s.Y, minutes(runs[fmt.Sprint(name, " ", slowRates[i])]))
		}
		s.X, s.Y = append(s.X, 30), append(s.Y, minutes(runs[name]))
		lines.Series = append(lines.Series, s)
	}
	r.figure("rates", "Mean over repetitions. F-EPS has its own network of 100 Gb/s throughout. "+slowdowns(runs)+" "+meetBoth(runs), lines)
	batches := chart.Bars{Frame: chart.Frame{Title: "JobPacker's makespan by number of sub-batches", X: chart.Axis{Label: "over that with 5"}}}
	for _, b := range []string{"1", "5", "8", "10", "20"} {
		name := "B" + b
		if b == "5" {
			name = "jobpacker"
		}
		batches.Bars = append(batches.Bars, packEstimate(runs, name, "jobpacker", packMakespan).bar(b, math.NaN()))
	}
	r.figure("sub-batches", fmt.Sprintf("The source finds the makespan higher with 1 than with 5, and flat from there on. Here that with 5 is %s of that with 1.", number(packRatio(runs, "jobpacker", "B1", packMakespan))), batches)
}

func minutes(runs []packRun) float64 {
	var x []float64
	for i := range runs {
		x = append(x, runs[i].makespan/60)
	}
	return mean(x)
}

// drawPackOnline draws the medians beside the published ones, and all completion times.
func (r *Recorder) drawPackOnline(runs map[string][]packRun) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Median completion time over F-Hybrid's", X: chart.Axis{Label: "ratio, 1 is F-Hybrid"}}}
	for _, s := range []struct {
		label, name, base string
		of                func(*packRun) float64
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
		bars.Bars = append(bars.Bars, packEstimate(runs, s.name, s.base, s.of).bar(s.label, s.published))
	}
	r.figure("medians", "The thick line: published.", bars)
	cdf := chart.CDF{Frame: chart.Frame{Title: "Completion time, all jobs recurring, all repetitions", X: chart.Axis{Label: "completion time, s", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
	for _, name := range packNames {
		s := chart.Sample{Name: packTitles[name]}
		for i := range runs[name] {
			s.Values = append(s.Values, runs[name][i].recurring...)
		}
		cdf.Samples = append(cdf.Samples, s)
	}
	r.figure("cdf", "The farther left, the quicker. The lines lie close together"+shortJobs(cdf.Samples)+": most jobs are a single short map, whatever the policy does.", cdf)
}

// shortJobs says whether short jobs take longer under JobPacker, the last of the samples,
// than under F-Hybrid, the first.
func shortJobs(samples []chart.Sample) string {
	fair, packer := sorted(samples[0].Values), sorted(samples[len(samples)-1].Values)
	for _, q := range []float64{0.25, 0.5} {
		if quantile(packer, q) < 1.01*quantile(fair, q) {
			return ""
		}
	}
	return ", JobPacker's somewhat to the right among the short jobs"
}
