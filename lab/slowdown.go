package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

var slowdownExperiments = []*Experiment{
	{
		ID: "slowdown-table2", Title: "The eight validation jobs alone on 60 + 20 slots", Seconds: 1,
		Source: "slowdown.md 5, item 4", run: tableII,
	},
	{
		ID: "slowdown-policies", Title: "FIFO, FBQ, TAGS, SITA and COMP at loads 0.7 and 0.9", Seconds: 200,
		Source: "slowdown.md 5, items 1-3, 6-12, 17, 20", run: slowdownPolicies,
	},
	{
		ID: "slowdown-analytic", Title: "One slot against queueing theory", Seconds: 150,
		Source: "slowdown.md 5, item 18", run: slowdownAnalytic,
	},
}

// slotted is a cluster of one rack with map and reduce slots.
func slotted(nodes int, maps, reduces int32) (sim.Config, error) {
	topo, err := topology.Uniform(1, nodes, 0, 0)
	return sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{MapSlots: maps, ReduceSlots: reduces},
		State: scheduler.DefaultConfig(), Model: sim.NewFixed(),
	}, err
}

func tableII(r *Recorder) error {
	r.seeds(1, 1)
	for _, c := range []struct {
		name            string
		maps, reduces   int32
		m, r, size, run float64
	}{
		{"GREP 2/1", 2, 1, 27.04, 9.06, 63.14, 36.10},
		{"SORT 4/1", 4, 1, 9.17, 23.53, 60.20, 32.70},
		{"WCOUNT 4/1", 4, 1, 28.03, 14.01, 126.14, 42.04},
		{"GREP 50/5", 50, 5, 29.76, 13.07, 1553.2, 42.83},
		{"WCOUNT 100/10", 100, 10, 32.47, 21.86, 3790.46, 86.80},
		{"SORT 200/20", 200, 20, 12.20, 101.11, 5194.64, 149.92},
		{"GREP 400/40", 400, 40, 29.01, 15.27, 15697.18, 233.63},
		{"WCOUNT 600/60", 600, 60, 25.98, 106.65, 26662.53, 579.73},
	} {
		cfg, err := slotted(10, 6, 2)
		if err != nil {
			return err
		}
		if cfg.Policy, err = policies.Policy("fifo", nil); err != nil {
			return err
		}
		res, err := sim.Run(cfg, []*sim.Job{{
			Spec: &scheduler.JobSpec{Maps: c.maps, Reduces: c.reduces},
			Maps: []time.Duration{seconds(c.m)}, Reduces: []time.Duration{seconds(c.r)},
		}})
		if err != nil {
			return err
		}
		why := "task lengths calibrated in slowdown.md 4.3"
		if c.name == "GREP 50/5" {
			why += "; the printed 155.32 s is a decimal slip (6.1)"
		}
		r.within("4: "+c.name+" run time, s", res.Jobs[0].Execution().Seconds(), c.run, 0.001*c.run, why)
		r.within("4: "+c.name+" occupancy, s", res.Jobs[0].Occupied.Seconds(), c.size, 0.001*c.size, why)
	}
	return nil
}

// spread is the slowdown distribution of one policy at one load, means over seeds.
type spread struct {
	q     map[int]float64 // percentile to slowdown
	bySze []float64       // mean slowdown by half-decade of job size, from 10 s
	small float64         // share of jobs below 4,000 s that lie above p95
}

func (s spread) v(q int) float64 { return s.q[q] / s.q[50] }

// setting is a policy at a load.
type setting struct {
	policy    string
	params    map[string]string
	load      float64
	slowstart float64
}

var (
	fbq2  = map[string]string{"limits": "12000"}
	fbq4  = map[string]string{"k": "4", "limits": "4000,10000,36000"}
	tags  = map[string]string{"limits": "12000", "shares": "0.5,0.5"}
	sita  = map[string]string{"limits": "12000", "shares": "0.3,0.7"}
	comp4 = map[string]string{"k": "4"}
)

func slowdownPolicies(r *Recorder) error {
	n := r.seeds(5, 2)
	var settings []setting
	for _, load := range []float64{0.7, 0.9} {
		for _, start := range []float64{0.05, 1} {
			settings = append(settings,
				setting{"fifo", nil, load, start}, setting{"fbq", fbq2, load, start},
				setting{"tags", tags, load, start}, setting{"sita", sita, load, start}, setting{"comp", nil, load, start},
				setting{"fbq4", fbq4, load, start}, setting{"comp4", comp4, load, start})
		}
	}
	got, err := r.spreads(settings, n)
	if err != nil {
		return err
	}
	at := func(name string, load, start float64) spread { return got[fmt.Sprintf("%s %g %g", name, load, start)] }
	checkLevels(r, at)
	checkHighLoad(r, at)
	checkSizes(r, at)
	return nil
}

type lookup func(name string, load, start float64) spread

var inf = math.Inf(1)

func checkLevels(r *Recorder, at lookup) {
	fifo, fbq, sita, tags, comp := at("fifo", 0.7, 0.05), at("fbq", 0.7, 0.05), at("sita", 0.7, 0.05), at("tags", 0.7, 0.05), at("comp", 0.7, 0.05)
	const fitted = "the generator is calibrated to this (slowdown.md 4.5)"
	r.within("1: FIFO median slowdown, load 0.7", fifo.q[50], 2.8, 0.6, fitted)
	r.within("1: FIFO 95th percentile", fifo.q[95], 23.8, 6, fitted)
	r.within("1: FIFO variability V(95)", fifo.v(95), 8.5, 2, fitted)
	r.between("2: p95 FIFO / FBQ, load 0.7", "2 (R15)", fifo.q[95]/fbq.q[95], 1.8, inf, "")
	r.between("2: p95 FIFO / SITA, load 0.7", "2 (R15)", fifo.q[95]/sita.q[95], 1.8, inf, "")
	for _, q := range []int{90, 95, 99} {
		r.between(fmt.Sprintf("3: V(%d) FIFO / FBQ, slow start 0.05", q), "2 (R13)", fifo.v(q)/fbq.v(q), 1.4, inf, "")
		r.between(fmt.Sprintf("3: V(%d) FIFO / FBQ, slow start 1", q), "2 (R13)", at("fifo", 0.7, 1).v(q)/at("fbq", 0.7, 1).v(q), 1.9, inf, "")
	}
	r.between("3: median FBQ / FIFO", "below 1", fbq.q[50]/fifo.q[50], 0, 1, "")
	r.between("8: V(95) TAGS / FIFO", "below 1 (R10)", tags.v(95)/fifo.v(95), 0, 1, "")
	r.between("8: median TAGS / FIFO", "above 1 (R10)", tags.q[50]/fifo.q[50], 1, inf, "")
	r.between("9: median COMP / FIFO", "below 1", comp.q[50]/fifo.q[50], 0, 1, "")
	r.between("9: V(80) COMP / FIFO", "below 1 (R13)", comp.v(80)/fifo.v(80), 0, 1, "")
	r.between("9: V(90) COMP / FIFO", "below 1 (R13)", comp.v(90)/fifo.v(90), 0, 1, "")
	r.between("9: V(95) COMP / FIFO", "about 1 (R13)", comp.v(95)/fifo.v(95), 0.8, 1.25, "")
	r.between("9: V(99) COMP / FIFO", "above 1 (R13)", comp.v(99)/fifo.v(99), 1, inf, "")
}

func checkHighLoad(r *Recorder, at lookup) {
	fifo, fbq, sita, tags, comp := at("fifo", 0.9, 0.05), at("fbq", 0.9, 0.05), at("sita", 0.9, 0.05), at("tags", 0.9, 0.05), at("comp", 0.9, 0.05)
	r.between("2: p95 FIFO / SITA, load 0.9", "2 (R15)", fifo.q[95]/sita.q[95], 1.8, inf, "")
	r.between("2: p95 FIFO / FBQ, load 0.9, slow start 0.05", "2 (R15)", fifo.q[95]/fbq.q[95], 1.3, inf, "depends on the number of reduces (6.15)")
	r.between("2: p95 FIFO / FBQ, load 0.9, slow start 1", "2 (R15)", at("fifo", 0.9, 1).q[95]/at("fbq", 0.9, 1).q[95], 2, inf, "")
	r.between("6: median TAGS / FIFO, load 0.9", "2 (R11)", tags.q[50]/fifo.q[50], 1.4, inf, "")
	r.between("6: p95 TAGS, load 0.9", "above 60 (R11)", tags.q[95], 60, inf, "")
	r.between("7: median SITA / FIFO, load 0.9", "0.5 (R12)", sita.q[50]/fifo.q[50], 0, 0.6, "")
	r.between("7: mean slowdown above 31,600 s, SITA / FIFO", "above 1 (R12)", sita.bySze[7]/fifo.bySze[7], 1, inf, "")
	r.between("9: V(95) COMP / FIFO, load 0.9", "p95 above 60 (R11; see 6.14)", comp.v(95)/fifo.v(95), 2, inf, "")
	four := at("fbq4", 0.9, 1)
	r.between("11: median FBQ K=4 / K=2, slow start 1", "0.7 (R16)", four.q[50]/at("fbq", 0.9, 1).q[50], 0, 0.8, "")
	r.between("11: jobs below 4,000 s above p95, K=4, %", "none (R16)", 100*four.small, 0, 0.5, "")
	r.between("12: median COMP / FBQ, K=4", "below 1 (R17)", at("comp4", 0.9, 0.05).q[50]/at("fbq4", 0.9, 0.05).q[50], 0, 1, "")
	r.between("12: V(95) COMP / FBQ, K=4, slow start 1", "above 1 (R17)", at("comp4", 0.9, 1).v(95)/four.v(95), 1, inf, "")
	r.between("20: p95 FBQ, slow start 0.05 / 1", "hoarding hurts (VI-C)", fbq.q[95]/at("fbq", 0.9, 1).q[95], 1.5, inf, "")
	r.between("20: p95 FIFO, slow start 0.05 / 1", "hardly changes", fifo.q[95]/at("fifo", 0.9, 1).q[95], 0.9, 1.1, "")
}

func checkSizes(r *Recorder, at lookup) {
	flat := func(name string) float64 {
		low, high := inf, 0.0
		for _, m := range at(name, 0.7, 0.05).bySze {
			if !math.IsNaN(m) {
				low, high = min(low, m), max(high, m)
			}
		}
		return high / low
	}
	r.between("10: largest over smallest mean slowdown by size, FIFO", "uneven (R14)", flat("fifo"), 10, inf, "")
	for _, name := range []string{"fbq", "sita", "comp"} {
		r.between("10: the same, "+name, "flat (R14)", flat(name), 1, 6, "")
	}
	r.holds("10: TAGS is less even than those three", "R14", number(flat("tags")),
		flat("tags") > max(flat("fbq"), flat("sita"), flat("comp")), "")
	for _, name := range []string{"tags", "sita"} {
		s := at(name, 0.7, 0.05).bySze
		r.holds("17: jobs just too big for partition 1 suffer, "+name, "R19",
			fmt.Sprintf("%s and %s against %s", number(s[6]), number(s[7]), number(s[8])), s[6] > s[8] && s[7] > s[8], "")
	}
}

// spreads runs every setting with every seed; workloads are the same for all settings
// of a load and seed.
func (r *Recorder) spreads(settings []setting, n int) (map[string]spread, error) {
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
	out := map[string]spread{}
	for i, s := range settings {
		out[fmt.Sprintf("%s %g %g", s.policy, s.load, s.slowstart)] = average(runs[i])
	}
	return out, err
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
	name := map[string]string{"fbq4": "fbq", "comp4": "comp"}[s.policy]
	if name == "" {
		name = s.policy
	}
	if cfg.Policy, err = policies.Policy(name, s.params); err != nil {
		return spread{}, err
	}
	res, err := sim.Run(cfg, r.workload(seed, s.load, s.slowstart))
	if err != nil {
		return spread{}, err
	}
	return measure(res, reference), nil
}

// halfDecades is the number of size ranges from 10 s to 316,000 s.
const halfDecades = 9

func measure(res *sim.Result, reference []float64) spread {
	all := make([]float64, len(res.Jobs))
	bySize := make([][]float64, halfDecades)
	for i := range res.Jobs {
		j := &res.Jobs[i]
		all[i] = j.Completion().Seconds() / reference[i]
		bin := int(2 * math.Log10(j.Job.Spec.Work.Seconds()/10))
		bin = min(max(bin, 0), halfDecades-1)
		bySize[bin] = append(bySize[bin], all[i])
	}
	s := spread{q: map[int]float64{}}
	order := sorted(all)
	for _, q := range []int{50, 80, 90, 95, 99} {
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
	out := spread{q: map[int]float64{}, bySze: make([]float64, halfDecades)}
	for _, s := range runs {
		n := float64(len(runs))
		for q, v := range s.q {
			out.q[q] += v / n
		}
		for i, v := range s.bySze {
			out.bySze[i] += v / n
		}
		out.small += s.small / n
	}
	return out
}
