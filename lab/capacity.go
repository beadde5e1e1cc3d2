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

var capacityExperiments = []*Experiment{
	{
		ID: "capacity-locality", Title: "How many maps run beside their data, in all 32 experiments", Seconds: 130,
		Source: "capacity.md 6, item 1", run: capacityLocality,
	},
	{
		ID: "capacity-phased", Title: "User limits and response ratio when small jobs come last", Seconds: 15,
		Source: "capacity.md 6, items 2, 3, 7", run: capacityPhased,
	},
	{
		ID: "capacity-separate", Title: "Queues of their own for small jobs, against shared ones", Seconds: 22,
		Source: "capacity.md 6, items 3-5", run: capacitySeparate,
	},
	{
		ID: "capacity-unequal", Title: "Queues of 70 and 30 per cent with caps", Seconds: 2,
		Source: "capacity.md 6, item 6", run: capacityUnequal,
	},
}

// capType is a row of capacity.md Table 4.1.
type capType struct {
	count         int // jobs of a side
	maps, reduces int32
	cost          sim.Cost
}

var capTypes = []capType{
	{4, 100, 15, sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 5, ReduceCycles: 40}},
	{3, 200, 1, sim.Cost{ShuffleRatio: 0.025, OutputRatio: 3, MapCycles: 40, ReduceCycles: 5}},
	{2, 400, 30, sim.Cost{ShuffleRatio: 3, OutputRatio: 0.025, MapCycles: 40, ReduceCycles: 40}},
	{1, 800, 8, sim.Cost{ShuffleRatio: 0.075, OutputRatio: 0.0005, MapCycles: 20, ReduceCycles: 20}},
	{24, 1, 1, sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 1, ReduceCycles: 1}},
	{12, 2, 1, sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 1, ReduceCycles: 1}},
	{4, 10, 1, sim.Cost{ShuffleRatio: 1, OutputRatio: 1, MapCycles: 1, ReduceCycles: 1}},
}

const longTypes = 4

// capSetting is one of the settings a to h of capacity.md 5.3.
type capSetting struct {
	capped    bool
	factor    int
	userLimit int
	name      string
}

var capSettings = []capSetting{
	{false, 1, 100, "a"},
	{true, 1, 100, "b"},
	{false, 2, 100, "c"},
	{false, 1, 25, "d"},
	{true, 2, 100, "e"},
	{true, 1, 25, "f"},
	{false, 2, 25, "g"},
	{true, 2, 25, "h"},
}

// capOrder returns the types of a side's fifty jobs in the order they are submitted.
func capOrder(phased bool) []int {
	var long, small []int
	for i, t := range capTypes {
		for range t.count {
			if i < longTypes {
				long = append(long, i)
			} else {
				small = append(small, i)
			}
		}
	}
	if phased {
		return append(long, small...)
	}
	var out []int
	for i, l := range long {
		out = append(append(out, small[4*i:4*i+4]...), l)
	}
	return out
}

const (
	capNodes  = 30
	capBlock  = 64 << 20
	capCopies = 3
)

// capJobs makes both sides' jobs; queue names a job's queue by side and type.
func capJobs(phased bool, copies int, queue func(side, typ int) string, rng *rand.Rand) []*sim.Job {
	var jobs []*sim.Job
	for side := range 2 {
		for i, typ := range capOrder(phased) {
			t := capTypes[typ]
			id := scheduler.JobID(len(jobs))
			spec := &scheduler.JobSpec{
				ID: id, Name: fmt.Sprint("type ", typ+1), User: fmt.Sprint("u", id), Queue: queue(side, typ),
				Submit: time.Duration(i) * time.Second, Maps: t.maps, Reduces: t.reduces,
			}
			for range t.maps {
				spec.Splits.Add(capBlock, replicas(rng, copies)...)
			}
			jobs = append(jobs, &sim.Job{Spec: spec, Cost: t.cost})
		}
	}
	return jobs
}

func replicas(rng *rand.Rand, copies int) []topology.NodeID {
	var out []topology.NodeID
	for _, n := range rng.Perm(capNodes)[:copies] {
		out = append(out, topology.NodeID(n))
	}
	return out
}

// capGroup is a row of capacity.md 5.3: a pattern with its capacities.
type capGroup struct {
	first     int // number of its experiment a
	phased    bool
	queues    map[string]int
	queueName func(side, typ int) string
}

func bySide(side, _ int) string { return fmt.Sprint("q", side+1) }

func bySize(side, typ int) string {
	if typ < longTypes {
		return fmt.Sprint("long", side+1)
	}
	return fmt.Sprint("small", side+1)
}

var capGroups = []capGroup{
	{1, true, map[string]int{"q1": 50, "q2": 50}, bySide},
	{9, true, map[string]int{"q1": 70, "q2": 30}, bySide},
	{17, false, map[string]int{"q1": 50, "q2": 50}, bySide},
	{25, false, map[string]int{"long1": 40, "long2": 40, "small1": 10, "small2": 10}, bySize},
}

// params writes the queues as the policy wants them.
func (g capGroup) params(s capSetting, lag string) map[string]string {
	queues, caps := "", ""
	for _, name := range []string{"q1", "q2", "long1", "long2", "small1", "small2"} {
		if share, ok := g.queues[name]; ok {
			queues += fmt.Sprintf(",%s=%d", name, share)
			caps += fmt.Sprintf(",%s=%d", name, share)
		}
	}
	p := map[string]string{
		"queues": queues[1:], "user-limit": fmt.Sprintf("*=%d", s.userLimit),
		"user-limit-factor": fmt.Sprintf("*=%d", s.factor), "usage-lag": lag,
	}
	if s.capped {
		p["max-capacity"] = caps[1:]
	}
	return p
}

// capRun is what one experiment showed, by queue and type.
type capRun struct {
	ratio    map[string][]float64 // response ratio by type
	rack     map[string][]float64 // share of maps that were not node-local
	makespan map[string]float64
}

func runCapacity(g capGroup, s capSetting, lag string, copies int, seed uint64) (capRun, error) {
	topo, err := topology.Uniform(1, capNodes, 0, 0)
	if err != nil {
		return capRun{}, err
	}
	params := g.params(s, lag)
	policy, err := policies.Policy("capacity", params)
	if err != nil {
		return capRun{}, err
	}
	init, err := policies.Admission("capacity-init", map[string]string{"queues": params["queues"], "user-limit": params["user-limit"]})
	if err != nil {
		return capRun{}, err
	}
	jobs := capJobs(g.phased, copies, g.queueName, rand.New(rand.NewPCG(seed, 0xca)))
	res, err := sim.Run(sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{MapSlots: 4, ReduceSlots: 4}, Policy: policy, Admission: init,
		State: scheduler.DefaultConfig(), Model: sim.NewDevices(sim.DefaultDevices(), capNodes, seed),
		Heartbeat: 300 * time.Millisecond, Seed: seed,
	}, jobs)
	if err != nil {
		return capRun{}, err
	}
	return capMeasure(res, g), nil
}

func capMeasure(res *sim.Result, g capGroup) capRun {
	out := capRun{ratio: map[string][]float64{}, rack: map[string][]float64{}, makespan: map[string]float64{}}
	count := map[string][]float64{}
	n := len(capTypes)
	for i := range res.Jobs {
		j := &res.Jobs[i]
		q := j.Job.Spec.Queue
		typ := capOrder(g.phased)[i%50]
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

// capSeeds runs one experiment over seeds and averages.
type capMean struct {
	ratio, rack []float64            // by type, over all queues that have it
	byQueue     map[string][]float64 // response ratio
	makespan    map[string]float64
}

func (r *Recorder) capacity(g capGroup, s capSetting, lag string, copies, n int) (capMean, error) {
	runs := make([]capRun, n)
	err := r.each(n, func(i int) (err error) {
		runs[i], err = runCapacity(g, s, lag, copies, r.options.Seed+uint64(i))
		return err
	})
	if err != nil {
		return capMean{}, err
	}
	types := len(capTypes)
	out := capMean{ratio: make([]float64, types), rack: make([]float64, types), byQueue: map[string][]float64{}, makespan: map[string]float64{}}
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
