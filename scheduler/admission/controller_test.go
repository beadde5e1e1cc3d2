package admission

import (
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// spec/marp 3.2, line 17: an increase is followed by a sleep, a decrease is not, and two
// finishing jobs are taken off together.
func TestOnlyIncreasesSleep(t *testing.T) {
	c, err := NewCBT(CBTConfig())
	if err != nil {
		t.Fatal(err)
	}
	c.Init([]jobID{1, 2, 3}, 0.13)
	progress := map[jobID]float64{1: 96, 2: 99, 3: 40}
	o := Obs{IdlePct: 2, Pending: 1, Running: 3, Prog: func(j jobID) float64 { return progress[j] }}
	if act := c.Step(o); act != (Act{MARP: 0.07, Write: true}) {
		t.Errorf("busy, two about to finish: %+v", act)
	}
	if act := c.Step(o); act != (Act{}) {
		t.Errorf("they were taken off twice: %+v", act)
	}
	o.IdlePct = 60
	if act := c.Step(o); act != (Act{MARP: 0.11, Write: true, Sleep: 30 * time.Second}) {
		t.Errorf("idle: %+v", act)
	}
}

// spec/marp 3.0: MARP stays in 0..1, and what does not change is not written.
func TestClamp(t *testing.T) {
	c, err := NewCBT(CBTConfig())
	if err != nil {
		t.Fatal(err)
	}
	c.Init([]jobID{1}, 0.98)
	o := Obs{IdlePct: 60, Pending: 1, Running: 3, Prog: func(jobID) float64 { return 97 }}
	if act := c.Step(o); act.MARP != 1 || !act.Write {
		t.Errorf("above: %+v", act)
	}
	if act := c.Step(o); act != (Act{}) {
		t.Errorf("at the bound: %+v", act)
	}
	c.Init([]jobID{1}, 0.01)
	o.IdlePct = 0
	if act := c.Step(o); act.MARP != 0 || !act.Write {
		t.Errorf("below: %+v", act)
	}
}

// spec/marp 3.4, lines 15 and 16: a job at 90 % loses its slot but still counts in the mean
// until it is at 100 %.
func TestFinishingJobsStillCount(t *testing.T) {
	c, err := NewCBTwS(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	c.Init([]jobID{1, 2, 3}, 0.13)
	progress := map[jobID]float64{1: 95, 2: 100, 3: 40}
	act := c.Step(Obs{IdlePct: 2, Pending: 1, Running: 2, Prog: func(j jobID) float64 { return progress[j] }})
	if act.MARP != 0.07 || !slices.Equal(c.tracked, []jobID{3}) || !slices.Equal(c.apps, []jobID{1, 3}) {
		t.Errorf("%+v, tracked %v, counted %v; want 0.07, [3], [1 3]", act, c.tracked, c.apps)
	}
}

// spec/marp 3.5, lines 8 and 12: without waiting jobs the tracker is kept, so that a fall
// cancels the next rise.
func TestTrackerSurvivesWithoutPending(t *testing.T) {
	cfg := CBTwATConfig()
	cfg.Thresholds, cfg.Highest = 1, 1
	c, err := NewCBTwAT(cfg, source0())
	if err != nil {
		t.Fatal(err)
	}
	c.Init([]jobID{1}, 0.05)
	c.progress, c.delta = 50, 10
	look := func(p float64, pending int) Act {
		c.lockout = false
		return c.Step(Obs{IdlePct: 50, Pending: pending, Running: 1, Prog: func(jobID) float64 { return p }})
	}
	if act := look(51, 0); act.Sleep != 20*time.Second || c.tracker != -1 {
		t.Errorf("fall without waiting jobs: %+v, tracker %d", act, c.tracker)
	}
	if act := look(99, 1); act.Write || c.tracker != 0 {
		t.Errorf("rise after the fall: %+v, tracker %d", act, c.tracker)
	}
	c.delta = 0
	if act := look(100, 1); act.Write {
		t.Errorf("no rise: %+v", act)
	}
	c.progress, c.delta = 10, 0
	if act := look(90, 1); !act.Write {
		t.Errorf("plain rise: %+v", act)
	}
}

// spec/marp 3.0: the lockout sleep is inside an iteration, the others are not.
func TestSleepInsideAnIteration(t *testing.T) {
	a := admissionOf(t, &CBTwSInfo, nil).(*Tuned)
	a.do(time.Minute, Act{Sleep: 15 * time.Second, Resume: true})
	if a.wake != 75*time.Second {
		t.Errorf("wakes at %v after a sleep inside, want 75s", a.wake)
	}
	a.do(time.Minute, Act{Sleep: 30 * time.Second})
	if a.wake != 91500*time.Millisecond {
		t.Errorf("wakes at %v after a sleep outside, want 91.5s", a.wake)
	}
}

// A job that ends makes room under the deadlock bound, too.
func TestSafeAgainAfterAFinish(t *testing.T) {
	r := newRig(t, admissionOf(t, &MARPInfo, map[string]string{"marp": "0.9", "avoid-deadlock": "true"}), scheduler.DefaultReduceRule())
	r.submit(0, 19)
	if ids, _ := r.admit(); len(ids) != 16 {
		t.Fatalf("admitted %d, want 16", len(ids))
	}
	for id := range scheduler.JobID(3) {
		r.feed(scheduler.JobFinished(id))
		if ids, why := r.admit(); !slices.Equal(ids, []scheduler.JobID{16 + id}) {
			t.Errorf("after the end of %v %v was admitted: %s", id, ids, r.text(why))
		}
	}
}
