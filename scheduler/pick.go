package scheduler

import (
	"iter"
	"math"

	"github.com/millrace/millrace/topology"
)

// LocalOn returns how many pending maps of j have their input on node n.
func (v *View) LocalOn(j *Job, n topology.NodeID) int32 {
	if !v.HasLocal(j, n) {
		return 0
	}
	return j.byNode.count(int32(n))
}

// LocalIn returns how many pending maps of j have their input in rack r.
func (v *View) LocalIn(j *Job, r topology.RackID) int32 {
	return j.byRack.count(int32(r))
}

// PendingMapOn returns the first pending map of j with its input on n.
func (v *View) PendingMapOn(j *Job, n topology.NodeID) (index int32, ok bool) {
	if !v.HasLocal(j, n) {
		return -1, false
	}
	i := j.byNode.first(int32(n), j.tasks[Map].state)
	return i, i >= 0
}

// PendingMapIn returns the first pending map of j with its input in rack r.
func (v *View) PendingMapIn(j *Job, r topology.RackID) (index int32, ok bool) {
	i := j.byRack.first(int32(r), j.tasks[Map].state)
	return i, i >= 0
}

// AnyPendingMap returns the first pending map of j.
func (v *View) AnyPendingMap(j *Job) (index int32, ok bool) {
	i := j.tasks[Map].first()
	return i, i >= 0
}

// AnyPendingReduce returns the first pending reduce of j, slow start or not.
func (v *View) AnyPendingReduce(j *Job) (index int32, ok bool) {
	i := j.tasks[Reduce].first()
	return i, i >= 0
}

// PendingMapsOn yields all pending maps of j with their input on n.
func (v *View) PendingMapsOn(j *Job, n topology.NodeID) iter.Seq[int32] {
	if !v.HasLocal(j, n) {
		return func(func(int32) bool) {}
	}
	return j.byNode.all(int32(n), j.tasks[Map].state)
}

// PendingMapsIn yields all pending maps of j with their input in rack r.
func (v *View) PendingMapsIn(j *Job, r topology.RackID) iter.Seq[int32] {
	return j.byRack.all(int32(r), j.tasks[Map].state)
}

// PendingTasks yields all pending tasks of kind k of j. It walks the tasks:
// use it where the whole job matters, not for each decision.
func (v *View) PendingTasks(j *Job, k Kind) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		t := &j.tasks[k]
		for i := t.next; t.pending > 0 && int(i) < len(t.state); i++ {
			if t.state[i] == TaskPending && !yield(i) {
				return
			}
		}
	}
}

// DoneOn yields the finished tasks of kind k of j that ran on n. It walks the
// tasks: for node loss, not for decisions.
func (v *View) DoneOn(j *Job, k Kind, n topology.NodeID) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		t := &j.tasks[k]
		for i, st := range t.state {
			if st == TaskDone && topology.NodeID(t.ref[i]) == n && !yield(int32(i)) {
				return
			}
		}
	}
}

// LocalityOf returns how near task t of j would run to its input on n.
func (v *View) LocalityOf(j *Job, t TaskID, n topology.NodeID) Locality {
	if t.Kind != Map {
		return Anywhere
	}
	replicas := j.Replicas(t.Index)
	if len(replicas) == 0 {
		return Anywhere
	}
	best := Remote
	for _, r := range replicas {
		if r == n {
			return NodeLocal
		}
		if v.s.topo.Distance(r, n) == topology.SameRack {
			best = RackLocal
		}
	}
	return best
}

// PickMap chooses the pending map of j nearest to n: on the node, in the rack,
// or any, but none farther than worst. Inside a level the lowest index wins.
func (v *View) PickMap(j *Job, n topology.NodeID, worst Locality) (TaskID, Locality, bool) {
	if i, ok := v.PendingMapOn(j, n); ok {
		return TaskID{Job: j.id, Index: i}, NodeLocal, true
	}
	if worst == NodeLocal && j.byNode.items != nil {
		return TaskID{}, 0, false
	}
	if i, ok := v.PendingMapIn(j, v.s.topo.RackOf(n)); ok {
		return TaskID{Job: j.id, Index: i}, RackLocal, true
	}
	if worst <= RackLocal && j.byRack.items != nil {
		return TaskID{}, 0, false
	}
	i, ok := v.AnyPendingMap(j)
	if !ok {
		return TaskID{}, 0, false
	}
	t := TaskID{Job: j.id, Index: i}
	return t, v.LocalityOf(j, t, n), true
}

// PickReduce chooses the next pending reduce of j, slow start or not.
func (v *View) PickReduce(j *Job) (TaskID, bool) {
	i, ok := v.AnyPendingReduce(j)
	return TaskID{Job: j.id, Index: i, Kind: Reduce}, ok
}

var (
	mapsFirst    = []Kind{Map, Reduce}
	reducesFirst = []Kind{Reduce, Map}
	mapsOnly     = []Kind{Map}
)

// KindOrder returns which kinds to try for one free place on n, in order; the caller must not change the slice. On a
// node with slots the kinds do not compete: maps, then reduces. In a shared pool a reduce comes first when no map is
// pending anywhere, or while reduces hold less than reduceShare (0..1) of the places of n, rounded up (spec/nas 3). If
// they would hold more than that share of all places that drivers leave, while a map is pending, reduces are not tried
// at all: else they could fill the cluster and wait for ever for their own maps.
func (v *View) KindOrder(n topology.NodeID, reduceShare float64) []Kind {
	if kinds := v.undisputed(n); kinds != nil {
		return kinds
	}
	used := &v.s.use
	return v.disputed(n, reduceShare, used.Slots[Reduce], v.s.total.Slots[Map]-used.Slots[Driver])
}

// KindOrderAmong is KindOrder for n in a group of nodes reserved for some jobs: it counts only the places of the group.
// Otherwise reduces of other jobs, which fill their own nodes and wait there for maps, would keep those of this group
// from starting.
func (v *View) KindOrderAmong(n topology.NodeID, reduceShare float64, group func(topology.NodeID) bool) []Kind {
	if kinds := v.undisputed(n); kinds != nil {
		return kinds
	}
	var reduces, places int32
	for i := range v.s.nodes {
		if node := &v.s.nodes[i]; node.state == NodeIsReady && group(topology.NodeID(i)) {
			reduces += node.use.Slots[Reduce]
			places += node.cap.Slots(Map, v.s.cfg.Unit) - node.use.Slots[Driver]
		}
	}
	return v.disputed(n, reduceShare, reduces, places)
}

// undisputed returns the order if the kinds do not compete for n, else nil.
func (v *View) undisputed(n topology.NodeID) []Kind {
	c := &v.s.nodes[n].cap
	switch {
	case c.Slotted() || len(v.s.pending[Reduce].list) == 0:
		return mapsFirst
	case len(v.s.pending[Map].list) == 0:
		return reducesFirst
	}
	return nil
}

func (v *View) disputed(n topology.NodeID, reduceShare float64, reduces, places int32) []Kind {
	c := &v.s.nodes[n].cap
	switch {
	case float64(reduces+1) > reduceShare*float64(places):
		return mapsOnly
	case float64(v.Used(n).Slots[Reduce]) < math.Ceil(reduceShare*float64(c.Slots(Map, v.s.cfg.Unit))):
		return reducesFirst
	}
	return mapsFirst
}

// RipeFirst turns an order without reduces into one that first tries reduces which wait for nobody. ripe reports that
// the other reduces, those for which Job.Waits is true, must be skipped. Ripe reduces end by themselves, and so do
// their jobs. Drivers can leave a group of nodes a single place, which no share can divide; without this its jobs would
// not end as long as a map is pending anywhere.
func RipeFirst(kinds []Kind) (order []Kind, ripe bool) {
	if len(kinds) == 1 {
		return reducesFirst, true
	}
	return kinds, false
}

// PastShare reports whether reduces hold all the places, of n and in total, that reduceShare lets them have while a map
// is pending.
func (v *View) PastShare(n topology.NodeID, reduceShare float64) bool {
	return len(v.KindOrder(n, reduceShare)) == 1
}

// PickTask is PickMap at any distance, or PickReduce.
func (v *View) PickTask(j *Job, n topology.NodeID, k Kind) (TaskID, Locality, bool) {
	if k == Map {
		return v.PickMap(j, n, Remote)
	}
	t, ok := v.PickReduce(j)
	return t, Anywhere, ok
}
