package lab

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// capRun is what one experiment showed, by queue and type.
type capRun struct {
	ratio    map[string][]float64 // response ratio by type
	rack     map[string][]float64 // share of maps that were not node-local
	makespan map[string]float64

	types      []int     // by job
	exec, wait []float64 // by job, seconds
	ended      []float64 // by job
	end        time.Duration
}

func runCapacity(g capGroup, s capSetting, o capOptions, seed uint64) (capRun, error) {
	topo, err := topology.Uniform(1, capNodes, 0, 0)
	if err != nil {
		return capRun{}, err
	}
	params := g.params(s, o.lag)
	initial := map[string]string{"queues": params["queues"], "user-limit": params["user-limit"]}
	maps.Copy(params, o.params)
	policy, err := policies.Policy("capacity", params)
	if err != nil {
		return capRun{}, err
	}
	init, err := policies.Admission("capacity-init", initial)
	if err != nil {
		return capRun{}, err
	}
	jobs := capJobs(g.phased, o, g.queueName, rand.New(rand.NewPCG(seed, 0xca)))
	cfg := sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{MapSlots: 4, ReduceSlots: 4}, Policy: policy, Admission: init,
		State: scheduler.DefaultConfig(), Model: sim.NewDevices(sim.DefaultDevices(), capNodes, seed),
		Heartbeat: 300 * time.Millisecond, Seed: seed,
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
		out.exec, out.wait = append(out.exec, j.Execution().Seconds()), append(out.wait, j.Wait().Seconds())
		out.ended = append(out.ended, j.Finished.Seconds())
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

// capTypeOf returns the row of Table 4.1, from 0.
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

func (r *Recorder) capacity(g capGroup, s capSetting, o capOptions, n int) (capMean, error) {
	runs := make([]capRun, n)
	err := r.each(n, func(i int) (err error) {
		mine := o
		if i > 0 {
			mine.watch = nil
		}
		runs[i], err = runCapacity(g, s, mine, r.options.Seed+uint64(i))
		return err
	})
	if err != nil {
		return capMean{}, err
	}
	types := len(capTypes)
	out := capMean{runs: runs, ratio: make([]float64, types), rack: make([]float64, types), byQueue: map[string][]float64{}, makespan: map[string]float64{}}
	weight := make([]float64, types)
	for _, run := range runs {
		for _, q := range []string{"q1", "q2", "long1", "long2", "small1", "small2"} {
			if run.ratio[q] == nil {
				continue
			}
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
	return out, nil
}

const capLag = "300ms"
