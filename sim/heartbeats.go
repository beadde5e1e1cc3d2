package sim

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// heartbeats plans the reports of nodes. It does not plan reports that would change nothing: a day of a large cluster
// has tens of millions of them. A full node sleeps until an attempt on it ends. Nodes with room sleep while there is no
// work; when there is some, they report one after the other, each at its own time in the period, as long as it lasts.
type heartbeats struct {
	phases []time.Duration   // by node: when in the period it reports
	asleep []bool            // by node: its next report is not planned
	slept  []time.Duration   // by node: its last report before that
	idle   []bool            // by node: it sleeps because there is no work
	idlers int               // idle nodes
	order  []topology.NodeID // by phase
	next   bool              // the report of an idle node is planned
	lives  []uint32          // by node: how often it has come back; reports planned in an earlier life do not count
}

func newHeartbeats(n int) heartbeats {
	b := heartbeats{phases: make([]time.Duration, n), asleep: make([]bool, n), slept: make([]time.Duration, n), idle: make([]bool, n), lives: make([]uint32, n), order: make([]topology.NodeID, n)}
	for i := range b.order {
		b.order[i] = topology.NodeID(i)
	}
	return b
}

// sort puts the nodes in order of their phases.
func (b *heartbeats) sort() {
	slices.SortFunc(b.order, func(x, y topology.NodeID) int {
		return cmp.Or(cmp.Compare(b.phases[x], b.phases[y]), cmp.Compare(x, y))
	})
}

func (b *heartbeats) setIdle(n topology.NodeID, idle bool) {
	if b.idle[n] != idle {
		b.idle[n] = idle
		if idle {
			b.idlers++
		} else {
			b.idlers--
		}
	}
}

// at returns when a node reports next.
func (b *heartbeats) at(n topology.NodeID, now, period time.Duration) time.Duration {
	late := (now - b.phases[n]) % period
	if late < 0 {
		late += period
	}
	if late == 0 && b.slept[n] != now {
		return now
	}
	return now + period - late
}

// nextIdle returns the idle node that reports first.
func (b *heartbeats) nextIdle(now, period time.Duration) topology.NodeID {
	begin := sort.Search(len(b.order), func(i int) bool { return b.phases[b.order[i]] >= now%period })
	for i := range b.order {
		n := b.order[(begin+i)%len(b.order)]
		if b.idle[n] && (b.phases[n] != now%period || b.slept[n] != now) {
			return n
		}
	}
	return b.order[begin%len(b.order)] // the only idle node, which has just reported
}

// nextHeartbeat plans a node's next report, unless it would change nothing.
func (s *simulation) nextHeartbeat(n topology.NodeID) {
	if s.cfg.AllHeartbeats || s.drive.View().HasRoom(n, scheduler.Map) || s.drive.View().HasRoom(n, scheduler.Reduce) {
		if s.cfg.AllHeartbeats || s.anyPending() {
			s.agenda.after(s.now, s.cfg.Heartbeat, s.reportOf(n))
			return
		}
		s.heartbeats.setIdle(n, true)
	}
	s.heartbeats.asleep[n], s.heartbeats.slept[n] = true, s.now
}

// reportOf returns a report of a node in its present life.
func (s *simulation) reportOf(n topology.NodeID) happening {
	return happening{what: heartbeat, node: n, try: s.heartbeats.lives[n]}
}

// anyPending reports whether a report could matter to a node with room.
func (s *simulation) anyPending() bool {
	v := s.drive.View()
	if s.cfg.Admission != nil && v.Waiting().Len() > 0 {
		return true // each report asks whom to admit
	}
	return v.Runnable(scheduler.Map).Len() > 0 || v.Runnable(scheduler.Reduce).Len() > 0 || s.drivers > 0
}

// wake plans the next report of a node that sleeps, at its own time in the period.
func (s *simulation) wake(n topology.NodeID) {
	if !s.heartbeats.asleep[n] {
		return
	}
	s.heartbeats.asleep[n] = false
	s.heartbeats.setIdle(n, false)
	s.agenda.add(s.heartbeats.at(n, s.now, s.cfg.Heartbeat), s.reportOf(n))
}

// wakeIdle plans the report of the next idle node when there is work.
func (s *simulation) wakeIdle() {
	if s.heartbeats.next || s.heartbeats.idlers == 0 || !s.anyPending() {
		return
	}
	n := s.heartbeats.nextIdle(s.now, s.cfg.Heartbeat)
	s.heartbeats.next = true
	s.agenda.add(s.heartbeats.at(n, s.now, s.cfg.Heartbeat), happening{what: heartbeatIdle, node: n})
}

// heartbeatIdle handles the report that wakeIdle has planned. The node may have been woken since, or others have taken
// all the work.
func (s *simulation) heartbeatIdle(n topology.NodeID) {
	s.heartbeats.next = false
	if !s.heartbeats.idle[n] || !s.anyPending() {
		return // wakeIdle follows every step
	}
	s.heartbeats.asleep[n] = false
	s.heartbeats.setIdle(n, false)
	s.heartbeat(n)
}
