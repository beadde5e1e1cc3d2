package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// DeviceConfig is the node of spec/capacity 2.5: one processor, one disk and one network
// card, each shared equally by those who use it, and the costs of the phases of tasks.
type DeviceConfig struct {
	Hz        float64 `yaml:"hz" help:"cycles a second of a core"`
	Cores     float64 `yaml:"cores" help:"cores of a machine"`
	DiskRead  float64 `yaml:"disk_read" help:"bytes a second"`
	DiskWrite float64 `yaml:"disk_write" help:"bytes a second"`
	// NIC is the rate at which a card receives; 0: it is never the bottleneck.
	NIC               float64 `yaml:"nic" help:"bytes a second that a machine's card receives; 0: no limit"`
	StartCycles       float64 `yaml:"start_cycles" help:"cycles of every task before it works"`
	SortCyclesPerByte float64 `yaml:"sort_cycles_per_byte" help:"of map output, for each spill"`
	BufferBytes       float64 `yaml:"buffer_bytes" help:"bytes of map output that make a spill"`
	Copiers           int     `yaml:"copiers" help:"fetches of a reduce at once"`
	MergeBytes        float64 `yaml:"merge_bytes" help:"fetched bytes that are merged in memory at once"`
	MergeSegments     int     `yaml:"merge_segments" help:"fetched segments that are merged at once"`
	MergeCycles       float64 `yaml:"merge_cycles" help:"cycles of a merge"`
	SortCycles        float64 `yaml:"sort_cycles" help:"cycles of a reduce for its last sort"`
	// Noise and ReduceNoise are sigma of the log-normal factor on every demand, and
	// on the processor demands of reduces.
	Noise       float64 `yaml:"noise" help:"sigma of the log-normal factor on every demand"`
	ReduceNoise float64 `yaml:"reduce_noise" help:"the same on the processor demands of reduces"`
}

// Validate refuses machines that would never end a task.
func (c *DeviceConfig) Validate() error {
	for _, rate := range []float64{c.Hz, c.Cores, c.DiskRead, c.DiskWrite, c.BufferBytes, c.MergeBytes} {
		if !(rate >= 1e-3 && rate <= 1e15) {
			return fmt.Errorf("%g: hz, cores, disk_read, disk_write, buffer_bytes and merge_bytes must be 0.001 to 1e15", rate)
		}
	}
	for _, cost := range []float64{c.NIC, c.StartCycles, c.SortCyclesPerByte, c.MergeCycles, c.SortCycles} {
		if !(cost >= 0 && cost <= 1e15) {
			return fmt.Errorf("%g: nic and cycles must be 0 to 1e15", cost)
		}
	}
	if !(c.Noise >= 0 && c.Noise <= 3 && c.ReduceNoise >= 0 && c.ReduceNoise <= 3) || c.Copiers < 1 || c.MergeSegments < 1 {
		return fmt.Errorf("noise %g and reduce_noise %g must be 0 to 3, copiers %d and merge_segments %d 1 at least", c.Noise, c.ReduceNoise, c.Copiers, c.MergeSegments)
	}
	return nil
}

// DefaultDevices returns MRPERF's released values with the disk that reproduces the source's tables, and with 20 s more
// for the last sort of each reduce, which MRPERF has 6e9 cycles for (spec/capacity 2.5).
func DefaultDevices() DeviceConfig {
	const mb = 1 << 20
	return DeviceConfig{
		Hz: 2.5e9, Cores: 8, DiskRead: 95 * mb, DiskWrite: 65 * mb, NIC: 125e6, StartCycles: 4e9,
		SortCyclesPerByte: 44, BufferBytes: 50 * mb, Copiers: 30, MergeBytes: 66 * mb, MergeSegments: 100,
		MergeCycles: 1e9, SortCycles: 56e9, Noise: math.Log(1.10), ReduceNoise: math.Log(1.04),
	}
}

// Cost is what a job's bytes cost in the model of devices.
type Cost struct {
	MapCycles, ReduceCycles float64 // per byte of input
	ShuffleRatio            float64 // map output over map input
	OutputRatio             float64 // reduce output over reduce input
}

// CostOf returns the cost of a job whose maps and reduces take so many cycles for a byte.
func CostOf(j *Job, mapCycles, reduceCycles float64) Cost {
	c := Cost{MapCycles: mapCycles, ReduceCycles: reduceCycles}
	if in := j.Spec.Input.Bytes; in > 0 {
		c.ShuffleRatio = float64(j.Spec.Shuffle.Bytes) / float64(in)
	}
	if mid := j.Spec.Shuffle.Bytes; mid > 0 {
		c.OutputRatio = float64(j.Spec.Output.Bytes) / float64(mid)
	}
	return c
}

// node is the devices of one machine.
type node struct{ cpu, disk, nic share }

// devices runs the tasks of jobs as programs over the devices of nodes.
type devices struct {
	cfg   DeviceConfig
	rng   *rand.Rand
	nodes []node
	live  map[key]*deviceTask
	jobs  map[scheduler.JobID]*deviceJob
	over  []Attempt // ended, to be handed out
}

// deviceJob is what reduces need to know of their job.
type deviceJob struct {
	job     *Job
	done    bool // all maps have ended
	outputs []segment
	made    map[int32]int // by map: its place in outputs
	reduces []*deviceTask
}

// segment is map output on a node; each reduce fetches a part of it.
type segment struct {
	node  topology.NodeID
	bytes float64
}

// NewDevices returns the model for a cluster of that many nodes.
func NewDevices(cfg DeviceConfig, nodes int, seed uint64) Model {
	d := &devices{
		cfg: cfg, rng: rand.New(rand.NewPCG(seed, 0xdd)), nodes: make([]node, nodes),
		live: map[key]*deviceTask{}, jobs: map[scheduler.JobID]*deviceJob{},
	}
	nic := cfg.NIC
	if nic == 0 {
		nic = math.Inf(1)
	}
	for i := range d.nodes {
		d.nodes[i].cpu.rate = cores(cfg.Hz, cfg.Cores)
		d.nodes[i].disk.rate = equal(cfg.DiskRead)
		d.nodes[i].nic.rate = equal(nic)
	}
	return d
}

// use is a kind of device.
type use uint8

const (
	useCPU use = iota
	useDisk
	useNIC
)

// step is one demand of a task on one device. then is called when it is met.
type step struct {
	task *deviceTask
	then func(now time.Duration)
}

// deviceTask is an attempt in progress.
type deviceTask struct {
	a       Attempt
	job     *deviceJob
	touched map[topology.NodeID]bool // nodes whose devices it may be using
	fetch   fetcher                  // of a reduce
}

func (d *devices) of(job *Job) *deviceJob {
	j := d.jobs[job.Spec.ID]
	if j == nil {
		j = &deviceJob{job: job, made: map[int32]int{}, done: job.Spec.Maps == 0}
		d.jobs[job.Spec.ID] = j
	}
	return j
}

// demand puts a task on a device; a demand of 0 is met at once.
func (d *devices) demand(now time.Duration, t *deviceTask, n topology.NodeID, on use, amount, sigma float64, then func(time.Duration)) {
	if sigma > 0 {
		amount *= math.Exp(sigma * d.rng.NormFloat64())
	}
	if amount <= 0 {
		then(now)
		return
	}
	t.touched[n] = true
	s := &step{t, then}
	switch on {
	case useCPU:
		d.nodes[n].cpu.add(now, amount, s)
	case useDisk:
		d.nodes[n].disk.add(now, amount, s)
	default:
		if math.IsInf(d.nodes[n].nic.rate(1), 1) {
			then(now)
			return
		}
		d.nodes[n].nic.add(now, amount, s)
	}
}

func (d *devices) cpu(now time.Duration, t *deviceTask, cycles float64, then func(time.Duration)) {
	sigma := d.cfg.Noise
	if t.a.Task.Kind == scheduler.Reduce {
		sigma = d.cfg.ReduceNoise
	}
	d.demand(now, t, t.a.Node, useCPU, cycles, sigma, then)
}

func (d *devices) read(now time.Duration, t *deviceTask, n topology.NodeID, bytes float64, then func(time.Duration)) {
	d.demand(now, t, n, useDisk, bytes, d.cfg.Noise, then)
}

// write costs as much as reading more bytes, by the ratio of the two rates.
func (d *devices) write(now time.Duration, t *deviceTask, bytes float64, then func(time.Duration)) {
	d.demand(now, t, t.a.Node, useDisk, bytes*d.cfg.DiskRead/d.cfg.DiskWrite, d.cfg.Noise, then)
}

func (d *devices) Start(now time.Duration, a Attempt, job *Job) {
	t := &deviceTask{a: a, job: d.of(job), touched: map[topology.NodeID]bool{}}
	d.live[keyOf(a)] = t
	d.cpu(now, t, d.cfg.StartCycles, func(now time.Duration) {
		if a.Task.Kind == scheduler.Reduce {
			d.startFetching(now, t)
			return
		}
		d.spill(now, t, float64(job.input(a.Task.Index)), 0)
	})
}

// end queues the attempt for End.
func (d *devices) end(t *deviceTask) {
	delete(d.live, keyOf(t.a))
	d.over = append(d.over, t.a)
}

func (d *devices) MapsDone(now time.Duration, job *Job) {
	j := d.of(job)
	j.done = true
	for _, r := range j.reduces {
		d.tryFinishFetching(now, r)
	}
}

func (d *devices) MapsUndone(_ time.Duration, job *Job) { d.of(job).done = false }

func (d *devices) Stop(now time.Duration, a Attempt) {
	t := d.live[keyOf(a)]
	if t == nil || t.a.Try != a.Try {
		return
	}
	for n := range t.touched {
		d.nodes[n].cpu.remove(now, t)
		d.nodes[n].disk.remove(now, t)
		d.nodes[n].nic.remove(now, t)
	}
	t.job.forget(t)
	delete(d.live, keyOf(a))
}

func (j *deviceJob) forget(t *deviceTask) {
	for i, r := range j.reduces {
		if r == t {
			j.reduces = append(j.reduces[:i], j.reduces[i+1:]...)
			return
		}
	}
}

func (d *devices) Next() time.Duration {
	next := Never
	for i := range d.nodes {
		n := &d.nodes[i]
		next = min(next, n.cpu.next(), n.disk.next(), n.nic.next())
	}
	return next
}

func (d *devices) End(now time.Duration) (Attempt, bool) {
	for i := range d.nodes {
		n := &d.nodes[i]
		for _, s := range []*share{&n.cpu, &n.disk, &n.nic} {
			for s.next() <= now {
				st, ok := s.done(now)
				if !ok {
					break
				}
				st.then(now)
			}
		}
	}
	if len(d.over) == 0 {
		return Attempt{}, false
	}
	a := d.over[0]
	d.over = d.over[1:]
	return a, true
}
