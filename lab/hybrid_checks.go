package lab

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/chart"
)

// strategies are the variants of hybrid.md 3.7 that differ without a network.
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

const fewerMachines = "large jobs hold most of the time, and a fifth of their machines is gone; what else made the published cluster faster is not described (6.20)"

const fullScaleUp = "a sample's small jobs fill 0.4 to 1.1 of the two scale-up machines' time, and where they queue there they lose, as nothing is stolen while large jobs wait: their mean goes from 0.6 to 5.6 of FS's by seed"

const noNetwork = "no network in this run: local and remote reads cost the same"

// hybridCount jobs in half an hour are the source's 1,000 in an hour.
const hybridCount = 500

func hybridBatch(r *Recorder) error {
	n := r.seeds(3, 1)
	got, err := r.hybrids(strategies(false, hybridCount), n)
	if err != nil {
		return err
	}
	js := ratioOf(got["H-w/o-JS"], got["H-FS-with"], makespanOf)
	r.within("5: makespan, H-w/o-JS / H-FS-with", js.Mean, 1, 0.02, "nothing is stolen while large jobs wait")
	for _, c := range []struct {
		with, without string
		want, limit   float64
	}{{"H-FS-with", "FS", 0.47, 0.7}, {"H-DS-with", "DS", 0.54, 0.75}} {
		small := ratioOf(got[c.with], got[c.without], smallEndOf)
		r.between("8: until the last small job ends, "+c.with+" / "+c.without, number(c.want), small.Mean, 0, c.limit, fewerMachines)
	}
	for _, c := range []struct {
		with, without, want string
	}{{"H-FS-with", "FS", "0.60 real, 0.73 simulated"}, {"H-DS-with", "DS", "0.68 real, 0.80 simulated"}, {"H-FS-w/o", "FS", "worse"}} {
		e := ratioOf(got[c.with], got[c.without], makespanOf)
		r.add(Check{
			Item: "9: makespan of all jobs, " + c.with + " / " + c.without, Published: c.want, Measured: number(e.Mean), Tolerance: "reported", Verdict: ShapeOnly,
			Why: "work conservation gives 1.22 with a fifth of the scale-out machines replaced (6.20); the published value cannot come from containers",
		})
	}
	r.forgive(fewerMachines)
	r.figure("makespan", "Ratio to the traditional cluster with the same base policy; black: published, real cluster.", hybridBars(got, "Makespan over the traditional cluster's", makespanOf, map[string]float64{"H-FS-with": 0.6, "H-DS-with": 0.68}))
	r.figure("small", "The same for the last small job.", hybridBars(got, "End of the last small job over the traditional cluster's", smallEndOf, map[string]float64{"H-FS-with": 0.47, "H-DS-with": 0.54}))
	return nil
}

func hybridBars(got map[string][]hybridRun, title string, of func(hybridRun) float64, published map[string]float64) chart.Bars {
	bars := chart.Bars{Frame: chart.Frame{Title: title, X: chart.Axis{Label: "1 is the traditional cluster"}}}
	for _, name := range []string{"H-FS-w/o", "H-FS-with", "H-w/o-JS", "H-DS-w/o", "H-DS-with"} {
		base := "FS"
		if name[2] == 'D' {
			base = "DS"
		}
		want, ok := published[name]
		if !ok {
			want = math.NaN()
		}
		bars.Bars = append(bars.Bars, ratioOf(got[name], got[base], of).bar(name, want))
	}
	return bars
}

func hybridOnline(r *Recorder) error {
	n := r.seeds(3, 2)
	list := strategies(true, hybridCount)
	list = append(list, hybridVariant{name: "literal", cluster: mixed, base: "fair", on: true, steal: true, literal: true, online: true, jobs: hybridCount})
	got, err := r.hybrids(list, n)
	if err != nil {
		return err
	}
	ablations(r, got)
	benefits(r, got)
	guardStudy(r, got, n)
	if err := errorSweep(r, n); err != nil {
		return err
	}
	if err := replacementSweep(r, n); err != nil {
		return err
	}
	r.forgive(fewerMachines)
	r.figure("completion", "Ratio to the traditional cluster; black: published, real cluster.", hybridBars(got, "Mean completion over the traditional cluster's", meanAll, map[string]float64{"H-FS-with": 0.49, "H-DS-with": 0.48}))
	cdf := chart.CDF{Frame: chart.Frame{Title: "Completion time, one run", X: chart.Axis{Label: "s", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
	for _, name := range []string{"FS", "H-FS-w/o", "H-FS-with", "H-w/o-JS"} {
		cdf.Samples = append(cdf.Samples, chart.Sample{Name: name, Values: got[name][0].all})
	}
	r.figure("cdf", "Hybrid helps the short jobs most.", cdf)
	return nil
}

func ablations(r *Recorder, got map[string][]hybridRun) {
	js := ratioOf(got["H-w/o-JS"], got["H-FS-with"], meanAll)
	r.between("6: mean completion, H-w/o-JS / H-FS-with", "1.19", js.Mean, 1.04, 1.34, "stealing pays only while scale-out machines run dry")
	p := ratioOf(got["H-FS-w/o"], got["H-FS-with"], meanAll)
	r.between("6: mean completion, H-w/o-P / H-FS-with", "1.27", p.Mean, 1.12, 1.42, "without a network H-w/o-P is H-FS-w/o")
	r.add(Check{
		Item: "6: mean completion, H-w/o-DPS / H-FS-with", Published: "1.16", Measured: "1 by construction", Tolerance: "1.03 and more",
		Verdict: NotReproduced, Why: noNetwork,
	})
}

func benefits(r *Recorder, got map[string][]hybridRun) {
	small, large := ratioOf(got["H-FS-with"], got["FS"], meanSmall), ratioOf(got["H-FS-with"], got["FS"], meanLarge)
	r.between("7: mean completion of small jobs, H-FS-with / FS", "below 0.45", small.Mean, 0, 0.6, fullScaleUp)
	r.between("7: mean completion of large jobs, H-FS-with / FS", "0.80 and more", large.Mean, 0.75, 1.05, "a fifth of the scale-out machines is gone")
	r.holds("7: small jobs gain more than large ones", "more", fmt.Sprintf("%s against %s", number(small.Mean), number(large.Mean)), small.Mean < large.Mean, fullScaleUp)
	for _, c := range [][2]string{{"H-FS-with", "FS"}, {"H-DS-with", "DS"}} {
		for _, q := range []struct {
			name, why string
			of        func(hybridRun) float64
		}{
			{"mean completion", fewerMachines, meanAll},
			{"median completion", fullScaleUp, medianAll},
			{"mean completion of small jobs", fullScaleUp, meanSmall},
			{"median completion of small jobs", fullScaleUp, medianSmall},
		} {
			e := ratioOf(got[c[0]], got[c[1]], q.of)
			r.between("9: "+q.name+", "+c[0]+" / "+c[1], "below 1", e.Mean, 0, 0.9999, q.why)
		}
	}
	e := ratioOf(got["H-FS-w/o"], got["FS"], meanAll)
	r.between("9: mean completion, H-FS-w/o / FS", "about 1", e.Mean, 0.95, inf, "")
	top, median := ratioOf(got["H-FS-with"], got["FS"], topOf), ratioOf(got["H-FS-with"], got["FS"], medianAll)
	r.between("10: completion of the largest job, H-FS-with / FS", "slower", top.Mean, 0.98, inf, "")
	r.between("10: the median falls, %", "about 60", 100*(1-median.Mean), 40, 100, fullScaleUp)
}

func guardStudy(r *Recorder, got map[string][]hybridRun, n int) {
	stolen, small := 0.0, 0.0
	for i := range n {
		stolen += float64(got["literal"][i].stolen)
		small += float64(len(got["literal"][i].small))
	}
	r.add(Check{
		Item: "12: small jobs stolen by the literal rule, %", Published: "not in the source", Measured: number(100 * stolen / small), Tolerance: "reported", Verdict: ShapeOnly,
		Why: "the cluster is loaded, so that scale-out machines seldom run dry; the specification expects a majority at light load",
	})
	e := ratioOf(got["H-FS-with"], got["literal"], meanSmall)
	r.between("12: mean completion of small jobs, with the guard / literal", "lower", e.Mean, 0, 1, "not in the source")
}

// errorSweep is item 11.
func errorSweep(r *Recorder, n int) error {
	errors := []float64{-100, -30, 0, 30, 100}
	var list []hybridVariant
	for _, e := range errors {
		list = append(list, hybridVariant{name: number(e), cluster: mixed, base: "fair", on: true, steal: true, online: true, jobs: hybridCount, wrong: max(1+e/100, 1e-6)})
	}
	got, err := r.hybrids(list, n)
	if err != nil {
		return err
	}
	line := chart.Series{Name: "mean completion"}
	worst := 0.0
	for _, e := range errors {
		v := ratioOf(got[number(e)], got[number(0)], meanAll).Mean
		line.X, line.Y = append(line.X, e), append(line.Y, v)
		if math.Abs(e) <= 30 {
			worst = max(worst, v)
		}
	}
	r.between("11: mean completion with errors up to 30 %, over none", "nearly unchanged (Fig. 5.18)", worst, 0, 1.05, "")
	r.figure("errors", "What wrong predictions of shuffle sizes cost.", chart.Lines{
		Frame: chart.Frame{Title: "Mean completion over error of prediction", X: chart.Axis{Label: "error of the shuffle size, %"}, Y: chart.Axis{Label: "over no error"}}, Series: []chart.Series{line},
	})
	return nil
}

// replacementSweep is item 13.
func replacementSweep(r *Recorder, n int) error {
	var list []hybridVariant
	clusters := []hybridCluster{{5, 10, 0}, {5, 9, 1}, {4, 10, 2}, {3, 10, 4}}
	for _, c := range clusters {
		list = append(list, hybridVariant{name: fmt.Sprint(c.up), cluster: c, base: "fair", on: c.up > 0, steal: true, online: true, jobs: hybridCount})
	}
	got, err := r.hybrids(list, n)
	if err != nil {
		return err
	}
	var means []float64
	best := 0
	for i, c := range clusters {
		means = append(means, ratioOf(got[fmt.Sprint(c.up)], got["0"], meanAll).Mean)
		if means[i] < means[best] {
			best = i
		}
	}
	r.holds("13: mean completion with 0, 10, 20, 40 % of machines replaced has its minimum inside", "interior minimum", fmt.Sprintf("%.3f", means), best > 0 && best < len(means)-1, "at equal cost")
	return nil
}

// forgive takes a reason for disagreement off the checks that agree.
func (r *Recorder) forgive(why string) {
	for i := range r.report.Checks {
		if c := &r.report.Checks[i]; c.Verdict == Reproduced && c.Why == why {
			c.Why = ""
		}
	}
}
