package admission

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

type attempt struct {
	task scheduler.TaskID
	node topology.NodeID
}

// crowd is a batch of 24 jobs of 24 maps and one reduce, reduces first, none
// stopped.
type crowd struct {
	*rig
	running  []attempt
	finished int
}

// batch runs a crowd to the end or to a standstill. It returns how many jobs
// finished and whether the watchdog saw a deadlock.
func batch(t *testing.T, a scheduler.Admission, hold bool) (finished int, locked bool) {
	t.Helper()
	c := &crowd{rig: newRig(t, a, scheduler.ReduceRule{Slowstart: 0.05, Share: 1, Hold: hold})}
	c.submit(0, 23)
	for range 2000 {
		c.now += time.Second
		c.admit()
		c.launch()
		if !c.work() {
			_, locked = scheduler.Deadlock(c.View())
			return c.finished, locked
		}
		if c.leave(); c.finished == 24 {
			return c.finished, false
		}
	}
	t.Fatal("the batch neither ended nor stood still")
	return c.finished, false
}

func (c *crowd) launch() {
	c.t.Helper()
	for n := range topology.NodeID(3) {
		if _, err := c.Offer(c.now, n, func(d scheduler.Decision) { c.running = append(c.running, attempt{d.Task, n}) }); err != nil {
			c.t.Fatal(err)
		}
	}
}

// work ends every map and every reduce whose maps are done, and makes jobs with a
// driver ready. It reports whether anything moved.
func (c *crowd) work() (moved bool) {
	c.t.Helper()
	var rest []attempt
	for _, at := range c.running {
		j := c.View().Job(at.task.Job)
		_, mapsDone := j.MapsDoneAt()
		switch {
		case at.task.Kind == scheduler.Driver && j.Phase() == scheduler.Admitted:
			c.feed(scheduler.JobReady(j.ID(), nil))
			rest, moved = append(rest, at), true
		case at.task.Kind == scheduler.Map || at.task.Kind == scheduler.Reduce && mapsDone:
			c.feed(scheduler.TaskFinished(at.task, at.node, time.Second, 1<<27, 1<<27))
			moved = true
		default:
			rest = append(rest, at)
		}
	}
	c.running = rest
	return moved
}

// leave ends the jobs that are complete.
func (c *crowd) leave() {
	c.t.Helper()
	for id := range scheduler.JobID(24) {
		if j := c.View().Job(id); j == nil || !j.Complete() {
			continue
		}
		c.feed(scheduler.JobFinished(id))
		c.running = slices.DeleteFunc(c.running, func(at attempt) bool { return at.task.Job == id })
		c.finished++
	}
}

// spec/marp 2.3 and 6, item 3: 24 jobs complete at MARP 0.60 and lock up at 0.70; the
// watchdog sees it; holding reduces, or the option here, cures it.
func TestSlowStartDeadlock(t *testing.T) {
	for _, tc := range []struct {
		marp, avoid string
		hold        bool
		finished    int
		locked      bool
	}{
		{"0.60", "false", false, 24, false},
		{"0.70", "false", false, 0, true},
		{"0.70", "false", true, 24, false},
		{"0.70", "true", false, 24, false},
		{"0.90", "true", false, 24, false},
	} {
		a := admissionOf(t, &MARPInfo, map[string]string{"marp": tc.marp, "avoid-deadlock": tc.avoid})
		finished, locked := batch(t, a, tc.hold)
		if finished != tc.finished || locked != tc.locked {
			t.Errorf("MARP %s avoid %s hold %v: %d finished, locked %v; want %d, %v", tc.marp, tc.avoid, tc.hold, finished, locked, tc.finished, tc.locked)
		}
	}
}

// The sixteenth job is safe, the seventeenth is held back or admitted with a
// warning.
func TestDeadlockReasons(t *testing.T) {
	for _, avoid := range []string{"true", "false"} {
		r := newRig(t, admissionOf(t, &MARPInfo, map[string]string{"marp": "0.9", "avoid-deadlock": avoid}), scheduler.DefaultReduceRule())
		r.submit(0, 23)
		warned := scheduler.NoJob
		n := 0
		why, err := r.Admit(r.now, func(d scheduler.AdmitDecision) {
			n++
			if warned == scheduler.NoJob && strings.Contains(r.text(d.Reason), "could hold 52224 of 52224 MB and leave no room for a map") {
				warned = d.Job
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if avoid == "false" {
			if n != 22 || warned != 16 {
				t.Errorf("admitted %d jobs, first warning at %v; want 22 and j16", n, warned)
			}
			continue
		}
		if got := r.text(why); n != 16 || got != "j16 waits: drivers and reduces of 16 jobs and its own could hold 52224 of 52224 MB and leave no room for a map" {
			t.Errorf("admitted %d, then: %s", n, got)
		}
	}
}

// A job whose plan is held counts as its driver alone, however often it is asked about. When all others wait as well the first that
// is asked goes on, and when it is ready it counts whole again.
func TestPlansThatWait(t *testing.T) {
	a := admissionOf(t, &MARPInfo, map[string]string{"marp": "0.9", "avoid-deadlock": "true"})
	r := newRig(t, a, scheduler.DefaultReduceRule())
	r.submit(1, 3)
	if ids, _ := r.admit(); len(ids) != 3 {
		t.Fatalf("admitted %v", ids)
	}
	held := func(id scheduler.JobID, reduces int32, want string) {
		t.Helper()
		j := r.View().Job(id)
		d := a.(scheduler.Judge).Judge(r.now, j, &scheduler.JobSpec{ID: id, Maps: 24, Reduces: reduces, HasDriver: true}, r.View())
		got, verdict := "", scheduler.Admit
		if want != "" {
			got, verdict = r.text(d.Reason), scheduler.Hold
		}
		if d.Job != id || got != want || d.Verdict != verdict {
			t.Errorf("%v with %d reduces: %v: %s; want %q", id, reduces, d.Verdict, got, want)
		}
	}
	held(1, 40, "") // 3 drivers, 42 reduces and a map are 50 of 51 GB
	for range 3 {
		held(2, 60, "j2 waits: drivers and reduces of 2 jobs and its own could hold 69632 of 52224 MB and leave no room for a map")
	}
	held(3, 60, "j3 waits: drivers and reduces of 1 jobs and its own could hold 68608 of 52224 MB and leave no room for a map")
	held(2, 60, "j2 waits: drivers and reduces of 1 jobs and its own could hold 68608 of 52224 MB and leave no room for a map")
	r.feed(scheduler.JobReady(1, nil))
	r.feed(scheduler.JobVanished(1))
	held(2, 60, "")
	r.feed(scheduler.JobReady(2, nil))
	held(3, 60, "j3 waits: drivers and reduces of 1 jobs and its own could hold 66560 of 52224 MB and leave no room for a map")
	r.feed(scheduler.JobVanished(3))
	r.submit(4, 4)
	if ids, why := r.admit(); len(ids) != 1 {
		t.Errorf("admitted %v: %s", ids, r.text(why))
	}
	held(4, 60, "j4 waits: drivers and reduces of 1 jobs and its own could hold 66560 of 52224 MB and leave no room for a map")
}
