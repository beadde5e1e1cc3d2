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

// WorkloadConfig says how the jobs of a trace become tasks (nas.md 4.1: traces have sizes
// and no tasks).
type WorkloadConfig struct {
	Topology *topology.Topology
	// Containers of the whole cluster: a job has at most a fifth as many reduces.
	Containers int
	BlockBytes int64
	// ReduceBytes is the shuffle and output for which a job has a reduce.
	ReduceBytes int64
	// Scale multiplies all sizes.
	Scale float64
	// TaskOverhead and BytesPerSecond make the length of a task: overhead +
	// bytes/rate, with log-normal noise of sigma Noise.
	TaskOverhead   time.Duration
	BytesPerSecond float64
	Noise          float64
	Users          int // each job belongs to a random one
	Slowstart      float64
}

// DefaultWorkload returns the values of nas.md 4.1 and 4.2 for a cluster.
func DefaultWorkload(topo *topology.Topology, containers int) WorkloadConfig {
	return WorkloadConfig{
		Topology: topo, Containers: containers, BlockBytes: 128 << 20, ReduceBytes: 1 << 30, Scale: 1, TaskOverhead: time.Second,
		BytesPerSecond: 20e6, Noise: 0.2, Users: 200, Slowstart: 0.2,
	}
}

// FromTrace turns a trace into a workload: a map for each block, a reduce for each
// ReduceBytes of shuffle and output, blocks placed on one node of a rack and two of another.
func FromTrace(jobs []trace.Job, cfg WorkloadConfig, rng *rand.Rand) []*Job {
	out := make([]*Job, len(jobs))
	for i, t := range jobs {
		out[i] = cfg.job(i, t, rng)
	}
	return out
}

func (c *WorkloadConfig) job(i int, t trace.Job, rng *rand.Rand) *Job {
	scaled := func(n int64) int64 { return int64(float64(n) * c.Scale) }
	in, shuffle, out := scaled(t.InputBytes), scaled(t.ShuffleBytes), scaled(t.OutputBytes)
	maps := max(1, (in+c.BlockBytes-1)/c.BlockBytes)
	spec := &scheduler.JobSpec{
		ID: scheduler.JobID(i), Name: t.ID, User: fmt.Sprint("u", rng.IntN(max(1, c.Users))), Submit: t.Submit,
		Maps: int32(maps), Reduces: c.reduces(shuffle, out), Slowstart: c.Slowstart,
		Input: scheduler.Bytes(in), Shuffle: scheduler.Bytes(shuffle), Output: scheduler.Bytes(out),
	}
	for m := range maps {
		size := min(c.BlockBytes, in-m*c.BlockBytes)
		spec.Splits.Add(max(0, size), c.place(rng)...)
	}
	j := &Job{Spec: spec}
	j.Maps = c.times(rng, float64(in)/float64(maps), int(maps))
	if spec.Reduces > 0 {
		j.Reduces = c.times(rng, float64(shuffle+out)/float64(spec.Reduces), int(spec.Reduces))
	}
	spec.Work = j.work()
	return j
}

func (c *WorkloadConfig) reduces(shuffle, out int64) int32 {
	if shuffle == 0 {
		return 0
	}
	n := math.Round(float64(shuffle+out) / float64(c.ReduceBytes))
	return int32(min(max(n, 1), max(1, float64(c.Containers)/5)))
}

// distinctTimes bounds how many lengths are drawn for the tasks of one job.
const distinctTimes = 64

func (c *WorkloadConfig) times(rng *rand.Rand, bytes float64, n int) []time.Duration {
	base := c.TaskOverhead.Seconds() + bytes/c.BytesPerSecond
	out := make([]time.Duration, min(n, distinctTimes))
	for i := range out {
		f := math.Exp(c.Noise*rng.NormFloat64() - c.Noise*c.Noise/2)
		out[i] = time.Duration(base * f * float64(time.Second))
	}
	return out
}

// place puts one replica on a node and two on nodes of another rack (nas.md 2.2), as far
// as the cluster has them.
func (c *WorkloadConfig) place(rng *rand.Rand) []topology.NodeID {
	first := topology.NodeID(rng.IntN(c.Topology.NumNodes()))
	racks := c.Topology.NumRacks()
	if racks == 1 {
		return []topology.NodeID{first}
	}
	rack := topology.RackID(rng.IntN(racks - 1))
	if rack >= c.Topology.RackOf(first) {
		rack++
	}
	size := c.Topology.RackSize(rack)
	a := rng.IntN(size)
	out := []topology.NodeID{first, c.Topology.NodeAt(rack, a)}
	if size > 1 {
		out = append(out, c.Topology.NodeAt(rack, (a+1+rng.IntN(size-1))%size))
	}
	return out
}

// work is the total of the job's task times.
func (j *Job) work() (total time.Duration) {
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
