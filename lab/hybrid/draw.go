package hybrid

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
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
		bars.Bars = append(bars.Bars, lab.Ratio(got[name], got[base], of).Bar(name+" / "+base, want))
	}
	return bars
}

// drawOnline draws who gains: the means, each repetition, and all jobs.
func drawOnline(r *lab.Recorder, got map[string][]hybridRun) {
	r.Figure("completion", hybridBars(got, "Mean completion time over the traditional cluster's", meanAll, map[string]float64{"H-FS-with": 0.49, "H-DS-with": 0.48}))
	each := chart.Bars{
		Frame:  chart.Frame{Title: "H-FS-with over FS, each repetition", X: chart.Axis{Label: "ratio of mean completion times, 1 is FS"}},
		Groups: []string{"small jobs", "large jobs"},
	}
	var lose [2]int
	for i := range got["FS"] {
		for k, of := range []func(hybridRun) float64{meanSmall, meanLarge} {
			v := of(got["H-FS-with"][i]) / of(got["FS"][i])
			if v > 1 {
				lose[k]++
			}
			each.Bars = append(each.Bars, chart.Plain(fmt.Sprintf("repetition %d, %s", i+1, each.Groups[k]), v).In(k))
		}
	}
	r.Figure("repetitions", each, lab.Facts{"small": lose[0], "large": lose[1], "all": len(got["FS"])})
	cdf := chart.CDF{Frame: chart.Frame{Title: "Completion time of all jobs of all repetitions", X: chart.Axis{Label: "completion time, s", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
	for _, name := range []string{"FS", "H-FS-w/o", "H-FS-with"} {
		s := chart.Sample{Name: name}
		for _, run := range got[name] {
			s.Values = append(s.Values, run.all...)
		}
		cdf.Samples = append(cdf.Samples, s)
	}
	r.Figure("cdf", cdf, lab.Facts{"stealing": lab.Ratio(got["H-w/o-JS"], got["H-FS-with"], meanAll).Mean})
}

func drawReplacement(r *lab.Recorder, name string, clusters []hybridCluster, got map[string][]hybridRun) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Scale-out machines replaced by scale-up machines at equal cost", X: chart.Axis{Label: "mean completion time over that of scale-out machines alone"}}}
	for _, c := range clusters {
		label := fmt.Sprintf("%d scale-out, %d scale-up", c.racks*c.perRack, c.up)
		bars.Bars = append(bars.Bars, lab.Ratio(got[fmt.Sprint(c.up)], got["0"], meanAll).Bar(label, math.NaN()))
	}
	r.Figure(name, bars)
}

// drawRacks draws the replicas of each rack beside the two-plus-one rule.
func drawRacks(r *lab.Recorder, replicas []float64, blocks float64) {
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
	r.Figure("racks", bars)
}

// drawLocality draws where the maps of stolen and of other jobs ran.
func drawLocality(r *lab.Recorder, runs []hybridRun) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Maps on scale-out machines that have their data in their rack", X: chart.Axis{Label: "% of the maps"}}}
	for k, label := range []string{"large jobs, not stolen", "stolen jobs"} {
		var x []float64
		for _, run := range runs {
			if stolenJobs(run) > 0 {
				x = append(x, 100*run.local[k])
			}
		}
		bars.Bars = append(bars.Bars, stats.NewEstimate(x).Bar(label, math.NaN()))
	}
	r.Figure("locality", bars)
}

// drawSteals draws how many jobs were stolen in each schedule.
func drawSteals(r *lab.Recorder, watches []*stealWatch) {
	s := chart.Sample{Name: "schedules"}
	for _, w := range watches {
		s.Values = append(s.Values, float64(w.steals))
	}
	r.Figure("steals", chart.CDF{
		Frame:   chart.Frame{Title: "Stolen jobs of a schedule", X: chart.Axis{Label: "stolen jobs"}, Y: chart.Axis{Label: "share of schedules"}},
		Samples: []chart.Sample{s},
	})
}

// drawClasses draws the accuracy, and some of the jobs.
func drawClasses(r *lab.Recorder, judge []labelledJob, unknown []bool, all, half float64) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Jobs that are classified as the label rule says", X: chart.Axis{Label: "% of the jobs"}}}
	for _, b := range []struct {
		label           string
		value, reported float64
	}{{"all jobs recur", all, 96.2}, {"every second job recurs", half, 85.7}} {
		bars.Bars = append(bars.Bars, chart.Plain(b.label, b.value).Beside(b.reported))
	}
	r.Figure("right", bars)
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
	r.Figure("classes", s)
}
