package sim

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fellow is a user of a device in a list: what it still needs, in units.
type fellow struct {
	task *deviceTask
	left float64
}

// TestShareAgainstList: whoever comes and goes, the users of a device end in the order of what they have left, when
// the device has given each its part; an attempt that is stopped leaves nothing behind.
func TestShareAgainstList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := rapid.SampledFrom([]func(int) float64{equal(12), cores(5, 2)}).Draw(rt, "device")
		s := &share{rate: rate}
		tasks := []*deviceTask{{}, {}, {}}
		var list []fellow
		now := time.Duration(0)
		pass := func(until time.Duration) {
			each := (until - now).Seconds() * rate(len(list))
			for i := range list {
				list[i].left -= each
			}
			now = until
		}
		for range rapid.IntRange(1, 40).Draw(rt, "events") {
			task := tasks[rapid.IntRange(0, 2).Draw(rt, "task")]
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0, 1, 2, 3:
				demand := float64(rapid.IntRange(1, 9).Draw(rt, "demand"))
				s.add(now, demand, &step{task: task})
				list = append(list, fellow{task, demand})
			case 4:
				s.remove(now, task)
				list = slices.DeleteFunc(list, func(f fellow) bool { return f.task == task })
			case 5:
				at := s.next()
				if len(list) == 0 {
					if at != Never {
						rt.Fatalf("nobody is there, and somebody ends at %v", at)
					}
					continue
				}
				if !slices.ContainsFunc(list, func(f fellow) bool { return f.left < 1e-6 }) { // no two end together
					if _, early := s.done(now); early {
						rt.Fatal("somebody ended before the time that was told")
					}
				}
				pass(at)
				what, ok := s.done(now)
				if !ok {
					rt.Fatalf("nobody ends at %v, as was told", at)
				}
				who := slices.IndexFunc(list, func(f fellow) bool { return f.task == what.task && math.Abs(f.left) < 1e-6 })
				if who < 0 || slices.ContainsFunc(list, func(f fellow) bool { return f.left < list[who].left-1e-6 }) {
					rt.Fatalf("at %v one ends that needs more, or more than another: %d of %v", at, who, list)
				}
				list = slices.Delete(list, who, who+1)
			}
			if len(s.users) != len(list) {
				rt.Fatalf("%d users, want %d", len(s.users), len(list))
			}
		}
		s.remove(now, tasks[0])
		for _, u := range s.users {
			if u.what.task == tasks[0] {
				rt.Fatal("an attempt that was stopped uses the device")
			}
		}
	})
}
