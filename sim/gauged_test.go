package sim

import (
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// TestGauged: two maps of a second on four processors, one stopped in the middle, and a reduce of two seconds that waits for the maps.
func TestGauged(t *testing.T) {
	g := NewGauged(4).(*gauged)
	job := &Job{Spec: &scheduler.JobSpec{ID: 1, Maps: 2, Reduces: 1}, Maps: []time.Duration{time.Second}, Reduces: []time.Duration{2 * time.Second}}
	attempt := func(k scheduler.Kind, i int32) Attempt {
		return Attempt{Task: scheduler.TaskID{Job: 1, Kind: k, Index: i}}
	}
	check := func(now time.Duration, idle, progress float64) {
		t.Helper()
		if got := g.Progress(now, job); math.Abs(got-progress) > 1e-9 {
			t.Errorf("at %s progress is %g, want %g", now, got, progress)
		}
		if got := g.IdlePercent(now); math.Abs(got-idle) > 1e-9 {
			t.Errorf("at %s %g %% idle, want %g", now, got, idle)
		}
	}
	g.Start(0, attempt(scheduler.Map, 0), job)
	g.Start(0, attempt(scheduler.Map, 1), job)
	g.Start(0, attempt(scheduler.Reduce, 0), job)
	check(500*time.Millisecond, 50, 5+45*0.5)
	g.Stop(500*time.Millisecond, attempt(scheduler.Map, 1))
	if _, ok := g.End(time.Second); !ok {
		t.Fatal("the first map has not ended")
	}
	check(time.Second, 75, 5+45*0.5)
	g.Start(time.Second, attempt(scheduler.Map, 1), job)
	if _, ok := g.End(2 * time.Second); !ok {
		t.Fatal("the second map has not ended")
	}
	g.MapsDone(2*time.Second, job)
	check(2*time.Second, 75, 50)
	check(3*time.Second, 75, 50+45*0.5)
	g.End(4 * time.Second)
	check(6*time.Second, 100-100.0/12, 95)
}
