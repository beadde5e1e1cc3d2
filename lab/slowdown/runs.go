package slowdown

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

// spread is the slowdown distribution of one policy at one load, means over seeds.
type spread struct {
	q      map[int]float64 // percentile to slowdown
	bySize []float64       // mean slowdown by half-decade of job size, from 10 s
	small  float64         // share of jobs below 4,000 s that lie above p95
	busy   float64         // utilisation of all slots
	work   float64         // slot-seconds in all

	first      float64    // part of the work that was done in partition 1
	partitions [2]float64 // utilisation of each partition by work

	runs []spread // that it is the average of

	sizes, slow []float64 // of the first repetition's jobs
}

func (s spread) v(q int) float64 { return s.q[q] / s.q[50] }

// percentile estimates the mean of a percentile over the repetitions.
func (s spread) percentile(q int) stats.Estimate {
	return stats.NewEstimate(lab.Each(s.runs, func(run spread) float64 { return run.q[q] }))
}

// estimate returns a figure of averages over the same workloads, with its interval.
func estimate(of func(...spread) float64, over ...spread) stats.Estimate {
	return stats.LeaveOneOut(len(over[0].runs), func(without int) float64 {
		kept := slices.Clone(over)
		if without >= 0 {
			for i, s := range over {
				kept[i] = average(slices.Concat(s.runs[:without], s.runs[without+1:]))
			}
		}
		return of(kept...)
	})
}

// setting is a policy at a load.
type setting struct {
	policy    string
	params    map[string]string
	load      float64
	slowstart float64
	heartbeat time.Duration
	from      fb1121 // zero: drawn
	nodes     int
}

// usualStart is the part of a job's maps after which its reduces start, where nothing else is compared.
const usualStart = 0.05

// ownNodes is the size of the source's cluster; each has 6 map and 2 reduce slots.
const ownNodes = 100

var (
	fbq2  = map[string]string{"limits": "12000"}
	fbq4  = map[string]string{"k": "4", "limits": "4000,10000,36000"}
	tags  = map[string]string{"limits": "12000", "shares": "0.5,0.5"}
	sita  = map[string]string{"limits": "12000", "shares": "0.3,0.7"}
	comp4 = map[string]string{"k": "4"}
)

func (s setting) String() string { return fmt.Sprintf("%s %g %g", s.policy, s.load, s.slowstart) }

// spreads runs every setting with every seed; workloads are the same for all settings
// of a load and seed.
func spreads(r *lab.Recorder, settings []setting, n int) map[string]spread {
	out := map[string]spread{}
	for i, runs := range spreadRuns(r, settings, n) {
		out[settings[i].String()] = average(runs)
	}
	return out
}

// in returns the setting with the loads, nodes and start of reduces that the user has set.
func (s setting) in(r *lab.Recorder) setting {
	loads := map[float64]float64{0.7: r.Float("load", 0.7), 0.9: r.Float("high-load", 0.9)}
	s.nodes, s.load = r.Int("nodes", ownNodes), cmp.Or(loads[s.load], s.load)
	if start := r.Float("slowstart", usualStart); s.slowstart == usualStart {
		s.slowstart = start
	}
	if s.from == (fb1121{}) {
		s.from = drawn
	}
	return s
}

// scene is the beginning of a run of the setting, to be watched: all of it makes a page of 9 MB.
func (s setting) scene(r *lab.Recorder) lab.Scene {
	const first = 200
	s = s.in(r)
	return lab.Scene{Name: fmt.Sprintf("%s, the first %d jobs", s.policy, first), Setup: func() (sim.Config, []*sim.Job, error) {
		cfg, jobs, err := s.config(r.Seed())
		return cfg, jobs[:first], err
	}}
}

func spreadRuns(r *lab.Recorder, settings []setting, n int) [][]spread {
	var ways []fb1121
	settings = slices.Clone(settings)
	for i, s := range settings {
		settings[i] = s.in(r)
		if from := settings[i].from; !slices.Contains(ways, from) {
			ways = append(ways, from)
		}
	}
	nodes := r.Int("nodes", ownNodes)
	reference := lab.Sweep(r, ways, n, func(f fb1121, seed uint64) ([]float64, error) {
		return references(f.workload(seed, arrival{0.7, nodes, 0.05}), nodes)
	})
	return lab.Sweep(r, settings, n, func(s setting, seed uint64) (spread, error) {
		return s.run(seed, reference[slices.Index(ways, s.from)][seed-r.Seed()])
	})
}

// references runs each job alone: the run time that slowdown is measured by.
func references(jobs []*sim.Job, nodes int) ([]float64, error) {
	out := make([]float64, len(jobs))
	for i, j := range jobs {
		cfg, err := lab.Slotted(nodes, 6, 2, "fifo", nil)
		if err != nil {
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

// config sets up a run.
func (s setting) config(seed uint64) (sim.Config, []*sim.Job, error) {
	name, _, _ := strings.Cut(strings.TrimRight(s.policy, "4"), " ")
	cfg, err := lab.Slotted(s.nodes, 6, 2, name, s.params)
	cfg.Heartbeat, cfg.Seed = s.heartbeat, seed
	return cfg, s.from.workload(seed, arrival{s.load, s.nodes, s.slowstart}), err
}

func (s setting) run(seed uint64, reference []float64) (spread, error) {
	cfg, jobs, err := s.config(seed)
	if err != nil {
		return spread{}, err
	}
	split := newSplit(s.params["shares"], s.nodes, jobs)
	split.attach(&cfg)
	res, err := sim.Run(cfg, jobs)
	if err != nil {
		return spread{}, err
	}
	out := measure(res, reference)
	out.first, out.partitions = split.measure(res.Makespan)
	return out, nil
}

var percentiles = []float64{50, 60, 70, 80, 90, 95, 99}

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
	order := stats.Sorted(all)
	for _, q := range percentiles {
		s.q[int(q)] = stats.Quantile(order, q/100)
	}
	s.bySize = lab.Each(bySize, stats.Mean)
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
	out := spread{q: map[int]float64{}, bySize: make([]float64, halfDecades), sizes: runs[0].sizes, slow: runs[0].slow, runs: runs}
	n := float64(len(runs))
	for _, s := range runs {
		for q, v := range s.q {
			out.q[q] += v / n
		}
		for i, v := range s.bySize {
			out.bySize[i] += v / n
		}
		out.small += s.small / n
		out.busy += s.busy / n
		out.work += s.work / n
		out.first += s.first / n
		for i, u := range s.partitions {
			out.partitions[i] += u / n
		}
	}
	return out
}
