package jobpacker

import (
	"slices"
	"time"
)

// slotTimes says when the places of one rack become free in the plan: the T_ik
// of spec/jobpacker 2.3, ascending, equal times counted together.
type slotTimes []run

type run struct {
	at time.Duration
	n  int
}

func (s slotTimes) total() (n int) {
	for _, r := range s {
		n += r.n
	}
	return n
}

// nth returns when the q-th place is free; the last, if there are fewer.
func (s slotTimes) nth(q int) time.Duration {
	for _, r := range s {
		if q -= r.n; q <= 0 {
			return r.at
		}
	}
	return s[len(s)-1].at
}

// fill puts q tasks of the given length on the earliest places, none before from, in waves if there are more tasks than
// places. It returns the new times, without changing s, and when the last task ends.
func (s slotTimes) fill(q int, from, length time.Duration) (out slotTimes, end time.Duration) {
	out, end = slices.Clone(s), from
	for q > 0 {
		wave := min(q, out.total())
		if wave == 0 {
			return out, end
		}
		var last time.Duration
		out, last = out.wave(wave, from, length)
		end = max(end, last)
		q -= wave
	}
	return out, end
}

// wave takes the q earliest places, each once.
func (s slotTimes) wave(q int, from, length time.Duration) (slotTimes, time.Duration) {
	var busy, rest slotTimes
	for _, r := range s {
		take := min(q, r.n)
		q -= take
		if take > 0 {
			busy = append(busy, run{max(r.at, from) + length, take})
		}
		if r.n > take {
			rest = append(rest, run{r.at, r.n - take})
		}
	}
	return merge(busy, rest), busy[len(busy)-1].at
}

// merge joins two ascending lists and counts equal times together.
func merge(a, b slotTimes) slotTimes {
	out := make(slotTimes, 0, len(a)+len(b))
	for len(a)+len(b) > 0 {
		next := &a
		if len(a) == 0 || len(b) > 0 && b[0].at < a[0].at {
			next = &b
		}
		if r := (*next)[0]; len(out) > 0 && out[len(out)-1].at == r.at {
			out[len(out)-1].n += r.n
		} else {
			out = append(out, r)
		}
		*next = (*next)[1:]
	}
	return out
}
