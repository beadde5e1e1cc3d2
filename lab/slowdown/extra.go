package slowdown

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
)

// heartbeat compares asking at once with asking every 3 s.
func heartbeat(r *lab.Recorder) {
	n := r.Seeds(3, 1)
	policies := []setting{{policy: "fifo"}, {policy: "fbq", params: fbq2}, {policy: "tags", params: tags}, {policy: "sita", params: sita}, {policy: "comp"}}
	var settings []setting
	for _, s := range policies {
		s.load, s.slowstart = 0.7, 0.05
		late := s
		late.heartbeat = 3 * time.Second
		settings = append(settings, s, late)
	}
	runs := spreadRuns(r, settings, n)
	bars := chart.Bars{Frame: chart.Frame{Title: "Median slowdown", X: chart.Axis{Label: "median slowdown"}}, Groups: []string{"slots ask at once", "nodes ask every 3 s"}}
	busy := 0.0
	for i, s := range policies {
		now, late := average(runs[2*i]), average(runs[2*i+1])
		r.Check(lab.AtLeast("19: median of "+s.policy+", every 3 s / at once", lab.Sign("rises or stays (V-A)"), late.q[50]/now.q[50], 1))
		busy += late.busy / now.busy / float64(len(policies))
		bars.Bars = append(bars.Bars, now.percentile(50).Bar(s.policy, math.NaN()), late.percentile(50).Bar(s.policy+", 3 s", math.NaN()).In(1))
	}
	r.Check(lab.AtMost("19: utilisation, every 3 s / at once, mean over the policies", lab.Sign("drops: below 1 (V-A)"), busy, 1).Because(r.Say("last jobs")))
	r.Figure("medians", bars)
}

// restart is the ablation of TAGS that throws work away.
func restart(r *lab.Recorder) {
	n := r.Seeds(3, 1)
	again := map[string]string{"limits": tags["limits"], "shares": tags["shares"], "restart": "true"}
	runs := spreadRuns(r, []setting{
		{policy: "tags", params: tags, load: 0.7, slowstart: 0.05}, {policy: "tags restart", params: again, load: 0.7, slowstart: 0.05},
	}, n)
	kept, lost := average(runs[0]), average(runs[1])
	r.Check(lab.AtLeast("21: work done, restart / keeping", lab.Sign("grows: above 1 (IV-C)"), lost.work/kept.work, 1.0001).Because("slot-seconds that tasks ran, in all"))
	r.Check(lab.AtLeast("21: p95, restart / keeping", lab.Sign("worse: above 1 (IV-C)"), lost.q[95]/kept.q[95], 1))
	r.Figure("cdf", chart.CDF{
		Frame:   chart.Frame{Title: "Slowdown under TAGS, load 0.7", X: chart.Axis{Label: "slowdown", Log: true}, Y: chart.Axis{Label: "share of jobs"}},
		Samples: []chart.Sample{{Name: "work kept", Values: kept.slow}, {Name: "restart", Values: lost.slow}},
	})
}

// validation runs the fifty validation jobs, beside what our specification's own model has.
func validation(r *lab.Recorder) {
	n := r.Seeds(200, 40)
	type row struct {
		name        string
		params      map[string]string
		median, p95 float64
	}
	rows := []row{
		{"fifo", nil, 3.5, 17.1},
		{"fbq", map[string]string{"limits": "160"}, 1.9, 9.3},
		{"tags", map[string]string{"limits": "120", "shares": "0.3,0.7"}, 1, 10.5},
		{"sita", map[string]string{"limits": "160", "shares": "0.3,0.7"}, 1, 10.8},
		{"comp", nil, 2.1, 11.7},
	}
	bars := chart.Bars{Frame: chart.Frame{Title: "Fifty validation jobs", X: chart.Axis{Label: "slowdown"}}, Groups: []string{"median", "95th percentile"}, Reference: "our specification's model"}
	most, what := 0.0, ""
	differ := func(name string, by float64) {
		if math.Abs(by) > math.Abs(most) {
			most, what = by, name
		}
	}
	for i, runs := range lab.Sweep(r, rows, n, func(c row, seed uint64) ([]float64, error) { return fiftyJobs(c.name, c.params, seed) }) {
		c := rows[i]
		m := stats.NewEstimate(lab.Each(runs, func(slow []float64) float64 { return stats.Quantile(slow, 0.5) }))
		p := stats.NewEstimate(lab.Each(runs, func(slow []float64) float64 { return stats.Quantile(slow, 0.95) }))
		r.Check(lab.Reported("5: "+c.name+", median and 95th percentile of slowdown", fmt.Sprintf("no numbers; %s and %s in our specification's own model", stats.Text(c.median), stats.Text(c.p95)),
			stats.Text(m.Mean)+" and "+stats.Text(p.Mean)).Because(r.Say("real cluster")))
		differ("median of "+strings.ToUpper(c.name), m.Mean/c.median-1)
		differ("95th percentile of "+strings.ToUpper(c.name), p.Mean/c.p95-1)
		bars.Bars = append(bars.Bars, m.Bar(c.name+" median", c.median), p.Bar(c.name+" p95", c.p95).In(1))
	}
	r.Figure("levels", bars, lab.Facts{"what": what, "by": 100 * most})
}

// fiftyJobs returns the sorted slowdowns of one arrival sequence.
func fiftyJobs(policy string, params map[string]string, seed uint64) ([]float64, error) {
	rng := rand.New(rand.NewPCG(seed, 50))
	var jobs []*sim.Job
	var alone []float64
	for _, row := range tableIIJobs {
		for range row.jobs {
			jobs, alone = append(jobs, row.job()), append(alone, row.run)
		}
	}
	rng.Shuffle(len(jobs), func(i, j int) {
		jobs[i], jobs[j] = jobs[j], jobs[i]
		alone[i], alone[j] = alone[j], alone[i]
	})
	lab.Arrive(rng, jobs, 58.1)
	cfg, err := lab.Slotted(10, 6, 2, policy, params)
	if err != nil {
		return nil, err
	}
	res, err := sim.Run(cfg, jobs)
	if err != nil {
		return nil, err
	}
	slow := make([]float64, len(jobs))
	for i := range res.Jobs {
		slow[i] = res.Jobs[i].Completion().Seconds() / alone[i]
	}
	return stats.Sorted(slow), nil
}
