package jobpacker

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// heavyJob is planned with its maps in rack 0 and 4 reduces in rack 1.
func heavyJob(t *testing.T, waitAll bool) *rig {
	t.Helper()
	r := newRig(t, func(c *Config) { c.WaitAll = waitAll }, 2, scheduler.Capacity{Containers: 4})
	r.Submit(recurring(1, 4, 4, 2*gb))
	q := r.p.record(r.View().Job(1)).plan
	if !q.heavy || len(q.racks[0]) != 1 || len(q.racks[1]) != 1 || q.racks[0][0] != 0 || q.racks[1][0] != 1 {
		t.Fatalf("plan %+v", q)
	}
	r.offer(0)
	for i := range int32(3) { // past slow start, the last map still runs
		r.Send(scheduler.TaskFinished(scheduler.TaskID{Job: 1, Index: i}, 0, time.Second, 0, gb/2))
	}
	return r
}

func (r *rig) placeReduce(i int32) {
	r.T.Helper()
	r.Send(scheduler.Launched(scheduler.TaskID{Job: 1, Index: i, Kind: scheduler.Reduce}, 1, scheduler.Anywhere, false))
}

func (r *rig) release(avail int64) bool { return r.p.Release(r.Now, 1, 0, 1, avail, r.View()) }

// spec/jobpacker 3.15, example 7, without waiting for all: held for one and two
// reduces, one flow at the third, the rest flushed when all is placed and mapped.
func TestAggregationByThreshold(t *testing.T) {
	r := heavyJob(t, false)
	for i, want := range []bool{false, false, true} {
		r.placeReduce(int32(i))
		if got := r.release(int64(i+1) * gb / 2); got != want {
			t.Errorf("%d reduces placed: released %v, want %v", i+1, got, want)
		}
	}
	r.placeReduce(3)
	if r.release(gb / 2) {
		t.Error("the last half was sent before all maps were done")
	}
	r.finishMaps(1, gb/2)
	if !r.release(gb / 2) {
		t.Error("the last half was not flushed")
	}
}

// Corral plans racks and knows no circuits: it holds nothing back.
func TestCorralHoldsNothing(t *testing.T) {
	r := heavyJob(t, false)
	if r.release(gb / 2) {
		t.Fatal("less than an elephant was released before any reduce was placed")
	}
	r.p.cfg.Corral = true
	if !r.release(gb / 2) {
		t.Error("Corral held output back")
	}
}

// spec/jobpacker 3.3 and 3.15, example 7, with AggWaitAll: a single flow. What is
// ready later is held again until it is an elephant itself or the last of the pair:
// a pair that has begun on a circuit takes no mice along (spec/jobpacker 5, item 9).
func TestAggregationWaitsForAll(t *testing.T) {
	r := heavyJob(t, true)
	for i := range int32(4) {
		if r.release(int64(i) * gb / 2) {
			t.Errorf("released with %d of 4 reduces placed", i)
		}
		r.placeReduce(i)
	}
	if r.release(1_125_000_000) {
		t.Error("released at the threshold; circuits want more")
	}
	if !r.release(3 * gb / 2) {
		t.Error("all are placed: not released")
	}
	if r.release(gb/2) || !r.release(3*gb/2) {
		t.Error("later mice go along, or a second elephant is held")
	}
	r.finishMaps(1, gb/2)
	if !r.release(gb / 2) {
		t.Error("the last mouse was not flushed")
	}
	if !r.p.Release(r.Now, 1, 1, 1, 1, r.View()) || !r.p.Release(r.Now, 99, 0, 1, 1, r.View()) {
		t.Error("held inside a rack, or for a job that is gone")
	}
}

// spec/jobpacker 3.3: AggMaxHold after the last map what waits goes; what reduces that are
// placed later can fetch is held as long again.
func TestMaxHold(t *testing.T) {
	r := heavyJob(t, true)
	r.placeReduce(0)
	r.release(gb / 2)
	r.finishMaps(1, gb/2)
	for range 2 {
		began := r.Now
		r.release(gb / 2)
		r.Now = began + 30*time.Second - 1
		if r.release(gb / 2) {
			t.Error("released before 30 s")
		}
		r.Now++
		if !r.release(gb / 2) {
			t.Error("held for more than 30 s")
		}
		r.Now += time.Minute
	}
}

// spec/jobpacker 3.3, line 4, and 3.13: nothing is held for other jobs, nor by
// Corral.
func TestNoHolding(t *testing.T) {
	r := uniform(t, 2, scheduler.Capacity{Containers: 9})
	r.Submit(recurring(1, 4, 4, gb))
	if !r.release(1) {
		t.Error("held for a job that is not heavy")
	}
	r = newRig(t, func(c *Config) { c.Corral = true }, 2, scheduler.Capacity{Containers: 9})
	r.Submit(recurring(1, 4, 4, 20*gb))
	if !r.release(1) {
		t.Error("held by Corral")
	}
}
