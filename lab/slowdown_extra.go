package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
)

// slowdownHeartbeat compares asking at once with asking every 3 s.
func slowdownHeartbeat(r *Recorder) error {
	n := r.seeds(3, 1)
	names := []string{"fifo", "fbq", "tags", "sita", "comp"}
	params := map[string]map[string]string{"fbq": fbq2, "tags": tags, "sita": sita}
	var settings []setting
	for _, name := range names {
		for _, beat := range []time.Duration{0, 3 * time.Second} {
			settings = append(settings, setting{policy: name, params: params[name], load: 0.7, slowstart: 0.05, heartbeat: beat})
		}
	}
	runs, err := r.spreadRuns(settings, n)
	if err != nil {
		return err
	}
	bars := chart.Bars{Frame: chart.Frame{Title: "Median slowdown", X: chart.Axis{Label: "median slowdown"}}, Groups: []string{"slots ask at once", "nodes ask every 3 s"}}
	busy := 0.0
	for i, name := range names {
		now, late := average(runs[2*i]), average(runs[2*i+1])
		r.between("19: median of "+name+", every 3 s / at once", "rises or stays (V-A)", late.q[50]/now.q[50], 1, inf, "")
		busy += late.busy / now.busy / float64(len(names))
		for k, s := range [][]spread{runs[2*i], runs[2*i+1]} {
			var medians []float64
			for _, one := range s {
				medians = append(medians, one.q[50])
			}
			b := NewEstimate(medians).bar(name+[]string{"", ", 3 s"}[k], math.NaN())
			b.Group = k
			bars.Bars = append(bars.Bars, b)
		}
	}
	r.between("19: utilisation, every 3 s / at once, mean over the policies", "drops: below 1 (V-A)", busy, 0, 1, "the offered work is the same, so the drop shows only in how long the last jobs take")
	r.figure("medians", "The same workload with and without the wait for the next heartbeat. Every median rises.", bars)
	return nil
}

// slowdownRestart is the ablation of TAGS that throws work away.
func slowdownRestart(r *Recorder) error {
	n := r.seeds(3, 1)
	again := map[string]string{"limits": tags["limits"], "shares": tags["shares"], "restart": "true"}
	runs, err := r.spreadRuns([]setting{
		{policy: "tags", params: tags, load: 0.7, slowstart: 0.05}, {policy: "tags restart", params: again, load: 0.7, slowstart: 0.05},
	}, n)
	if err != nil {
		return err
	}
	kept, lost := average(runs[0]), average(runs[1])
	r.between("21: work done, restart / keeping", "grows: above 1 (IV-C)", lost.work/kept.work, 1.0001, inf, "slot-seconds that tasks ran, in all")
	r.between("21: p95, restart / keeping", "worse: above 1 (IV-C)", lost.q[95]/kept.q[95], 1, inf, "")
	r.figure("cdf", "One repetition. Most jobs fare better with restart, probably because stopped jobs leave the first partition at once; the long jobs do their work again, and the tail pays for it.", chart.CDF{
		Frame:   chart.Frame{Title: "Slowdown under TAGS, load 0.7", X: chart.Axis{Label: "slowdown", Log: true}, Y: chart.Axis{Label: "share of jobs"}},
		Samples: []chart.Sample{{Name: "work kept", Values: kept.slow}, {Name: "restart", Values: lost.slow}},
	})
	return nil
}

// validationRow is a policy, what our specification's own model has, and what was measured.
type validationRow struct {
	name         string
	params       map[string]string
	median, p95  float64
	got50, got95 []float64
}

func validationRows(n int) []validationRow {
	rows := []validationRow{
		{name: "fifo", median: 3.5, p95: 17.1},
		{name: "fbq", params: map[string]string{"limits": "160"}, median: 1.9, p95: 9.3},
		{name: "tags", params: map[string]string{"limits": "120", "shares": "0.3,0.7"}, median: 1, p95: 10.5},
		{name: "sita", params: map[string]string{"limits": "160", "shares": "0.3,0.7"}, median: 1, p95: 10.8},
		{name: "comp", median: 2.1, p95: 11.7},
	}
	for i := range rows {
		rows[i].got50, rows[i].got95 = make([]float64, n), make([]float64, n)
	}
	return rows
}

// slowdownValidation runs the fifty validation jobs.
func slowdownValidation(r *Recorder) error {
	n := r.seeds(200, 40)
	rows := validationRows(n)
	err := r.each(len(rows)*n, func(i int) error {
		row, run := &rows[i/n], i%n
		slow, err := fiftyJobs(row.name, row.params, r.options.Seed+uint64(run))
		row.got50[run], row.got95[run] = quantile(slow, 0.5), quantile(slow, 0.95)
		return err
	})
	if err != nil {
		return err
	}
	bars := chart.Bars{Frame: chart.Frame{Title: "Fifty validation jobs", X: chart.Axis{Label: "slowdown"}}, Groups: []string{"median", "95th percentile"}, Reference: "our specification's model"}
	var gap widest
	for _, row := range rows {
		m, p := NewEstimate(row.got50), NewEstimate(row.got95)
		r.add(Check{
			Item: "5: " + row.name + ", median and 95th percentile of slowdown", Published: fmt.Sprintf("no numbers; %s and %s in our specification's own model", number(row.median), number(row.p95)),
			Measured: number(m.Mean) + " and " + number(p.Mean), Tolerance: "reported", Verdict: ShapeOnly, Why: "published was only that simulator and real cluster differ by less than 1 %; that comparison is made on the cluster, not here",
		})
		gap.see("median of "+strings.ToUpper(row.name), m.Mean/row.median-1)
		gap.see("95th percentile of "+strings.ToUpper(row.name), p.Mean/row.p95-1)
		b, c := m.bar(row.name+" median", row.median), p.bar(row.name+" p95", row.p95)
		c.Group = 1
		bars.Bars = append(bars.Bars, b, c)
	}
	r.figure("levels", "Means over arrival sequences, with 95 % confidence intervals. The thick line: our specification's own model; nothing was published. "+gap.text, bars)
	return nil
}

// widest is the largest relative difference seen, as a sentence.
type widest struct {
	by   float64
	text string
}

func (w *widest) see(what string, by float64) {
	if math.Abs(by) > math.Abs(w.by) {
		w.by, w.text = by, fmt.Sprintf("The %s differs most from that model, by %+.0f %%.", what, 100*by)
	}
}

// fiftyJobs returns the sorted slowdowns of one arrival sequence.
func fiftyJobs(policy string, params map[string]string, seed uint64) ([]float64, error) {
	rng := rand.New(rand.NewPCG(seed, 50))
	var jobs []*sim.Job
	var alone []float64
	for _, row := range tableIIJobs {
		for range row.jobs {
			spec := &scheduler.JobSpec{Maps: row.maps, Reduces: row.reduces, Work: seconds(float64(row.maps)*row.m + float64(row.reduces)*row.r)}
			jobs = append(jobs, &sim.Job{Spec: spec, Maps: []time.Duration{seconds(row.m)}, Reduces: []time.Duration{seconds(row.r)}})
			alone = append(alone, row.run)
		}
	}
	rng.Shuffle(len(jobs), func(i, j int) {
		jobs[i], jobs[j] = jobs[j], jobs[i]
		alone[i], alone[j] = alone[j], alone[i]
	})
	arrive(rng, jobs, 58.1)
	cfg, err := slotted(10, 6, 2)
	if err != nil {
		return nil, err
	}
	if cfg.Policy, err = policies.Policy(policy, params); err != nil {
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
	return sorted(slow), nil
}
