package sizebased

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// serves returns the queues that may use node n, smallest first.
func (p *Policy) serves(n topology.NodeID, v *scheduler.View) span {
	if p.partition == nil {
		return span{0, int32(p.cfg.K)}
	}
	return p.partition.of(n, v)
}

// Assign implements scheduler.Policy; it is dispatch of spec/slowdown 3.
func (p *Policy) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	p.applyFeedback(now)
	own := p.serves(n, v)
	why := scheduler.Reason{Code: scheduler.NoWork, Say: "no job of queues {a} to {b} has work for {node}", Node: n, A: int64(own.from) + 1, B: int64(own.to)}
	kinds, ripe := p.kinds(n, own, v)
	for _, k := range kinds {
		first := p.first(k, own)
		if first == nil && !p.lends(n, v) {
			continue
		}
		if first != nil {
			why = scheduler.Reason{Code: scheduler.NoRoom, Say: "{node} has no room for a {kind} of {job}", Node: n, Kind: k, Job: first.ID()}
		}
		if !v.HasRoom(n, k) {
			continue
		}
		if d := p.serve(offer{n, k, ripe}, own, v); d.OK {
			return d
		}
	}
	return scheduler.Idle(why)
}

// offer is a place on node n for a task of kind k.
type offer struct {
	n    topology.NodeID
	k    scheduler.Kind
	ripe bool // reduces only if their maps have all ended
}

// kinds returns which kinds to try on n, by the maps and reduces of its own partition.
func (p *Policy) kinds(n topology.NodeID, own span, v *scheduler.View) (kinds []scheduler.Kind, ripe bool) {
	if p.partition == nil {
		return scheduler.RipeFirst(v.KindOrder(n, p.cfg.Reduces.Share))
	}
	return scheduler.RipeFirst(v.KindOrderAmong(n, p.cfg.Reduces.Share, func(m topology.NodeID) bool { return p.partition.of(m, v) == own }))
}

// Abstains implements scheduler.Abstainer: partitions that do not lend leave many nodes
// without work while others have a queue.
func (p *Policy) Abstains(now time.Duration, n topology.NodeID, v *scheduler.View) bool {
	p.applyFeedback(now)
	if p.lends(n, v) {
		return false
	}
	own := p.serves(n, v)
	for k := range scheduler.Driver {
		if p.first(k, own) != nil && v.HasRoom(n, k) {
			return false
		}
	}
	return true
}

// first returns the first job in line for kind k in the queues of s, or nil.
func (p *Policy) first(k scheduler.Kind, s span) *job {
	for q := s.from; q < s.to; q++ {
		if l := p.lines[q][k]; l.Len() > 0 {
			return l.At(0)
		}
	}
	return nil
}

// serve gives a place to the first candidate that fits: queue by
// queue, each first come first served; then, where partitions lend, the others.
func (p *Policy) serve(at offer, own span, v *scheduler.View) scheduler.Decision {
	for q := own.from; q < own.to; q++ {
		if d := p.try(at, q, v, false); d.OK {
			return d
		}
	}
	if !p.lends(at.n, v) {
		return scheduler.Decision{}
	}
	for q := range int32(p.cfg.K) {
		if own.has(q) {
			continue
		}
		if d := p.try(at, q, v, !p.cfg.Lend); d.OK {
			return d
		}
	}
	return scheduler.Decision{}
}

// lends reports whether jobs of other queues may use n at all. Where maps, reduces and drivers share containers, those
// that only wait could fill a partition and wait for ever for a map that has no place in it. stuck says who may then
// borrow.
func (p *Policy) lends(n topology.NodeID, v *scheduler.View) bool {
	if p.partition == nil {
		return false
	}
	c := v.Capacity(n)
	return p.cfg.Lend || !c.Slotted() || c.VCores > 0 || c.MemoryMB > 0
}

// stuck reports whether j may borrow a node of another queue: it holds
// containers in which something waits, and no job of its queue runs a map.
func (p *Policy) stuck(j *job, q int32) bool {
	return p.maps[q] == 0 && j.Usage().Tasks[scheduler.Reduce]+j.Usage().Tasks[scheduler.Driver] > 0
}

// try offers a place to the jobs of queue q in order; with borrow only to those that are stuck.
func (p *Policy) try(at offer, q int32, v *scheduler.View, borrow bool) scheduler.Decision {
	l := p.lines[q][at.k]
	for i := range l.Len() {
		j := l.At(i)
		if borrow && !p.stuck(j, q) || !v.Fits(at.n, j, at.k) || at.ripe && j.Waits(at.k) {
			continue
		}
		if t, near, ok := v.PickTask(j, at.n, at.k); ok {
			return scheduler.Run(t, near, p.chosen(j, at.n, q, i, borrow))
		}
	}
	return scheduler.Decision{}
}

func (p *Policy) chosen(j *job, n topology.NodeID, q int32, ahead int, borrowed bool) scheduler.Reason {
	r := scheduler.Reason{Say: "{job} is first in queue {a} of {b}", Job: j.ID(), Node: n, A: int64(q) + 1, B: int64(p.cfg.K), C: int64(ahead)}
	switch {
	case borrowed:
		r.Say = "{job} of queue {a} borrows {node}: its own nodes hold only what waits"
	case ahead > 0:
		r.Say = "{job} is next in queue {a} of {b}: {c} jobs before it have nothing that fits {node}"
	}
	return r
}
