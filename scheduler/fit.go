package scheduler

import "github.com/millrace/millrace/topology"

// A Measure is one of the ways to say how much room there is.
type Measure uint8

// The measures of room.
const (
	Places Measure = iota // slots or containers
	VCores                // virtual cores, if a node counts them
	Memory                // in MB
	Joint                 // there is enough of each, but no node has enough of all
	measures
)

// A Misfit is a task that no node could hold, were it empty.
type Misfit struct {
	Kind  Kind
	Lacks Measure
	Asked int64 // how much of that it asks for
	Most  int64 // the most that one node has of it
}

var sayMisfit = [measures]string{
	Places: "{job} cannot go on: a {kind} of it asks for {a} slots or containers, and no machine that is up has as many for it: the most is {b}",
	VCores: "{job} cannot go on: a {kind} of it asks for {a} vcores, and no machine that is up has as many: the most that one has is {b}",
	Memory: "{job} cannot go on: a {kind} of it asks for {a} MB, and no machine that is up has as much: the most that one has is {b} MB",
	Joint:  "{job} cannot go on: no machine that is up has both the memory and the vcores that a {kind} of it asks for",
}

// Misfit reports whether there are nodes in a state at least as good as from, but none of them could ever hold a task
// of kind k and demand d. Without such nodes it is unknown.
func (v *View) Misfit(k Kind, d Demand, from NodeState) (Misfit, bool) {
	d = d.or(v.s.cfg.Unit)
	var most [measures]int64
	some := false
	for i := range v.s.nodes {
		n := &v.s.nodes[i]
		if n.state < max(from, NodeDrains) {
			continue
		}
		if n.cap.fits(&Usage{}, k, d) {
			return Misfit{}, false
		}
		some = true
		for m, has := range n.cap.most(k, d) {
			most[m] = max(most[m], has)
		}
	}
	asked := [measures]int64{Places: int64(d.Slots), VCores: int64(d.VCores), Memory: d.MemoryMB}
	lacks := Memory
	for lacks != Joint && most[lacks] >= asked[lacks] {
		lacks = [...]Measure{Places: Joint, VCores: Places, Memory: VCores}[lacks]
	}
	return Misfit{Kind: k, Lacks: lacks, Asked: asked[lacks], Most: most[lacks]}, some
}

// most returns what an empty node has for a task of kind k; for measures that it does not count, as much as is asked
// for.
func (c *Capacity) most(k Kind, d Demand) (out [measures]int64) {
	out = [measures]int64{Places: int64(d.Slots), VCores: int64(d.VCores), Memory: d.MemoryMB}
	if k != Driver && c.Slotted() || !c.Slotted() && c.Containers > 0 || *c == (Capacity{}) {
		out[Places] = int64(c.Slots(k, d))
	}
	if c.VCores > 0 {
		out[VCores] = int64(c.VCores)
	}
	if c.MemoryMB > 0 {
		out[Memory] = c.MemoryMB
	}
	return out
}

// TooLarge reports whether no node that takes tasks could ever hold a task that j still needs, as far as is known, and
// gives the reason. Room that others hold does not matter: they will end.
func (v *View) TooLarge(j *Job) (Reason, bool) {
	for _, k := range [...]Kind{Driver, Map, Reduce} {
		if !j.needs(k) {
			continue
		}
		if m, found := v.Misfit(k, j.demand[k], NodeIsReady); found {
			return Reason{Code: NoRoom, Say: sayMisfit[m.Lacks], Job: j.id, Node: topology.NoNode, Kind: k, A: m.Asked, B: m.Most}, true
		}
	}
	return Reason{}, false
}

// needs reports whether j will ask for room for a task of kind k. No driver starts where no map could run beside it.
func (j *Job) needs(k Kind) bool {
	switch {
	case j.phase == Ready:
		return k != Driver && j.tasks[k].pending > 0
	case k == Driver:
		return j.spec.HasDriver && j.use.Tasks[Driver] == 0
	case k == Map:
		return j.spec.HasDriver || j.spec.Maps > 0
	}
	return j.spec.Reduces > 0
}
