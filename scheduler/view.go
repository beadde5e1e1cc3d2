package scheduler

import (
	"iter"
	"slices"
	"time"

	"github.com/millrace/millrace/topology"
)

// An Attempt is one running try of a task.
type Attempt struct {
	Task     TaskID
	Node     topology.NodeID
	Start    time.Duration
	Locality Locality
	Second   bool
}

// A View is the read-only face of State: what a policy may know. In the real
// cluster it lags behind the workers; a policy must not assume that a task it
// sees running still runs. It is valid only inside the call it was passed to.
type View struct{ s *State }

// Topology returns racks, links and machine classes.
func (v *View) Topology() *topology.Topology { return v.s.topo }

// Job returns the unfinished job with this id, or nil. While the event that
// ends a job is observed, the job is still there, in phase Ended.
func (v *View) Job(id JobID) *Job {
	if id < 0 {
		return nil
	}
	if j := *v.s.recent.place(id); j != nil && j.id == id {
		return j
	}
	return v.s.find(id)
}

// Jobs returns all unfinished jobs.
func (v *View) Jobs() Jobs { return Jobs{v.s.live.list} }

// Waiting returns the jobs that wait for admission, those of a higher priority first.
func (v *View) Waiting() Jobs { return Jobs{v.s.waiting.list} }

// Pending returns the ready jobs with pending tasks of kind k.
func (v *View) Pending(k Kind) Jobs { return Jobs{v.s.pending[k].list} }

// Runnable returns the jobs with runnable tasks of kind k: pending and, for reduces, past the job's own slow start. For
// drivers, jobs of higher priority come first.
func (v *View) Runnable(k Kind) Jobs {
	if k == Driver {
		return Jobs{v.s.drivers.list}
	}
	return Jobs{v.s.runnable[k].list}
}

// Groups yields every group of a kind that ever had a job, in order of first
// appearance.
func (v *View) Groups(k GroupKind) iter.Seq[*Group] { return slices.Values(v.s.groups.all[k]) }

// NumGroups returns how many groups of a kind there are; their slots are below
// it.
func (v *View) NumGroups(k GroupKind) int { return len(v.s.groups.all[k]) }

// Group finds a user, queue or pool by name, or returns nil.
func (v *View) Group(k GroupKind, name string) *Group {
	return v.s.groups.byName[groupKey{kind: k, name: name}]
}

// NodeState returns what may be done with n.
func (v *View) NodeState(n topology.NodeID) NodeState {
	if n < 0 || int(n) >= len(v.s.nodes) {
		return NodeIsDown
	}
	return v.s.nodes[n].state
}

// RackOf returns the rack of n, or NoRack.
func (v *View) RackOf(n topology.NodeID) topology.RackID { return v.s.topo.RackOf(n) }

// Capacity returns the room of n as last reported.
func (v *View) Capacity(n topology.NodeID) Capacity {
	if n < 0 || int(n) >= len(v.s.nodes) {
		return Capacity{}
	}
	return v.s.nodes[n].cap
}

// Used returns what runs on n; the caller must not change it.
func (v *View) Used(n topology.NodeID) *Usage {
	if n < 0 || int(n) >= len(v.s.nodes) {
		return &Usage{}
	}
	return &v.s.nodes[n].use
}

// RackUsed returns what runs in rack r; the caller must not change it.
func (v *View) RackUsed(r topology.RackID) *Usage {
	if r < 0 || int(r) >= len(v.s.racks) {
		return &Usage{}
	}
	return &v.s.racks[r].use
}

// ClusterUsed returns what runs in the cluster; the caller must not change it.
func (v *View) ClusterUsed() *Usage { return &v.s.use }

// Total returns the room of all nodes that are up.
func (v *View) Total() Totals { return v.s.total }

// RackTotal returns the room of the nodes of rack r that are up.
func (v *View) RackTotal(r topology.RackID) Totals {
	if r < 0 || int(r) >= len(v.s.racks) {
		return Totals{}
	}
	return v.s.racks[r].room
}

// Promised returns what the drivers of admitted, unfinished jobs hold or will
// hold: the amUsed of spec/marp 2.3.
func (v *View) Promised() Usage { return v.s.promised }

// FreeSlots returns how many tasks of kind k with the default demand still fit
// on n; 0 unless n is up.
func (v *View) FreeSlots(n topology.NodeID, k Kind) int32 {
	if v.NodeState(n) != NodeIsReady {
		return 0
	}
	nd := &v.s.nodes[n]
	return nd.cap.free(&nd.use, k, v.s.cfg.Unit)
}

// HasRoom reports whether n is up and not full for kind k: some task, however
// small, could still fit.
func (v *View) HasRoom(n topology.NodeID, k Kind) bool {
	if v.NodeState(n) != NodeIsReady {
		return false
	}
	nd := &v.s.nodes[n]
	return nd.cap.fits(&nd.use, k, Demand{Slots: 1, VCores: 1, MemoryMB: 1})
}

// Fits reports whether n is up and has room for one more task of kind k of j, j is not banned from it, and j's user is
// not at their limit.
func (v *View) Fits(n topology.NodeID, j *Job, k Kind) bool {
	if v.NodeState(n) != NodeIsReady {
		return false
	}
	nd := &v.s.nodes[n]
	return nd.cap.fits(&nd.use, k, j.demand[k]) && !j.Banned(n) && !j.AtLimit(k)
}

// Fresh reports whether this is the first round of Assign calls for n since its last
// Heartbeat. What is counted in heartbeats (skips, missed opportunities) counts in
// such a round only: a live cluster also offers a node whenever something has ended.
func (v *View) Fresh(n topology.NodeID) bool {
	return n >= 0 && int(n) < len(v.s.nodes) && !v.s.nodes[n].offered
}

// RunningOn yields the attempts that run on n, newest first.
func (v *View) RunningOn(n topology.NodeID) iter.Seq[Attempt] {
	return func(yield func(Attempt) bool) {
		if n < 0 || int(n) >= len(v.s.nodes) {
			return
		}
		for at := v.s.nodes[n].head; at >= 0; at = v.s.attempts.all[at].nextNode {
			if !yield(v.s.attempts.all[at].Attempt) {
				return
			}
		}
	}
}

// Attempts yields the running attempts of kind k of j, newest first.
func (v *View) Attempts(j *Job, k Kind) iter.Seq[Attempt] {
	return func(yield func(Attempt) bool) {
		for at := j.tasks[k].head; at >= 0; at = v.s.attempts.all[at].nextJob {
			if !yield(v.s.attempts.all[at].Attempt) {
				return
			}
		}
	}
}

// Seconds returns how many second attempts run.
func (v *View) Seconds() int32 { return v.s.seconds }

// Tries returns how many attempts of a running task run.
func (v *View) Tries(j *Job, t TaskID) (n int32) {
	if v := j.TaskState(t.Kind, t.Index); v != TaskRunning {
		return 0
	}
	for at := j.tasks[t.Kind].ref[t.Index]; at >= 0; at = v.s.attempts.all[at].sibling {
		n++
	}
	return n
}

// Net returns the last sample of rack r's link to the core.
func (v *View) Net(r topology.RackID) Net {
	if r < 0 || int(r) >= len(v.s.racks) {
		return Net{}
	}
	return v.s.racks[r].net
}

// CPUIdle returns the last idle percentage of the cluster's processors, and
// whether there is one.
func (v *View) CPUIdle() (percent float64, ok bool) { return v.s.idle, v.s.idle >= 0 }

// NodeIdle returns the last idle percentage of n's processors, and whether
// there is one.
func (v *View) NodeIdle(n topology.NodeID) (percent float64, ok bool) {
	if n < 0 || int(n) >= len(v.s.nodes) {
		return 0, false
	}
	return v.s.nodes[n].idle, v.s.nodes[n].idle >= 0
}
