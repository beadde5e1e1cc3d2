package hybrid

import (
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

func batch(r *lab.Recorder) {
	n := r.Seeds(5, 2)
	at := newSetting(r)
	got := hybrids(r, at.of(strategies(false, hybridCount), judgedScale), n)
	rows := scaleRows(r, at, got, false, n, []quantity{
		{"5: makespan, H-w/o-JS / H-FS-with", "1.00", "H-w/o-JS", "H-FS-with", makespanOf},
		{"5: jobs stolen under H-FS-with, of 1,000", "none (scale-out machines are never idle)", "H-FS-with", "", stolenJobs},
		{"8: until the last small job ends, H-FS-with / FS", "0.47", "H-FS-with", "FS", smallEndOf},
		{"9: makespan of all jobs, H-FS-with / FS", "0.60 real, 0.73 simulated", "H-FS-with", "FS", makespanOf},
	})
	batchAblations(r, got)
	rows = append(rows, dataPlacement(r, at, false, n)...)
	lastOfBatch(r, got)
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
	rows = append(rows, wholeDay(r, at, false)...)
	strips(r, rows, []headline{
		{"makespan", "Makespan of all jobs, H-FS-with over FS", "makespan over FS's", "0.60", 0.60, makespanOf, -1}, // spec/hybrid 5, item 9 is reported
		{"lastSmall", "End of the last small job, H-FS-with over FS", "end of the last small job over FS's", "0.47", 0.47, smallEndOf, 1},
	})
	errorSweep(r, at, false, n)
	r.Figure("makespan", hybridBars(got, "Makespan over the traditional cluster's", makespanOf, map[string]float64{"H-FS-with": 0.6, "H-DS-with": 0.68}))
	r.Figure("small", hybridBars(got, "End of the last small job over the traditional cluster's", smallEndOf, map[string]float64{"H-FS-with": 0.47, "H-DS-with": 0.54}))
}

// batchAblations are the batch of Figure 5.16 (spec/hybrid 5, item 5) without stealing (item 5) and without placement of jobs; without placement of data it needs
// a network.
func batchAblations(r *lab.Recorder, got map[string][]hybridRun) {
	js := lab.Ratio(got["H-w/o-JS"], got["H-FS-with"], makespanOf).Mean
	r.Check(lab.Within("5: makespan, H-w/o-JS / H-FS-with", js, 1, 0.02).Shown("%.3f", js).Missed(r.Say("dry", lab.Facts{"stolen": lab.Mean(got["H-FS-with"], stolenJobs)}, lastFacts(got["H-w/o-JS"], got["H-FS-with"], lastOfAll))))
	lastRow(r, got, "H-w/o-JS")
	p := lab.Ratio(got["H-FS-w/o"], got["H-FS-with"], makespanOf).Mean
	r.Check(lab.Between("5: makespan, H-w/o-P / H-FS-with", lab.Number("1.29"), p, 1.14, 1.44).Mark(1.29).SameSide(1).Shown("%.3f", p).
		Because(r.Say("without a network")).Missed(r.Say("last", lastFacts(got["H-FS-w/o"], got["H-FS-with"], lastOfAll))))
	lastRow(r, got, "H-FS-w/o")
}

// lastRow shows the jobs on which a makespan hangs.
func lastRow(r *lab.Recorder, got map[string][]hybridRun, name string) {
	r.Check(lab.Reported("5: the last job to end under "+name+", and there under H-FS-with", "not given", lasts(got[name], got["H-FS-with"], lastOfAll)).Because(r.Say("each job")))
}

// lastOfBatch is spec/hybrid 5, item 8, and the jobs that it hangs on.
func lastOfBatch(r *lab.Recorder, got map[string][]hybridRun) {
	for _, c := range []struct {
		with, without string
		want, limit   float64
	}{{"H-FS-with", "FS", 0.47, 0.7}, {"H-DS-with", "DS", 0.54, 0.75}} {
		small := lab.Ratio(got[c.with], got[c.without], smallEndOf)
		name := c.with + " / " + c.without
		r.Check(lab.Between("8: until the last small job ends, "+name, lab.Number(stats.Text(c.want)), small.Mean, 0, c.limit).Mark(c.want).SameSide(1).Accept("at most " + stats.Text(c.limit)).Missed(r.Say("last", lastFacts(got[c.with], got[c.without], lastOfSmall))))
		r.Check(lab.Reported("8: the last small job to end under "+c.with+", and there under "+c.without, "not given", lasts(got[c.with], got[c.without], lastOfSmall)).Because(r.Say("each job")))
	}
}
