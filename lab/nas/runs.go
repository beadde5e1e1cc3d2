package nas

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/nas"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// nasCluster is a set-up of spec/nas 4.2 or 4.3.
type nasCluster struct {
	racks, nodes, containers int
	nic, uplink              topology.Rate
	users                    int
	scale                    float64
	byTime                   bool // patience of 5 s instead of 135 skips
	tick                     time.Duration
	tasks                    string // trace.SWIM or trace.Fine
	rates                    sim.Rates
	reduceShare              string // of the containers, while maps wait
	perHeartbeat             int    // containers that a node gets at a heartbeat; 0: all that fit
	one                      bool   // all repetitions have the same jobs, with other placements
	byNode                   bool   // a flow for each source node, not for each source rack
}

// shape says how traced sizes become tasks on the cluster.
func (c nasCluster) shape() trace.Shape {
	s := trace.FineShape(c.racks * c.nodes * c.containers)
	if c.tasks == trace.SWIM {
		s = trace.SWIMShape(c.racks * c.nodes)
	}
	s.Scale = c.scale
	return s
}

// nas40 is the cluster on which the source checked its simulator (spec/nas 4.3).
var nas40 = nasCluster{
	racks: 8, nodes: 5, containers: 16, nic: topology.Gbps(1), uplink: topology.Gbps(1), users: 200, byTime: true,
}

// The two regimes of spec/nas 5, item 4, on that cluster. How fast tasks compute, how far the sizes were scaled and what part of the
// containers reduces may hold is not in the source.
var (
	regimeA = nas40.with(func(c *nasCluster) {
		c.tasks, c.scale, c.rates, c.reduceShare = trace.SWIM, 0.5, sim.NamedRates["copy"], "0.5"
	})
	regimeB = nas40.with(func(c *nasCluster) {
		c.tasks, c.scale, c.rates, c.reduceShare = trace.Fine, 1, sim.NamedRates["slow"], "0.95"
	})
)

// A regime is a set-up of the 40 nodes under its name.
type regime struct {
	name    string
	cluster nasCluster
}

var regimes = []regime{{"A", regimeA}, {"B", regimeB}}

// label begins the names of its checks.
func (g regime) label() string { return "regime " + g.name + ": " }

// with returns a changed copy.
func (c nasCluster) with(change func(*nasCluster)) nasCluster {
	if change != nil {
		change(&c)
	}
	return c
}

// nas600 is the cluster of its simulations (spec/nas 4.2), with sizes at which congestion comes and goes.
var nas600 = nasCluster{
	racks: 30, nodes: 20, containers: 6, nic: topology.Mbps(250), uplink: topology.Gbps(1), users: 200, scale: 0.2,
	tasks: trace.SWIM, rates: sim.NamedRates["copy"], reduceShare: "0.5",
}

// nasRun is what one run showed.
type nasRun struct {
	throughput float64 // jobs an hour
	completion float64 // mean, seconds
	byClass    [3]float64
	times      []float64 // completion of each job, seconds
	traffic    sim.Traffic
	episodes   float64
	congested  float64 // rack-seconds
	overlap    float64 // mean map progress at the first reduce
	overload   float64 // share of node samples above the traffic threshold
	makespan   float64
	skew       float64 // bytes into the rack that got most, over the mean of racks
}

// sample draws jobs from a trace, arriving with exponential gaps.
func sample(day []trace.Job, n int, gap time.Duration, rng *rand.Rand) []trace.Job {
	out := make([]trace.Job, n)
	at := 0.0
	for i := range out {
		out[i] = day[rng.IntN(len(day))]
		at += gap.Seconds() * rng.ExpFloat64()
		out[i].Submit = lab.Seconds(at)
	}
	return out
}

// params returns the parameters of a policy in this set-up. Classes scale with sizes.
func (c nasCluster) params(policy string, extra map[string]string) map[string]string {
	p := map[string]string{}
	switch policy {
	case "fair", "delay":
		p["slowstart"] = "0.2"
	default:
		d := nas.DefaultClasses()
		for name, limit := range map[string]int64{"light": d.Light, "heavy": d.Heavy, "small-input": d.SmallInput} {
			p[name] = fmt.Sprint(int64(float64(limit) * c.scale))
		}
	}
	if policy == "sw-delay" { // its plan is made when a job is submitted, and needs the size
		p = map[string]string{"sizes": "all"}
	}
	p["reduce-share"] = c.reduceShare
	if c.byTime && policy != "fair" {
		p["by"] = "time"
	}
	maps.Copy(p, extra)
	return p
}

// config sets up a run of one policy on jobs of a trace.
func (c nasCluster) config(policy string, extra map[string]string, traced []trace.Job, seed uint64) (cfg sim.Config, jobs []*sim.Job, err error) {
	topo, err := topology.Uniform(c.racks, c.nodes, c.nic, c.uplink)
	if err != nil {
		return cfg, nil, err
	}
	p, err := policies.Policy(policy, c.params(policy, extra))
	if err != nil {
		return cfg, nil, err
	}
	w := sim.DefaultWorkload(topo, c.racks*c.nodes*c.containers)
	w.Shape, w.Users, w.Rates = c.shape(), c.users, c.rates
	net := sim.DefaultNetwork(topo)
	if c.tick > 0 {
		net.Tick = c.tick
	}
	net.ByNode = c.byNode
	model, err := sim.NewNetwork(net)
	return sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{Containers: int32(c.containers)}, Policy: p, State: scheduler.DefaultConfig(),
		Model: model, Reports: sim.Reports{Heartbeat: time.Second, ReportLate: true, PerHeartbeat: c.perHeartbeat}, BreakDeadlocks: true, Seed: seed,
	}, sim.FromTrace(traced, w, rand.New(rand.NewPCG(seed, 2))), err
}

// run simulates one policy on jobs of a trace.
func (c nasCluster) run(policy string, extra map[string]string, traced []trace.Job, seed uint64) (nasRun, error) {
	cfg, jobs, err := c.config(policy, extra, traced, seed)
	if err != nil {
		return nasRun{}, err
	}
	watch, err := newLoadWatch(cfg.Policy)
	if err != nil {
		return nasRun{}, err
	}
	cfg.Policy, cfg.Views = watch, sim.Views{SampleEvery: 10 * time.Second, Sample: watch.sample}
	res, err := sim.Run(cfg, jobs)
	if err != nil {
		return nasRun{}, err
	}
	return measureNAS(res, watch, c.scale), nil
}

func measureNAS(res *sim.Result, watch *loadWatch, scale float64) nasRun {
	n := float64(len(res.Jobs))
	out := nasRun{
		throughput: n / res.Makespan.Hours(), traffic: *res.Network, episodes: float64(res.Congestion.Episodes), congested: res.Congestion.Congested.Seconds(),
		makespan: res.Makespan.Seconds(), overlap: stats.Mean(watch.overlaps), overload: float64(watch.over) / math.Max(1, float64(watch.samples)),
	}
	out.skew = inboundSkew(res.Network.Matrix)
	var count [3]float64
	classes := nas.DefaultClasses()
	for i := range res.Jobs {
		j := &res.Jobs[i]
		took := j.Completion().Seconds()
		out.completion += took / n
		out.times = append(out.times, took)
		class := classes.Of(float64(j.Job.Spec.Shuffle.Bytes) / scale)
		out.byClass[class] += took
		count[class]++
	}
	for k := range count {
		out.byClass[k] /= math.Max(1, count[k])
	}
	return out
}

// inboundSkew is how much more than the average the rack received that received most from
// other racks; 1 where all received the same.
func inboundSkew(matrix [][]float64) float64 {
	most, all := 0.0, 0.0
	for to := range matrix {
		in := 0.0
		for from := range matrix {
			if from != to {
				in += matrix[from][to]
			}
		}
		most, all = max(most, in), all+in
	}
	if all == 0 {
		return 1
	}
	return most * float64(len(matrix)) / all
}
