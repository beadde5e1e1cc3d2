package deadline

import "time"

// A clock keeps the start times of the running tasks of one kind of one job, in
// order of start, split in two: old ones, which have run for the mean or longer
// and count as nearly done, and young ones. Moving the split costs as much as
// tasks cross it, so what the running tasks still need is known at once.
type clock struct {
	at    []int32 // by task: its tick, or none
	head  int32   // oldest, or none
	tail  int32
	first int32 // first young one, or none

	running int32
	young   int32
	sum     time.Duration // start times of the young, from base
	base    time.Duration
	split   time.Duration // a task that started at or before it is old
	since   time.Duration // reduces: when the last map was done, as applied
}

// A tick is one running task.
type tick struct {
	start      time.Duration
	prev, next int32
	task       int32
}

const none = int32(-1)

// ticks is the store that all clocks share; it recycles.
type ticks struct {
	all  []tick
	free int32
}

func (s *ticks) take() int32 {
	if s.free == none {
		s.all = append(s.all, tick{})
		return int32(len(s.all) - 1)
	}
	i := s.free
	s.free = s.all[i].next
	return i
}

func (s *ticks) give(i int32) {
	s.all[i].next = s.free
	s.free = i
}

// reset empties c for a job with n tasks that was submitted at base.
func (s *ticks) reset(c *clock, n int32, base time.Duration) {
	for i := c.head; c.running > 0 && i != none; {
		next := s.all[i].next
		s.give(i)
		i = next
	}
	at := c.at[:0]
	for range n {
		at = append(at, none)
	}
	*c = clock{at: at, head: none, tail: none, first: none, base: base, split: -1 << 62, since: -1}
}

func (c *clock) has(task int32) bool { return int(task) < len(c.at) && c.at[task] != none }

// add puts a task that started at start behind all that started before it.
func (s *ticks) add(c *clock, task int32, start time.Duration) {
	i := s.take()
	after := c.tail
	for after != none && s.all[after].start > start {
		after = s.all[after].prev
	}
	next := c.head
	if after != none {
		next = s.all[after].next
		s.all[after].next = i
	} else {
		c.head = i
	}
	if next != none {
		s.all[next].prev = i
	} else {
		c.tail = i
	}
	s.all[i] = tick{start: start, prev: after, next: next, task: task}
	c.at[task] = i
	c.running++
	if start > c.split {
		c.young++
		c.sum += start - c.base
		if next == c.first {
			c.first = i
		}
	}
}

// drop takes out a task that no longer runs.
func (s *ticks) drop(c *clock, task int32) {
	i := c.at[task]
	t := s.all[i]
	if t.start > c.split {
		c.young--
		c.sum -= t.start - c.base
		if c.first == i {
			c.first = t.next
		}
	}
	if t.prev != none {
		s.all[t.prev].next = t.next
	} else {
		c.head = t.next
	}
	if t.next != none {
		s.all[t.next].prev = t.prev
	} else {
		c.tail = t.prev
	}
	c.at[task] = none
	c.running--
	s.give(i)
}

// move sets the split: tasks that started at or before it are old.
func (s *ticks) move(c *clock, split time.Duration) {
	for c.first != none && s.all[c.first].start <= split {
		c.young--
		c.sum -= s.all[c.first].start - c.base
		c.first = s.all[c.first].next
	}
	for {
		prev := c.tail
		if c.first != none {
			prev = s.all[c.first].prev
		}
		if prev == none || s.all[prev].start <= split {
			break
		}
		c.first = prev
		c.young++
		c.sum += s.all[prev].start - c.base
	}
	c.split = split
}

// notBefore moves starts before at to at: those reduces waited for the last map (spec/deadline 3.2, item 6).
func (s *ticks) notBefore(c *clock, at time.Duration) {
	s.move(c, 1<<62) // all tasks are old: the sums are empty
	for i := c.head; i != none && s.all[i].start < at; i = s.all[i].next {
		s.all[i].start = at
	}
	c.since = at
}
