package marp

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// sweepStatic is spec/marp 6, items 16 and 22.
func sweepStatic(r *lab.Recorder) {
	n := r.Seeds(50, 10)
	g := gains(r, teraSort3, 6, n)
	six := sweep(r, 6, []float64{0.05, 0.09, 0.13, 0.17, 0.21, 0.25, 0.3, 0.5}, false, n)
	flat := math.Abs(six.mean[7]-six.mean[5]) / six.mean[5]
	r.Check(lab.Between("16: six jobs, MARP 0.5 against 0.25, % apart", lab.Nobody("nothing; flat from 0.236 on, since MARP is a cap"), 100*flat, 0, 0.1).Because("0.236 has room for all six drivers; more changes nothing"))
	r.Check(lab.Holds("16: six jobs, the minimum lies inside", lab.Order("U-shaped (Fig. 4.1)"), six.text(), six.best() > 0 && six.best() < 5, "the smallest lies at 0.09 to 0.21").Because(r.Say("batch by limit")))
	marps := []float64{0.05, 0.1, 0.13, 0.17, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7}
	many := sweep(r, 24, marps, false, n)
	r.Check(lab.Holds("16: 24 jobs, the minimum lies inside", lab.Order("U-shaped (Fig. 4.1)"), many.text(), many.best() > 0 && many.best() < 6, "the smallest lies at 0.1 to 0.3").Because(r.Say("smallest batch")))
	r.Check(lab.Holds("16: 24 jobs at 0.70", lab.Nobody("nothing; they never end"), fmt.Sprint(many.stalls[len(marps)-1], " of ", n, " runs stall"), many.stalls[len(marps)-1] == n, "every run stalls").Because("derived in our specification, not in the source"))
	held := sweep(r, 24, []float64{0.3, 0.6, 0.7, 0.8, 0.9}, true, n)
	r.Check(lab.Holds("16: 24 jobs with reduces held back: all complete and the right arm rises", lab.Sign("rises"), held.text(), held.stalls[2] == 0 && held.mean[4] > held.mean[0], "no stall at 0.70, and 0.90 slower than 0.30").Because(r.Say("large limits")))
	miniBatches(r, six, g)
	strips(r, profiles(r, n))
	l := chart.Lines{Frame: chart.Frame{Title: "Completion of the batch over static MARP", X: chart.Axis{Label: "MARP"}, Y: chart.Axis{Label: "s, mean", Log: true}}}
	for _, s := range []struct {
		name string
		of   sweepResult
	}{{"6 jobs", six}, {"24 jobs", many}, {"24 jobs, reduces held back", held}} {
		l.Series = append(l.Series, chart.Series{Name: s.name, X: s.of.marp, Y: s.of.mean})
	}
	r.Figure("sweep", l)
}

type sweepResult struct {
	marp, mean []float64
	stalls     []int
}

func (s sweepResult) best() int {
	best := 0
	for i, m := range s.mean {
		if m < s.mean[best] {
			best = i
		}
	}
	return best
}

func (s sweepResult) text() (out string) {
	for i, m := range s.marp {
		if i > 0 {
			out += ", "
		}
		if math.IsNaN(s.mean[i]) {
			out += fmt.Sprintf("%g: never ends", m)
			continue
		}
		out += fmt.Sprintf("%g: %s s", m, stats.Text(s.mean[i]))
	}
	return out
}

// sweep runs a batch under static values; a mean is NaN where a run stalled.
func sweep(r *lab.Recorder, jobs int, marps []float64, hold bool, n int) sweepResult {
	s := sweepResult{marp: marps}
	for _, m := range marps {
		runs := batches(r, batchSetup{kind: teraSort3, jobs: jobs, marp: m, hold: hold}, n)
		stalls, avg := 0, lab.Mean(runs, total)
		for _, b := range runs {
			if b.stalled {
				stalls++
				avg = math.NaN()
			}
		}
		s.mean, s.stalls = append(s.mean, avg), append(s.stalls, stalls)
	}
	return s
}

// miniBatches is spec/marp 6, item 22: static values that admit some of the six jobs.
func miniBatches(r *lab.Recorder, six sweepResult, g gainRuns) {
	best := min(g.total["cbt"].Mean, g.total["cbtws"].Mean, g.total["cbtwat"].Mean)
	for i, k := range []int{2, 3, 4, 5} {
		m := six.mean[i+1]
		r.Check(lab.Between(fmt.Sprintf("22: static MARP for %d of six jobs, gain over PRJ, %%", k), lab.Sign("no significant gain (7.3.1)"), 100*(six.mean[5]-m)/six.mean[5], -100, 5).
			Accept("at most 5").Because(r.Say("static", lab.Facts{"took": m, "best": best})))
	}
}
