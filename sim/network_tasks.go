package sim

import (
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim/flow"
	"github.com/millrace/millrace/topology"
)

// read is the first phase of a map: its input comes from the nearest replica.
func (m *network) read(now time.Duration, t *netTask) {
	t.phase = reading
	var replicas []topology.NodeID
	if t.a.Locality != scheduler.NodeLocal {
		replicas = t.job.job.Spec.Splits.Of(t.a.Task.Index)
	}
	if len(replicas) == 0 {
		m.compute(now, t)
		return
	}
	src := replicas[int(t.a.Try)%len(replicas)]
	if t.a.Locality == scheduler.RackLocal {
		for _, r := range replicas {
			if m.cfg.Topology.RackOf(r) == m.cfg.Topology.RackOf(t.a.Node) {
				src = r
			}
		}
	}
	m.send(now, move{task: t, what: moveInput, bytes: float64(t.job.job.input(t.a.Task.Index))}, m.endAt(src), flow.Node(t.a.Node))
	if t.flows == 0 {
		m.compute(now, t)
	}
}

// endAt returns where flows from a node begin.
func (m *network) endAt(n topology.NodeID) flow.End {
	if m.cfg.ByNode {
		return flow.Node(n)
	}
	return flow.Rack(m.cfg.Topology.RackOf(n))
}

// source returns the number under which output on node n is kept; sourceEnd returns where flows from it begin.
func (m *network) source(n topology.NodeID) int32 {
	if m.cfg.ByNode {
		return int32(n)
	}
	return int32(m.cfg.Topology.RackOf(n))
}

func (m *network) sourceEnd(src int32) flow.End {
	if m.cfg.ByNode {
		return flow.Node(topology.NodeID(src))
	}
	return flow.Rack(topology.RackID(src))
}

func (m *network) compute(now time.Duration, t *netTask) {
	t.phase, t.began = computing, now
	m.timers.after(now, m.length(t), timer{t, t.a.Try})
}

// length returns how long a task computes where it runs.
func (m *network) length(t *netTask) time.Duration {
	d := t.job.job.length(t.a)
	if m.cfg.Factor == nil {
		return d
	}
	return time.Duration(float64(d) * m.cfg.Factor(t.a, t.job.job))
}

// elapsed handles the end of a task's computing.
func (m *network) elapsed(now time.Duration, t *netTask) {
	switch {
	case t.phase == computing:
		m.publish(now, t)
		m.end(t)
	case m.cfg.WriteCopies > 0:
		m.write(now, t)
	default:
		m.end(t)
	}
}

// publish makes the output of a map known to reduces. A map that runs again because its output was lost adds nothing
// new.
func (m *network) publish(now time.Duration, t *netTask) {
	j, i := t.job, t.a.Task.Index
	if j.ready == nil || j.made[i/64]&(1<<(i%64)) != 0 {
		return
	}
	j.made[i/64] |= 1 << (i % 64)
	bytes := float64(j.job.output(i)) / float64(j.job.Spec.Reduces)
	if bytes <= 0 {
		return
	}
	src := m.source(t.a.Node)
	if j.ready[src] == 0 {
		j.from = append(j.from, src)
	}
	j.ready[src] += bytes
	if len(j.reduces) > 0 && j.ready[src]-j.told[src] >= j.part {
		j.told[src] = j.ready[src]
		m.tell(now, j, src)
	}
}

// tell lets reduces that have nothing under way from a source fetch what is ready there.
func (m *network) tell(now time.Duration, j *netJob, src int32) {
	if m.cfg.Pairs {
		m.offerFrom(now, j, src)
		return
	}
	for _, r := range j.reduces {
		m.fetch(now, r, src)
	}
}

// startReduce begins the shuffle of a reduce.
func (m *network) startReduce(now time.Duration, t *netTask) {
	j := t.job
	t.phase = fetching
	if t.got == nil {
		t.got, t.busy = make([]float64, m.sources), make([]bool, m.sources)
	} else {
		clear(t.got)
		clear(t.busy)
	}
	j.reduces = append(j.reduces, t)
	if m.cfg.Pairs {
		m.place(now, t)
	} else {
		for _, src := range j.from {
			m.fetch(now, t, src)
		}
	}
	m.tryReduce(now, t)
}

// fetch sends what is ready at a source and not fetched, unless a flow is under way.
func (m *network) fetch(now time.Duration, t *netTask, src int32) {
	bytes := t.job.ready[src] - t.got[src]
	if t.busy[src] || bytes <= 0 {
		return
	}
	t.got[src] = t.job.ready[src]
	t.busy[src] = true
	m.send(now, move{task: t, what: moveShuffle, src: src, bytes: bytes}, m.sourceEnd(src), flow.Node(t.a.Node))
}

// fetched handles the end of a reduce's flow.
func (m *network) fetched(now time.Duration, t *netTask, src int32) {
	t.busy[src] = false
	if t.job.done || t.job.ready[src]-t.got[src] >= max(t.job.part, 1e-9) {
		m.fetch(now, t, src)
	}
	m.tryReduce(now, t)
}

// tryReduce begins the reduce phase when all maps have ended and everything is there.
func (m *network) tryReduce(now time.Duration, t *netTask) {
	j := t.job
	if t.phase != fetching || t.flows > 0 || !j.done {
		return
	}
	for _, src := range j.from {
		if t.got[src] < j.ready[src] {
			return
		}
	}
	t.phase, t.began = reducing, now
	j.forget(t)
	m.timers.after(now, m.length(t), timer{t, t.a.Try})
}

func (j *netJob) forget(t *netTask) {
	if i := slices.Index(j.reduces, t); i >= 0 {
		j.reduces[i] = j.reduces[len(j.reduces)-1]
		j.reduces = j.reduces[:len(j.reduces)-1]
	}
	if j.pairs != nil {
		j.pairs.forget(t)
	}
}

func (m *network) MapsDone(now time.Duration, job *Job) {
	j := m.of(job)
	j.done = true
	if m.cfg.Pairs {
		m.offerAll(now, j)
	} else {
		for _, src := range j.from {
			m.tell(now, j, src)
		}
	}
	for _, r := range slices.Clone(j.reduces) {
		m.tryReduce(now, r)
	}
}

func (m *network) MapsUndone(_ time.Duration, job *Job) { m.of(job).done = false }

// write sends copies of a reduce's output to another rack and then to a node beside it.
func (m *network) write(now time.Duration, t *netTask) {
	t.phase = writing
	topo, spec := m.cfg.Topology, t.job.job.Spec
	bytes := float64(spec.Output.Bytes) / float64(max(1, spec.Reduces))
	rack := topo.RackOf(t.a.Node)
	if k := topo.NumRacks(); k > 1 {
		rack = topology.RackID((int(rack) + 1 + int(t.a.Try)%(k-1)) % k)
	}
	size := topo.RackSize(rack)
	first := topo.NodeAt(rack, int(t.a.Try)%size)
	m.send(now, move{task: t, what: moveOutput, bytes: bytes}, m.endAt(t.a.Node), flow.Node(first))
	if m.cfg.WriteCopies > 1 && size > 1 {
		m.send(now, move{task: t, what: moveOutput, bytes: bytes}, m.endAt(first), flow.Node(topo.NodeAt(rack, (int(t.a.Try)+1)%size)))
	}
	if t.flows == 0 {
		m.end(t)
	}
}
