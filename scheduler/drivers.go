package scheduler

import (
	"math"
	"slices"
	"time"

	"github.com/millrace/millrace/topology"
)

// A driver holds its room until its job ends, and a job ends by its tasks. If drivers held all the room, no job would
// ever end. So a driver is not placed where it would take the last room that a task could have.

// driverFor finds a driver that may be placed on n: highest priority first, then oldest job.
func (g *Engine) driverFor(n topology.NodeID) (Decision, bool) {
	if g.state.apart {
		return Decision{}, false
	}
	for _, j := range g.state.drivers.list {
		if g.state.takesDriver(n, j) {
			return runDriver(j), true
		}
	}
	return Decision{}, false
}

func runDriver(j *Job) Decision {
	return Run(TaskID{Job: j.id, Kind: Driver}, Anywhere, Reason{Say: "driver of {job}", Job: j.id})
}

// PlaceDrivers gives every waiting driver a place, by priority and then age of its job, on a node with as few drivers
// as any that could take it, so that neither the loss of one node nor a partition of few nodes hits them all. Give
// places none from then on.
func (g *Engine) PlaceDrivers(now time.Duration, each func(topology.NodeID, Decision)) error {
	g.state.apart = true
	var without [][NumKinds]Demand // of jobs for which no node had a place: a job that asks for as much need not look
	for _, j := range slices.Clone(g.state.drivers.list) {
		if j.AtLimit(Driver) || slices.Contains(without, j.demand) {
			continue
		}
		n := g.state.fewestDrivers(j)
		if n == topology.NoNode {
			if len(j.banned) == 0 {
				without = append(without, j.demand)
			}
			continue
		}
		d := runDriver(j)
		if err := g.Launch(now, n, &d); err != nil {
			return err
		}
		each(n, d)
	}
	return nil
}

// takesDriver reports whether j's driver may be placed on n.
func (s *State) takesDriver(n topology.NodeID, j *Job) bool {
	return s.view.Fits(n, j, Driver) && s.leavesRoom(n, j)
}

// fewestDrivers returns the first of the nodes with fewest drivers that could take j's, or NoNode if none could. A node
// that has a driver gives its last place for a task to another driver only if every node would have to: otherwise a
// partition of few nodes would have no place left for tasks while its drivers keep the others busy.
func (s *State) fewestDrivers(j *Job) topology.NodeID {
	spare := s.spareTasks(j)
	best, least := topology.NoNode, int32(math.MaxInt32)
	for i := range s.nodes {
		n := topology.NodeID(i)
		if has := s.nodes[i].use.Tasks[Driver]; has < least && s.view.Fits(n, j, Driver) && s.wantsDriver(n, j, spare) {
			best, least = n, has
		}
	}
	return best
}

// spareTasks reports whether some node, with j's driver, could hold a task of j beside its drivers.
func (s *State) spareTasks(j *Job) bool {
	for i := range s.nodes {
		if s.keepsTask(topology.NodeID(i), j) {
			return true
		}
	}
	return false
}

// wantsDriver reports whether j's driver may be placed on n once n has room for it; spare is the result of spareTasks.
func (s *State) wantsDriver(n topology.NodeID, j *Job, spare bool) bool {
	return s.nodes[n].state == NodeIsReady && !j.Banned(n) && s.leavesRoom(n, j) &&
		(!spare || !s.apart || s.nodes[n].use.Tasks[Driver] == 0 || s.keepsTask(n, j))
}

// placeableDriver returns the first job in line whose driver waits for a place and not for its user's limit, or nil.
func (s *State) placeableDriver() *Job {
	for _, j := range s.drivers.list {
		if !j.AtLimit(Driver) {
			return j
		}
	}
	return nil
}

// keepsTask reports whether n, with j's driver, could hold a task of j beside its drivers once its other tasks have
// ended.
func (s *State) keepsTask(n topology.NodeID, j *Job) bool {
	held := s.heldByDrivers(n)
	held.add(Driver, j.demand[Driver])
	return s.nodes[n].state == NodeIsReady && !j.Banned(n) && s.nodes[n].cap.fits(&held, Map, j.demand[Map])
}

// explainDriver returns why an admitted job has no driver yet.
func (g *Engine) explainDriver(j *Job) Reason {
	s := g.state
	r := Reason{Code: ForDriver, Say: "{job} waits for its driver: {a} run, and one more would take the last room that tasks can have", Job: j.id, A: int64(s.use.Tasks[Driver])}
	if r.A == 0 {
		r.Say = "{job} waits for its driver: the nodes that are up have no room for a driver and a task beside it: a job needs both (more containers, or another worker)"
	}
	for n := range s.nodes {
		at := topology.NodeID(n)
		held := s.heldByDrivers(at)
		if s.nodes[n].state != NodeIsReady || j.Banned(at) || !s.nodes[n].cap.fits(&held, Driver, j.demand[Driver]) || !s.leavesRoom(at, j) {
			continue
		}
		if s.view.Fits(at, j, Driver) {
			r.Say = "{job} waits for its driver"
			break
		}
		r.Say = "{job} waits for its driver: all room is taken"
	}
	return r
}

// leavesRoom reports whether, with j's driver on n, some node could hold a task of j beside
// all drivers, once the tasks that run now have ended.
func (s *State) leavesRoom(n topology.NodeID, j *Job) bool {
	for i := range s.nodes {
		m := topology.NodeID(i)
		if s.nodes[i].state != NodeIsReady || j.Banned(m) {
			continue
		}
		held := s.heldByDrivers(m)
		if m == n {
			held.add(Driver, j.demand[Driver])
		}
		if s.nodes[i].cap.fits(&held, Map, j.demand[Map]) {
			return true
		}
	}
	return false
}

// heldByDrivers returns what the drivers on a node hold.
func (s *State) heldByDrivers(n topology.NodeID) (u Usage) {
	if s.nodes[n].use.Tasks[Driver] == 0 {
		return u
	}
	for at := s.nodes[n].head; at >= 0; at = s.attempts.all[at].nextNode {
		if a := &s.attempts.all[at]; a.Task.Kind == Driver {
			u.add(Driver, s.jobs[a.Task.Job].demand[Driver])
		}
	}
	return u
}

// driversHoldAll finds the newest driver if drivers are all that runs, tasks are pending
// and none of them fits anywhere: nodes have gone since the drivers were placed. A victim
// with Node NoNode means that a single driver is too much for the cluster.
func (s *State) driversHoldAll() (victim Victim, found bool) {
	if s.use.Tasks[Driver] == 0 || s.use.Tasks[Map]+s.use.Tasks[Reduce] > 0 {
		return Victim{}, false
	}
	stuck := s.firstStuck()
	if stuck == nil {
		return Victim{}, false
	}
	why := Reason{Code: NoRoom, Say: "{job} can place no task: {a} drivers hold the cluster", Job: stuck.id, A: int64(s.use.Tasks[Driver])}
	if s.use.Tasks[Driver] == 1 {
		return Victim{Node: topology.NoNode, Reason: why}, true
	}
	var newest *Job
	for _, j := range s.live.list {
		if j.use.Tasks[Driver] > 0 {
			newest = j
		}
	}
	a := &s.attempts.all[newest.tasks[Driver].head]
	why.Say, why.Other = "the driver of {other} gives way: {a} drivers hold the room that tasks of {job} need", newest.id
	return Victim{Task: a.Task, Node: a.Node, Reason: why}, true
}

// firstStuck returns the oldest job with a pending task that could run, if none of those tasks fits on any node.
func (s *State) firstStuck() (first *Job) {
	for _, k := range [...]Kind{Map, Reduce} {
		for _, j := range s.runnable[k].list {
			for n := range s.nodes {
				if s.view.Fits(topology.NodeID(n), j, k) {
					return nil
				}
			}
			if first == nil {
				first = j
			}
		}
	}
	return first
}
