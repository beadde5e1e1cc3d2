package lab

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/nas"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// fbDay is the public trace that the source used.
const fbDay = "FB-2010_samples_24_times_1hr_0.tsv"

// publicTrace reads a public trace from the directory that MILLRACE_TRACES names.
func publicTrace(name string) ([]trace.Job, error) {
	dir := os.Getenv("MILLRACE_TRACES")
	if dir == "" {
		return nil, errNoTraces
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoTraces, err)
	}
	defer f.Close()
	return trace.ReadSWIM(f, name)
}

var errNoTraces = fmt.Errorf("the public traces are not here: set MILLRACE_TRACES to their directory")

// Where jobs come from.
const (
	fromTrace = "the public trace"
	fromModel = "the model fitted to the public trace"
)

// day is dayOrModel, noted in the report.
func (r *Recorder) day() (jobs []trace.Job, from string) {
	jobs, from = dayOrModel(r.options.Seed)
	r.report.Workload = from
	return jobs, from
}

// only says, of a quick run, which part of the workload it has.
func (r *Recorder) only(part string) {
	if r.report.Workload != "" {
		part = r.report.Workload + ", " + part
	}
	r.report.Workload = part
}

// dayOrModel returns the day of Facebook, or as many jobs of the model fitted to it.
func dayOrModel(seed uint64) (jobs []trace.Job, from string) {
	if jobs, err := publicTrace(fbDay); err == nil {
		return jobs, fromTrace
	}
	return trace.Models["fb-2010"].Generate(24_442, rand.New(rand.NewPCG(seed, 0xfb))), fromModel
}

// nasCluster is a set-up of nas.md 4.2 or 4.3.
type nasCluster struct {
	racks, nodes, containers int
	nic, uplink              topology.Rate
	users                    int
	scale                    float64
	byTime                   bool // patience of 5 s instead of 135 skips
	tick                     time.Duration
	rate                     float64 // bytes a second of a task; 0: as nas.md 4.1
	byNode                   bool    // a flow for each source node, not for each source rack
}

// nas40 is the cluster on which the source checked its simulator (nas.md 4.3).
var nas40 = nasCluster{
	racks: 8, nodes: 5, containers: 16, nic: topology.Gbps(1), uplink: topology.Gbps(1), users: 200, scale: 1, byTime: true,
}

// nas600 is the cluster of its simulations (nas.md 4.2), with sizes at which congestion comes and goes.
var nas600 = nasCluster{racks: 30, nodes: 20, containers: 6, nic: topology.Mbps(250), uplink: topology.Gbps(1), users: 200, scale: 0.2}

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
	local      float64 // share of node-local maps
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
		out[i].Submit = seconds(at)
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
	if c.byTime && policy != "fair" {
		p["by"] = "time"
	}
	maps.Copy(p, extra)
	return p
}

// run simulates one policy on jobs of a trace.
func (c nasCluster) run(policy string, extra map[string]string, traced []trace.Job, seed uint64) (nasRun, error) {
	topo, err := topology.Uniform(c.racks, c.nodes, c.nic, c.uplink)
	if err != nil {
		return nasRun{}, err
	}
	p, err := policies.Policy(policy, c.params(policy, extra))
	if err != nil {
		return nasRun{}, err
	}
	w := sim.DefaultWorkload(topo, c.racks*c.nodes*c.containers)
	w.Scale, w.Users = c.scale, c.users
	if c.rate > 0 {
		w.BytesPerSecond = c.rate
	}
	jobs := sim.FromTrace(traced, w, rand.New(rand.NewPCG(seed, 2)))
	net := sim.DefaultNetwork(topo)
	if c.tick > 0 {
		net.Tick = c.tick
	}
	net.ByNode = c.byNode
	model, err := sim.NewNetwork(net)
	if err != nil {
		return nasRun{}, err
	}
	watch, err := newLoadWatch(p)
	if err != nil {
		return nasRun{}, err
	}
	res, err := sim.Run(sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{Containers: int32(c.containers)}, Policy: watch, State: scheduler.DefaultConfig(),
		Model: model, Heartbeat: time.Second, ReportLate: true, QuietBeats: true, BreakDeadlocks: true, Seed: seed,
		SampleEvery: 10 * time.Second, Sample: watch.sample,
	}, jobs)
	if err != nil {
		return nasRun{}, err
	}
	return measureNAS(res, watch, c.scale), nil
}

func measureNAS(res *sim.Result, watch *loadWatch, scale float64) nasRun {
	n := float64(len(res.Jobs))
	out := nasRun{
		throughput: n / res.Makespan.Hours(), traffic: *res.Network, episodes: float64(res.Congestion.Episodes), congested: res.Congestion.Congested.Seconds(),
		makespan: res.Makespan.Seconds(), overlap: mean(watch.overlaps), overload: float64(watch.over) / math.Max(1, float64(watch.samples)),
	}
	out.skew = inboundSkew(res.Network.Matrix)
	var count [3]float64
	var local, maps float64
	classes := nas.DefaultClasses()
	for i := range res.Jobs {
		j := &res.Jobs[i]
		took := j.Completion().Seconds()
		out.completion += took / n
		out.times = append(out.times, took)
		class := classes.Of(float64(j.Job.Spec.Shuffle.Bytes) / scale)
		out.byClass[class] += took
		count[class]++
		local += float64(j.Local[scheduler.NodeLocal])
		maps += float64(j.Local[0] + j.Local[1] + j.Local[2])
	}
	for k := range count {
		out.byClass[k] /= math.Max(1, count[k])
	}
	out.local = local / math.Max(1, maps)
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

// loadWatch stands between the engine and a policy, and measures with a NAS that only
// observes: how much map output is in the making on each node, and how far maps are when
// a job's first reduce starts.
type loadWatch struct {
	scheduler.Policy
	meter    *nas.Policy
	over     int
	samples  int
	overlaps []float64
}

func newLoadWatch(p scheduler.Policy) (*loadWatch, error) {
	meter, err := nas.New(nas.DefaultConfig())
	return &loadWatch{Policy: p, meter: meter}, err
}

// Observe implements scheduler.Policy.
func (w *loadWatch) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	w.Policy.Observe(now, e, v)
	w.meter.Observe(now, e, v)
	if e.Kind == scheduler.EvLaunched && e.Task.Kind == scheduler.Reduce {
		if j := v.Job(e.Job); j.Running(scheduler.Reduce)+j.Done(scheduler.Reduce) == 1 {
			w.overlaps = append(w.overlaps, j.MapProgress())
		}
	}
}

// Interval and Tick implement scheduler.Ticker for a policy that wants it.
func (w *loadWatch) Interval() time.Duration {
	if t, ok := w.Policy.(scheduler.Ticker); ok {
		return t.Interval()
	}
	return 5 * time.Second
}

// Tick implements scheduler.Ticker.
func (w *loadWatch) Tick(now time.Duration, v *scheduler.View) {
	if t, ok := w.Policy.(scheduler.Ticker); ok {
		t.Tick(now, v)
	}
	w.meter.Tick(now, v)
}

// sample looks at every node that runs maps.
func (w *loadWatch) sample(_ time.Duration, v *scheduler.View) {
	limit := w.meter.TrafficThreshold()
	for n := range topology.NodeID(v.Topology().NumNodes()) {
		w.samples++
		if w.meter.Load(n, v) > limit {
			w.over++
		}
	}
}
