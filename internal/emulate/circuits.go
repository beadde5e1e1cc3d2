package emulate

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/sim/flow"
	"github.com/millrace/millrace/topology"
)

// pair describes the circuit from one rack to another.
type pair struct {
	from, to atomic.Uint64    // hashes of the racks' names; 0: not the slot of a circuit
	lit      atomic.Int64     // since when, or from when on, the circuit exists; 0: it does not
	waits    [2]atomic.Uint64 // bytes that wait, in even and in odd intervals
}

// Waiting bytes are stored with the interval's number. So the bytes of a dead process are forgotten in the next one.
const (
	waitBits = 40
	maxWait  = 1<<waitBits - 1
)

func waitTag(interval int64) uint64 { return uint64(interval) << waitBits }

// add adds to the bytes that wait in an interval, or subtracts from them.
func (p *pair) add(interval, bytes int64) {
	w := &p.waits[interval&1]
	for {
		old := w.Load()
		sum := min(max(waitingIn(old, interval)+bytes, 0), maxWait)
		if w.CompareAndSwap(old, waitTag(interval)|uint64(sum)) {
			return
		}
	}
}

// waiting returns how many bytes wait, or waited at its end, in an interval.
func (p *pair) waiting(interval int64) int64 { return waitingIn(p.waits[interval&1].Load(), interval) }

func waitingIn(w uint64, interval int64) int64 {
	if w&^maxWait != waitTag(interval) {
		return 0
	}
	return int64(w & maxWait)
}

// circuit returns the slot of the circuit between two racks.
func (l *Links) circuit(from, to string) (*slot, error) {
	s, err := l.find("circuit " + from + " " + to)
	if err == nil && s.from.Load() == 0 {
		s.to.Store(xxh3.HashString(to) | 1)
		s.from.Store(xxh3.HashString(from) | 1) // last, so that whoever sees it sees both
	}
	return s, err
}

// pass lets n bytes of a transfer pass if its circuit is lit. Otherwise it returns how long to wait before trying
// again.
func (l *Links) pass(now int64, c *slot, ocs topology.OCS, n int, t *rpc.Transfer) (wait time.Duration, passed bool) {
	interval := now / int64(ocs.Interval)
	end := (interval + 1) * int64(ocs.Interval)
	chosen := l.choose(interval, ocs)
	if t.Seen != interval {
		t.Seen = interval
		c.add(interval, max(t.Due, int64(n)))
	}
	lit := c.lit.Load()
	switch {
	case lit == 0 && !chosen:
		return turn, false
	case lit == 0 || lit >= end: // from before the machine was started
		return time.Duration(end - now), false
	case lit > now:
		return time.Duration(lit - now), false
	}
	if wait, passed = c.reserveWithin(now, n, ocs.Rate, lit, end); passed {
		c.add(interval, -int64(n))
		t.Due -= int64(n)
	}
	return wait, passed
}

// choose sets the switch for an interval, unless that has been done. It reports whether it is set: another process
// may be about to.
func (l *Links) choose(interval int64, ocs topology.OCS) bool {
	s, err := l.find("optical switch")
	if err != nil {
		return false
	}
	old := s.next.Load()
	if early := old == interval+1; early || old == interval {
		return early || s.lit.Load() == interval
	}
	if !s.next.CompareAndSwap(old, interval) {
		return false
	}
	l.match(interval, flow.Switch{OCS: ocs})
	s.lit.Store(interval)
	return true
}

// match chooses circuits by what waited in the previous interval.
func (l *Links) match(interval int64, sw flow.Switch) {
	begin := interval * int64(sw.Interval)
	pairs, racks := l.circuits()
	waits, circuit := make([][]int64, len(racks)), make([]int, len(racks))
	for i := range racks {
		waits[i], circuit[i] = make([]int64, len(racks)), -1
	}
	at := func(s *slot) (from, to int) {
		from, _ = slices.BinarySearch(racks, s.from.Load())
		to, _ = slices.BinarySearch(racks, s.to.Load())
		return from, to
	}
	demand := false
	for _, s := range pairs {
		from, to := at(s)
		waits[from][to] = s.waiting(interval - 1)
		demand = demand || waits[from][to] > 0
		if lit := s.lit.Load(); lit > 0 && lit < begin+int64(sw.Interval) {
			circuit[from] = to
		}
	}
	if !demand {
		return
	}
	next := sw.Choose(waits, circuit)
	if slices.Equal(next, circuit) {
		return
	}
	for _, s := range pairs {
		if from, to := at(s); next[from] == to {
			s.lit.Store(begin + int64(sw.Reconfig))
		} else {
			s.lit.Store(0)
		}
	}
}

// circuits returns the slots of all circuits that any process has used, and their racks in order.
func (l *Links) circuits() (pairs []*slot, racks []uint64) {
	for i := range l.slots {
		if s := &l.slots[i]; s.from.Load() != 0 {
			pairs = append(pairs, s)
			racks = append(racks, s.from.Load(), s.to.Load())
		}
	}
	slices.Sort(racks)
	return pairs, slices.Compact(racks)
}

// Lit returns the rack to which a circuit is lit from the node's own, or "" if there is none, and how long the
// circuits stay as they are. ok is false if no switch is emulated, and if the circuit leads to a rack that this
// process does not know.
func (s *Shaper) Lit() (to string, next time.Duration, ok bool) {
	ocs := s.Rates.Optical
	if !ocs.Present() {
		return "", 0, false
	}
	s.Links.mu.RLock()
	defer s.Links.mu.RUnlock()
	if s.Links.mem == nil {
		return "", 0, false
	}
	now := clock()
	from := xxh3.HashString(s.Self.Rack) | 1
	pairs, _ := s.Links.circuits()
	for _, c := range pairs {
		if lit := c.lit.Load(); c.from.Load() == from && lit > 0 && lit <= now {
			racks := s.Racks()
			at := slices.IndexFunc(racks, func(rack string) bool { return xxh3.HashString(rack)|1 == c.to.Load() })
			if at < 0 {
				return "", 0, false
			}
			to = racks[at]
		}
	}
	return to, ocs.Interval - time.Duration(now)%ocs.Interval, true
}
