package scheduler

import "github.com/millrace/millrace/topology"

// Deadlock finds out whether the cluster has locked itself up. The driver of the
// engine should ask when a round of offers launched nothing, and stop the victim.
//
// Either maps are pending, no map runs, and everything that runs is a driver or a
// reduce that waits for maps (spec/marp 2.3, slow-start deadlock): the newest reduce of
// the newest job gives way. Or drivers hold all room, which takes the loss of nodes:
// the newest driver does. A victim with Node NoNode means that one driver alone
// holds all room, which nothing can cure but more room.
func Deadlock(v *View) (victim Victim, found bool) {
	s := v.s
	if victim, found := s.driversHoldAll(); found {
		return victim, true
	}
	if len(s.pending[Map].list) == 0 || s.use.Tasks[Map] > 0 || s.use.Tasks[Reduce] == 0 {
		return Victim{}, false
	}
	var newest *Job
	for _, j := range s.live.list {
		if j.use.Tasks[Reduce] == 0 {
			continue
		}
		if j.mapsDoneAt >= 0 {
			return Victim{}, false // this reduce will finish
		}
		newest = j
	}
	if _, room := s.roomForMap(); room {
		return Victim{}, false
	}
	stuck := s.pending[Map].list[0]
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
