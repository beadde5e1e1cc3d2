package hybrid

import (
	"fmt"
	"math"
	"strings"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// strategies are the variants of spec/hybrid 3.7 that differ without a network.
func strategies(online bool, jobs int) []hybridVariant {
	return []hybridVariant{
		{name: "FS", cluster: traditional, base: "fair", online: online, jobs: jobs},
		{name: "DS", cluster: traditional, base: "delay", online: online, jobs: jobs},
		{name: "H-FS-w/o", cluster: mixed, base: "fair", online: online, jobs: jobs},
		{name: "H-DS-w/o", cluster: mixed, base: "delay", online: online, jobs: jobs},
		{name: "H-FS-with", cluster: mixed, base: "fair", on: true, steal: true, online: online, jobs: jobs},
		{name: "H-DS-with", cluster: mixed, base: "delay", on: true, steal: true, online: online, jobs: jobs},
		{name: "H-w/o-JS", cluster: mixed, base: "fair", on: true, online: online, jobs: jobs},
	}
}

// hybridCount jobs in an hour are the source's.
const hybridCount = 1000

func batch(r *lab.Recorder) {
	n := r.Seeds(5, 2)
	at := newSetting(r)
	got := hybrids(r, at.of(strategies(false, hybridCount), judgedScale), n)
	scaleRows(r, at, got, false, n, []quantity{{"5: makespan, H-w/o-JS / H-FS-with", "1.00", "H-w/o-JS", "H-FS-with", makespanOf}, {"9: makespan of all jobs, H-FS-with / FS", "0.60 real, 0.73 simulated", "H-FS-with", "FS", makespanOf}})
	js := lab.Ratio(got["H-w/o-JS"], got["H-FS-with"], makespanOf)
	r.Check(lab.Within("5: makespan, H-w/o-JS / H-FS-with", js.Mean, 1, 0.02).Because("nothing is stolen while large jobs wait, so stealing changes nothing").Shown("%.3f", js.Mean).Missed(r.Say("by the rule")))
	for _, c := range []struct {
		with, without string
		want, limit   float64
	}{{"H-FS-with", "FS", 0.47, 0.7}, {"H-DS-with", "DS", 0.54, 0.75}} {
		small := lab.Ratio(got[c.with], got[c.without], smallEndOf)
		r.Check(lab.Between("8: until the last small job ends, "+c.with+" / "+c.without, stats.Text(c.want), small.Mean, 0, c.limit).Mark(c.want).SameSide(1).Accept("at most " + stats.Text(c.limit)).Missed(r.Say("nearly large")))
	}
	for _, c := range []struct {
		with, without, want, why string
	}{
		{"H-FS-with", "FS", "0.60 real, 0.73 simulated", r.Say("containers", containers())},
		{"H-DS-with", "DS", "0.68 real, 0.80 simulated", r.Say("containers", containers())},
		{"H-FS-w/o", "FS", "worse (above 1)", r.Say("anywhere", containers())},
	} {
		e := lab.Ratio(got[c.with], got[c.without], makespanOf)
		r.Check(lab.Reported("9: makespan of all jobs, "+c.with+" / "+c.without, c.want, stats.Text(e.Mean)).Because(c.why))
	}
	r.Figure("makespan", hybridBars(got, "Makespan over the traditional cluster's", makespanOf, map[string]float64{"H-FS-with": 0.6, "H-DS-with": 0.68}))
	r.Figure("small", hybridBars(got, "End of the last small job over the traditional cluster's", smallEndOf, map[string]float64{"H-FS-with": 0.47, "H-DS-with": 0.54}))
}

// largeWork is the share of the maps of FB-2010 that belongs to large jobs (spec/hybrid 2.6).
const largeWork = 0.975

// containers are the facts of the work conservation of spec/hybrid 6.20.
func containers() lab.Facts {
	before, after := traditional.slots(), mixed.racks*mixed.perRack*outSlots
	return lab.Facts{
		"before": before, "after": after, "hybrid": mixed.slots(), "percent": 100 * largeWork,
		"work": largeWork, "part": float64(after) / float64(before), "over": largeWork * float64(before) / float64(after),
	}
}

func online(r *lab.Recorder) {
	n := r.Seeds(5, 2)
	at := newSetting(r)
	list := strategies(true, hybridCount)
	list = append(list, hybridVariant{name: "literal", cluster: mixed, base: "fair", on: true, steal: true, literal: true, online: true, jobs: hybridCount})
	got := hybrids(r, at.of(list, judgedScale), n)
	ablations(r, got)
	dataPlacement(r, at, n)
	benefits(r, got)
	tail(r, got)
	guardStudy(r, got, n)
	scaleRows(r, at, got, true, n, []quantity{
		{"6: mean completion, H-w/o-JS / H-FS-with", "1.19", "H-w/o-JS", "H-FS-with", meanAll},
		{"6: mean completion, H-w/o-P / H-FS-with", "1.27", "H-FS-w/o", "H-FS-with", meanAll},
		{"7: mean completion of small jobs, H-FS-with / FS", "below 0.45", "H-FS-with", "FS", meanSmall},
		{"7: mean completion of large jobs, H-FS-with / FS", "0.80 and more", "H-FS-with", "FS", meanLarge},
		{"9: mean completion, H-FS-with / FS", "0.49 real", "H-FS-with", "FS", meanAll},
		{"9: median completion, H-FS-with / FS", "about 0.40 real", "H-FS-with", "FS", medianAll},
		{"10: completion of the largest job, H-FS-with / FS", "slower (above 1)", "H-FS-with", "FS", topOf},
	})
	wholeDay(r, at)
	errorSweep(r, at, n)
	replacementSweep(r, at, n)
	drawOnline(r, got)
	watched := at.of(list, judgedScale)
	r.Watch(watched[0].scene(r), watched[4].scene(r))
}

func ablations(r *lab.Recorder, got map[string][]hybridRun) {
	js := lab.Ratio(got["H-w/o-JS"], got["H-FS-with"], meanAll)
	r.Check(lab.Between("6: mean completion, H-w/o-JS / H-FS-with", "1.19", js.Mean, 1.04, 1.34).Mark(1.19).SameSide(1).Shown("%.3f", js.Mean).Missed(r.Say("never dry", lab.Facts{"stolen": lab.Mean(got["H-FS-with"], stolenJobs), "literal": lab.Mean(got["literal"], stolenJobs)})))
	p := lab.Ratio(got["H-FS-w/o"], got["H-FS-with"], meanAll)
	r.Check(lab.Between("6: mean completion, H-w/o-P / H-FS-with", "1.27", p.Mean, 1.12, 1.42).Because("without a network H-w/o-P is the same as H-FS-w/o, which was run").Mark(1.27).SameSide(1).Missed(r.Say("two machines")))
}

func benefits(r *lab.Recorder, got map[string][]hybridRun) {
	small, large := lab.Ratio(got["H-FS-with"], got["FS"], meanSmall), lab.Ratio(got["H-FS-with"], got["FS"], meanLarge)
	low, high := math.Inf(1), math.Inf(-1) // of single samples
	for i, fs := range got["FS"] {
		v := meanSmall(got["H-FS-with"][i]) / meanSmall(fs)
		low, high = min(low, v), max(high, v)
	}
	r.Check(lab.Between("7: mean completion of small jobs, H-FS-with / FS", "below 0.45", small.Mean, 0, 0.6).Accept("at most 0.6").Direction(small.Mean < 1).Missed(r.Say("shared", lab.Facts{"low": low, "high": high})))
	r.Check(lab.Between("7: mean completion of large jobs, H-FS-with / FS", "0.80 and more (up to 20 % shorter)", large.Mean, 0.75, 1.05).Missed("a fifth of the scale-out machines, on which large jobs run, is gone"))
	r.Check(lab.Holds("7: small jobs gain more than large ones", "small jobs' ratio to FS is the lower one", fmt.Sprintf("%s for small jobs, %s for large ones", stats.Text(small.Mean), stats.Text(large.Mean)), small.Mean < large.Mean, "small below large").Because("ratios of the mean completion time to FS's").Missed(r.Say("queued")))
	for _, c := range [][2]string{{"H-FS-with", "FS"}, {"H-DS-with", "DS"}} {
		for _, q := range []struct {
			name, published, why string
			of                   func(hybridRun) float64
		}{
			{"mean completion", "below 1 (%s on the real cluster)", r.Say("fewer machines"), meanAll},
			{"median completion", "below 1 (about 0.40 on the real cluster)", r.Say("queued"), medianAll},
			{"mean completion of small jobs", "below 1 (below 0.45 on the real cluster)", r.Say("queued"), meanSmall},
			{"median completion of small jobs", "below 1", r.Say("queued"), medianSmall},
		} {
			e := lab.Ratio(got[c[0]], got[c[1]], q.of)
			published := strings.Replace(q.published, "%s", map[string]string{"FS": "0.49", "DS": "0.48"}[c[1]], 1)
			r.Check(lab.Between("9: "+q.name+", "+c[0]+" / "+c[1], published, e.Mean, 0, 0.9999).Accept("below 1").Missed(q.why))
		}
	}
}

// tail is the rest of item 9, and item 10.
func tail(r *lab.Recorder, got map[string][]hybridRun) {
	e := lab.Ratio(got["H-FS-w/o"], got["FS"], meanAll)
	r.Check(lab.AtLeast("9: mean completion, H-FS-w/o / FS", "about 1", e.Mean, 0.95).Mark(1))
	top, median := lab.Ratio(got["H-FS-with"], got["FS"], topOf), lab.Ratio(got["H-FS-with"], got["FS"], medianAll)
	r.Check(lab.AtLeast("10: completion of the largest job, H-FS-with / FS", "slower (above 1)", top.Mean, 0.98).Because("the source says it of a few extremely large jobs; of 1,000 the largest is taken").Missed(r.Say("by the rule")))
	fallen := lab.Between("10: the median falls, %", "about 60", 100*(1-median.Mean), 40, 100).Mark(60).SameSide(0).Accept("by at least 40 %").Missed(r.Say("queued"))
	if median.Mean > 1 {
		fallen = fallen.Shown("it rises, to %s times FS's", stats.Text(median.Mean))
	}
	r.Check(fallen)
}

func guardStudy(r *lab.Recorder, got map[string][]hybridRun, n int) {
	stolen, small := 0.0, 0.0
	for i := range n {
		stolen += float64(got["literal"][i].stolen)
		small += float64(len(got["literal"][i].small))
	}
	r.Check(lab.Reported("12: small jobs stolen by the literal rule, %", "nothing: our question", stats.Text(100*stolen/small)).Because("this cluster is loaded, so that scale-out machines seldom run dry; our specification expects a majority at light load"))
	e := lab.Ratio(got["H-FS-with"], got["literal"], meanSmall)
	r.Check(lab.Between("12: mean completion of small jobs, with the guard / literal", "nothing: we expect it not to be higher", e.Mean, 0, 1).Accept("at most 1"))
}

// errorSweep is item 11.
func errorSweep(r *lab.Recorder, at setting, n int) {
	errors := []float64{-100, -30, 0, 30, 100}
	var list []hybridVariant
	for _, e := range errors {
		list = append(list, hybridVariant{name: stats.Text(e), cluster: mixed, base: "fair", on: true, steal: true, online: true, jobs: hybridCount, wrong: max(1+e/100, 1e-6)})
	}
	got := hybrids(r, at.of(list, judgedScale), n)
	line := chart.Series{Name: "mean completion"}
	worst := 0.0
	for _, e := range errors {
		v := lab.Ratio(got[stats.Text(e)], got[stats.Text(0)], meanAll).Mean
		line.X, line.Y = append(line.X, e), append(line.Y, v)
		if math.Abs(e) <= 30 {
			worst = max(worst, v)
		}
	}
	r.Check(lab.Between("11: mean completion with errors up to 30 %, over none", "nearly unchanged (Fig. 5.18)", worst, 0, 1.05).Mark(1).Accept("at most 1.05").Shown("%.3f, the worse of -30 and 30 %%", worst))
	r.Figure("errors", chart.Lines{
		Frame: chart.Frame{
			Title: "Mean completion time over that without error of prediction",
			X:     chart.Axis{Label: "error of the predicted shuffle size, %"}, Y: chart.Axis{Label: "ratio, 1 is no error"},
		},
		Series: []chart.Series{line},
	}, lab.Facts{"none": lab.Mean(got[stats.Text(0)], jobsOnUp), "low": lab.Mean(got[stats.Text(-100)], jobsOnUp), "ratio": line.Y[0]})
}

// replacementSweep is item 13.
func replacementSweep(r *lab.Recorder, at setting, n int) {
	var list []hybridVariant
	clusters := []hybridCluster{{5, 10, 0}, {5, 9, 1}, {4, 10, 2}, {3, 10, 4}}
	for _, c := range clusters {
		list = append(list, hybridVariant{name: fmt.Sprint(c.up), cluster: c, base: "fair", on: c.up > 0, steal: true, online: true, jobs: hybridCount})
	}
	got := hybrids(r, at.of(list, judgedScale), n)
	var means []float64
	for _, c := range clusters {
		means = append(means, lab.Ratio(got[fmt.Sprint(c.up)], got["0"], meanAll).Mean)
	}
	said := fmt.Sprintf("%.3f, %.3f, %.3f, %.3f for 0, 10, 20, 40 %%, over 0 %%", means[0], means[1], means[2], means[3])
	r.Check(lab.Reported("13: mean completion with 0, 10, 20, 40 % of machines replaced", "nothing; our specification expects the minimum inside", said).Because("at equal cost: 5 scale-out machines for 1 scale-up machine"))
	drawReplacement(r, clusters, got)
}
