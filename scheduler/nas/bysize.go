package nas

import (
	"cmp"
	"slices"

	"github.com/millrace/millrace/scheduler"
)

// bySize finds the smallest pending map of a job whose splits differ. It is built once. A cursor skips maps that are
// not pending, and moves back when one is pending again.
type bySize struct {
	order []int32 // maps by size, then index; nil if sizes are equal, but for small
	next  int     // no map before it is pending
	small int32   // index plus 1 of the only map that is smaller than the others; 0: none
}

func newBySize(bytes []int64) bySize {
	order := make([]int32, len(bytes))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return compareSize(bytes, a, b) })
	return bySize{order: order}
}

func compareSize(bytes []int64, a, b int32) int {
	return cmp.Or(cmp.Compare(bytes[a], bytes[b]), cmp.Compare(a, b))
}

// smallWaits reports whether the one smaller map is pending.
func (s *bySize) smallWaits(j *job) bool {
	return s.small > 0 && j.TaskState(scheduler.Map, s.small-1) == scheduler.TaskPending
}

// back makes map i findable again.
func (s *bySize) back(j *job, i int32) {
	if s.order == nil {
		return
	}
	bytes := j.Spec().Splits.Bytes
	at, _ := slices.BinarySearchFunc(s.order, i, func(a, b int32) int { return compareSize(bytes, a, b) })
	s.next = min(s.next, at)
}

// least returns the pending map of j with the least predicted output.
func (s *bySize) least(j *job, est *estimate, v *view) (int32, bool) {
	if est.flat() {
		return v.AnyPendingMap(j)
	}
	return s.first(j, v)
}

// first returns the smallest pending map of j.
func (s *bySize) first(j *job, v *view) (int32, bool) {
	if s.order == nil {
		if s.smallWaits(j) {
			return s.small - 1, true
		}
		return v.AnyPendingMap(j)
	}
	for ; s.next < len(s.order); s.next++ {
		if i := s.order[s.next]; j.TaskState(scheduler.Map, i) == scheduler.TaskPending {
			return i, true
		}
	}
	return -1, false
}

// atMost returns the largest pending map of j that is predicted to write at most
// avail bytes.
func (s *bySize) atMost(j *job, est *estimate, avail float64, v *view) (int32, bool) {
	if s.order == nil || est.flat() {
		if s.small > 0 && !est.flat() && est.ratio*est.largest > avail {
			return s.small - 1, s.smallWaits(j) && est.ratio*est.smallest <= avail
		}
		return v.AnyPendingMap(j) // small has the highest index: it comes when no other is pending
	}
	bytes := j.Spec().Splits.Bytes
	end, _ := slices.BinarySearchFunc(s.order, avail, func(i int32, avail float64) int {
		if est.ratio*float64(bytes[i]) <= avail {
			return -1
		}
		return 1
	})
	found := int32(-1)
	for end--; end >= s.next; end-- {
		i := s.order[end]
		if found >= 0 && bytes[i] != bytes[found] {
			break // among equals the first
		}
		if j.TaskState(scheduler.Map, i) == scheduler.TaskPending {
			found = i
		}
	}
	return found, found >= 0
}
