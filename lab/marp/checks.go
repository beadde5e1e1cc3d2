package marp

import (
	"fmt"
	"math"
	"slices"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
)

func sixTeraSorts(r *lab.Recorder) {
	n := r.Seeds(200, 200)
	g := gains(r, teraSort3, 6, n)
	m := func(name string) float64 { return g.total[name].Mean }
	r.Check(lab.Within("4: TeraSort 6 x 3 GB, all in parallel, s", m("prj"), 782.5, 0.05*782.5).Because(calibrated))
	for i, published := range []float64{10.9, 18, 18.9} {
		r.Check(lab.Within("4: gain of "+controllers[i]+", %", g.gain[controllers[i]], published, 5).Because(calibrated))
	}
	order(r, "4: TeraSort", g, "782 > 697 > 641, 634 s")
	r.Check(lab.Between("4: CBTwS and CBTwAT apart, % of PRJ", lab.Number("0.9"), math.Abs(g.gain["cbtws"]-g.gain["cbtwat"]), 0, 5).Because("points between their gains").Mark(0.9))
	staircase(r, g.runs["cbt"])
	smoothing(r, n)
	progressRates(r, g)
	firstThreshold(r, n)
	spreadOfTotals(r, g)
	r.Figure("completion", g.bars("Completion of the batch", 782.5, 696.5, 641.3, 634.4))
	drawBatches(r, g)
	scene := func(name string, b batchSetup) lab.Scene {
		b = b.in(r)
		return lab.Scene{Name: "fair", Admission: name, Setup: func() (sim.Config, []*sim.Job, error) {
			cfg, jobs, _, err := b.config(r.Seed())
			return cfg, jobs, err
		}}
	}
	r.Watch(scene("static-marp", parallelRun(teraSort3, 6)), scene("cbt", batchSetup{kind: teraSort3, jobs: 6, control: "cbt"}))
}

// drawBatches draws what the controllers write, and for PRJ and CBT what ran where.
func drawBatches(r *lab.Recorder, g gainRuns) {
	marp := chart.Lines{Frame: chart.Frame{Title: "MARP as the controllers write it, one run", X: chart.Axis{Label: "time, s"}, Y: chart.Axis{Label: "MARP"}}, Steps: true}
	for _, name := range controllers {
		run := g.runs[name][0]
		s := chart.Series{Name: shownAs[name], X: []float64{0}, Y: []float64{0.05}}
		for _, a := range run.acts {
			s.X, s.Y = append(s.X, a.at), append(s.Y, a.to)
		}
		s.X, s.Y = append(s.X, run.total), append(s.Y, s.Y[len(s.Y)-1])
		marp.Series = append(marp.Series, s)
	}
	r.Figure("marp", marp)
	r.Figure("gantt-cbt", fromOne(g.watch["cbt"].Gantt("Tasks by node, CBT", 0, lab.Seconds(g.runs["cbt"][0].total))))
	for _, name := range []string{"prj", "cbt"} {
		run := g.runs[name][0]
		r.Figure("jobs-"+name, g.watch[name].Area("Tasks by job, "+shownAs[name], lab.Seconds(run.total)))
		r.Figure("idle-"+name, chart.Lines{
			Frame:  chart.Frame{Title: "Processors idle, " + shownAs[name], X: chart.Axis{Label: "time, s"}, Y: chart.Axis{Label: "% of processors idle", Min: 0, Max: 100}},
			Series: []chart.Series{{Name: "idle", X: run.idle.at, Y: run.idle.value}}, Marks: []chart.Mark{{Name: "above: start one more", Value: 15}},
		})
	}
}

// staircase is spec/marp 6, item 9: CBT starts the second job when the first has left its maps.
func staircase(r *lab.Recorder, runs []batchRun) {
	late := 0
	for _, b := range runs {
		second := math.Inf(1)
		for _, at := range b.admitted {
			if at > 1 && at < second {
				second = at
			}
		}
		if second > b.firstHalf {
			late++
		}
	}
	var gaps, busy []float64
	begins := 0
	for _, b := range runs {
		ups := increases(b.acts)
		if len(ups) == 0 {
			continue
		}
		gaps = append(gaps, b.secondMaps-ups[0].at)
		for i, t := range b.idle.at {
			if t > ups[0].at+5 && t < b.secondMaps-2 {
				busy = append(busy, 100-b.idle.value[i])
			}
		}
		if len(ups) > 1 && ups[0].from == 0.05 && ups[0].to == 0.09 && b.acts[1].to == 0.13 {
			begins++
		}
	}
	r.Check(lab.Holds("9: CBT, from the first increase to the second job's first map, s", lab.Number("about 30 s"), stats.Span(gaps, "s"), stats.Mean(gaps) > 20 && stats.Mean(gaps) < 37, "a mean of 20 to 37 s").Because("mean and range of the runs"))
	r.Check(lab.Between("9: processors busy in that gap, %", lab.Number("20 to 30 (Fig. 5.3)"), stats.Mean(busy), 15, 35))
	r.Check(lab.Between("9: runs in which MARP begins 0.050, 0.090, 0.130, %", lab.Number("all: 0.050, 0.090, 0.130"), 100*float64(begins)/float64(len(runs)), 90, 100).Because("where a job was about to end first, it begins otherwise"))
	share := 100 * float64(late) / float64(len(runs))
	r.Check(lab.Between("9: CBT, runs in which the second job starts only after the first one's maps, %", lab.Order("the next job starts when the last one's maps are done (Fig. 5.3)"), share, 90, 100))
}

func oneByOne(r *lab.Recorder) {
	n := r.Seeds(200, 200)
	fifo := stats.NewEstimate(lab.Each(batches(r, batchSetup{kind: teraSort3, jobs: 4, marp: 0.05}, n), total))
	all := stats.NewEstimate(lab.Each(batches(r, parallelRun(teraSort3, 4), n), total))
	r.Check(lab.Between("5: four jobs, all at once / one by one", lab.Number("442 / 697 = 0.634"), all.Mean/fifo.Mean, 0.58, 0.70).Because(calibrated).Mark(0.634))
	r.Check(lab.Reported("5: one by one and all at once, s", "697 and 442", stats.Text(fifo.Mean)+" and "+stats.Text(all.Mean)).Because(r.Say("assumed jobs")))
	bars := chart.Bars{Frame: chart.Frame{Title: "Completion of four TeraSorts", X: chart.Axis{Label: "s"}}}
	bars.Bars = []chart.Bar{fifo.Bar("one by one", 697), all.Bar("all at once", 442)}
	r.Figure("completion", bars)
}

func others(r *lab.Recorder) {
	n := r.Seeds(200, 200)
	words, sorts := gains(r, wordCount2, 6, n), gains(r, sort25, 6, n)
	for _, c := range []struct {
		policy      string
		word, sort  float64
		wide, wideS float64
	}{{"cbt", 14.8, 5.4, 6, 8}, {"cbtws", 21.6, 10.4, 6, 4}, {"cbtwat", 22.8, 9.8, 6, 4}} {
		r.Check(lab.Within("6: WordCount, gain of "+c.policy+", %", words.gain[c.policy], c.word, c.wide).Because("two parameters fitted again; the published mean of PRJ without its outliers"))
		r.Check(lab.Within("7: Sort, gain of "+c.policy+", %", sorts.gain[c.policy], c.sort, c.wideS).Because("two parameters fitted again; the published mean of PRJ without its outlier"))
	}
	order(r, "6: WordCount", words, "900 > 767 > 706, 695 s")
	order(r, "7: Sort", sorts, "838 > 793 > 751, 755 s")
	smaller := true
	for _, name := range controllers {
		smaller = smaller && sorts.gain[name] > 0 && sorts.gain[name] < words.gain[name]
	}
	r.Check(lab.Holds("7: all three beat PRJ on Sort, by less than on WordCount", lab.Sign("smaller gains"), sorts.texts()+" against "+words.texts()+" %", smaller, "each above 0 and below WordCount's").Because("gains of CBT, CBTwS, CBTwAT on Sort against WordCount"))
	r.Figure("wordcount", words.bars("Completion of the batch, WordCount 6 x 2 GB", 900, 767, 706, 695))
	r.Figure("sort", sorts.bars("Completion of the batch, Sort 6 x 2.5 GB", 838, 793, 751, 755))
}

// order checks that all controllers beat PRJ and CBT least of them.
func order(r *lab.Recorder, item string, g gainRuns, published string) {
	m := func(name string) float64 { return g.total[name].Mean }
	r.Check(lab.Holds(item+": order of means, PRJ > CBT > CBTwS and CBTwAT", lab.Order(published), fmt.Sprintf("%s > %s > %s, %s s", stats.Text(m("prj")), stats.Text(m("cbt")), stats.Text(m("cbtws")), stats.Text(m("cbtwat"))),
		m("prj") > m("cbt") && m("cbt") > max(m("cbtws"), m("cbtwat")), "in this order").
		Because(calibrated).Missed(r.Say("order of controllers")))
}

// increases are the writes that raise MARP.
func increases(acts []act) []act {
	return slices.DeleteFunc(slices.Clone(acts), func(a act) bool { return a.to <= a.from })
}
