package lab

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// smallCluster is the sensitivity set-up of capacity.md 5.1.
type smallCluster struct {
	queues      map[string]int
	params      map[string]string // of the policy
	init        map[string]string // of the initialisation limits
	users       int               // in each queue, a job each
	reduces     int32
	together    bool // all jobs are submitted at once
	priorities  []int8
	reduceSlots int32
	watch       *Watcher
}

// teraSortCost is MRPERF's TeraSort.
var teraSortCost = sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 40, ReduceCycles: 90}

const (
	smallNodes = 5
	smallMaps  = 75
)

func (c smallCluster) jobs(rng *rand.Rand) []*sim.Job {
	var jobs []*sim.Job
	for _, q := range slices.Sorted(maps.Keys(c.queues)) {
		for u := range c.users {
			spec := &scheduler.JobSpec{
				ID: scheduler.JobID(len(jobs)), User: fmt.Sprintf("%s-u%d", q, u), Queue: q, Maps: smallMaps, Reduces: max(1, c.reduces),
			}
			if !c.together {
				spec.Submit = time.Duration(u) * time.Second
			}
			if c.priorities != nil {
				spec.Priority = c.priorities[u]
			}
			for range smallMaps {
				spec.Splits.Add(capBlock, someNodes(rng, smallNodes, 3)...)
			}
			jobs = append(jobs, &sim.Job{Spec: spec, Cost: teraSortCost})
		}
	}
	return jobs
}

func someNodes(rng *rand.Rand, nodes, copies int) []topology.NodeID {
	var out []topology.NodeID
	for _, n := range rng.Perm(nodes)[:copies] {
		out = append(out, topology.NodeID(n))
	}
	return out
}

func (c smallCluster) run(seed uint64) (*sim.Result, error) {
	topo, err := topology.Uniform(1, smallNodes, 0, 0)
	if err != nil {
		return nil, err
	}
	var queues []string
	for _, q := range slices.Sorted(maps.Keys(c.queues)) {
		queues = append(queues, fmt.Sprintf("%s=%d", q, c.queues[q]))
	}
	params := map[string]string{"queues": strings.Join(queues, ","), "usage-lag": capLag}
	maps.Copy(params, c.params)
	policy, err := policies.Policy("capacity", params)
	if err != nil {
		return nil, err
	}
	initial := map[string]string{"queues": params["queues"]}
	if p := params["priority"]; p != "" {
		initial["priority"] = p
	}
	maps.Copy(initial, c.init)
	admit, err := policies.Admission("capacity-init", initial)
	if err != nil {
		return nil, err
	}
	slots := c.reduceSlots
	if slots == 0 {
		slots = 2
	}
	cfg := sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{MapSlots: 2, ReduceSlots: slots}, Policy: policy, Admission: admit,
		State: scheduler.DefaultConfig(), Model: sim.NewDevices(sim.DefaultDevices(), smallNodes, seed), Heartbeat: 300 * time.Millisecond, Seed: seed,
	}
	if c.watch != nil {
		c.watch.Attach(&cfg)
	}
	return sim.Run(cfg, c.jobs(rand.New(rand.NewPCG(seed, 0x5a))))
}

// smallMean is what is compared, means over seeds.
type smallMean struct {
	makespan map[string]float64
	longest  float64 // the last queue's makespan
	maxWait  float64
	meanWait float64
	atOnce   int // most jobs of a queue between admission and end, over all seeds
}

func (r *Recorder) small(c smallCluster, n int) (smallMean, []*sim.Result, error) {
	runs := make([]*sim.Result, n)
	err := r.each(n, func(i int) (err error) {
		mine := c
		if i > 0 {
			mine.watch = nil
		}
		runs[i], err = mine.run(r.options.Seed + uint64(i))
		return err
	})
	if err != nil {
		return smallMean{}, nil, err
	}
	out := smallMean{makespan: map[string]float64{}}
	for _, res := range runs {
		part := 1 / float64(n)
		ends, wait := map[string]float64{}, 0.0
		for i := range res.Jobs {
			j := &res.Jobs[i]
			ends[j.Job.Spec.Queue] = max(ends[j.Job.Spec.Queue], j.Finished.Seconds())
			wait = max(wait, j.Wait().Seconds())
			out.meanWait += part * j.Wait().Seconds() / float64(len(res.Jobs))
		}
		for _, q := range slices.Sorted(maps.Keys(ends)) {
			out.makespan[q] += part * ends[q]
		}
		out.longest += part * res.Makespan.Seconds()
		out.maxWait += part * wait
		out.atOnce = max(out.atOnce, overlap(res))
	}
	return out, runs, nil
}

// overlap is the most jobs of one queue that were admitted and not ended at one time.
func overlap(res *sim.Result) (most int) {
	for i := range res.Jobs {
		at, n := res.Jobs[i].Admitted, 0
		for k := range res.Jobs {
			o := &res.Jobs[k]
			if o.Job.Spec.Queue == res.Jobs[i].Job.Spec.Queue && o.Admitted <= at && at < o.Finished {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
