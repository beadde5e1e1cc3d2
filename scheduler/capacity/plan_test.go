package capacity

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// A plan that a driver has made waits for the limits on tasks of its queue or user, and while it does nobody of that queue or user is
// initialised; one that no limit will ever let pass fails.
func TestPlansWaitForLimits(t *testing.T) {
	q := DefaultQueue("default", 100)
	q.MaxTasks, q.MaxTasksPerUser = 100, 60
	r := lobbyRig(t, nil, q)
	submit := func(id scheduler.JobID, user string) {
		r.Submit(&scheduler.JobSpec{ID: id, User: user, HasDriver: true})
	}
	plan := func(id scheduler.JobID, maps, reduces int32) {
		r.Send(scheduler.JobReady(id, &scheduler.JobSpec{ID: id, HasDriver: true, Maps: maps, Reduces: reduces}))
	}
	explain := func(id scheduler.JobID, want string) {
		t.Helper()
		if got := r.Explain(r.Now, id).Text(r.View()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	submit(1, "u1")
	submit(2, "u2")
	submit(3, "u1")
	r.poll()
	plan(1, 30, 20)
	r.phase(1, scheduler.Ready)
	plan(2, 40, 11)
	r.phase(2, scheduler.Admitted)
	explain(2, "j2 waits: its 51 tasks beside the 50 initialised ones of queue default would pass 100")
	submit(4, "u3")
	r.poll()
	r.phase(4, scheduler.Waiting)
	explain(4, "j4 waits: 1 jobs of queue default are planned and wait for its limit on tasks")
	plan(3, 10, 1)
	explain(3, "j3 waits: its 11 tasks beside the 50 initialised ones of user u1 of queue default would pass 60")
	r.Send(scheduler.JobVanished(2))
	submit(5, "u1")
	r.poll()
	r.phase(4, scheduler.Admitted) // of another user
	r.phase(5, scheduler.Waiting)
	explain(5, "j5 waits: 1 jobs of user u1 of queue default are planned and wait for its limit on tasks")
	r.Send(scheduler.JobFinished(1))
	r.poll()
	r.phase(3, scheduler.Ready)
	r.poll()
	r.phase(5, scheduler.Admitted)
	plan(5, 60, 1)
	if r.poll(); r.View().Job(5).Phase() != scheduler.Ended {
		t.Error("a user may never have 61 tasks, and the job still waits")
	}
}

// Who waits for a poll, or is refused, is told which limit it is, in numbers.
func TestWhichLimit(t *testing.T) {
	q := DefaultQueue("default", 100)
	q.MaxTasks, q.MaxTasksPerUser, q.AcceptFactor, q.UserLimit = 100, 100, 2, 50
	r := lobbyRig(t, func(c *InitConfig) { c.MaxSystemJobs = 4 }, q) // 4 initialised, 8 accepted; 2 and 4 of a user
	explain := func(id scheduler.JobID, want string) {
		t.Helper()
		if got := r.Explain(r.Now, id).Text(r.View()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for id, job := range []struct {
		user string
		maps int32
	}{{"u1", 30}, {"u1", 30}, {"u1", 1}, {"u2", 40}, {"u3", 1}} {
		r.Submit(&scheduler.JobSpec{ID: scheduler.JobID(id), User: job.user, Maps: job.maps})
	}
	explain(0, "j0 waits for the next poll")
	r.poll()
	r.phase(3, scheduler.Ready) // 100 tasks are as many as may be
	explain(2, "j2 waits: its 1 tasks beside the 100 initialised ones of queue default would pass 100")
	r.Send(scheduler.JobFinished(3))
	r.poll()
	r.phase(4, scheduler.Ready)
	explain(2, "j2 waits: user u1 of queue default has 2 initialised jobs of at most 2")
	refused := func(id scheduler.JobID, user, want string) {
		t.Helper()
		r.Send(scheduler.JobSubmitted(&scheduler.JobSpec{ID: id, User: user, Maps: 1}))
		why := ""
		if _, err := r.Admit(r.Now, func(d scheduler.AdmitDecision) { why = d.Reason.Text(nil) }); err != nil || why != want {
			t.Errorf("%q, %v; want %q", why, err, want)
		}
	}
	r.Submit(&scheduler.JobSpec{ID: 10, User: "u1", Maps: 1})
	refused(11, "u1", "j11 is refused: user u1 of queue default has 4 accepted jobs, all it may")
	for id := scheduler.JobID(12); id < 15; id++ {
		r.Submit(&scheduler.JobSpec{ID: id, User: "u4", Maps: 1})
	}
	refused(15, "u5", "j15 is refused: queue default has accepted 8 jobs, all it may")
	r.poll()
	explain(13, "j13 waits: queue default has 4 initialised jobs of at most 4")
}

// With rampup reduces that wait give way until queues hold what they are guaranteed, users of a queue as much as each other, and
// jobs of a user in their order. Job 1 holds eight containers, six of them for reduces that wait; job 2 has ten maps and nothing.
func TestReducesGiveWayUntilEven(t *testing.T) {
	for _, tc := range []struct {
		name         string
		queues       []Queue
		holds, wants scheduler.JobSpec
		ramp         float64
		gives        int
	}{
		{"queues", queues(nil, 50, 50), scheduler.JobSpec{Queue: "a"}, scheduler.JobSpec{Queue: "b"}, 0.5, 4},
		{"a large and a small queue", queues(nil, 75, 25), scheduler.JobSpec{Queue: "a"}, scheduler.JobSpec{Queue: "b"}, 0.5, 2},
		{"users", queues(nil, 100), scheduler.JobSpec{User: "u1"}, scheduler.JobSpec{User: "u2"}, 0.5, 4},
		{"a newer of one user", queues(func(q *Queue) { q.UserLimitFactor = 2 }, 100), scheduler.JobSpec{}, scheduler.JobSpec{}, 0.5, 0},
		{"a better of one user", queues(func(q *Queue) { q.Priority, q.UserLimitFactor = true, 2 }, 100), scheduler.JobSpec{}, scheduler.JobSpec{Priority: scheduler.High}, 0.5, 6},
		{"a worse of one user", queues(func(q *Queue) { q.Priority, q.UserLimitFactor = true, 2 }, 100), scheduler.JobSpec{}, scheduler.JobSpec{Priority: scheduler.Low}, 0.5, 0},
		{"priority does not count", queues(func(q *Queue) { q.UserLimitFactor = 2 }, 100), scheduler.JobSpec{}, scheduler.JobSpec{Priority: scheduler.High}, 0.5, 0},
		{"no rampup", queues(nil, 50, 50), scheduler.JobSpec{Queue: "a"}, scheduler.JobSpec{Queue: "b"}, 0, 0},
	} {
		p := policy(t, func(c *Config) { c.Queues, c.Reduces.Ramp = tc.queues, tc.ramp })
		r := newRig(t, p, 1, scheduler.Capacity{Containers: 8})
		holds, wants := tc.holds, tc.wants
		holds.ID, holds.Maps, holds.Reduces, holds.Slowstart = 1, 2, 6, -1
		wants.ID, wants.Maps = 2, 10
		r.Submit(&holds)
		for i := range int32(8) {
			task := scheduler.TaskID{Job: 1, Index: i}
			if i >= 2 {
				task = scheduler.TaskID{Job: 1, Kind: scheduler.Reduce, Index: i - 2}
			}
			r.Send(scheduler.Launched(task, 0, scheduler.Anywhere, false))
		}
		r.Submit(&wants)
		r.Serve(0) // it is full; the policy has seen how large the cluster is
		got := 0
		if err := r.Kill(time.Minute, func(scheduler.Victim) { got++ }); err != nil || got != tc.gives {
			t.Errorf("%s: %d reduces gave way, want %d; %v", tc.name, got, tc.gives, err)
		}
	}
}
