package drive

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// LATE is the rule of the live cluster: when all tasks of its kind in a job have started, the attempt that would end
// last gets a second one if it is slower than its finished siblings. It judges by the time left, not by the progress
// made (Zaharia et al., OSDI 2008: longest approximate time to end).
type LATE struct {
	// After is the age below which an attempt is not judged. Default 2 s. Larger: fewer
	// wasted second attempts, but useful ones start later.
	After time.Duration
	// Slower is how many times the mean length of its finished siblings an attempt is
	// expected to take. Default 1.5.
	Slower float64
	// Share is the part of the running attempts that may be second attempts; one is always allowed. Default 0.1, as
	// Hadoop.
	Share float64
}

// DefaultLATE returns the defaults of a live cluster.
func DefaultLATE() LATE { return LATE{After: 2 * time.Second, Slower: 1.5, Share: 0.1} }

// Validate refuses values that mean nothing.
func (l LATE) Validate() error {
	if l.After < 0 || l.Slower < 0 || l.Share < 0 || l.Share > 1 {
		return fmt.Errorf("second attempts after %v, %g times slower, share %g: none may be negative, the share at most 1", l.After, l.Slower, l.Share)
	}
	return nil
}

func (l LATE) name(h *Header) { h.Late = &l }

// Most implements Rule.
func (l LATE) Most(v *scheduler.View, _ scheduler.Kind) int {
	use := v.ClusterUsed()
	return max(1, int(l.Share*float64(use.Tasks[scheduler.Map]+use.Tasks[scheduler.Reduce]+use.Tasks[scheduler.Driver])))
}

// late is an attempt that should get a second one, with the time it will still take.
type late struct {
	scheduler.Attempt
	left time.Duration
}

// Late implements Rule: oldest job first, in a job the attempt with the most time left.
func (l LATE) Late(now time.Duration, v *scheduler.View, done Meter) (out []scheduler.Attempt) {
	for j := range v.Jobs().All() {
		var found []late
		for k := range scheduler.Driver {
			if j.Pending(k) == 0 && j.Running(k) > 0 {
				found = append(found, l.ofKind(now, v, j, k, done)...)
			}
		}
		slices.SortFunc(found, func(a, b late) int {
			return cmp.Or(cmp.Compare(b.left, a.left), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Task.Kind, b.Task.Kind), cmp.Compare(a.Task.Index, b.Task.Index))
		})
		for _, f := range found {
			out = append(out, f.Attempt)
		}
	}
	return out
}

// ofKind returns the late attempts of one kind of a job.
func (l LATE) ofKind(now time.Duration, v *scheduler.View, j *scheduler.Job, k scheduler.Kind, done Meter) (out []late) {
	n, sum, _ := j.Samples(k)
	if n == 0 {
		return nil
	}
	mean := sum / time.Duration(n)
	for a := range v.Attempts(j, k) {
		age := now - a.Start
		if age < l.After || v.Tries(j, a.Task) != 1 {
			continue
		}
		p, known := done(now, a)
		if !known {
			continue
		}
		if left := timeLeft(age, p); float64(age+left) > l.Slower*float64(mean) && left > mean {
			out = append(out, late{a, left})
		}
	}
	return out
}

// timeLeft assumes that an attempt goes on as before; one without progress counts as at a hundredth.
func timeLeft(age time.Duration, done float64) time.Duration {
	done = max(done, 0.01)
	return time.Duration(float64(age) * (1 - done) / done)
}
