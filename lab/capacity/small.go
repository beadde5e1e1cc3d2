package capacity

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
)

// smallCluster is the sensitivity set-up of spec/capacity 5.1.
type smallCluster struct {
	queues     string
	params     map[string]string // of the policy
	init       map[string]string // of the initialisation limits
	users      int               // in each queue, a job each
	reduces    int32
	together   bool // all jobs are submitted at once
	priorities []scheduler.Priority
	watch      *compare.Watcher
}

// teraSortCost is MRPERF's TeraSort.
var teraSortCost = sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 40, ReduceCycles: 90}

const (
	smallNodes = 5
	smallMaps  = 75
)

func (c smallCluster) jobs(rng *rand.Rand) []*sim.Job {
	var jobs []*sim.Job
	for _, q := range queueNames(c.queues) {
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
				spec.Splits.Add(capBlock, lab.SomeNodes(rng, smallNodes, 3)...)
			}
			jobs = append(jobs, &sim.Job{Spec: spec, Cost: teraSortCost})
		}
	}
	return jobs
}

func (c smallCluster) run(seed uint64) (*sim.Result, error) {
	params := map[string]string{"queues": c.queues, "usage-lag": capLag}
	maps.Copy(params, c.params)
	initial := map[string]string{"queues": c.queues}
	if p := params["priority"]; p != "" {
		initial["priority"] = p
	}
	maps.Copy(initial, c.init)
	cfg, err := cluster(smallNodes, scheduler.Capacity{MapSlots: 2, ReduceSlots: 2}, params, initial, seed)
	if err != nil {
		return nil, err
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

func smallRuns(r *lab.Recorder, c smallCluster, n int) (smallMean, []*sim.Result) {
	runs := lab.Repeat(r, n, func(seed uint64) (*sim.Result, error) {
		mine := c
		if seed > r.Seed() {
			mine.watch = nil
		}
		return mine.run(seed)
	})
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
	return out, runs
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
