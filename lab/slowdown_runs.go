package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
)

// spreads runs every setting with every seed; workloads are the same for all settings
// of a load and seed.
func (r *Recorder) spreads(settings []setting, n int) (map[string]spread, error) {
	runs, err := r.spreadRuns(settings, n)
	out := map[string]spread{}
	for i, s := range settings {
		out[s.String()] = average(runs[i])
	}
	return out, err
}

func (s setting) String() string { return fmt.Sprintf("%s %g %g", s.policy, s.load, s.slowstart) }

func (r *Recorder) spreadRuns(settings []setting, n int) ([][]spread, error) {
	runs := make([][]spread, len(settings))
	for i := range runs {
		runs[i] = make([]spread, n)
	}
	reference := make([][]float64, n)
	if err := r.each(n, func(seed int) (err error) {
		reference[seed], err = references(r.workload(seed, 0.7, 0.05))
		return err
	}); err != nil {
		return nil, err
	}
	err := r.each(len(settings)*n, func(i int) (err error) {
		s, seed := settings[i/n], i%n
		runs[i/n][seed], err = r.spreadOf(s, seed, reference[seed])
		return err
	})
	return runs, err
}

func (r *Recorder) workload(seed int, load, slowstart float64) []*sim.Job {
	return fb1121(rand.New(rand.NewPCG(r.options.Seed+uint64(seed), 1121)), load, slowstart)
}

// references runs each job alone: the run time that slowdown is measured by.
func references(jobs []*sim.Job) ([]float64, error) {
	out := make([]float64, len(jobs))
	for i, j := range jobs {
		cfg, err := slotted(100, 6, 2)
		if err != nil {
			return nil, err
		}
		if cfg.Policy, err = policies.Policy("fifo", nil); err != nil {
			return nil, err
		}
		alone := *j
		spec := *j.Spec
		spec.ID, spec.Submit = 0, 0
		alone.Spec = &spec
		res, err := sim.Run(cfg, []*sim.Job{&alone})
		if err != nil {
			return nil, err
		}
		out[i] = res.Jobs[0].Execution().Seconds()
	}
	return out, nil
}

func (r *Recorder) spreadOf(s setting, seed int, reference []float64) (spread, error) {
	cfg, err := slotted(100, 6, 2)
	if err != nil {
		return spread{}, err
	}
	name, _, _ := strings.Cut(strings.TrimRight(s.policy, "4"), " ")
	cfg.Heartbeat, cfg.Seed = s.heartbeat, r.options.Seed+uint64(seed)
	if cfg.Policy, err = policies.Policy(name, s.params); err != nil {
		return spread{}, err
	}
	res, err := sim.Run(cfg, r.workload(seed, s.load, s.slowstart))
	if err != nil {
		return spread{}, err
	}
	return measure(res, reference), nil
}

var percentiles = []int{50, 60, 70, 80, 90, 95, 99}

// halfDecades is the number of size ranges from 10 s to 316,000 s.
const halfDecades = 9

func measure(res *sim.Result, reference []float64) spread {
	all := make([]float64, len(res.Jobs))
	s := spread{q: map[int]float64{}, slow: all}
	bySize := make([][]float64, halfDecades)
	for i := range res.Jobs {
		j := &res.Jobs[i]
		all[i] = j.Completion().Seconds() / reference[i]
		bin := int(2 * math.Log10(j.Job.Spec.Work.Seconds()/10))
		bin = min(max(bin, 0), halfDecades-1)
		s.sizes = append(s.sizes, j.Job.Spec.Work.Seconds())
		bySize[bin] = append(bySize[bin], all[i])
	}
	s.work = (res.Busy[scheduler.Map] + res.Busy[scheduler.Reduce]).Seconds()
	s.busy = s.work / (800 * res.Makespan.Seconds())
	order := sorted(all)
	for _, q := range percentiles {
		s.q[q] = quantile(order, float64(q)/100)
	}
	for _, b := range bySize {
		s.bySze = append(s.bySze, mean(b))
	}
	small := 0
	for i := range res.Jobs {
		if res.Jobs[i].Job.Spec.Work < 4000*time.Second && all[i] > s.q[95] {
			small++
		}
	}
	s.small = float64(small) / float64(len(all))
	return s
}

func average(runs []spread) spread {
	out := spread{q: map[int]float64{}, bySze: make([]float64, halfDecades), sizes: runs[0].sizes, slow: runs[0].slow}
	for _, s := range runs {
		n := float64(len(runs))
		out.medians, out.tails = append(out.medians, s.q[50]), append(out.tails, s.q[95])
		for q, v := range s.q {
			out.q[q] += v / n
		}
		for i, v := range s.bySze {
			out.bySze[i] += v / n
		}
		out.small += s.small / n
		out.busy += s.busy / n
		out.work += s.work / n
	}
	return out
}
