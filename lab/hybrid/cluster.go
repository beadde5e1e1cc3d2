package hybrid

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// hybridCluster is a cluster of two classes; up may be 0.
type hybridCluster struct{ racks, perRack, up int }

var (
	traditional = hybridCluster{5, 10, 0}
	mixed       = hybridCluster{4, 10, 2}
)

const (
	upClass   = "scale-up"
	outSlots  = 8
	upSlots   = 24
	hybridGB  = 1e9
	mapBlock  = 128 << 20
	recurring = 0.5
)

// A wire is the network of a cluster: the rate of a machine's card and of a rack's link, in Gb/s. The zero value is none.
type wire struct{ nic, uplink float64 }

// The two networks of spec/hybrid 2.6(c); the link of the scale-up rack is as wide as the others'.
var wires = map[string]wire{"10 Gb/s, 10:1": {10, 10}, "1 Gb/s, 5:1": {1, 2}}

// build returns the topology and the room of its nodes.
func (c hybridCluster) build(w wire) (*topology.Topology, []scheduler.Capacity, error) {
	b := topology.NewBuilder()
	var room []scheduler.Capacity
	add := func(name string, nodes int, class string, slots int32) error {
		rack, err := b.AddRack(topology.Rack{Name: name, Uplink: topology.Gbps(w.uplink)})
		for range nodes {
			if err == nil {
				_, err = b.AddNode(topology.Node{Name: fmt.Sprint("n", len(room)), Rack: rack, Class: class, NIC: topology.Gbps(w.nic)})
			}
			room = append(room, scheduler.Capacity{Containers: slots})
		}
		return err
	}
	for r := range c.racks {
		if err := add(fmt.Sprint("r", r), c.perRack, "", outSlots); err != nil {
			return nil, nil, err
		}
	}
	if c.up > 0 {
		if err := add("up", c.up, upClass, upSlots); err != nil {
			return nil, nil, err
		}
	}
	return b.Topology(), room, nil
}

// config returns a run on this cluster under a policy, with tasks that are faster on scale-up machines.
func (c hybridCluster) config(policy scheduler.Policy) (sim.Config, error) {
	topo, room, err := c.build(wire{})
	return sim.Config{Topology: topo, Capacities: room, Policy: policy, State: scheduler.DefaultConfig(), Model: newTwoSpeeds(c.isUp), Reports: sim.Reports{AllHeartbeats: true}}, err
}

// slots returns how many containers the cluster has.
func (c hybridCluster) slots() int { return c.racks*c.perRack*outSlots + c.up*upSlots }

func (c hybridCluster) isUp(n topology.NodeID) bool { return int(n) >= c.racks*c.perRack }

// workload makes the jobs of a variant. Lengths and arrivals depend only on the seed; the shuffle sizes that the
// scheduler is told for recurring jobs may be wrong. truth has the true ones, by job.
func (v hybridVariant) workload(seed uint64) (jobs []*sim.Job, truth []float64) {
	rng := rand.New(rand.NewPCG(seed, 0x6879))
	shape := v.shape()
	for _, t := range v.traced(rng) {
		t = shape.Sized(t)
		maps, reduces := shape.Tasks(t)
		j := &sim.Job{Spec: &scheduler.JobSpec{
			Maps: int32(maps), Reduces: int32(reduces), Input: scheduler.Bytes(t.InputBytes), Recurring: rng.Float64() < recurring,
			Shuffle: scheduler.Bytes(t.ShuffleBytes), Slowstart: 1,
		}}
		if reduces > 0 {
			j.Reduces = []time.Duration{hybridTask(rng, float64(t.ShuffleBytes+t.OutputBytes)/float64(reduces))}
		}
		for range min(maps, 64) {
			j.Maps = append(j.Maps, hybridTask(rng, float64(t.InputBytes)/float64(maps)))
		}
		switch {
		case !v.online: // all at once
		case v.whole:
			j.Spec.Submit = t.Submit
		default:
			j.Spec.Submit = lab.Seconds(3600 * cmp.Or(v.apart, 1) * float64(v.jobs) / 1000 * rng.Float64())
		}
		jobs = append(jobs, j)
	}
	slices.SortStableFunc(jobs, func(a, b *sim.Job) int { return cmp.Compare(a.Spec.Submit, b.Spec.Submit) })
	for i, j := range jobs {
		j.Spec.ID = scheduler.JobID(i)
		truth = append(truth, float64(j.Spec.Shuffle.Bytes))
		j.Spec.Shuffle = scheduler.Bytes(int64(truth[i] * v.told()))
	}
	return jobs, truth
}

// traced draws the jobs of the trace, or makes some of the model fitted to it.
func (v hybridVariant) traced(rng *rand.Rand) []trace.Job {
	switch {
	case v.day == nil:
		return trace.FB2010.Generate(v.jobs, rng)
	case v.whole:
		return v.day
	}
	out := make([]trace.Job, v.jobs)
	for i := range out {
		out[i] = v.day[rng.IntN(len(v.day))]
	}
	return out
}

// Machines of the traditional clusters: the real one and the simulated one.
const (
	machines     = 50
	wideMachines = 600
)

// shape is that of SWIM's generator for jobs of the trace (spec/hybrid 4.1), and a reduce for each GiB for others.
func (v hybridVariant) shape() trace.Shape {
	if v.day == nil {
		return trace.FineShape(traditional.slots())
	}
	s := trace.SWIMShape(machines)
	if v.whole {
		s = trace.SWIMShape(wideMachines)
	}
	s.Scale = v.scale
	return s
}

// told returns the shuffle size that the scheduler is told, over the true one.
func (v hybridVariant) told() float64 {
	if v.wrong == 0 {
		return 1
	}
	return v.wrong
}

// hybridTask is a second and 20 MB/s, with noise (spec/nas 4.1).
func hybridTask(rng *rand.Rand, bytes float64) time.Duration {
	return lab.Seconds((1 + bytes/20e6) * math.Exp(0.2*rng.NormFloat64()-0.02))
}

// place gives every map replicas by a policy of package placement.
func placeBlocks(jobs []*sim.Job, topo *topology.Topology, p placement.Policy, rng *rand.Rand) error {
	for _, j := range jobs {
		left := j.Spec.Input.Bytes
		for range j.Spec.Maps {
			got, err := p.Place(rng, placement.Request{Writer: topology.NodeID(rng.IntN(topo.NumNodes())), Replicas: 3})
			if err != nil {
				return err
			}
			j.Spec.Splits.Add(max(0, min(mapBlock, left)), got.Nodes...)
			left -= mapBlock
		}
	}
	return nil
}

// twoSpeeds is the fixed model with other lengths on scale-up nodes (spec/hybrid 2.6b).
type twoSpeeds struct {
	sim.Model
	isUp  func(topology.NodeID) bool
	speed hybrid.Speed
	fast  map[scheduler.JobID]*sim.Job
	truth []float64 // shuffle bytes by job, where the scheduler may be told something else
	more  float64   // how much faster scale-up machines are than the curve; 0: as it says
}

func newTwoSpeeds(isUp func(topology.NodeID) bool) *twoSpeeds {
	return &twoSpeeds{Model: sim.NewFixed(), isUp: isUp, speed: hybrid.DefaultSpeed(), fast: map[scheduler.JobID]*sim.Job{}}
}

// Start implements sim.Model.
func (t *twoSpeeds) Start(now time.Duration, a sim.Attempt, job *sim.Job) {
	if t.isUp(a.Node) {
		job = t.faster(job)
	}
	t.Model.Start(now, a, job)
}

// factor returns how much longer tasks of a job run on scale-up machines.
func (t *twoSpeeds) factor(job *sim.Job) float64 {
	shuffle := float64(job.Spec.Shuffle.Bytes)
	if t.truth != nil {
		shuffle = t.truth[job.Spec.ID]
	}
	return t.speed.Factor(int(job.Spec.Maps), float64(job.Spec.Input.Bytes), shuffle) / cmp.Or(t.more, 1)
}

// over is a model with a network, in which the same tasks are faster.
func (t *twoSpeeds) over(topo *topology.Topology) (sim.Model, error) {
	cfg := sim.DefaultNetwork(topo)
	cfg.Factor = func(a sim.Attempt, job *sim.Job) float64 {
		if t.isUp(a.Node) {
			return t.factor(job)
		}
		return 1
	}
	return sim.NewNetwork(cfg)
}

func (t *twoSpeeds) faster(job *sim.Job) *sim.Job {
	id := job.Spec.ID
	if t.fast[id] == nil {
		f := t.factor(job)
		quick := *job
		quick.Maps, quick.Reduces = scaledTimes(job.Maps, f), scaledTimes(job.Reduces, f)
		t.fast[id] = &quick
	}
	return t.fast[id]
}

func scaledTimes(x []time.Duration, f float64) []time.Duration {
	out := make([]time.Duration, len(x))
	for i, d := range x {
		out[i] = time.Duration(float64(d) * f)
	}
	return out
}
