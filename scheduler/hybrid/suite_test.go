package hybrid

import (
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// everyThird makes every third node of the suite's clusters scale-up.
func everyThird(n topology.NodeID) bool { return n%3 == 0 }

// checked tests the invariants of spec/hybrid 5, item 2, on whatever the suite
// does, with books of its own.
type checked struct {
	*Policy
	t  *testing.T
	on map[scheduler.JobID][numClasses]int // tasks launched per class, as seen
	// old has the jobs that had started before this policy took over: they stay
	// where they are, small or large.
	old map[scheduler.JobID]bool
}

func (c checked) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	c.Policy.Observe(now, e, v)
	j := v.Job(e.Job)
	if e.Kind == scheduler.EvJobSubmitted {
		_, c.old[e.Job] = j.Started()
	}
	if e.Kind != scheduler.EvLaunched || e.Task.Kind == scheduler.Driver || j == nil {
		return
	}
	on := c.on[e.Job]
	at := out
	if everyThird(e.Node) {
		at = up
	}
	on[at]++
	c.on[e.Job] = on
	r := c.records.Of(j)
	if r.free {
		return
	}
	if on[out] > 0 && on[up] > 0 {
		c.t.Errorf("%v has tasks on both classes", e.Job)
	}
	if small, _ := c.cfg.Classifier.Classify(j.Spec()); at == up && !small && !c.old[e.Job] {
		c.t.Errorf("%v is large and runs on scale-up", e.Job)
	}
}

func (c checked) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	before := map[scheduler.JobID]class{}
	nearest, runnable := math.Inf(1), false
	for j := range v.Jobs().All() {
		r := c.records.Of(j)
		if r == nil {
			continue
		}
		before[j.ID()] = r.home
		_, started := j.Started()
		if r.home == up && !r.free && !started && c.canStart(j, n, v) {
			nearest = min(nearest, math.Abs(r.value))
		}
		can := c.cfg.Fair.Reduces.Eligible(j, scheduler.Map) || c.cfg.Fair.Reduces.Eligible(j, scheduler.Reduce)
		runnable = runnable || can && (r.home == out || r.free)
	}
	d := c.Policy.Assign(now, n, v)
	for j := range v.Jobs().All() {
		if r := c.records.Of(j); r != nil && r.home != before[j.ID()] {
			_, started := j.Started()
			if r.home != out || started || runnable || everyThird(n) || math.Abs(r.value) != nearest {
				c.t.Errorf("%v moved to class %d: started %v, scale-out had work %v, |f| = %g of %g", j.ID(), r.home, started, runnable, math.Abs(r.value), nearest)
			}
		}
	}
	return d
}

func make_(t *testing.T, change func(*Config)) func() scheduler.Policy {
	return func() scheduler.Policy {
		cfg := DefaultConfig()
		cfg.IsUp = everyThird
		// The suite's jobs are tiny: a crosspoint in the middle of them.
		cfg.Classifier = ByRule{Rule{Scale: 1e-4}}
		change(&cfg)
		p, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return checked{p, t, map[scheduler.JobID][numClasses]int{}, map[scheduler.JobID]bool{}}
	}
}

func TestSuite(t *testing.T) {
	promises := schedulertest.Promises{Quick: true}
	t.Run("fair", func(t *testing.T) {
		schedulertest.Suite(t, make_(t, func(*Config) {}), schedulertest.Promises{})
	})
	t.Run("delay", func(t *testing.T) {
		p := promises
		p.PerTask = time.Minute
		schedulertest.Suite(t, make_(t, func(c *Config) { c.Base, c.Fair.Key, c.Patience.Skips = "delay", "user", 20 }), p)
	})
	t.Run("literal rule", func(t *testing.T) {
		schedulertest.Suite(t, make_(t, func(c *Config) { c.StealOnlyIfUpBusy = false }), promises)
	})
	t.Run("live", func(t *testing.T) {
		schedulertest.Suite(t, make_(t, func(c *Config) { c.Fair.Reduces.Ripe, c.Fair.Reduces.Hold = true, true }), promises)
	})
	t.Run("no stealing", func(t *testing.T) {
		schedulertest.Suite(t, make_(t, func(c *Config) { c.Steal = false }), promises)
	})
	keeps := schedulertest.Promises{Quick: true, WorkConserving: true}
	t.Run("no classes", func(t *testing.T) { // then it is fair
		schedulertest.Suite(t, schedulertest.Factory(t, &Info, nil), keeps)
	})
	t.Run("no classification", func(t *testing.T) {
		schedulertest.Suite(t, make_(t, func(c *Config) { c.Classify = false }), keeps)
	})
}

func TestScenarios(t *testing.T) { schedulertest.Scenarios(t, "testdata", &Info) }

func BenchmarkDecisions10kNodes1kJobs1MTasks(b *testing.B) {
	for _, base := range bases {
		b.Run(base, func(b *testing.B) {
			schedulertest.BenchDecisions(b, func() scheduler.Policy {
				cfg := DefaultConfig()
				cfg.Base = base
				cfg.IsUp = func(n topology.NodeID) bool { return n%20 == 0 }
				cfg.Classifier = byParity{}
				p, err := New(cfg)
				if err != nil {
					b.Fatal(err)
				}
				return p
			}, schedulertest.Big)
		})
	}
}

// byParity calls every other job small.
type byParity struct{}

func (byParity) Classify(s *scheduler.JobSpec) (bool, float64) {
	f := float64(1-int(s.ID)%2*2) * float64(1+s.ID)
	return f > 0, f
}
