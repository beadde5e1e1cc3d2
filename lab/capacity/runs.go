package capacity

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
)

// capRun is what one experiment showed, by queue and type.
type capRun struct {
	ratio    map[string][]float64 // response ratio by type
	rack     map[string][]float64 // share of maps that were not node-local
	makespan map[string]float64

	types       []int     // by job
	exec, ended []float64 // by job, seconds
	waited      []float64 // by job, from its submission to its first map
	end         time.Duration
}

// cluster is nodes of MRPERF's devices under the Capacity Scheduler with its initialisation limits.
func cluster(nodes int, slots scheduler.Capacity, params, initial map[string]string, seed uint64) (sim.Config, error) {
	cfg, err := lab.Uniform(nodes, slots)
	if err != nil {
		return cfg, err
	}
	cfg.Model, cfg.Heartbeat, cfg.Seed = sim.NewDevices(sim.DefaultDevices(), nodes, seed), 300*time.Millisecond, seed
	if cfg.Policy, err = policies.Policy("capacity", params); err != nil || initial == nil {
		return cfg, err
	}
	cfg.Admission, err = policies.Admission("capacity-init", initial)
	return cfg, err
}

// config sets up a run.
func (g capGroup) config(s capSetting, o capOptions, seed uint64) (sim.Config, []*sim.Job, error) {
	params := g.params(s, o.lag)
	if g.contradicted(s) {
		params["queue-order"] = "backlog"
	}
	initial := map[string]string{"queues": params["queues"], "user-limit": params["user-limit"]}
	maps.Copy(params, o.params)
	nodes := cmp.Or(o.nodes, capNodes)
	cfg, err := cluster(nodes, scheduler.Capacity{MapSlots: 4, ReduceSlots: 4}, params, initial, seed)
	if o.devices != nil {
		cfg.Model = sim.NewDevices(*o.devices, nodes, seed)
	}
	return cfg, capJobs(g.phased, o, g.queueName, rand.New(rand.NewPCG(seed, 0xca))), err
}

func runCapacity(g capGroup, s capSetting, o capOptions, seed uint64) (capRun, error) {
	cfg, jobs, err := g.config(s, o, seed)
	if err != nil {
		return capRun{}, err
	}
	if o.watch != nil {
		o.watch.Attach(&cfg)
	}
	res, err := sim.Run(cfg, jobs)
	if err != nil {
		return capRun{}, err
	}
	return capMeasure(res), nil
}

func capMeasure(res *sim.Result) capRun {
	out := capRun{ratio: map[string][]float64{}, rack: map[string][]float64{}, makespan: map[string]float64{}, end: res.Makespan}
	count := map[string][]float64{}
	n := len(capTypes)
	for i := range res.Jobs {
		j := &res.Jobs[i]
		q := j.Job.Spec.Queue
		typ := capTypeOf(j.Job)
		out.types = append(out.types, typ)
		out.exec, out.ended = append(out.exec, j.Execution().Seconds()), append(out.ended, j.Finished.Seconds())
		out.waited = append(out.waited, (j.FirstMap - j.Submitted).Seconds())
		if out.ratio[q] == nil {
			out.ratio[q], out.rack[q], count[q] = make([]float64, n), make([]float64, n), make([]float64, n)
		}
		out.ratio[q][typ] += j.Completion().Seconds() / (j.Finished - j.FirstMap).Seconds()
		out.rack[q][typ] += 1 - float64(j.Local[scheduler.NodeLocal])/float64(j.Job.Spec.Maps)
		count[q][typ]++
		out.makespan[q] = max(out.makespan[q], j.Finished.Seconds())
	}
	for q := range count {
		for t := range n {
			out.ratio[q][t] /= count[q][t]
			out.rack[q][t] /= count[q][t]
		}
	}
	return out
}

// capTypeOf returns the row of spec/capacity Table 4.1, from 0.
func capTypeOf(j *sim.Job) int {
	return slices.IndexFunc(capTypes, func(t capType) bool { return t.maps == j.Spec.Maps && t.reduces == j.Spec.Reduces })
}

// capMean is one experiment averaged over seeds.
type capMean struct {
	runs        []capRun
	ratio, rack []float64            // by type, over all queues that have it
	byQueue     map[string][]float64 // response ratio
	makespan    map[string]float64
}

func average(r *lab.Recorder, g capGroup, s capSetting, o capOptions, n int) capMean {
	o = o.in(r)
	runs := lab.Repeat(r, n, func(seed uint64) (capRun, error) {
		mine := o
		if seed > r.Seed() {
			mine.watch = nil
		}
		return runCapacity(g, s, mine, seed)
	})
	types := len(capTypes)
	out := capMean{runs: runs, ratio: make([]float64, types), rack: make([]float64, types), byQueue: map[string][]float64{}, makespan: map[string]float64{}}
	weight := make([]float64, types)
	for _, run := range runs {
		for _, q := range queueNames(g.queues) {
			if out.byQueue[q] == nil {
				out.byQueue[q] = make([]float64, types)
			}
			out.makespan[q] += run.makespan[q] / float64(n)
			for t := range types {
				if v := run.ratio[q][t]; !math.IsNaN(v) {
					out.ratio[t] += v
					out.rack[t] += run.rack[q][t]
					weight[t]++
					out.byQueue[q][t] += v / float64(n)
				}
			}
		}
	}
	for t := range types {
		out.ratio[t] /= weight[t]
		out.rack[t] /= weight[t]
	}
	return out
}

// over is the mean response ratio of a type over that of another experiment.
func (m capMean) over(other capMean, typ int) stats.Estimate {
	return lab.OfMeans(m.runs, other.runs, func(run capRun) float64 { return run.response(typ) }, func(a, b float64) float64 { return a / b })
}

// response is the mean response ratio of a type over the queues that have it.
func (run capRun) response(typ int) float64 {
	var all []float64
	for _, q := range slices.Sorted(maps.Keys(run.ratio)) {
		if v := run.ratio[q][typ]; !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	return stats.Mean(all)
}

// changes returns a time of the jobs of each type, over that of another experiment.
func (m capMean) changes(other capMean, of func(run capRun, job int) float64) []float64 {
	sums := func(runs []capRun) []float64 {
		out := make([]float64, len(capTypes))
		for _, run := range runs {
			for k, t := range run.types {
				out[t] += of(run, k)
			}
		}
		return out
	}
	mine, base := sums(m.runs), sums(other.runs)
	for t := range mine {
		mine[t] /= base[t]
	}
	return mine
}

const capLag = "300ms"

// small is how far the response ratio of a small type may be from the published one, as a part of it: as the widest of the long ones.
const small = 0.25

// wide is how far the response ratio of a long type may be from the published one, as a part of it (spec/capacity 6).
func wide(typ int) float64 {
	if typ == 3 {
		return 0.25
	}
	return 0.15
}

// byType draws a bar for each type and group.
func byType(frame chart.Frame, groups []string, bar func(typ, group int) chart.Bar) chart.Bars {
	bars := chart.Bars{Frame: frame, Groups: groups}
	for t := range capTypes {
		for k := range groups {
			b := bar(t, k).In(k)
			b.Label = fmt.Sprintf("type %d", t+1)
			bars.Bars = append(bars.Bars, b)
		}
	}
	return bars
}
