package marp

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// size is spec/marp 6, items 17 and 21.
func size(r *lab.Recorder) {
	n := r.Seeds(100, 20)
	var full gainRuns
	jobs := []float64{3, 4, 5, 6, 8, 10, 12}
	var gain, behind []float64
	for _, k := range jobs {
		g := gains(r, teraSort3, int(k), n)
		if k == 6 {
			full = g
		}
		gain, behind = append(gain, g.gain["cbtws"]), append(behind, 100*(g.total["cbt"].Mean/g.total["cbtws"].Mean-1))
	}
	r.Check(lab.Holds("17: gain of CBTwS over PRJ for 3 and 4 jobs, %", lab.Sign("negative (7.1.2)"), stats.Texts(gain[:2]...), gain[0] < 0 && gain[1] < 0, "both below 0").Because("-18 and -7 in the specification's model"))
	r.Check(lab.Holds("17: gain for 5, 6, 8, 10 jobs grows, %", lab.Sign("grows (7.1.2)"), stats.Texts(gain[2:6]...), gain[2] < gain[3] && gain[3] < gain[4] && gain[4] < gain[5], "grows at each step").Because("10, 17, 30, 35 in the specification's model"))
	r.Check(lab.Holds("17: CBT behind CBTwS for 6, 8, 10, 12 jobs, %", lab.Sign("increasingly (7.3.2)"), stats.Texts(behind[3:]...), behind[3] < behind[4] && behind[4] < behind[5], "grows from 6 to 8 to 10 jobs").Because(r.Say("longer batch")))
	r.Figure("gain", chart.Lines{
		Frame:  chart.Frame{Title: "Gain of CBTwS over running all at once", X: chart.Axis{Label: "jobs of the batch"}, Y: chart.Axis{Label: "gain, % of PRJ's time"}},
		Series: []chart.Series{{Name: "CBTwS", X: jobs, Y: gain}}, Marks: []chart.Mark{{Name: "no gain", Value: 0}},
	})
	lessWork(r, full, n)
}

// lessWork is spec/marp 6, item 21.
func lessWork(r *lab.Recorder, full gainRuns, n int) {
	tenth, quarter := gains(r, teraSort3.scaled(0.1), 6, n), gains(r, teraSort3.scaled(0.25), 6, n)
	t, q := tenth.gain, quarter.gain
	r.Check(lab.Holds("21: gains with a tenth of the work, CBT, CBTwS, CBTwAT, %", lab.Sign("all lose (7.1.2)"), tenth.texts(),
		t["cbt"] < 0 && t["cbtws"] < 0 && t["cbtwat"] < 0, "all below 0").Because("-22, -111, -59 in the specification's model"))
	r.Check(lab.Holds("21: gains with a quarter of the work, CBT, CBTwS, CBTwAT, %", lab.Nobody("nothing; CBT gains and the others lose in the specification's model"), quarter.texts(),
		q["cbt"] > 0 && q["cbtws"] < 0 && q["cbtwat"] < 0, "CBT above 0, the others below").Because("11, -16, -17 in the specification's model"))
	drawScaled(r, full, quarter, tenth)
}

// disk is spec/marp 6, item 20.
func disk(r *lab.Recorder) {
	n := r.Seeds(100, 20)
	six, eight := gains(r, teraSort3, 6, n), gains(r, teraSort3, 8, n)
	peak := func(g gainRuns, name string) float64 {
		return slices.Max(lab.Each(g.runs[name], func(b batchRun) float64 { return b.peakGB }))
	}
	bars := chart.Bars{Frame: chart.Frame{Title: "Most map output on disk at a time", X: chart.Axis{Label: "GB, largest of all runs"}}, Groups: []string{"6 jobs", "8 jobs"}}
	for _, name := range withPRJ {
		bars.Bars = append(bars.Bars, chart.Plain(shownAs[name], peak(six, name)), chart.Plain(shownAs[name], peak(eight, name)).In(1))
		if name != "prj" {
			r.Check(lab.Between("20: peak of "+name+" / PRJ, six jobs", lab.Sign("below 1 (7.1.2)"), peak(six, name)/peak(six, "prj"), 0, 0.999).Because("largest of all runs, each"))
		}
	}
	limit := 1.02 * peak(six, "prj")
	r.Check(lab.Holds("20: with a disk just above PRJ's peak of six jobs, eight fail under PRJ and fit under CBTwS", lab.Order("two more jobs fitted in informal tests (7.1.2)"),
		fmt.Sprintf("limit %s GB; eight jobs need %s GB under PRJ, %s GB under CBTwS", stats.Text(limit), stats.Text(peak(eight, "prj")), stats.Text(peak(eight, "cbtws"))),
		peak(eight, "prj") > limit && peak(eight, "cbtws") < limit, "PRJ above the limit, CBTwS below").Because("the limit is 2 % above PRJ's peak of six jobs"))
	r.Figure("disk", bars)
}
