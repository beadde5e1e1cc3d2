package sim

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/topology"
)

// TestWhoReportsNext: of the nodes that sleep for want of work the next report is that of whoever reports first from now on, at its own
// time in the period; one that has reported at this very time has its next a period later.
func TestWhoReportsNext(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const period = 10
		n := rapid.IntRange(1, 6).Draw(rt, "nodes")
		b := newHeartbeats(n)
		now := time.Duration(rapid.IntRange(0, 35).Draw(rt, "now"))
		for i := range n {
			b.phases[i] = time.Duration(rapid.IntRange(0, period-1).Draw(rt, "phase"))
			b.slept[i] = -1
			if last := now - (now-b.phases[i]+period)%period; last >= 0 && rapid.Bool().Draw(rt, "reported") {
				b.slept[i] = last
			}
			b.setIdle(topology.NodeID(i), rapid.IntRange(0, 3).Draw(rt, "idle") > 0)
		}
		b.sort()
		if b.idlers == 0 {
			return
		}
		best := time.Duration(1 << 40)
		for i := range topology.NodeID(n) {
			at := b.at(i, now, period)
			if at < now || at >= now+period+1 || at%period != b.phases[i] || at == now && b.slept[i] == now {
				rt.Fatalf("node %d of phase %v, which slept at %v, reports at %v, now %v", i, b.phases[i], b.slept[i], at, now)
			}
			if b.idle[i] {
				best = min(best, at)
			}
		}
		if got := b.nextIdle(now, period); b.idlers > 1 && (!b.idle[got] || b.at(got, now, period) != best) {
			rt.Fatalf("node %d reports next at %v, idle %v; the first is due at %v", got, b.at(got, now, period), b.idle[got], best)
		}
	})
}

// TestIdlersAreCounted: a node counts once among the idle, however often it is said.
func TestIdlersAreCounted(t *testing.T) {
	b := newHeartbeats(3)
	for _, step := range []struct {
		n    topology.NodeID
		idle bool
		want int
	}{{0, true, 1}, {0, true, 1}, {2, true, 2}, {1, false, 2}, {0, false, 1}, {0, false, 1}, {2, false, 0}} {
		if b.setIdle(step.n, step.idle); b.idlers != step.want || b.idle[step.n] != step.idle {
			t.Errorf("%+v: %d are idle", step, b.idlers)
		}
	}
}
