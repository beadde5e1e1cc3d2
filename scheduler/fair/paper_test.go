package fair

import (
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// deadline.md 3.8 and 5, item 12: slacks of 2451, 1736 and 20 s give weights 1,
// 1.41 (published 1.4) and 122.5 (published 122).
func TestSlackWeights(t *testing.T) {
	w, err := SlackWeights([]time.Duration{2451 * time.Second, 1736 * time.Second, 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1, 1.41, 122.55} {
		if math.Abs(w[i]-want) > 0.005 {
			t.Errorf("weight %d is %.3f, want %g", i, w[i], want)
		}
	}
	if _, err := SlackWeights([]time.Duration{0, 1}); err == nil {
		t.Error("a job without slack was weighed")
	}
	if _, err := SlackWeights(nil); err == nil {
		t.Error("nobody was weighed")
	}
}

// deadline.md 5, item 3: unweighted, three active jobs on 60 slots hold 20 each.
func TestThreeJobsOnSixtySlots(t *testing.T) {
	r := newRig(t, policy(t, nil), scheduler.Capacity{MapSlots: 60, ReduceSlots: 60})
	for i := range scheduler.JobID(3) {
		r.submit(&scheduler.JobSpec{ID: i, Maps: 1000})
	}
	r.offer()
	for i := range scheduler.JobID(3) {
		if n := r.View().Job(i).Running(scheduler.Map); n != 20 {
			t.Errorf("job %d holds %d of 60 slots, want 20", i, n)
		}
	}
}

// nas.md 3.10: reduces start once 0.2 of the maps are done, in the experiments.
func TestConstantCompletionThreshold(t *testing.T) {
	p := policy(t, func(c *Config) { c.Reduces.Slowstart = 0.2 })
	r := newRig(t, p, scheduler.Capacity{MapSlots: 10, ReduceSlots: 1})
	r.submit(&scheduler.JobSpec{ID: 1, Maps: 10, Reduces: 1})
	r.offer()
	r.feed(scheduler.TaskFinished(scheduler.TaskID{Job: 1}, 0, time.Second, 0, 0))
	r.want(r.offer())
	r.feed(scheduler.TaskFinished(scheduler.TaskID{Job: 1, Index: 1}, 0, time.Second, 0, 0))
	r.want(r.offer(), 1)
}

// nas.md 3.11: a user whose maps are all elsewhere is skipped 135 times, then
// launches off its data; the launch restores its patience.
func TestPublishedSkips(t *testing.T) {
	p, err := NewDelay(DefaultConfig(), DefaultPatience())
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, p, scheduler.Capacity{MapSlots: 9})
	r.submit(remote(1, 2))
	// The round that launches goes on, and its last answer is the next skip.
	for _, want := range []int{135, 134} {
		skips := 0
		for ; len(r.offer()) == 0; skips++ {
			if skips > 200 {
				t.Fatal("never launched")
			}
		}
		if skips != want {
			t.Errorf("launched after %d empty offers, want %d", skips, want)
		}
	}
}

// nas.md 4.3: on the real cluster the limit is 5 s since the first skip.
func TestPublishedWait(t *testing.T) {
	patience := DefaultPatience()
	patience.ByTime = true
	p, err := NewDelay(DefaultConfig(), patience)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, p, scheduler.Capacity{MapSlots: 1})
	r.submit(remote(1, 1))
	for _, step := range []struct {
		at   time.Duration
		want int
	}{{0, 0}, {4999 * time.Millisecond, 0}, {5 * time.Second, 1}} {
		got := 0
		if _, err := r.Offer(step.at, 0, func(scheduler.Decision) { got++ }); err != nil {
			t.Fatal(err)
		}
		if got != step.want {
			t.Errorf("at %v launched %d, want %d", step.at, got, step.want)
		}
	}
}

// remote is a job whose input lies on a node that is not in the cluster.
func remote(id scheduler.JobID, maps int32) *scheduler.JobSpec {
	s := &scheduler.JobSpec{ID: id, Maps: maps}
	for range maps {
		s.Splits.Add(1, topology.NodeID(1))
	}
	return s
}
