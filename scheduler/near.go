package scheduler

import "github.com/millrace/millrace/topology"

// near records for each node which jobs have a pending map with its input there, as bits by job slot. Most jobs have
// none on a node that asks, and a decision asks about many jobs. The node's bits lie together, while the jobs' own
// indexes are spread over memory.
type near [][]uint64

// has reports whether the job with this slot has such a map on n.
func (b near) has(n, slot int32) bool {
	if int(n) >= len(b) {
		return false
	}
	word := int(slot >> 6)
	return word < len(b[n]) && b[n][word]&(1<<(slot&63)) != 0
}

func (b *near) add(n, slot int32) {
	for int(n) >= len(*b) {
		*b = append(*b, nil)
	}
	row := &(*b)[n]
	for int(slot>>6) >= len(*row) {
		*row = append(*row, 0)
	}
	(*row)[slot>>6] |= 1 << (slot & 63)
}

func (b near) remove(n, slot int32) {
	if b.has(n, slot) {
		b[n][slot>>6] &^= 1 << (slot & 63)
	}
}

// nearAll records or clears where a job has pending maps. After its end its slot is another job's.
func (s *State) nearAll(j *Job, note bool) {
	for n := range j.byNode.places {
		if j.byNode.count(n) == 0 {
			continue
		}
		if note {
			s.near.add(n, j.slot)
		} else {
			s.near.remove(n, j.slot)
		}
	}
}

// takeLocal counts out a map of j on n that is no longer pending; putLocal counts in one that is pending again.
func (s *State) takeLocal(j *Job, n int32) {
	if j.byNode.take(n) == 0 {
		s.near.remove(n, j.slot)
	}
}

func (s *State) putLocal(j *Job, n, m int32) {
	j.byNode.put(n, m)
	s.near.add(n, j.slot)
}

// HasLocal reports whether a pending map of j has its input on node n.
func (v *View) HasLocal(j *Job, n topology.NodeID) bool {
	return n >= 0 && v.s.near.has(int32(n), j.slot)
}
