package lab

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

// smoothing is item 13: how much steadier the smoothed delta is than the raw one.
func smoothing(r *Recorder, n int) error {
	for _, name := range []string{"cbtws", "cbtwat"} {
		ratios := make([]float64, n)
		err := r.each(n, func(i int) error {
			raw, smooth, err := measured(batchSetup{kind: teraSort3, jobs: 6, control: name}, r.options.Seed+uint64(i))
			ratios[i] = deviation(smooth) * deviation(smooth) / (deviation(raw) * deviation(raw))
			return err
		})
		if err != nil {
			return err
		}
		r.between("13: variance of the smoothed delta over the raw one, "+name, "smoother (5.3)", mean(ratios), 0, 0.5, map[string]string{"cbtws": "0.17", "cbtwat": "0.18"}[name]+" in the specification's model")
	}
	return nil
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

// progressRates is item 14: progress of a running job in ten seconds.
func progressRates(r *Recorder, g gainRuns) error {
	rate := map[string]float64{}
	for name, runs := range g.runs {
		var all []float64
		for _, b := range runs {
			all = append(all, b.rates...)
		}
		rate[name] = mean(all)
	}
	r.holds("14: progress of a running job in 10 s, PRJ < CBT < CBTwS, points", "in this order (Fig. 6.21)",
		fmt.Sprintf("%s < %s < %s; CBTwAT %s", number(rate["prj"]), number(rate["cbt"]), number(rate["cbtws"]), number(rate["cbtwat"])),
		rate["prj"] < rate["cbt"] && rate["cbt"] < rate["cbtws"], "1.26 < 2.77 < 4.81 in the specification's model")
	r.accept("PRJ below CBT below CBTwS")
	alone, err := batchSetup{kind: teraSort3, jobs: 1, marp: 0.25}.run(r.options.Seed)
	if err != nil {
		return err
	}
	six, better := g.runs["prj"][0].rates, 0
	for _, v := range alone.rates {
		if v > mean(six) {
			better++
		}
	}
	r.between("14: intervals in which a job alone beats the mean of six, %", "nearly all", 100*float64(better)/float64(len(alone.rates)), 80, 100, "97 in the specification's model")
	return nil
}

// firstThreshold is item 18: which explored threshold scores best.
func firstThreshold(r *Recorder, n int) error {
	many := max(n, 200)
	runs, _, err := r.batches(batchSetup{kind: teraSort3, jobs: 6, control: "cbtwat"}, many)
	if err != nil {
		return err
	}
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
	r.between("18: runs in which the first explored threshold is the single best, %", "the first one is favoured (7.3.4)", 100*float64(first)/float64(max(unique, 1)), 90, 100,
		fmt.Sprintf("of %d runs with a single best; a third would be chance", unique))
	return nil
}

// spreadOfTotals is item 19.
func spreadOfTotals(r *Recorder, g gainRuns) {
	sd := map[string]float64{}
	for name, runs := range g.runs {
		var totals []float64
		for _, b := range runs {
			totals = append(totals, b.total)
		}
		sd[name] = deviation(totals)
	}
	least, most := sd["prj"] <= min(sd["cbt"], sd["cbtws"], sd["cbtwat"]), sd["cbtwat"] >= max(sd["prj"], sd["cbt"], sd["cbtws"])
	r.add(Check{
		Item: "19: standard deviation, PRJ, CBT, CBTwS, CBTwAT, s", Published: "28, 37, 33, 41, from the printed confidence intervals",
		Measured:  fmt.Sprintf("%s, %s, %s, %s", number(sd["prj"]), number(sd["cbt"]), number(sd["cbtws"]), number(sd["cbtwat"])),
		Tolerance: "reported", Verdict: ShapeOnly, Why: "36, 38, 40, 44 in the specification's model; expected: smallest for PRJ, which " + foundOr(least, "holds here", "does not hold here") + ", and largest for CBTwAT, which " + foundOr(most, "does", "does not"),
	})
}
