package fair

import (
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// spec/deadline 3.8 and 5, item 12: slacks of 2451, 1736 and 20 s give weights 1,
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

// spec/deadline 5, item 3: unweighted, three active jobs on 60 slots hold 20 each.
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

// spec/nas 3.10: reduces start once 0.2 of the maps are done, in the experiments.
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

// spec/nas 3.11, 6.5: a user whose maps are all elsewhere is skipped 135 times, then launches off its data. That restores its
// patience by option only: published is that a node-local launch does.
func TestPublishedSkips(t *testing.T) {
	skips := func(r *rig) (empty, launched int) {
		for ; empty < 200; empty++ {
			if launched = len(r.offer()); launched > 0 {
				return empty, launched
			}
		}
		t.Fatal("never launched")
		return 0, 0
	}
	for _, any := range []bool{false, true} {
		patience := DefaultPatience()
		patience.ResetAny = any
		p, err := NewDelay(DefaultConfig(), patience)
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, p, scheduler.Capacity{MapSlots: 9})
		r.submit(remote(1, 2))
		empty, launched := skips(r)
		if want := map[bool]int{false: 2, true: 1}[any]; empty != 135 || launched != want {
			t.Errorf("reset any %v: %d maps after %d empty offers, want %d after 135", any, launched, empty, want)
		}
		if !any {
			continue
		}
		if empty, _ := skips(r); empty != 134 { // the round that launched went on, and its last answer was the next skip
			t.Errorf("then after %d empty offers, want 134", empty)
		}
	}
}

// spec/nas 4.3: on the real cluster the limit is 5 s since the first skip.
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

// Offers between two heartbeats of a node are not skips.
func TestSkipsAreHeartbeats(t *testing.T) {
	patience := DefaultPatience()
	patience.Skips = 3
	p, err := NewDelay(DefaultConfig(), patience)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, p, scheduler.Capacity{MapSlots: 9})
	r.submit(remote(1, 1))
	for beat := range 3 {
		r.want(r.offer())
		for range 5 * (2 - beat) { // after the third skip any offer will do
			if _, err := r.Give(0, 0, 0, func(d scheduler.Decision) { t.Fatalf("%v between heartbeats", d.Task) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.want(r.offer(), 1)
}
