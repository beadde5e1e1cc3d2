package capacity

import (
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// lobbyRig is a cluster under capacity and capacity-init, one interval after the start: the poller is about to look for the first time.
func lobbyRig(t *testing.T, change func(*InitConfig), qs ...Queue) *rig {
	t.Helper()
	c := DefaultInitConfig()
	if qs != nil {
		c.Queues = qs
	}
	if change != nil {
		change(&c)
	}
	a, err := NewInit(c)
	if err != nil {
		t.Fatal(err)
	}
	p := policy(t, func(pc *Config) { pc.Queues = c.Queues })
	r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 100, ReduceSlots: 10})
	r.SetAdmission(0, a)
	r.Tick(0)
	r.Now = c.PollInterval
	return r
}

// poll moves the clock one poll on and counts the admitted jobs.
func (r *rig) poll() int {
	r.T.Helper()
	if next, ok := r.Tick(r.Now); !ok || next <= r.Now {
		r.T.Fatalf("at %v the next poll is at %v", r.Now, next)
	}
	n := 0
	if _, err := r.Admit(r.Now, func(scheduler.AdmitDecision) { n++ }); err != nil {
		r.T.Fatal(err)
	}
	r.Now += 5 * second
	return n
}

func (r *rig) phase(id scheduler.JobID, want scheduler.Phase) {
	r.T.Helper()
	if got := r.View().Job(id).Phase(); got != want {
		r.T.Errorf("at %v j%d is %v, want %v", r.Now, id, got, want)
	}
}

// spec/capacity 6, item 11: two queues of 50 %: with MSJ 2 never more than one
// initialised job per queue, strictly one after the other; with 4, two.
func TestMaximumSystemJobs(t *testing.T) {
	for msj, each := range map[int]int{2: 1, 4: 2} {
		r := lobbyRig(t, func(c *InitConfig) { c.MaxSystemJobs = msj }, queues(nil, 50, 50)...)
		for i := range scheduler.JobID(8) {
			r.Submit(&scheduler.JobSpec{ID: i, Maps: 1, Queue: string(rune('a' + i%2)), User: fmt.Sprint("u", i)})
		}
		if got := r.poll(); got != 2*each {
			t.Errorf("MSJ %d: %d jobs initialised, want %d", msj, got, 2*each)
		}
		if got := r.poll(); got != 0 {
			t.Errorf("MSJ %d: %d more at the next poll", msj, got)
		}
		r.Send(scheduler.JobFinished(0))
		r.phase(2*scheduler.JobID(each), scheduler.Waiting) // not before the poll
		if got := r.poll(); got != 1 {
			t.Errorf("MSJ %d: %d jobs after one has finished, want 1", msj, got)
		}
		r.phase(2*scheduler.JobID(each), scheduler.Ready)
	}
}

// spec/capacity 3.5 and 6, item 11: 100 active tasks with jobs of 76 to 80 tasks
// leave one job at a time, 160 two; a job of 81 tasks with 80 per user is
// rejected.
func TestActiveTaskLimits(t *testing.T) {
	for most, want := range map[int]int{100: 1, 160: 2} {
		q := DefaultQueue("default", 100)
		q.MaxTasks, q.MaxTasksPerUser = most, 80
		r := lobbyRig(t, nil, q)
		for i, tasks := range []int32{76, 78, 80} {
			r.Submit(&scheduler.JobSpec{ID: scheduler.JobID(i), Maps: tasks - 1, Reduces: 1, User: fmt.Sprint("u", i)})
		}
		if got := r.poll(); got != want {
			t.Errorf("%d active tasks: %d jobs, want %d", most, got, want)
		}
		r.Submit(&scheduler.JobSpec{ID: 9, Maps: 80, Reduces: 1})
		if r.View().Job(9).Phase() != scheduler.Ended {
			t.Error("a job of 81 tasks was not rejected")
		}
	}
}

// spec/capacity 3.4, poller, steps 2c and 2d: a user at the limit is passed over
// with all later jobs, so that they stay in order; other users go on.
func TestPollerKeepsAUsersOrder(t *testing.T) {
	q := DefaultQueue("default", 100)
	q.MaxTasks, q.MaxTasksPerUser = 100, 50
	r := lobbyRig(t, nil, q)
	r.Submit(
		&scheduler.JobSpec{ID: 1, Maps: 40, User: "u1"}, &scheduler.JobSpec{ID: 2, Maps: 20, User: "u1"},
		&scheduler.JobSpec{ID: 3, Maps: 5, User: "u1"}, &scheduler.JobSpec{ID: 4, Maps: 10, User: "u2"},
	)
	r.poll()
	r.phase(1, scheduler.Ready)
	r.phase(2, scheduler.Waiting)
	r.phase(3, scheduler.Waiting) // would fit, but job 2 comes first
	r.phase(4, scheduler.Ready)
	if why := r.Explain(r.Now, 2).Text(r.View()); why != "j2 waits: its 20 tasks beside the 40 initialised ones of user u1 of queue default would pass 50" {
		t.Error(why)
	}
}

// spec/capacity 3.4, Submit: queue and user accept factor times what may be
// initialised, more is rejected; a job that ends makes room.
func TestAcceptLimits(t *testing.T) {
	q := DefaultQueue("default", 100)
	q.AcceptFactor, q.UserLimit = 2, 50
	r := lobbyRig(t, func(c *InitConfig) { c.MaxSystemJobs = 2 }, q) // 2 initialised, 4 accepted; 1 and 2 per user
	for i, user := range []string{"u1", "u1", "u1", "u2", "u2", "u3"} {
		r.Submit(&scheduler.JobSpec{ID: scheduler.JobID(i), Maps: 1, User: user})
	}
	for id, want := range map[scheduler.JobID]scheduler.Phase{0: scheduler.Waiting, 1: scheduler.Waiting, 3: scheduler.Waiting, 4: scheduler.Waiting} {
		r.phase(id, want)
	}
	if r.View().Job(2) != nil || r.View().Jobs().Len() != 4 {
		t.Errorf("%d jobs were accepted, want 4", r.View().Jobs().Len())
	}
	r.Send(scheduler.JobVanished(0))
	r.Submit(&scheduler.JobSpec{ID: 7, Maps: 1, User: "u3"})
	r.phase(7, scheduler.Waiting)
}

// spec/capacity 3.4: a job becomes schedulable at the first poll at or after its
// submission; queue order is priority where the queue supports it.
func TestPollInterval(t *testing.T) {
	q := DefaultQueue("default", 100)
	q.Priority = true
	r := lobbyRig(t, func(c *InitConfig) { c.MaxSystemJobs = 1 }, q)
	r.poll()
	r.Now = 8 * second
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 1}, &scheduler.JobSpec{ID: 2, Maps: 1, Priority: scheduler.VeryHigh})
	if _, ok := r.Tick(r.Now); !ok {
		t.Fatal("no poll is due")
	}
	r.phase(2, scheduler.Waiting)
	r.Now = 10 * second
	r.poll()
	r.phase(2, scheduler.Ready)
	r.phase(1, scheduler.Waiting)
}

// spec/capacity 3.4: the poller sleeps an interval before it first looks, so that jobs that come one after the other at the
// start are initialised together, and the first does not take the whole queue.
func TestTheFirstPollIsAfterAnInterval(t *testing.T) {
	a, err := NewInit(DefaultInitConfig())
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, policy(t, nil), 1, scheduler.Capacity{MapSlots: 100, ReduceSlots: 10})
	r.SetAdmission(0, a)
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 1})
	if n := r.poll(); n != 0 {
		t.Errorf("%d jobs were initialised at the start", n)
	}
	r.Submit(&scheduler.JobSpec{ID: 2, Maps: 1})
	if n := r.poll(); n != 2 || r.Now != 10*second {
		t.Errorf("%d jobs were initialised after an interval, want 2", n)
	}
}

// A job for a queue that is not there, or whose tasks are larger than any slot
// may be, is rejected.
func TestRejections(t *testing.T) {
	r := lobbyRig(t, func(c *InitConfig) { c.MaxMB = [kinds]int64{1000, 2000} })
	for i, s := range []*scheduler.JobSpec{
		{Queue: "nowhere"},
		{MapDemand: scheduler.Demand{MemoryMB: 1001}},
		{ReduceDemand: scheduler.Demand{MemoryMB: 2001}},
	} {
		s.ID, s.Maps = scheduler.JobID(i), 1
		r.Send(scheduler.JobSubmitted(s))
		verdict := scheduler.Hold
		if _, err := r.Admit(r.Now, func(d scheduler.AdmitDecision) { verdict = d.Verdict }); err != nil || verdict != scheduler.Reject {
			t.Errorf("job %d: verdict %v, %v", i, verdict, err)
		}
	}
}

func TestInitValidate(t *testing.T) {
	for name, change := range map[string]func(*InitConfig){
		"no jobs":  func(c *InitConfig) { c.MaxSystemJobs = 0 },
		"no poll":  func(c *InitConfig) { c.PollInterval = -time.Second },
		"no queue": func(c *InitConfig) { c.Queues = nil },
		"factor":   func(c *InitConfig) { c.Queues[0].AcceptFactor = 0 },
	} {
		c := DefaultInitConfig()
		change(&c)
		if _, err := NewInit(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestTooLargeTasks: a job is refused whose maps or reduces ask for more memory than the largest task may have, in numbers, and one that
// asks for just that is not; each kind has a limit of its own, or none.
func TestTooLargeTasks(t *testing.T) {
	for _, tc := range []struct {
		most          [kinds]int64
		maps, reduces int64
		want          string
	}{
		{[kinds]int64{100, 200}, 100, 200, ""},
		{[kinds]int64{100, 200}, 101, 200, "j1 is refused: its maps ask for 101 MB, the most is 100"},
		{[kinds]int64{100, 200}, 100, 201, "j1 is refused: its reduces ask for 201 MB, the most is 200"},
		{[kinds]int64{0, 200}, 999, 200, ""},
		{[kinds]int64{100, 0}, 100, 999, ""},
	} {
		r := lobbyRig(t, func(c *InitConfig) { c.MaxMB = tc.most }, DefaultQueue("default", 100))
		r.Send(scheduler.JobSubmitted(&scheduler.JobSpec{
			ID: 1, Maps: 1, Reduces: 1, MapDemand: scheduler.Demand{MemoryMB: tc.maps}, ReduceDemand: scheduler.Demand{MemoryMB: tc.reduces},
		}))
		why := ""
		_, err := r.Admit(r.Now, func(d scheduler.AdmitDecision) {
			if d.Verdict == scheduler.Reject {
				why = d.Reason.Text(nil)
			}
		})
		if err != nil || why != tc.want {
			t.Errorf("%+v: %q, %v", tc, why, err)
		}
	}
}

// TestQueuesAsGiven: what a user gives by queue is what that queue has, and * is for every queue that is not named.
func TestQueuesAsGiven(t *testing.T) {
	made, err := InitInfo.Make(map[string]string{
		"queues": "a=60,b=40", "accept-factor": "*=3,b=4", "max-tasks": "*=50,a=60", "max-tasks-per-user": "*=30,b=20", "user-limit": "b=70", "priority": "b=1",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := queues(nil, 60, 40)
	want[0].AcceptFactor, want[0].MaxTasks, want[0].MaxTasksPerUser = 3, 60, 30
	want[1].AcceptFactor, want[1].MaxTasks, want[1].MaxTasksPerUser, want[1].UserLimit, want[1].Priority = 4, 50, 20, 70, true
	for i, q := range made.(*Init).leaves {
		if q.Queue != want[i] {
			t.Errorf("%+v, want %+v", q.Queue, want[i])
		}
	}
}
