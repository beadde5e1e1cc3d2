package jobpacker

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// hybridNet is a set-up of spec/jobpacker 3.14.
type hybridNet struct {
	racks, servers, containers int
	nic, packet, circuit       topology.Rate // circuit 0: no optical switch
	threshold                  int64
	interval, dark             time.Duration
	span                       time.Duration // jobs arrive evenly within it; 0: all at once
	adhoc                      float64       // share of jobs that do not recur
	slowstart                  string
	workload                   // what the source does not say of its jobs
	// sizeError and lateJobs spoil what the planner is told: sizes by up to that part,
	// arrivals of that share of the jobs by up to 200 s (spec/jobpacker 4.2).
	sizeError, lateJobs float64
}

// workload is how a trace becomes jobs and tasks, which the source does not say (spec/jobpacker 5, item 7).
type workload struct {
	tasks       string // trace.SWIM or trace.Fine
	rate        string // of sim.NamedRates
	elephants   bool   // only jobs that shuffle enough for an elephant
	reduceShare string // of the containers, while maps wait
}

// usual is the workload of all experiments but the one that compares workloads.
var usual = workload{tasks: trace.Fine, rate: "middle", reduceShare: "0.5"}

// elephant reports whether a job shuffles enough for at least one elephant: all of it from one rack to another.
func elephant(j trace.Job) bool { return j.ShuffleBytes > simulated.threshold }

// of returns the jobs of a day that the workload draws from.
func (w workload) of(day []trace.Job) []trace.Job {
	if !w.elephants {
		return day
	}
	return slices.DeleteFunc(slices.Clone(day), func(j trace.Job) bool { return !elephant(j) })
}

// shape says how traced sizes become tasks on so many machines.
func (w workload) shape(machines, containers int) trace.Shape {
	if w.tasks == trace.SWIM {
		return trace.SWIMShape(machines)
	}
	return trace.FineShape(containers)
}

// simulated is the cluster of the source's simulations.
var simulated = hybridNet{
	racks: 20, servers: 30, containers: 20, nic: topology.Gbps(10), packet: topology.Gbps(30), circuit: topology.Gbps(100),
	threshold: 1_125_000_000, interval: time.Second, dark: 10 * time.Millisecond, slowstart: "0.7", workload: usual,
}

// in returns the network as the user has set it.
func (h hybridNet) in(r *lab.Recorder) hybridNet {
	h.servers, h.containers = r.NodesPerRack(h.racks, h.servers), r.Int("containers", h.containers)
	h.packet, h.circuit = r.Rate("uplink", h.packet), r.Rate("circuit", h.circuit)
	return h
}

// like returns the network with what the user has set for the simulated one, except for what differs on purpose.
func (h hybridNet) like(set hybridNet) hybridNet {
	h.servers, h.containers = set.servers, set.containers
	if h.packet == simulated.packet {
		h.packet = set.packet
	}
	if h.circuit == simulated.circuit {
		h.circuit = set.circuit
	}
	return h
}

func (h hybridNet) topology() (*topology.Topology, error) {
	b := topology.NewBuilder()
	for range h.racks {
		r, err := b.AddRack(topology.Rack{Uplink: h.packet})
		if err != nil {
			return nil, err
		}
		for range h.servers {
			if _, err := b.AddNode(topology.Node{Rack: r, NIC: h.nic}); err != nil {
				return nil, err
			}
		}
	}
	if h.circuit > 0 {
		if err := b.SetOCS(topology.OCS{Rate: h.circuit, Interval: h.interval, Reconfig: h.dark, Threshold: h.threshold}); err != nil {
			return nil, err
		}
	}
	return b.Topology(), nil
}

// jobs makes a workload of n jobs of a trace.
func (h hybridNet) jobs(day []trace.Job, n int, topo *topology.Topology, seed uint64) []*sim.Job {
	rng := rand.New(rand.NewPCG(seed, 0x0c5))
	day = h.of(day)
	traced := make([]trace.Job, n)
	for i := range traced {
		traced[i] = day[rng.IntN(len(day))]
		traced[i].ID = ""
		traced[i].Submit = 0
		if h.span > 0 {
			traced[i].Submit = time.Duration(rng.Int64N(int64(h.span)))
		}
	}
	w := sim.DefaultWorkload(topo, h.racks*h.servers*h.containers)
	w.Slowstart, w.Shape, w.Rates = 0.7, h.shape(h.racks*h.servers, h.racks*h.servers*h.containers), sim.NamedRates[h.rate]
	jobs := sim.FromTrace(traced, w, rng)
	for _, j := range jobs {
		if rng.Float64() >= h.adhoc {
			j.Spec.Recurring = true
			j.Spec.MapTime, j.Spec.ReduceTime = middle(j.Maps), middle(j.Reduces)
		}
	}
	return jobs
}

func middle(times []time.Duration) time.Duration {
	var sum time.Duration
	for _, t := range times {
		sum += t
	}
	return sum / time.Duration(max(1, len(times)))
}

// packRun is what one run showed.
type packRun struct {
	makespan           float64
	optical            float64 // share of the shuffle across racks
	recurring, another []float64
	large              [2][]float64 // of these, the jobs that shuffle enough for an elephant
	waits              [2][]float64 // from submission to the first task, recurring jobs and others
	heavy              float64      // share of all shuffle bytes that jobs with an elephant have
	cross              float64      // shuffle between racks, bytes
	packets            float64      // what the packet network carries between racks, bytes
	reads              float64      // of that, what maps read
	busy               float64      // share of the containers that tasks hold, until the last job ends
}

// config sets up a run of n jobs. name is jobpacker, corral, f-hybrid or f-eps.
func (h hybridNet) config(name string, params map[string]string, day []trace.Job, n int, seed uint64) (cfg sim.Config, jobs []*sim.Job, err error) {
	policy := name
	given := map[string]string{"slowstart": h.slowstart, "reduce-share": h.reduceShare}
	switch name {
	case "f-hybrid":
		policy = "fair"
	case "f-eps":
		policy, h.packet, h.circuit = "fair", simulated.circuit, 0
	}
	maps.Copy(given, params)
	topo, err := h.topology()
	if err != nil {
		return cfg, nil, err
	}
	p, err := policies.Policy(policy, given)
	if err != nil {
		return cfg, nil, err
	}
	if h.sizeError > 0 || h.lateJobs > 0 {
		p = misled(p, h, seed)
	}
	packs := policy == "jobpacker" || policy == "jobpacker-adhoc-agg"
	model, err := sim.NewNetwork(sim.NetworkConfig{Topology: topo, Tick: 100 * time.Millisecond, Parts: 4, Instant: 64 << 10, Pairs: packs})
	if err != nil {
		return cfg, nil, err
	}
	cfg = sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{Containers: int32(h.containers)}, Policy: p, State: scheduler.DefaultConfig(),
		Model: model, Reports: sim.Reports{Heartbeat: time.Second}, BreakDeadlocks: true, Refill: true, Seed: seed,
	}
	if policy != "fair" {
		cfg.Placement = placement.NewPlanned(topo)
	}
	return cfg, h.jobs(day, n, topo, seed), nil
}

func (h hybridNet) run(name string, params map[string]string, day []trace.Job, n int, seed uint64) (packRun, error) {
	cfg, jobs, err := h.config(name, params, day, n, seed)
	if err != nil {
		return packRun{}, err
	}
	res, err := sim.Run(cfg, jobs)
	if err != nil {
		return packRun{}, err
	}
	return h.measure(res), nil
}

func (h hybridNet) measure(res *sim.Result) packRun {
	out := packRun{makespan: res.Makespan.Seconds(), optical: res.Network.OpticalShare(), cross: res.Network.Shuffle, packets: res.Network.Cross() - res.Network.Optical, reads: res.Network.Input}
	all := 0.0
	for i := range res.Jobs {
		took := res.Jobs[i].Completion().Seconds()
		class, spec := 0, res.Jobs[i].Job.Spec
		if spec.Recurring {
			out.recurring = append(out.recurring, took)
		} else {
			class, out.another = 1, append(out.another, took)
		}
		out.waits[class] = append(out.waits[class], res.Jobs[i].Wait().Seconds())
		all += float64(spec.Shuffle.Bytes)
		out.busy += res.Jobs[i].Occupied.Seconds() / out.makespan / float64(h.racks*h.servers*h.containers)
		if spec.Shuffle.Bytes > h.threshold {
			out.heavy += float64(spec.Shuffle.Bytes)
			out.large[class] = append(out.large[class], took)
		}
	}
	out.heavy /= max(1, all)
	return out
}

func packMakespan(p packRun) float64 { return p.makespan }

// The medians that are judged are those of jobs with at least one elephant: our reading of spec/jobpacker 5, item 8.
func packMedian(p packRun) float64  { return stats.Median(p.large[0]) }
func adhocMedian(p packRun) float64 { return stats.Median(p.large[1]) }

// Those of all jobs are reported.
func packMedianAll(p packRun) float64  { return stats.Median(p.recurring) }
func adhocMedianAll(p packRun) float64 { return stats.Median(p.another) }

// opticalShare returns the share of the bytes across racks that uses circuits, in per cent.
func opticalShare(p packRun) float64 { return 100 * p.optical }

// heavyShare returns the share of the shuffle bytes that belongs to jobs with an elephant, in per cent.
func heavyShare(p packRun) float64 { return 100 * p.heavy }

// sentByPackets returns what the packet network carries between racks, in TB.
func sentByPackets(p packRun) float64 { return p.packets / 1e12 }

// readByPackets returns what maps read from other racks, in TB.
func readByPackets(p packRun) float64 { return p.reads / 1e12 }

// busyShare returns how much of the containers tasks hold on average, in per cent.
func busyShare(p packRun) float64 { return 100 * p.busy }

// crossed returns the shuffle that crosses racks, in TB.
func crossed(p packRun) float64 { return p.cross / 1e12 }
