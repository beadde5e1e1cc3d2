package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// WorkloadConfig says how the jobs of a trace become tasks (spec/nas 4.1: traces have sizes
// and no tasks).
type WorkloadConfig struct {
	Topology *topology.Topology
	trace.Shape
	// TaskOverhead and Rates make the length of a task: overhead + bytes/rate, with
	// log-normal noise of sigma Noise.
	TaskOverhead time.Duration
	Rates
	Noise     float64
	Users     int // each job belongs to a random one
	Slowstart float64
}

// Rates are the bytes that a map and a reduce compute in a second. The traces do not have them.
type Rates struct{ Map, Reduce float64 }

// NamedRates are the three readings of spec/nas 4.1: tasks that only copy, our fit of the times in
// Figure 4.6 (spec/jobpacker 2.5), and one between.
var NamedRates = map[string]Rates{"copy": {100e6, 100e6}, "middle": {20e6, 20e6}, "slow": {1.5e6, 8e6}}

// DefaultWorkload returns the values of spec/nas 4.1 and 4.2 for a cluster, with many small reduces
// ([trace.FineShape]).
func DefaultWorkload(topo *topology.Topology, containers int) WorkloadConfig {
	return WorkloadConfig{
		Topology: topo, Shape: trace.FineShape(containers), TaskOverhead: time.Second,
		Rates: NamedRates["middle"], Noise: 0.2, Users: 200, Slowstart: 0.2,
	}
}

// FromTrace turns a trace into a workload: maps and reduces as the shape has them, blocks placed on one
// node of a rack and two of another.
func FromTrace(jobs []trace.Job, cfg WorkloadConfig, rng *rand.Rand) []*Job {
	out := make([]*Job, len(jobs))
	for i, t := range jobs {
		out[i] = cfg.job(i, t, rng)
	}
	return out
}

func (c *WorkloadConfig) job(i int, t trace.Job, rng *rand.Rand) *Job {
	t = c.Sized(t)
	maps, reduces := c.Tasks(t)
	spec := &scheduler.JobSpec{
		ID: scheduler.JobID(i), Name: t.ID, User: fmt.Sprint("u", rng.IntN(max(1, c.Users))), Submit: t.Submit,
		Maps: int32(maps), Reduces: int32(reduces), Slowstart: c.Slowstart,
		Input: scheduler.Bytes(t.InputBytes), Shuffle: scheduler.Bytes(t.ShuffleBytes), Output: scheduler.Bytes(t.OutputBytes),
	}
	spec.Splits.Reserve(int(maps), mostReplicas)
	replicas := make([]topology.NodeID, 0, mostReplicas)
	for m := range maps {
		size := min(c.BlockBytes, t.InputBytes-m*c.BlockBytes)
		replicas = c.place(replicas[:0], rng)
		spec.Splits.Add(max(0, size), replicas...)
	}
	j := &Job{Spec: spec}
	j.Maps = c.times(rng, float64(t.InputBytes)/float64(maps)/c.Rates.Map, int(maps))
	if reduces > 0 {
		j.Reduces = c.times(rng, float64(t.ShuffleBytes+t.OutputBytes)/float64(reduces)/c.Rates.Reduce, int(reduces))
	}
	spec.Work = j.Work()
	return j
}

// distinctTimes bounds how many lengths are drawn for the tasks of one job.
const distinctTimes = 64

// times draws the lengths of n tasks that compute for so many seconds.
func (c *WorkloadConfig) times(rng *rand.Rand, seconds float64, n int) []time.Duration {
	base := c.TaskOverhead.Seconds() + seconds
	out := make([]time.Duration, min(n, distinctTimes))
	for i := range out {
		f := math.Exp(c.Noise*rng.NormFloat64() - c.Noise*c.Noise/2)
		out[i] = time.Duration(base * f * float64(time.Second))
	}
	return out
}

// mostReplicas is the most replicas that place makes.
const mostReplicas = 3

// place puts one replica on a node and two on nodes of another rack (spec/nas 2.2), as far
// as the cluster has them, and appends them to out.
func (c *WorkloadConfig) place(out []topology.NodeID, rng *rand.Rand) []topology.NodeID {
	first := topology.NodeID(rng.IntN(c.Topology.NumNodes()))
	racks := c.Topology.NumRacks()
	if racks == 1 {
		return append(out, first)
	}
	rack := topology.RackID(rng.IntN(racks - 1))
	if rack >= c.Topology.RackOf(first) {
		rack++
	}
	size := c.Topology.RackSize(rack)
	a := rng.IntN(size)
	out = append(out, first, c.Topology.NodeAt(rack, a))
	if size > 1 {
		out = append(out, c.Topology.NodeAt(rack, (a+1+rng.IntN(size-1))%size))
	}
	return out
}

// Work returns the total of the job's task times.
func (j *Job) Work() (total time.Duration) {
	for i := range j.Spec.Maps {
		total += j.Time(scheduler.TaskID{Kind: scheduler.Map, Index: i})
	}
	for i := range j.Spec.Reduces {
		total += j.Time(scheduler.TaskID{Kind: scheduler.Reduce, Index: i})
	}
	return total
}

// Alone estimates how long the job would take by itself on so many containers: maps in
// waves, then reduces in waves.
func (j *Job) Alone(containers int) time.Duration {
	wave := func(n int32, times []time.Duration) time.Duration {
		if n == 0 || len(times) == 0 {
			return 0
		}
		var sum, longest time.Duration
		for _, t := range times {
			sum += t
			longest = max(longest, t)
		}
		average := sum / time.Duration(len(times))
		return max(longest, average*time.Duration((int(n)+containers-1)/containers))
	}
	return wave(j.Spec.Maps, j.Maps) + wave(j.Spec.Reduces, j.Reduces)
}
