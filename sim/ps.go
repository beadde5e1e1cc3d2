package sim

import (
	"math"
	"time"
)

// share is a device that its users share equally: processors, a disk, a network card. Each of n users gets rate(n)
// units a second. A virtual clock counts the units that every present user has got. A user is done when the clock has
// moved by its demand, and a change of n changes no user.
type share struct {
	rate  func(n int) float64
	clock float64
	at    time.Duration // when clock was right
	users []user        // heap by mark
	seq   uint64
}

type user struct {
	mark float64 // value of the clock at which it is done
	seq  uint64
	what *step
}

func (u *user) before(v *user) bool { return u.mark < v.mark || u.mark == v.mark && u.seq < v.seq }

// equal returns the rate of a device of total units a second.
func equal(total float64) func(int) float64 {
	return func(n int) float64 { return total / float64(max(1, n)) }
}

// cores returns the rate of a processor with so many cores, of which one user gets at most one.
func cores(each, count float64) func(int) float64 {
	return func(n int) float64 { return each * min(1, count/float64(max(1, n))) }
}

func (s *share) advance(now time.Duration) {
	if n := len(s.users); n > 0 {
		s.clock += (now - s.at).Seconds() * s.rate(n)
	}
	s.at = now
}

func (s *share) add(now time.Duration, demand float64, what *step) {
	s.advance(now)
	s.seq++
	s.users = append(s.users, user{s.clock + demand, s.seq, what})
	for i := len(s.users) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s.users[i].before(&s.users[parent]) {
			break
		}
		s.users[i], s.users[parent] = s.users[parent], s.users[i]
		i = parent
	}
}

// next returns when the first user is done. A nanosecond is added, so that the clock has
// surely passed the mark then.
func (s *share) next() time.Duration {
	if len(s.users) == 0 {
		return Never
	}
	left := (s.users[0].mark - s.clock) / s.rate(len(s.users))
	return s.at + time.Duration(math.Ceil(max(0, left)*float64(time.Second))) + 1
}

// done removes a user whose demand is met at now.
func (s *share) done(now time.Duration) (*step, bool) {
	s.advance(now)
	if len(s.users) == 0 || s.users[0].mark > s.clock {
		return nil, false
	}
	first := s.users[0].what
	s.drop(0)
	return first, true
}

// drop removes the user at place i of the heap.
func (s *share) drop(i int) {
	last := len(s.users) - 1
	s.users[i] = s.users[last]
	s.users[last] = user{}
	s.users = s.users[:last]
	for i < last {
		least := 2*i + 1
		if least >= last {
			break
		}
		if r := least + 1; r < last && s.users[r].before(&s.users[least]) {
			least = r
		}
		if !s.users[least].before(&s.users[i]) {
			break
		}
		s.users[i], s.users[least] = s.users[least], s.users[i]
		i = least
	}
	for i > 0 && i < last {
		parent := (i - 1) / 2
		if !s.users[i].before(&s.users[parent]) {
			break
		}
		s.users[i], s.users[parent] = s.users[parent], s.users[i]
		i = parent
	}
}

// remove removes every user of an attempt.
func (s *share) remove(now time.Duration, t *deviceTask) {
	s.advance(now)
	for i := 0; i < len(s.users); {
		if s.users[i].what.task == t {
			s.drop(i)
			i = 0
		} else {
			i++
		}
	}
}
