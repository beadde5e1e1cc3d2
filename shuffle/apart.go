package shuffle

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
)

// togetherMost is how many sorted records are looked through for keys that are apart.
const togetherMost = 4096

// apart walks through the sorted partitions of a batch together, in the order of keys.
type apart struct {
	keys    keyed
	idx     *index
	compare func(a, b []byte) int // nil: byte order
	starts  []int
	at      []int // the next entry of each partition
	heap    []int // partitions that are not at their end, the one with the least key first
}

// checkTogether fails if two keys that are one are in several partitions, as far as it looks.
func (c *Collector) checkTogether(a *apart) error {
	a.begin()
	var last []byte
	from := -1
	for range togetherMost {
		if len(a.heap) == 0 {
			return nil
		}
		p := a.heap[0]
		key := a.keys.key(a.idx.at(a.at[p]).loc)
		if from >= 0 && from != p && !bytes.Equal(last, key) && c.cfg.Together(last, key) {
			return fmt.Errorf("%s: keys %.64q and %.64q are equal by the order or the group of the job, but go to partitions %d and %d: %w",
				c.cfg.Name, last, key, from, p, ErrApart)
		}
		last, from = append(last[:0], key...), p
		a.step()
	}
	return nil
}

// begin places every partition at its first record or, if there are too many records for all, where the middle key
// of the largest partition belongs.
func (a *apart) begin() {
	parts := len(a.starts) - 1
	a.at = slices.Clone(a.starts[:parts])
	if n := a.starts[parts]; n > togetherMost {
		a.skip(a.middle())
	}
	for p := range parts {
		if a.at[p] < a.starts[p+1] {
			a.heap = append(a.heap, p)
		}
	}
	for i := len(a.heap)/2 - 1; i >= 0; i-- {
		a.sink(i)
	}
}

// middle returns the middle key of the largest partition.
func (a *apart) middle() []byte {
	most := 0
	for p := range a.at {
		if a.starts[p+1]-a.starts[p] > a.starts[most+1]-a.starts[most] {
			most = p
		}
	}
	return a.keys.key(a.idx.at((a.starts[most] + a.starts[most+1]) / 2).loc)
}

// skip moves every partition to its first key that is not below key.
func (a *apart) skip(key []byte) {
	key = bytes.Clone(key)
	for p := range a.at {
		lo, hi := a.starts[p], a.starts[p+1]
		a.at[p] = lo + sort.Search(hi-lo, func(i int) bool {
			return compareWith(a.compare, a.keys.key(a.idx.at(lo+i).loc), key) >= 0
		})
	}
}

// step moves on from the least key.
func (a *apart) step() {
	p := a.heap[0]
	if a.at[p]++; a.at[p] == a.starts[p+1] {
		last := len(a.heap) - 1
		a.heap[0] = a.heap[last]
		a.heap = a.heap[:last]
	}
	a.sink(0)
}

// sink restores the order of the heap below a place.
func (a *apart) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(a.heap); child++ {
			if a.less(a.heap[child], a.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		a.heap[i], a.heap[least] = a.heap[least], a.heap[i]
		i = least
	}
}

func (a *apart) less(p, q int) bool {
	return compareWith(a.compare, a.keys.key(a.idx.at(a.at[p]).loc), a.keys.key(a.idx.at(a.at[q]).loc)) < 0
}
