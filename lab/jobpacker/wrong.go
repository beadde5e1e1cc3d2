package jobpacker

import (
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// wrongPlans is a policy whose planner is told wrong sizes and arrivals. Everything else passes through unchanged.
type wrongPlans struct {
	scheduler.Policy
	net hybridNet
	rng *rand.Rand
}

func misled(p scheduler.Policy, h hybridNet, seed uint64) scheduler.Policy {
	if _, ok := p.(scheduler.Planner); !ok {
		return p
	}
	return &wrongPlans{Policy: p, net: h, rng: rand.New(rand.NewPCG(seed, 0xe44))}
}

var (
	_ scheduler.Planner     = (*wrongPlans)(nil)
	_ scheduler.Ticker      = (*wrongPlans)(nil)
	_ scheduler.ShuffleGate = (*wrongPlans)(nil)
)

// Plan implements scheduler.Planner.
func (w *wrongPlans) Plan(now time.Duration, expected []*scheduler.JobSpec, v *scheduler.View) []scheduler.Placement {
	told := make([]*scheduler.JobSpec, len(expected))
	for i, s := range expected {
		wrong := *s
		wrong.Shuffle.Bytes = int64(float64(s.Shuffle.Bytes) * (1 + w.net.sizeError*(2*w.rng.Float64()-1)))
		if w.rng.Float64() < w.net.lateJobs {
			wrong.Submit = max(0, s.Submit+time.Duration((2*w.rng.Float64()-1)*200*float64(time.Second)))
		}
		told[i] = &wrong
	}
	return w.Policy.(scheduler.Planner).Plan(now, told, v)
}

// Interval implements scheduler.Ticker.
func (w *wrongPlans) Interval() time.Duration {
	if t, ok := w.Policy.(scheduler.Ticker); ok {
		return t.Interval()
	}
	return 0
}

// Tick implements scheduler.Ticker.
func (w *wrongPlans) Tick(now time.Duration, v *scheduler.View) {
	if t, ok := w.Policy.(scheduler.Ticker); ok {
		t.Tick(now, v)
	}
}

// Release implements scheduler.ShuffleGate.
func (w *wrongPlans) Release(now time.Duration, j scheduler.JobID, src, dst topology.RackID, avail int64, v *scheduler.View) bool {
	if g, ok := w.Policy.(scheduler.ShuffleGate); ok {
		return g.Release(now, j, src, dst, avail, v)
	}
	return true
}
