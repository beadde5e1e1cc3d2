package marp

import (
	"fmt"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/admission"
	"github.com/millrace/millrace/sim"
)

// ablation is spec/marp 6, items 11, 12 and 15.
func ablation(r *lab.Recorder) {
	n := r.Seeds(200, 200)
	base := gains(r, teraSort3, 6, n)
	run := func(control string, fast bool, change change) []batchRun {
		return batches(r, batchSetup{kind: teraSort3, jobs: 6, control: control, fast: fast, change: change}, n)
	}
	noDrop := func(c *admission.Config, _ *admission.Limits) { c.Dec = 0 }
	model := map[string]string{"cbt": "0.24 against 0.26", "cbtws": "0.21 against 0.14", "cbtwat": "0.18 against 0.09"}
	for _, name := range controllers {
		runs := run(name, false, noDrop)
		without, with := doubleStarts(runs), doubleStarts(base.runs[name])
		item := "11: double starts a run, without the drop against with it, " + name
		measured := fmt.Sprintf("%s against %s; completion %s against %s s", stats.Text(without), stats.Text(with), stats.Text(lab.Mean(runs, total)), stats.Text(base.total[name].Mean))
		if name == "cbt" {
			r.Check(lab.Reported(item, "not claimed", measured).Because(model[name] + " in the specification's model"))
			continue
		}
		r.Check(lab.Holds(item, lab.Sign("more without it (5.2)"), measured, without > with, "more without the drop").Because(r.Say("argument", lab.Facts{"model": model[name]})))
	}
	noSleep := run("cbt", false, func(c *admission.Config, _ *admission.Limits) { c.AfterIncrease = 0 })
	r.Check(lab.Between("12: CBT without its sleep raises MARP three times within 15 s, % of runs", lab.Order("several starts in a row"), rushes(noSleep), 90, 100).Because("within 15 s of the first increase"))
	r.Check(lab.Holds("12: mean number of running jobs, without the sleep against with it", lab.Sign("rises"), fmt.Sprintf("%s against %s jobs", stats.Text(concurrency(noSleep)), stats.Text(concurrency(base.runs["cbt"]))), concurrency(noSleep) > concurrency(base.runs["cbt"]), "more without the sleep").Because("4.65 against 3.02 in the specification's model"))
	delayFactor(r, base, run)
	delaysWithoutDisk(r, n)
}

// atOnce lets the scheduler read its file as soon as it is written.
func atOnce(_ *admission.Config, l *admission.Limits) { l.ReloadMin, l.ReloadMax = 0, 0 }

func delayFactor(r *lab.Recorder, base gainRuns, run func(control string, fast bool, change change) []batchRun) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Completion of the batch with and without delays", X: chart.Axis{Label: "s, mean"}}, Groups: []string{"with both delays", "no reload delay", "neither reload delay nor start-up"}}
	for _, name := range controllers {
		runs := [][]batchRun{base.runs[name], run(name, false, atOnce), run(name, true, atOnce)}
		was, quick, quicker := lab.Mean(runs[0], total), lab.Mean(runs[1], total), lab.Mean(runs[2], total)
		for k, v := range []float64{was, quick, quicker} {
			bars.Bars = append(bars.Bars, chart.Plain(shownAs[name], v).In(k))
		}
		measured := fmt.Sprintf("%s -> %s s, without start-up as well %s s; jobs at once %s", stats.Text(was), stats.Text(quick), stats.Text(quicker), stats.Texts(lab.Each(runs, concurrency)...))
		if name == "cbtwat" {
			r.Check(lab.Reported("15: no reload delay, cbtwat, s", "hardly changes", measured).Because("647 -> 653, 613 in the specification's model"))
			continue
		}
		want := map[string]string{"cbt": "687 -> 646, 673", "cbtws": "657 -> 627, 605"}[name]
		r.Check(lab.Holds("15: no reload delay, "+name+", s", lab.Sign("faster (7.5)"), measured, quick < was && was-quick < 150, "faster, by less than 150 s").Because(want + " in the specification's model; the source hopes for up to 150 s"))
	}
	r.Figure("delays", bars)
}

// delaysWithoutDisk is spec/marp 6, item 15 where maps take nothing from the disk: it says which term of the profile makes CBT no faster without any
// delay.
func delaysWithoutDisk(r *lab.Recorder, n int) {
	free := func(c *sim.ContentionConfig) { c.Gamma = 0 }
	for _, name := range controllers {
		took := func(fast bool, change change) string {
			return stats.Text(lab.Mean(batches(r, batchSetup{kind: teraSort3, jobs: 6, control: name, fast: fast, change: change, profile: free}, n), total))
		}
		r.Check(lab.Reported("15: no reload delay, "+name+", where maps take nothing from the disk, s", "not given", fmt.Sprintf("%s -> %s s, without start-up as well %s s", took(false, nil), took(false, atOnce), took(true, atOnce))).
			Because("the profile with one term taken out, as in marp-sweep"))
	}
}

// doubleStarts counts pairs of jobs admitted within five seconds of each other, the
// first of a batch apart, per run.
func doubleStarts(runs []batchRun) float64 {
	pairs := 0
	for _, b := range runs {
		at := stats.Sorted(b.admitted)
		for i := 1; i < len(at); i++ {
			if at[i-1] > 1 && at[i]-at[i-1] <= 5 {
				pairs++
			}
		}
	}
	return float64(pairs) / float64(len(runs))
}

// rushes is the share of runs with three increases within 15 s of the first, per cent.
func rushes(runs []batchRun) float64 {
	n := 0
	for _, b := range runs {
		if ups := increases(b.acts); len(ups) >= 3 && ups[2].at-ups[0].at <= 15 {
			n++
		}
	}
	return 100 * float64(n) / float64(len(runs))
}

func concurrency(runs []batchRun) float64 {
	return lab.Mean(runs, func(b batchRun) float64 { return b.busy })
}
