package shuffle

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// origin says of which maps the records of a source are, so that records with equal keys come out in the order of the
// maps, whatever was merged before: none of its maps is below lo or above hi.
//
// Early merges on the reduce side join maps as they arrive. If others belong between them, the result is marked:
// each stored key begins with the number of its map as a uvarint. Without marks, the records of the source are in
// order already, and no source beside it has a map between lo and hi. Folds do not depend on the order, so what
// they have made is never marked.
type origin struct {
	lo, hi uint32
	marked bool
}

// placed is a source of a merge with the maps that it comes from.
type placed struct {
	Source
	origin
}

// inOrder makes each source a map of its own, in the order of the list.
func inOrder(sources []Source) []placed {
	out := make([]placed, len(sources))
	for i, s := range sources {
		out[i] = placed{s, origin{lo: uint32(i), hi: uint32(i)}}
	}
	return out
}

// sortPlaced sorts sources by their first maps.
func sortPlaced(list []placed) {
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.lo, b.lo) })
}

// joined returns the origin of [lo,hi) of a sorted list, merged. It is marked if another source of the list may have
// a map in between.
func joined(list []placed, lo, hi int) origin {
	o := list[lo].origin
	for _, s := range list[lo:hi] {
		o.hi = max(o.hi, s.hi)
	}
	before := func(s placed) bool { return s.hi >= o.lo }
	o.marked = slices.ContainsFunc(list[:lo], before) || hi < len(list) && list[hi].lo <= o.hi
	return o
}

// unmark takes the number of the map off the current record.
func (s *stream) unmark() bool {
	m, n := binary.Uvarint(s.kv[:s.keyLen])
	if n <= 0 {
		return s.fail(corruptf("segment", 0, int64(len(s.buf)), "a key without the number of its map"))
	}
	s.from, s.kv, s.keyLen = uint32(m), s.kv[n:], s.keyLen-n
	return true
}

// unmark takes the number of the map off a record that is late.
func (l *late) unmark() (from uint32, ok bool) {
	m, n := binary.Uvarint(l.keyHead())
	if n <= 0 {
		return 0, false
	}
	l.start, l.keyLen, l.head = l.start+n, l.keyLen-n, l.head[n:]
	return uint32(m), true
}

// writeMarked writes a merged run with the number of its map before each key. What is combined stands for several
// maps, which may be separated by others, so nothing is combined here.
func writeMarked(run *mergedRun, w *segmentWriter) error {
	var mark [binary.MaxVarintLen32]byte
	for run.Next() {
		n := binary.PutUvarint(mark[:], uint64(run.cur.from))
		if err := w.addMarked(mark[:n], run.Key(), run.Value()); err != nil {
			return err
		}
	}
	return run.Err()
}
