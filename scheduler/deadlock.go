package scheduler

import "github.com/millrace/millrace/topology"

// Deadlock finds out whether the cluster has locked itself up: maps are
// pending, no map runs, and everything that runs is a driver or a reduce that
// waits for maps (marp.md 2.3, slow-start deadlock). The driver should ask when a
// round of offers launched nothing, and stop the victim: the newest reduce of
// the newest job. A victim with Node NoNode means that only drivers hold the
// room, which no policy can cure: too many jobs were admitted.
func Deadlock(v *View) (victim Victim, found bool) {
	s := v.s
	if len(s.pending[Map].list) == 0 || s.use.Tasks[Map] > 0 || s.use.Tasks[Reduce]+s.use.Tasks[Driver] == 0 {
		return Victim{}, false
	}
	var newest *Job
	for _, j := range s.live.list {
		if j.use.Tasks[Reduce] == 0 {
			continue
		}
		if j.mapsDoneAt >= 0 {
			return Victim{}, false // this one will finish
		}
		newest = j
	}
	if _, room := s.roomForMap(); room {
		return Victim{}, false
	}
	stuck := s.pending[Map].list[0]
	if newest == nil {
		return Victim{Node: topology.NoNode, Reason: Reason{
			Code: NoRoom, Say: "{job} can place no map: {a} drivers hold the cluster", Job: stuck.id, A: int64(s.use.Tasks[Driver]),
		}}, true
	}
	a := &s.attempts.all[newest.tasks[Reduce].head]
	return Victim{Task: a.Task, Node: a.Node, Reason: Reason{
		Code: NoRoom, Say: "a reduce of {job} gives way: {a} waiting reduces hold the room that maps of {other} need",
		Job: newest.id, Other: stuck.id, A: int64(s.use.Tasks[Reduce]),
	}}, true
}

// roomForMap finds a node on which some pending map fits.
func (s *State) roomForMap() (topology.NodeID, bool) {
	for n := range s.nodes {
		for _, j := range s.pending[Map].list {
			if s.view.Fits(topology.NodeID(n), j, Map) {
				return topology.NodeID(n), true
			}
		}
	}
	return topology.NoNode, false
}
