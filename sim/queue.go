package sim

import (
	"math/bits"
	"time"
)

// queue is a 4-ary heap of things to happen, by time, then by order of making. The heap moves times and places only; what
// happens lies still.
type queue[T any] struct {
	items []item
	whats []T
	free  []int32 // places in whats
	seq   uint64
}

type item struct {
	at   time.Duration
	seq  uint64
	what int32 // place in whats
}

func (a *item) before(b *item) bool { return a.sooner(b) != 0 }

// sooner is 1 if a comes before b, else 0: the borrow of a long subtraction, for times are not negative. Nobody can foretell which of two comes
// first, so a jump here would be guessed wrong half of the time.
func (a *item) sooner(b *item) int {
	_, borrow := bits.Sub64(a.seq, b.seq, 0)
	_, borrow = bits.Sub64(uint64(a.at), uint64(b.at), borrow)
	return int(borrow)
}

func (q *queue[T]) len() int { return len(q.items) }

// next returns the time of the first item. The queue is not empty.
func (q *queue[T]) next() time.Duration { return q.items[0].at }

// first returns what happens first. The queue is not empty.
func (q *queue[T]) first() *T { return &q.whats[q.items[0].what] }

func (q *queue[T]) add(at time.Duration, what T) {
	q.seq++
	it := item{at, q.seq, int32(len(q.whats))}
	if n := len(q.free) - 1; n >= 0 {
		it.what = q.free[n]
		q.free = q.free[:n]
		q.whats[it.what] = what
	} else {
		q.whats = append(q.whats, what)
	}
	q.items = append(q.items, it)
	i := len(q.items) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !it.before(&q.items[parent]) {
			break
		}
		q.items[i] = q.items[parent]
		i = parent
	}
	q.items[i] = it
}

// take removes and returns the first item.
func (q *queue[T]) take() (time.Duration, T) {
	first := q.items[0]
	last := len(q.items) - 1
	it := q.items[last]
	q.items = q.items[:last]
	if last > 0 {
		q.sink(it)
	}
	what := q.whats[first.what]
	var none T
	q.whats[first.what] = none
	q.free = append(q.free, first.what)
	return first.at, what
}

// sink puts it into the hole at the top.
func (q *queue[T]) sink(it item) {
	n := len(q.items)
	i := 0
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, n); c++ {
			least += (c - least) * q.items[c].sooner(&q.items[least])
		}
		if !q.items[least].before(&it) {
			break
		}
		q.items[i] = q.items[least]
		i = least
	}
	q.items[i] = it
}
