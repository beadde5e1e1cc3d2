package sim

import (
	"math/bits"
	"time"
)

// queue is a 4-ary heap of future happenings, by time, then by order of making. The heap moves only times and places;
// the happenings stay where they are. Happenings with the same delay come in the order of making: they stand in a lane,
// and only the first of each lane is in the heap.
type queue[T any] struct {
	items []item
	whats []T
	links []link       // by place in whats
	free  []int32      // places in whats
	tails [lanes]int32 // by lane: the place of its last, plus one; 0: empty
	seq   uint64
}

// lanes is how many lanes there are. More: fewer lengths share one, and more memory is touched.
const lanes = 1 << laneBits

const laneBits = 8

type item struct {
	at   time.Duration
	seq  uint64
	what int32 // place in whats
}

// link is the position of a happening in a lane.
type link struct {
	at   time.Duration
	seq  uint64
	next int32 // place of the next, plus one; 0: none
	lane int32 // lane plus one; 0: none
}

func (a *item) before(b *item) bool { return a.sooner(b) != 0 }

// sooner returns 1 if a comes before b, else 0: the borrow of a long subtraction, as times are not negative. Which of
// two comes first is unpredictable, so the processor would mispredict half of the branches here.
func (a *item) sooner(b *item) int {
	_, borrow := bits.Sub64(a.seq, b.seq, 0)
	_, borrow = bits.Sub64(uint64(a.at), uint64(b.at), borrow)
	return int(borrow)
}

// some reports whether the queue has anything.
func (q *queue[T]) some() bool { return len(q.items) > 0 }

// next returns the time of the first item. The queue is not empty.
func (q *queue[T]) next() time.Duration { return q.items[0].at }

// first returns what happens first. The queue is not empty.
func (q *queue[T]) first() *T { return &q.whats[q.items[0].what] }

// add queues what at a time.
func (q *queue[T]) add(at time.Duration, what T) {
	it := q.put(at, what)
	q.links[it.what] = link{}
	q.rise(it)
}

// after queues what for d after now. Correctness does not depend on now, but lanes do not help if it goes back.
func (q *queue[T]) after(now, d time.Duration, what T) {
	it := q.put(now+d, what)
	lane := uint64(d) * 0x9e3779b97f4a7c15 >> (64 - laneBits)
	tail := &q.tails[lane]
	switch {
	case *tail == 0:
		q.links[it.what] = link{it.at, it.seq, 0, int32(lane) + 1}
		*tail = it.what + 1
		q.rise(it)
	case q.links[*tail-1].at <= it.at:
		q.links[it.what] = link{it.at, it.seq, 0, int32(lane) + 1}
		q.links[*tail-1].next = it.what + 1
		*tail = it.what + 1
	default:
		q.links[it.what] = link{}
		q.rise(it)
	}
}

// put stores what and returns its item.
func (q *queue[T]) put(at time.Duration, what T) item {
	q.seq++
	it := item{at, q.seq, int32(len(q.whats))}
	if n := len(q.free) - 1; n >= 0 {
		it.what = q.free[n]
		q.free = q.free[:n]
		q.whats[it.what] = what
	} else {
		q.whats, q.links = append(q.whats, what), append(q.links, link{})
	}
	return it
}

// rise inserts an item into the heap from below.
func (q *queue[T]) rise(it item) {
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
	q.refill(&q.links[first.what])
	what := q.whats[first.what]
	var none T
	q.whats[first.what] = none
	q.free = append(q.free, first.what)
	return first.at, what
}

// refill fills the hole at the top with the next of the first's lane, else with the last of the heap.
func (q *queue[T]) refill(first *link) {
	if first.next > 0 {
		behind := &q.links[first.next-1]
		q.sink(item{behind.at, behind.seq, first.next - 1})
		return
	}
	if first.lane > 0 {
		q.tails[first.lane-1] = 0
	}
	last := len(q.items) - 1
	it := q.items[last]
	q.items = q.items[:last]
	if last > 0 {
		q.sink(it)
	}
}

// sink inserts an item into the hole at the top.
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
