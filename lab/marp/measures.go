package marp

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

// smoothing is spec/marp 6, item 13: how much steadier the smoothed delta is than the raw one.
func smoothing(r *lab.Recorder, n int) {
	for _, name := range []string{"cbtws", "cbtwat"} {
		ratios := lab.Repeat(r, n, func(seed uint64) (float64, error) {
			raw, smooth, err := measured(batchSetup{kind: teraSort3, jobs: 6, control: name}, seed)
			return stats.Deviation(smooth) * stats.Deviation(smooth) / (stats.Deviation(raw) * stats.Deviation(raw)), err
		})
		r.Check(lab.Between("13: variance of the smoothed delta over the raw one, "+name, lab.Sign("smoother (5.3)"), stats.Mean(ratios), 0, 0.5).Because(map[string]string{"cbtws": "0.17", "cbtwat": "0.18"}[name] + " in the specification's model"))
	}
}

// measured runs a batch and returns the raw and the smoothed deltas of the controller's
// measurements.
func measured(b batchSetup, seed uint64) (raw, smooth []float64, err error) {
	cfg, jobs, control, err := b.config(seed)
	if err != nil {
		return nil, nil, err
	}
	m, ok := control.Controller.(interface{ Measured() (float64, int) })
	if !ok {
		return nil, nil, fmt.Errorf("%s does not measure", b.control)
	}
	probe := &measuring{of: m.Measured}
	cfg.SampleEvery, cfg.Sample = time.Second, probe.sample
	_, err = sim.Run(cfg, jobs)
	return probe.raw, probe.smooth, err
}

// measuring notices new measurements of a controller.
type measuring struct {
	of          func() (float64, int)
	last        float64
	raw, smooth []float64
}

func (m *measuring) sample(time.Duration, *scheduler.View) {
	if p, d := m.of(); p != m.last {
		m.raw, m.smooth = append(m.raw, p-m.last), append(m.smooth, float64(d))
		m.last = p
	}
}

// progressRates is spec/marp 6, item 14: progress of a running job in ten seconds.
func progressRates(r *lab.Recorder, g gainRuns) {
	rate := map[string]float64{}
	for name, runs := range g.runs {
		var all []float64
		for _, b := range runs {
			all = append(all, b.rates...)
		}
		rate[name] = stats.Mean(all)
	}
	r.Check(lab.Holds("14: progress of a running job in 10 s, PRJ < CBT < CBTwS, points", lab.Order("in this order (Fig. 6.21)"), fmt.Sprintf("%s < %s < %s; CBTwAT %s", stats.Text(rate["prj"]), stats.Text(rate["cbt"]), stats.Text(rate["cbtws"]), stats.Text(rate["cbtwat"])), rate["prj"] < rate["cbt"] && rate["cbt"] < rate["cbtws"], "PRJ below CBT below CBTwS").Because("1.26 < 2.77 < 4.81 in the specification's model"))
	alone, err := batchSetup{kind: teraSort3, jobs: 1, marp: 0.25}.run(r.Seed())
	r.Must(err)
	six, better := g.runs["prj"][0].rates, 0
	for _, v := range alone.rates {
		if v > stats.Mean(six) {
			better++
		}
	}
	r.Check(lab.Between("14: intervals in which a job alone beats the mean of six, %", lab.Number("nearly all: 100 %"), 100*float64(better)/float64(len(alone.rates)), 80, 100).Because("97 in the specification's model"))
}

// firstThreshold is spec/marp 6, item 18: which explored threshold scores best.
func firstThreshold(r *lab.Recorder, n int) {
	runs := batches(r, batchSetup{kind: teraSort3, jobs: 6, control: "cbtwat"}, max(n, 200))
	first, unique := 0, 0
	for _, b := range runs {
		if len(b.scores) == 0 {
			continue
		}
		best := slices.Max(b.scores)
		if count := len(slices.DeleteFunc(slices.Clone(b.scores), func(s int) bool { return s != best })); count > 1 {
			continue
		}
		unique++
		if b.scores[0] == best {
			first++
		}
	}
	r.Check(lab.Between("18: runs in which the first explored threshold is the single best, %", lab.Sign("the first one is favoured (7.3.4)"), 100*float64(first)/float64(max(unique, 1)), 90, 100).Because(fmt.Sprintf("of %d runs with a single best; a third would be chance", unique)))
}

// spreadOfTotals is spec/marp 6, item 19.
func spreadOfTotals(r *lab.Recorder, g gainRuns) {
	sd := func(name string) float64 { return stats.Deviation(lab.Each(g.runs[name], total)) }
	r.Check(lab.Reported("19: standard deviation, PRJ, CBT, CBTwS, CBTwAT, s", "28, 37, 33, 41, from the printed confidence intervals", stats.Texts(lab.Each(withPRJ, sd)...)).
		Because(r.Say("expected order")))
}
