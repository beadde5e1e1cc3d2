package admission

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

func idle(percent float64) scheduler.Event { return scheduler.CPUSample(topology.NoNode, percent) }

// spec/marp 6, item 9: CBT's values begin 0.050, 0.090, 0.130; each start comes 30 s and
// more after the one before, 10 to 15 s after its increase.
func TestCBTStaircase(t *testing.T) {
	a := admissionOf(t, &CBTInfo, nil).(*Tuned)
	r := newRig(t, a, scheduler.DefaultReduceRule())
	r.feed(idle(90))
	r.submit(1, 6)
	if ids, _ := r.admit(); len(ids) != 1 {
		t.Fatalf("0.050 admitted %v", ids)
	}
	var starts []time.Duration
	var values []float64
	for r.now < 3*time.Minute {
		before := r.now
		if ids := r.sleep(500 * time.Millisecond); len(ids) > 0 {
			starts, values = append(starts, before), append(values, a.MARP(r.now))
			if len(ids) != 1 {
				t.Errorf("%v started at once", ids)
			}
		}
	}
	if len(values) < 2 || values[0] != 0.09 || values[1] != 0.13 {
		t.Fatalf("values %v", values)
	}
	if first := starts[0]; first < 36*time.Second || first > 43*time.Second {
		t.Errorf("second job at %v, want 25 s quiet + 1.5 s + 10..15 s", first)
	}
	for i := range len(starts) - 1 {
		if gap := starts[i+1] - starts[i]; gap < 26*time.Second || gap > 37*time.Second {
			t.Errorf("start %d comes %v after the one before", i+1, gap)
		}
	}
}

// spec/marp 3.2: busy processors raise nothing; a job past 95 % gives its slot back before
// it ends, once, without a sleep; the batch's end resets MARP.
func TestCBTDropsBeforeTheFinish(t *testing.T) {
	a := admissionOf(t, &CBTInfo, map[string]string{"start": "0.13"}).(*Tuned)
	r := newRig(t, a, scheduler.DefaultReduceRule())
	r.submit(1, 6)
	r.feed(idle(15)) // not above 15
	r.admit()
	for id := scheduler.JobID(1); id <= 3; id++ {
		r.feed(scheduler.JobReady(id, nil))
		r.feed(scheduler.Progress(id, 95.9))
	}
	r.sleep(2 * time.Minute)
	if got := a.MARP(r.now); got != 0.13 {
		t.Errorf("MARP moved to %g without a reason", got)
	}
	r.feed(scheduler.Progress(1, 96))
	r.feed(scheduler.Progress(2, 99.5))
	r.sleep(2 * time.Minute)
	if got := a.MARP(r.now); got != 0.07 {
		t.Errorf("MARP is %g after two jobs passed 95 %%, want 0.07", got)
	}
	for id := scheduler.JobID(1); id <= 6; id++ {
		r.feed(scheduler.JobVanished(id))
	}
	r.feed(idle(99))
	r.sleep(2 * time.Minute)
	if got := a.MARP(r.now); got != 0.13 || a.active {
		t.Errorf("after the batch MARP is %g, active %v; want the start value", got, a.active)
	}
}

// spec/marp 7.9: with YARN's weights a job stands at 95 until it ends, so that CBT's drop
// comes with the end and CBTwS's before it. After that the next job waits and nothing runs: MARP rises by a step.
func TestYARNProgress(t *testing.T) {
	for _, tc := range []struct {
		info   *scheduler.Info
		before float64 // MARP while the job stands at 100 % of its tasks
		after  float64
	}{{&CBTInfo, 0.05, 0.02}, {&CBTwSInfo, 0.02, 0.06}, {&CBTwATInfo, 0.02, 0.06}} {
		a := admissionOf(t, tc.info, map[string]string{"progress": "yarn"}).(*Tuned)
		r := newRig(t, a, scheduler.DefaultReduceRule())
		r.feed(idle(3))
		r.submit(1, 2)
		r.admit()
		r.feed(scheduler.JobReady(1, nil))
		r.feed(scheduler.Progress(1, 100))
		r.sleep(2 * time.Minute)
		if got := a.MARP(r.now); got != tc.before {
			t.Errorf("%s: MARP %g with all tasks done, want %g", tc.info.Name, got, tc.before)
		}
		r.feed(scheduler.JobFinished(1))
		r.sleep(2 * time.Minute)
		if got := a.MARP(r.now); got != tc.after {
			t.Errorf("%s: MARP %g after the end, want %g", tc.info.Name, got, tc.after)
		}
	}
}

// onlyOne runs a batch of two under a MARP for one, takes the slot back and ends
// the first job; it returns who starts in the ten idle minutes after that.
func onlyOne(t *testing.T, info *scheduler.Info, compat string) (started int, a *Tuned, r *rig) {
	t.Helper()
	a = admissionOf(t, info, map[string]string{"compat-early-exit": compat}).(*Tuned)
	r = newRig(t, a, scheduler.DefaultReduceRule())
	r.feed(idle(3))
	r.submit(1, 2)
	r.admit()
	r.feed(scheduler.JobReady(1, nil))
	r.feed(scheduler.Progress(1, 97))
	r.sleep(time.Minute)
	if got := a.MARP(r.now); got != 0.02 {
		t.Fatalf("%s: MARP %g after the drop, want 0.02", info.Name, got)
	}
	r.feed(scheduler.JobFinished(1))
	r.feed(idle(95))
	return len(r.sleep(10 * time.Minute)), a, r
}

// spec/marp 2.3, "ineffective increase", and 7.12: when the only slot was taken back and a
// job waits, the loop goes on and raises MARP until it starts. The scripts gave
// up: CBT left the value as it was, the others reset it, so that the rest ran one
// at a time.
func TestEarlyExit(t *testing.T) {
	for _, info := range []*scheduler.Info{&CBTInfo, &CBTwSInfo, &CBTwATInfo} {
		if n, a, _ := onlyOne(t, info, "false"); n != 1 || !a.active {
			t.Errorf("%s: %d jobs started, active %v", info.Name, n, a.active)
		}
		n, a, r := onlyOne(t, info, "true")
		if a.active || n != 1 {
			t.Errorf("%s as the scripts: %d jobs started, active %v", info.Name, n, a.active)
		}
		want := 0.05
		if info == &CBTInfo {
			want = 0.06
		}
		if a.delay.last != want {
			t.Errorf("%s as the scripts: MARP left at %g, want %g", info.Name, a.delay.last, want)
		}
		for id := range scheduler.JobID(3) {
			if r.View().Job(id) != nil {
				r.feed(scheduler.JobVanished(id))
			}
		}
		if r.sleep(time.Minute); a.active {
			t.Errorf("%s as the scripts: a batch of no jobs", info.Name)
		}
		r.submit(11, 13)
		if r.sleep(time.Minute); !a.active {
			t.Errorf("%s as the scripts: nobody controls the batch after the one that was given up", info.Name)
		}
	}
}

// A job that leaves before it had a slot takes none away.
func TestVanishedBeforeItStarted(t *testing.T) {
	a := admissionOf(t, &CBTwSInfo, nil).(*Tuned)
	r := newRig(t, a, scheduler.DefaultReduceRule())
	r.feed(idle(5))
	r.submit(1, 3)
	r.admit()
	r.sleep(time.Minute)
	r.submit(4, 4) // late, tracked too
	r.feed(scheduler.JobVanished(3))
	r.feed(scheduler.JobVanished(4))
	r.sleep(2 * time.Minute)
	if got := a.MARP(r.now); got != 0.05 {
		t.Errorf("MARP %g after two waiting jobs vanished, want 0.05", got)
	}
}

// spec/marp 6, item 12: without the sleep after an increase CBT raises MARP three times
// and more within 15 s.
func TestNoSleepAfterIncrease(t *testing.T) {
	c, err := NewCBT(CBTConfig())
	if err != nil {
		t.Fatal(err)
	}
	c.cfg.AfterIncrease = 0
	c.Init([]jobID{1, 2, 3, 4, 5, 6}, 0.05)
	writes, clock := 0, time.Duration(0)
	for clock < 15*time.Second {
		act := c.Step(Obs{Now: clock, IdlePct: 80, Pending: 5, Running: 1, Prog: func(jobID) float64 { return 60 }})
		if act.Write {
			writes++
		}
		clock += act.Sleep + c.cfg.Iteration
	}
	if writes < 3 {
		t.Errorf("%d increases in 15 s, want 3 or more", writes)
	}
}

// spec/marp 3.4, 7.17: nothing to measure leaves the estimate and the bandit alone, but
// counts as a round.
func TestSkippedMeasurement(t *testing.T) {
	s, _ := NewCBTwAT(CBTwATConfig(), source0())
	s.Init([]jobID{1}, 0.05)
	act := s.Step(Obs{IdlePct: 50, Pending: 1, Running: 1, Prog: func(jobID) float64 { return 0.9 }})
	if act != (Act{}) || s.count != 0 || !s.lockout || s.progress != 0 {
		t.Errorf("act %+v, count %d, lockout %v, P %g", act, s.count, s.lockout, s.progress)
	}
	s.lockout = false
	s.Step(Obs{IdlePct: 50, Pending: 1, Running: 0, Prog: func(jobID) float64 { return 0 }})
	if s.count != 1 {
		t.Error("with nothing running and jobs waiting P = 0 should be measured")
	}
}

// spec/marp 7.12: when the only slot was taken back and the estimate is flat, the next job
// starts all the same, even if others than our jobs keep the processors busy.
func TestStalledBatchGoesOn(t *testing.T) {
	for _, info := range []*scheduler.Info{&CBTInfo, &CBTwSInfo, &CBTwATInfo} {
		a := admissionOf(t, info, nil).(*Tuned)
		r := newRig(t, a, scheduler.DefaultReduceRule())
		r.feed(idle(3))
		r.submit(1, 2)
		r.admit()
		r.feed(scheduler.JobReady(1, nil))
		r.feed(scheduler.Progress(1, 97))
		r.sleep(time.Minute)
		r.feed(scheduler.JobFinished(1))
		if ids := r.sleep(3 * time.Minute); len(ids) != 1 {
			t.Errorf("%s: %v started, want job 2", info.Name, ids)
		}
	}
}

// A cluster of fewer drivers than the published one: with its own defaults the first job starts, and a step is one more
// job. As published nobody ever does: 0.05 of 4 containers is none, nor is a step of 0.04 one.
func TestStepsOfASmallCluster(t *testing.T) {
	for _, containers := range []int32{4, 12, 19, 25} {
		for _, info := range []*scheduler.Info{&CBTInfo, &CBTwSInfo, &CBTwATInfo} {
			a := admissionOf(t, info, info.LiveParams(nil)).(*Tuned)
			r := newRig(t, a, scheduler.DefaultReduceRule())
			r.feed(scheduler.NodeUpdated(0, scheduler.Capacity{Containers: containers}))
			r.feed(scheduler.NodeDown(1))
			r.feed(scheduler.NodeDown(2))
			for id := range scheduler.JobID(3) {
				r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: id, Maps: 24, Reduces: 1, HasDriver: true}))
			}
			if ids, why := r.admit(); len(ids) != 1 {
				t.Errorf("%s, %d containers: %v started at first: %s", info.Name, containers, ids, r.text(why))
				continue
			}
			a.delay.set(r.now, a.delay.last+0.04, 1)
			if ids, why := r.admit(); len(ids) != 1 {
				t.Errorf("%s, %d containers: %v started after one step: %s", info.Name, containers, ids, r.text(why))
			}
		}
	}
}

// spec/marp 2.2, 7.9: both weightings have 50 % at the end of the maps, and turn into each
// other.
func TestProgressWeights(t *testing.T) {
	for _, tc := range []struct {
		weights        string
		reported, want float64
	}{
		{"reported", 37.5, 37.5},
		{"yarn", 0, 5},
		{"yarn", 50, 50},
		{"yarn", 100, 95},
		{"half", 5, 0},
		{"half", 50, 50},
		{"half", 95, 100},
		{"half", 2, 0},
	} {
		a := admissionOf(t, &CBTInfo, map[string]string{"progress": tc.weights}).(*Tuned)
		r := newRig(t, a, scheduler.DefaultReduceRule())
		r.submit(1, 1)
		r.admit()
		if got := a.progress(r.View().Job(1)); got != 0 {
			t.Errorf("%s: %g before the job is ready", tc.weights, got)
		}
		r.feed(scheduler.JobReady(1, nil))
		r.feed(scheduler.Progress(1, tc.reported))
		if got := a.progress(r.View().Job(1)); got != tc.want {
			t.Errorf("%s: %g of reported %g, want %g", tc.weights, got, tc.reported, tc.want)
		}
	}
}

// A job that no node can hold raises no MARP, and keeps no batch from its end nor the next from its beginning.
func TestTooLargeJobsAreNoBatch(t *testing.T) {
	for _, info := range []*scheduler.Info{&CBTInfo, &CBTwSInfo, &CBTwATInfo} {
		a := admissionOf(t, info, nil).(*Tuned)
		r := newRig(t, a, scheduler.DefaultReduceRule())
		r.feed(idle(90))
		r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Maps: 1, HasDriver: true, DriverDemand: scheduler.Demand{MemoryMB: 18 << 10}}))
		if ids := r.sleep(5 * time.Minute); len(ids) != 0 || a.MARP(r.now) != 0.05 || a.active {
			t.Errorf("%s: too large: %v admitted, MARP %g, active %v", info.Name, ids, a.MARP(r.now), a.active)
		}
		for id := scheduler.JobID(2); id <= 6; id += 2 {
			r.submit(id, id+1)
			if ids := r.sleep(time.Minute); len(ids) == 0 || ids[0] != id || !a.active {
				t.Errorf("%s: %v admitted, want %v; active %v", info.Name, ids, id, a.active)
			}
			if why := r.text(r.Explain(r.now, id+1)); r.View().Job(id+1).Phase() == scheduler.Waiting && strings.Contains(why, "j1") {
				t.Errorf("%s: %s", info.Name, why)
			}
			r.feed(scheduler.JobFinished(id))
			r.feed(scheduler.JobVanished(id + 1))
			if r.sleep(2 * time.Minute); a.active {
				t.Errorf("%s: the batch does not end", info.Name)
			}
		}
	}
}

// A job that comes when the batch before has just ended begins a batch of its own: the cluster was empty.
func TestBatchBehindBatch(t *testing.T) {
	for _, info := range []*scheduler.Info{&CBTInfo, &CBTwSInfo, &CBTwATInfo} {
		a := admissionOf(t, info, nil).(*Tuned)
		r := newRig(t, a, scheduler.DefaultReduceRule())
		r.feed(idle(90))
		r.submit(1, 1)
		r.admit()
		r.sleep(time.Minute)
		r.feed(scheduler.JobVanished(1))
		for range 600 {
			if r.sleep(100 * time.Millisecond); !a.active {
				break
			}
		}
		if a.active {
			t.Fatalf("%s: the batch does not end", info.Name)
		}
		r.submit(2, 7)
		r.admit()
		if r.sleep(time.Minute); !a.active {
			t.Errorf("%s: nobody tunes MARP for the jobs that came at the end of a batch", info.Name)
		}
	}
}
