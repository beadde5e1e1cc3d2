package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim/flow"
	"github.com/millrace/millrace/topology"
)

// NetworkConfig describes the model in which tasks read, shuffle and write over a network (spec/nas 2.2, 2.6). A map's
// time is its computing, a reduce's time its reduce phase; the network's time is added.
type NetworkConfig struct {
	Topology *topology.Topology
	// Tick is that of the network: 0 is exact.
	Tick time.Duration
	// ByNode makes a flow for each (job, source node, reduce). Default is a flow for
	// each (job, source rack, reduce), which the cards of the whole source rack feed
	// (spec/nas 2.6, item 7): cheaper by the size of a rack.
	ByNode bool
	// Pairs makes one flow for each (job, source rack, destination rack), which takes
	// what is ready for all reduces there (spec/jobpacker 3.3), and asks the policy's
	// ShuffleGate before each.
	Pairs bool
	// Parts is the number of parts in which a reduce fetches from a source while the job's maps still run: it waits
	// until a part is ready. Smaller: cheaper, later. 0 fetches whenever a map has ended.
	Parts int
	// Instant is the size up to which a transfer takes no time: it is counted, but not on links.
	Instant float64
	// WriteCopies is how many copies of reduce output go to other nodes: one to
	// another rack, the next beside it. 0, as published: writing is part of the
	// reduce phase.
	WriteCopies int
	// Factor, if set, returns how many times longer than its job says an attempt computes on its node: machines may
	// differ in speed.
	Factor func(a Attempt, job *Job) float64
	// Plain is flow.Config.Plain.
	Plain bool
}

// DefaultNetwork returns exact sharing up to 100 nodes, and above that a grid of a second
// (spec/nas 2.6) on which reduces fetch in eight parts.
func DefaultNetwork(t *topology.Topology) NetworkConfig {
	c := NetworkConfig{Topology: t}
	if t.NumNodes() > 100 {
		c.Tick, c.Parts, c.Instant = time.Second, 8, 64<<10
	}
	return c
}

func (c *NetworkConfig) validate() error {
	switch {
	case c.Topology == nil || c.Topology.NumNodes() == 0:
		return errors.New("the network has no nodes")
	case c.Tick < 0 || c.Parts < 0 || c.Instant < 0:
		return errors.New("tick, parts and instant bytes must not be negative")
	case c.WriteCopies < 0 || c.WriteCopies > 2:
		return fmt.Errorf("%d further copies of output: there may be 0 to 2", c.WriteCopies)
	case c.Pairs && c.ByNode:
		return errors.New("flows are either by source node or by pair of racks")
	}
	return nil
}

// network is the model.
type network struct {
	cfg     NetworkConfig
	net     *flow.Network
	sources int // racks, or nodes with ByNode
	live    [][]*netTask
	jobs    map[scheduler.JobID]*netJob
	order   []*netJob    // all, by their first attempt
	recent  [256]*netJob // of jobs, by the last bits of their ids
	holding []*netJob    // with transfers that the gate has held
	timers  queue[timer]
	moves   []move
	free    []int32
	spare   []*netTask
	over    []Attempt
	taken   int // attempts of over that End has returned
	gate    Gate
	traffic Traffic
}

// timer is the end of a phase that does not use the network.
type timer struct {
	task *netTask
	try  uint32
}

// netTask is an attempt in progress.
type netTask struct {
	a     Attempt
	job   *netJob
	phase phase
	flows int           // under way
	began time.Duration // of computing
	got   []float64     // of a reduce, by source: bytes fetched or being fetched
	busy  []bool        // by source: a flow is under way
}

type phase uint8

const (
	reading phase = iota
	computing
	fetching
	reducing
	writing
)

// netJob is what reduces need to know of their job.
type netJob struct {
	job     *Job
	made    []uint64  // by map, a bit: its output is counted in ready
	ready   []float64 // by source: bytes for each reduce
	told    []float64 // by source: ready when reduces were last told
	from    []int32   // sources with output, in order of the first
	part    float64   // bytes that are worth a fetch while maps run
	done    bool      // all maps have ended
	reduces []*netTask
	pairs   *pairBook // with Pairs
	sent    [2]float64
}

// NewNetwork returns the model.
func NewNetwork(cfg NetworkConfig) (Model, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("network model: %w", err)
	}
	net, err := flow.New(cfg.Topology, flow.Config{Tick: cfg.Tick, Plain: cfg.Plain})
	if err != nil {
		return nil, fmt.Errorf("network model: %w", err)
	}
	m := &network{
		cfg: cfg, net: net, sources: cfg.Topology.NumRacks(), live: make([][]*netTask, cfg.Topology.NumNodes()),
		jobs: map[scheduler.JobID]*netJob{},
	}
	if cfg.ByNode {
		m.sources = cfg.Topology.NumNodes()
	}
	return m, nil
}

func (m *network) of(job *Job) *netJob {
	recent := &m.recent[uint32(job.Spec.ID)%uint32(len(m.recent))]
	if *recent != nil && (*recent).job == job {
		return *recent
	}
	j := m.jobs[job.Spec.ID]
	if j == nil {
		j = &netJob{job: job, done: job.Spec.Maps == 0}
		m.jobs[job.Spec.ID] = j
		m.order = append(m.order, j)
		if n := job.Spec.Reduces; n > 0 {
			j.made = make([]uint64, (job.Spec.Maps+63)/64)
			j.ready, j.told = make([]float64, m.sources), make([]float64, m.sources)
			if m.cfg.Parts > 0 {
				spread := max(1, min(int(job.Spec.Maps), m.sources))
				j.part = float64(job.shuffled()) / float64(int(n)*spread*m.cfg.Parts)
			}
		}
	}
	*recent = j
	return j
}

// task adds an attempt.
func (m *network) task(a Attempt, j *netJob) *netTask {
	var t *netTask
	if k := len(m.spare); k > 0 {
		t = m.spare[k-1]
		m.spare = m.spare[:k-1]
	} else {
		t = &netTask{}
	}
	t.a, t.job, t.flows = a, j, 0
	m.live[a.Node] = append(m.live[a.Node], t)
	return t
}

// drop removes an attempt.
func (m *network) drop(t *netTask) {
	list := m.live[t.a.Node]
	for i, o := range list {
		if o == t {
			list[i] = list[len(list)-1]
			m.live[t.a.Node] = list[:len(list)-1]
			break
		}
	}
	t.a.Try, t.job = 0, nil
	m.spare = append(m.spare, t)
}

func (m *network) find(a Attempt) *netTask {
	for _, t := range m.live[a.Node] {
		if t.a.Task == a.Task && t.a.Try == a.Try {
			return t
		}
	}
	return nil
}

func (m *network) Start(now time.Duration, a Attempt, job *Job) {
	t := m.task(a, m.of(job))
	if a.Task.Kind == scheduler.Map {
		m.read(now, t)
		return
	}
	m.startReduce(now, t)
}

func (m *network) Next() time.Duration {
	at := m.net.Next()
	if m.timers.some() {
		at = min(at, m.timers.next())
	}
	return at
}

func (m *network) End(now time.Duration) (Attempt, bool) {
	for m.taken == len(m.over) {
		m.over, m.taken = m.over[:0], 0
		if m.timers.some() && m.timers.next() <= now {
			if _, e := m.timers.take(); e.task.a.Try == e.try {
				m.elapsed(now, e.task)
			}
			continue
		}
		tag, ok := m.net.Done(now)
		if !ok {
			return Attempt{}, false
		}
		m.moved(now, tag)
	}
	m.taken++
	return m.over[m.taken-1], true
}

// end queues an attempt for End.
func (m *network) end(t *netTask) {
	m.over = append(m.over, t.a)
	m.drop(t)
}
