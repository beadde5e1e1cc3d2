package scheduler

import (
	"time"

	"github.com/millrace/millrace/topology"
)

func (s *State) applyTask(now time.Duration, e *Event) error {
	j := s.view.Job(e.Task.Job)
	if j == nil || j.phase == Ended {
		return stale(e, "no such job")
	}
	if e.Task.Kind >= NumKinds || !j.tasks[e.Task.Kind].has(e.Task.Index) {
		return stale(e, "the job has no such task")
	}
	switch e.Kind {
	case EvLaunched:
		return s.launch(now, j, e)
	case EvTaskLost:
		return s.lose(j, e)
	case EvRestored:
		return s.restore(now, j, e)
	}
	at := s.findAttempt(j, e.Task, e.Node)
	if at < 0 {
		return stale(e, "no such attempt runs")
	}
	if e.Kind == EvTaskFinished {
		s.finish(now, j, e, at)
	} else {
		s.abort(now, j, e, at)
	}
	s.refresh(j)
	return nil
}

func (s *State) findAttempt(j *Job, t TaskID, n topology.NodeID) int32 {
	set := &j.tasks[t.Kind]
	if set.attempts == 0 {
		return -1
	}
	if set.state[t.Index] == TaskRunning {
		for at := set.ref[t.Index]; at >= 0; at = s.attempts.all[at].sibling {
			if s.attempts.all[at].Node == n {
				return at
			}
		}
	}
	// An attempt left over of a task that another attempt has finished.
	for at := set.head; at >= 0; at = s.attempts.all[at].nextJob {
		if a := &s.attempts.all[at]; a.Node == n && a.Task == t {
			return at
		}
	}
	return -1
}

func (s *State) launch(now time.Duration, j *Job, e *Event) error {
	t, set := e.Task, &j.tasks[e.Task.Kind]
	if !s.topo.Has(e.Node) {
		return stale(e, "no such node in the topology")
	}
	s.grow()
	state := set.state[t.Index]
	switch {
	case s.nodes[e.Node].state == NodeIsDown:
		return stale(e, "the node is down")
	case state == TaskDone, state == TaskRunning && !e.Second:
		return stale(e, "the task is "+state.String())
	case state == TaskRunning && s.findAttempt(j, t, e.Node) >= 0:
		return stale(e, "an attempt of the task runs there already")
	}
	sibling := int32(-1)
	if state == TaskRunning {
		sibling = set.ref[t.Index]
	} else {
		s.takePending(j, t)
		set.running++
	}
	at, began := s.attempts.take(), now-e.Duration
	s.attempts.all[at] = attempt{
		Attempt: Attempt{Task: t, Node: e.Node, Start: began, Locality: s.view.LocalityOf(j, t, e.Node), Second: e.Second},
		demand:  j.demand[t.Kind], sibling: sibling,
	}
	set.state[t.Index], set.ref[t.Index] = TaskRunning, at
	s.link(j, at)
	if t.Kind == Map {
		j.lastMap = max(j.lastMap, began)
	}
	if t.Kind != Driver && (j.firstStart < 0 || began < j.firstStart) {
		j.firstStart = began
	}
	s.refresh(j)
	return nil
}

// takePending removes a task from the pending ones.
func (s *State) takePending(j *Job, t TaskID) {
	set := &j.tasks[t.Kind]
	set.pending--
	if t.Kind == Driver {
		return
	}
	s.waitingBy(j, t.Kind, -1)
	if t.Kind == Map && j.byNode.items != nil {
		s.eachNode(j, t.Index, func(n int32) { s.takeLocal(j, n) })
		s.eachRack(j, t.Index, func(r int32) { j.byRack.take(r) })
	}
}

// putPending makes a task pending again.
func (s *State) putPending(j *Job, t TaskID) {
	j.tasks[t.Kind].requeue(t.Index)
	if t.Kind == Driver {
		return
	}
	s.waitingBy(j, t.Kind, 1)
	if t.Kind == Map && j.byNode.items != nil {
		s.eachNode(j, t.Index, func(n int32) { s.putLocal(j, n, t.Index) })
		s.eachRack(j, t.Index, func(r int32) { j.byRack.put(r, t.Index) })
	}
}

func (s *State) waitingBy(j *Job, k Kind, by int64) {
	for _, g := range j.groups() {
		g.waiting[k] += by
	}
}

// link puts attempt at on the chains and books of its node, rack, job, groups.
func (s *State) link(j *Job, at int32) {
	a := &s.attempts.all[at]
	k, n, set := a.Task.Kind, &s.nodes[a.Node], &j.tasks[a.Task.Kind]
	a.prevNode, a.nextNode, a.prevJob, a.nextJob = -1, n.head, -1, set.head
	if n.head >= 0 {
		s.attempts.all[n.head].prevNode = at
	}
	if set.head >= 0 {
		s.attempts.all[set.head].prevJob = at
	}
	n.head, set.head = at, at
	set.attempts++
	set.startSum += a.Start
	s.seconds += second(a)
	r := s.topo.RackOf(a.Node)
	n.use.add(k, a.demand)
	s.racks[r].use.add(k, a.demand)
	s.use.add(k, a.demand)
	j.use.add(k, a.demand)
	for _, g := range j.groups() {
		g.use.add(k, a.demand)
	}
	s.share(j, r).Running[k]++
}

// second is 1 for a second attempt.
func second(a *attempt) int32 {
	if a.Second {
		return 1
	}
	return 0
}

// release removes attempt at from every chain and book and recycles it.
func (s *State) release(now time.Duration, j *Job, at int32) {
	a := s.attempts.all[at]
	k, n, set := a.Task.Kind, &s.nodes[a.Node], &j.tasks[a.Task.Kind]
	s.unlink(n, set, &a)
	set.attempts--
	set.startSum -= a.Start
	s.seconds -= second(&a)
	set.spent += now - a.Start
	r := s.topo.RackOf(a.Node)
	n.use.sub(k, a.demand)
	s.racks[r].use.sub(k, a.demand)
	s.use.sub(k, a.demand)
	j.use.sub(k, a.demand)
	for _, g := range j.groups() {
		g.use.sub(k, a.demand)
	}
	s.share(j, r).Running[k]--
	if set.state[a.Task.Index] == TaskRunning {
		s.unchain(set, a.Task.Index, at)
	}
	s.attempts.give(at)
}

func (s *State) unlink(n *node, set *taskSet, a *attempt) {
	if a.prevNode >= 0 {
		s.attempts.all[a.prevNode].nextNode = a.nextNode
	} else {
		n.head = a.nextNode
	}
	if a.nextNode >= 0 {
		s.attempts.all[a.nextNode].prevNode = a.prevNode
	}
	if a.prevJob >= 0 {
		s.attempts.all[a.prevJob].nextJob = a.nextJob
	} else {
		set.head = a.nextJob
	}
	if a.nextJob >= 0 {
		s.attempts.all[a.nextJob].prevJob = a.prevJob
	}
}

// unchain removes at from the attempts of running task i.
func (s *State) unchain(set *taskSet, i, at int32) {
	if set.ref[i] == at {
		set.ref[i] = s.attempts.all[at].sibling
		return
	}
	for o := set.ref[i]; o >= 0; o = s.attempts.all[o].sibling {
		if s.attempts.all[o].sibling == at {
			s.attempts.all[o].sibling = s.attempts.all[at].sibling
			return
		}
	}
}

// share returns what j has in rack r, making room for it.
func (s *State) share(j *Job, r topology.RackID) *RackShare {
	if int(r) >= len(j.racks) {
		j.racks = append(j.racks, make([]RackShare, len(s.racks)-len(j.racks))...)
	}
	return &j.racks[r]
}
