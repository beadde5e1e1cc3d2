package lab

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/chart"
)

func hybridBars(got map[string][]hybridRun, title string, of func(hybridRun) float64, published map[string]float64) chart.Bars {
	bars := chart.Bars{Frame: chart.Frame{Title: title, X: chart.Axis{Label: "ratio, 1 is the traditional cluster"}}}
	for _, name := range []string{"H-FS-w/o", "H-FS-with", "H-w/o-JS", "H-DS-w/o", "H-DS-with"} {
		base := "FS"
		if name[2] == 'D' {
			base = "DS"
		}
		want, ok := published[name]
		if !ok {
			want = math.NaN()
		}
		bars.Bars = append(bars.Bars, ratioOf(got[name], got[base], of).bar(name+" / "+base, want))
	}
	return bars
}

// drawOnline draws who gains: the means, each repetition, and all jobs.
func drawOnline(r *Recorder, got map[string][]hybridRun) {
	r.figure("completion", "Each bar is the mean completion time over that of the traditional cluster with the same order of jobs. The thick line: published, real cluster.",
		hybridBars(got, "Mean completion time over the traditional cluster's", meanAll, map[string]float64{"H-FS-with": 0.49, "H-DS-with": 0.48}))
	each := chart.Bars{
		Frame:  chart.Frame{Title: "H-FS-with over FS, each repetition", X: chart.Axis{Label: "ratio of mean completion times, 1 is FS"}},
		Groups: []string{"small jobs", "large jobs"},
	}
	crowded := 0
	for i := range got["FS"] {
		if meanSmall(got["H-FS-with"][i]) > meanSmall(got["FS"][i]) {
			crowded++
		}
		for k, of := range []func(hybridRun) float64{meanSmall, meanLarge} {
			b := chart.Plain(fmt.Sprintf("repetition %d, %s", i+1, each.Groups[k]), of(got["H-FS-with"][i])/of(got["FS"][i]))
			b.Group = k
			each.Bars = append(each.Bars, b)
		}
	}
	r.figure("repetitions", fmt.Sprintf("Small jobs gain where the scale-up machines have room, below 1, and lose where these are crowded: here in %d of %d repetitions.", crowded, len(got["FS"])), each)
	cdf := chart.CDF{Frame: chart.Frame{Title: "Completion time of all jobs of all repetitions", X: chart.Axis{Label: "completion time, s", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
	for _, name := range []string{"FS", "H-FS-w/o", "H-FS-with"} {
		s := chart.Sample{Name: name}
		for _, run := range got[name] {
			s.Values = append(s.Values, run.all...)
		}
		cdf.Samples = append(cdf.Samples, s)
	}
	js := ratioOf(got["H-w/o-JS"], got["H-FS-with"], meanAll)
	r.figure("cdf", fmt.Sprintf("The farther left, the quicker. Where H-FS-with is right of FS, small jobs waited for the two scale-up machines. H-w/o-JS is left out: its mean is %.3f of H-FS-with's, and its line would hide that one.", js.Mean), cdf)
}

// errorCaption says what wrong predictions change; ratio is that of the mean at -100 %.
func errorCaption(got map[string][]hybridRun, ratio float64) string {
	none, low := onUp(got[number(0)]), onUp(got[number(-100)])
	said := fmt.Sprintf("At -100 %% every job counts as one without shuffle, so jobs that are nearly large are no longer called small: the scale-up machines get %.4g of 500 jobs instead of %.4g. ", low, none)
	if low < none && ratio < 1 {
		said += "Even one such job holds those machines for long and the other small jobs queue behind it, so that without it the mean falls. "
	}
	return said + "(The simulator also takes the speed of a job on scale-up machines from the predicted size.)"
}

// onUp is how many jobs of a run stayed on scale-up machines, on average.
func onUp(runs []hybridRun) float64 {
	var x []float64
	for _, run := range runs {
		x = append(x, float64(run.onUp))
	}
	return mean(x)
}

func (r *Recorder) drawReplacement(clusters []hybridCluster, got map[string][]hybridRun) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Scale-out machines replaced by scale-up machines at equal cost", X: chart.Axis{Label: "mean completion time over that of 50 scale-out machines"}}}
	for _, c := range clusters {
		label := fmt.Sprintf("%d scale-out, %d scale-up", c.racks*c.perRack, c.up)
		bars.Bars = append(bars.Bars, ratioOf(got[fmt.Sprint(c.up)], got["0"], meanAll).bar(label, math.NaN()))
	}
	r.figure("replacement", "All strategies are on. The specification expects the lowest bar in the middle.", bars)
}

// drawRacks draws the replicas of each rack beside the two-plus-one rule.
func (r *Recorder) drawRacks(replicas []float64, blocks float64) {
	bars := chart.Bars{
		Frame: chart.Frame{Title: "Replicas of 10,000 blocks by rack", X: chart.Axis{Label: "replicas"}}, Reference: "rule",
	}
	for i, count := range replicas {
		b := chart.Plain(fmt.Sprintf("scale-out rack %d, 10 machines", i+1), count)
		b.Published = 2 * blocks / float64(mixed.racks)
		if i == mixed.racks {
			b.Label, b.Published = "scale-up rack, 2 machines", blocks
		}
		bars.Bars = append(bars.Bars, b)
	}
	r.figure("racks", "The thick line: what two replicas on a random scale-out rack and one on the scale-up rack give. The scale-up machines store a third of everything.", bars)
}

// drawLocality draws where the maps of stolen and of other jobs ran.
func (r *Recorder) drawLocality(runs []hybridRun) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Maps on scale-out machines that have their data in their rack", X: chart.Axis{Label: "% of the maps"}}}
	for k, label := range []string{"large jobs, not stolen", "stolen jobs"} {
		var x []float64
		for _, run := range runs {
			if run.stolen > 0 {
				x = append(x, 100*run.local[k])
			}
		}
		bars.Bars = append(bars.Bars, NewEstimate(x).bar(label, math.NaN()))
	}
	r.figure("locality", "On the same machine or in the same rack. A stolen job may lose two points at most.", bars)
}

// drawSteals draws how many jobs were stolen in each schedule.
func (r *Recorder) drawSteals(watches []*stealWatch) {
	s := chart.Sample{Name: "schedules"}
	for _, w := range watches {
		s.Values = append(s.Values, float64(w.steals))
	}
	r.figure("steals", "How often the rules were put to the test: read the share of schedules with at most so many stolen jobs.", chart.CDF{
		Frame:   chart.Frame{Title: "Stolen jobs of a schedule", X: chart.Axis{Label: "stolen jobs"}, Y: chart.Axis{Label: "share of schedules"}},
		Samples: []chart.Sample{s},
	})
}

// drawClasses draws the accuracy, and some of the jobs.
func (r *Recorder) drawClasses(judge []labelledJob, unknown []bool, all, half float64) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Jobs that are classified as the label rule says", X: chart.Axis{Label: "% of the jobs"}}}
	for _, b := range []struct {
		label           string
		value, reported float64
	}{{"all jobs recur", all, 96.2}, {"every second job recurs", half, 85.7}} {
		bar := chart.Plain(b.label, b.value)
		bar.Published = b.reported
		bars.Bars = append(bars.Bars, bar)
	}
	r.figure("right", "The thick line: published.", bars)
	s := chart.Scatter{
		Frame: chart.Frame{Title: "Jobs classified without their shuffle size", X: chart.Axis{Label: "input, GB", Log: true}, Y: chart.Axis{Label: "shuffle, GB", Log: true}},
		Groups: []chart.Series{
			{Name: "small, called small"}, {Name: "large, called large"}, {Name: "small, called large (safe)"}, {Name: "large, called small (harmful)"},
		},
	}
	for i, j := range judge[:min(len(judge), 6000)] {
		k := map[[2]bool]int{{true, true}: 0, {false, false}: 1, {true, false}: 2, {false, true}: 3}[[2]bool{j.Small, unknown[i]}]
		s.Groups[k].X, s.Groups[k].Y = append(s.Groups[k].X, j.input/hybridGB), append(s.Groups[k].Y, j.Shuffle/hybridGB)
	}
	r.figure("classes", "6,000 of the judged jobs; those without shuffle or input have no place on the axes. The border between small and large bends to the right as the shuffle grows; the classifier, told of no shuffle, draws it nearly straight up at its left end. It also sees the number of reduces, so small jobs further left are called large too if they have several of them.", s)
}
