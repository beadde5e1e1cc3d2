package sizebased

import (
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// spec/slowdown 2.4, Table I: what each policy has.
func TestTable1(t *testing.T) {
	for _, tc := range []struct {
		d                     Discipline
		partitions, feedback  bool
		limits, shares, queue int
	}{
		{FBQ, false, true, 1, 0, 2},
		{TAGS, true, true, 1, 2, 2},
		{SITA, true, false, 1, 2, 2},
		{COMP, false, false, 0, 0, 2},
	} {
		p := policy(t, tc.d, nil)
		if tc.d.Partitioned() != tc.partitions || tc.d.Feedback() != tc.feedback || len(p.lines) != tc.queue ||
			len(p.cfg.Limits) != tc.limits || len(p.cfg.Shares) != tc.shares {
			t.Errorf("%v: %+v", tc.d, p.cfg)
		}
	}
}

// spec/slowdown 3.2 to 3.4: the published parameters are the defaults.
func TestPublishedParameters(t *testing.T) {
	for _, tc := range []struct {
		d              Discipline
		k              int
		limits, shares []float64
	}{
		{FBQ, 2, []float64{12_000}, nil},
		{FBQ, 4, []float64{4_000, 10_000, 36_000}, nil},
		{TAGS, 2, []float64{14_000}, []float64{0.5, 0.5}},
		{SITA, 2, []float64{18_000}, []float64{0.3, 0.7}},
	} {
		p := policy(t, tc.d, func(c *Config) { c.K = tc.k })
		if !slices.Equal(p.cfg.Limits, tc.limits) || !slices.Equal(p.cfg.Shares, tc.shares) {
			t.Errorf("%v K=%d: limits %v shares %v", tc.d, tc.k, p.cfg.Limits, p.cfg.Shares)
		}
	}
}

// spec/slowdown 3.2: a wide job can cross the limit within its first wave: 600
// maps x 20 s = 12,000 s. It goes on with the tasks it has; a newer job is served
// first from then on.
func TestFBQFirstWave(t *testing.T) {
	r := newRig(t, policy(t, FBQ, nil), 1, scheduler.Capacity{MapSlots: 600})
	p := r.Policy().(*Policy)
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 1200})
	if got := len(r.Serve(0)); got != 600 {
		t.Fatalf("first wave of %d maps, want 600", got)
	}
	wide := r.View().Job(1)
	r.Now = 20*second - 1
	r.Submit(&scheduler.JobSpec{ID: 2, Maps: 1})
	if q, _ := p.QueueOf(wide); q != 1 {
		t.Errorf("in queue %d before 12,000 s", q)
	}
	r.Now = 20 * second
	r.Finish(1, scheduler.Map, 0, 0)
	if q, _ := p.QueueOf(wide); q != 2 {
		t.Errorf("in queue %d at 12,000 s", q)
	}
	r.Want(r.Serve(0), 2)
	if wide.Running(scheduler.Map) != 599 {
		t.Error("running tasks of a relegated job were touched")
	}
}

// spec/slowdown 3.8: a job that crosses several limits at once falls through
// several queues in one pass; moves append at the tail in order of detection.
func TestFBQCascade(t *testing.T) {
	r := newRig(t, policy(t, FBQ, func(c *Config) { c.K, c.Limits = 4, []float64{10, 20, 40} }), 2, scheduler.Capacity{MapSlots: 2})
	p := r.Policy().(*Policy)
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 9}, &scheduler.JobSpec{ID: 2, Maps: 9})
	r.Want(r.Serve(0), 1, 1)
	r.Now = 5 * second
	r.Want(r.Serve(1), 2, 2) // 1 has attained 10 s and is in queue 2
	r.Now = 30 * second      // 1 has 60 s, 2 has 50 s: both beyond every limit
	r.Send(scheduler.Heartbeat(0))
	for id := range scheduler.JobID(3) {
		if j := r.View().Job(id); j != nil {
			if q, _ := p.QueueOf(j); q != 4 {
				t.Errorf("%v is in queue %d, want 4", id, q)
			}
		}
	}
	if a, b := p.at(r.View().Job(1)).pos, p.at(r.View().Job(2)).pos; a > b {
		t.Error("the job that was farther down was appended after the other")
	}
}

// spec/slowdown 3.2: jobs of several queues run at once when the top queue cannot
// fill the cluster.
func TestFBQLowerQueuesFillUp(t *testing.T) {
	r := newRig(t, policy(t, FBQ, func(c *Config) { c.Limits = []float64{1} }), 1, scheduler.Capacity{MapSlots: 4})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 9})
	r.Serve(0)
	r.Now = 10 * second
	for i := range int32(4) {
		r.Finish(1, scheduler.Map, i, 0)
	}
	r.Submit(&scheduler.JobSpec{ID: 2, Maps: 1})
	r.Want(r.Serve(0), 2, 1, 1, 1)
}

// spec/slowdown 6.4: per queue, the limit counts service received in that queue.
func TestFBQPerQueue(t *testing.T) {
	for perQueue, want := range map[bool]int{false: 3, true: 2} {
		r := newRig(t, policy(t, FBQ, func(c *Config) { c.K, c.Limits, c.PerQueue = 3, []float64{10, 15}, perQueue }), 1, scheduler.Capacity{MapSlots: 1})
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 1})
		r.Serve(0)
		for _, at := range []time.Duration{10, 16} {
			r.Now = at * second
			r.Send(scheduler.Heartbeat(0))
		}
		if q, _ := r.Policy().(*Policy).QueueOf(r.View().Job(1)); q != want {
			t.Errorf("per queue %v: queue %d, want %d", perQueue, q, want)
		}
	}
}

// spec/slowdown 6.2: reduces that wait for maps add to attained service unless
// CountWait is off. One map of 30 s, one reduce launched at 10 s.
func TestFBQCountWait(t *testing.T) {
	for wait, want := range map[bool]time.Duration{true: 60, false: 40} {
		r := newRig(t, policy(t, FBQ, func(c *Config) { c.CountWait = wait }), 1, scheduler.Capacity{MapSlots: 1, ReduceSlots: 1})
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 1, Reduces: 1, Slowstart: -1})
		r.Send(scheduler.Launched(scheduler.TaskID{Job: 1}, 0, scheduler.Anywhere, false))
		r.Now = 10 * second
		r.Send(scheduler.Launched(scheduler.TaskID{Job: 1, Kind: scheduler.Reduce}, 0, scheduler.Anywhere, false))
		r.Now = 30 * second
		r.Finish(1, scheduler.Map, 0, 0)
		r.Now = 40 * second
		p, j := r.Policy().(*Policy), r.View().Job(1)
		if got := p.feedback.attained(r.Now, j, p.at(j)); got != want*second {
			t.Errorf("counting waits %v: attained %v, want %v", wait, got, want*second)
		}
	}
}

// spec/slowdown 7.6: attained service equals the sum of task times at completion;
// spec/slowdown 3.8: the time of a failed attempt counts.
func TestAttainedIsSumOfTaskTimes(t *testing.T) {
	r := newRig(t, policy(t, FBQ, nil), 1, scheduler.Capacity{MapSlots: 2})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 2})
	r.Serve(0)
	r.Now = 3 * second
	r.Send(scheduler.TaskFailed(scheduler.TaskID{Job: 1}, 0))
	r.Serve(0)
	r.Now = 10 * second
	r.Finish(1, scheduler.Map, 0, 0)
	r.Finish(1, scheduler.Map, 1, 0)
	p, j := r.Policy().(*Policy), r.View().Job(1)
	if got := p.feedback.attained(r.Now, j, p.at(j)); got != (3+7+10)*second {
		t.Errorf("attained %v, want 20s", got)
	}
}

// spec/slowdown 3.3: idle slots of a partition are never lent; on a move, running
// tasks stay, tasks not started run in the new partition.
func TestTAGSPartitionsAreStrict(t *testing.T) {
	r := newRig(t, policy(t, TAGS, func(c *Config) { c.Limits = []float64{10} }), 2, scheduler.Capacity{MapSlots: 1})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 3})
	r.Want(r.Serve(1)) // partition 2 has no job
	r.Want(r.Serve(0), 1)
	r.Now = 10 * second
	r.Want(r.Serve(1), 1)
	if r.View().Job(1).Running(scheduler.Map) != 2 {
		t.Error("the running task did not stay")
	}
	r.Finish(1, scheduler.Map, 0, 0)
	r.Want(r.Serve(0)) // it has left partition 1
	if done := r.View().Job(1).Done(scheduler.Map); done != 1 {
		t.Errorf("%d maps done: finished work was not kept", done)
	}
}

// The option: what a partition cannot use goes to the other queues.
func TestTAGSLend(t *testing.T) {
	r := newRig(t, policy(t, TAGS, func(c *Config) { c.Lend = true }), 2, scheduler.Capacity{MapSlots: 1})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 3})
	r.Want(r.Serve(1), 1)
}

// spec/slowdown 3.3, ablation: running tasks are killed, completed ones forgotten,
// A is reset.
func TestTAGSRestart(t *testing.T) {
	r := newRig(t, policy(t, TAGS, func(c *Config) { c.Limits, c.Restart = []float64{10}, true }), 2, scheduler.Capacity{MapSlots: 2, ReduceSlots: 1})
	p := r.Policy().(*Policy)
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 3, Reduces: 1, Slowstart: -1})
	r.Want(r.Serve(0), 1, 1, 1)
	r.Now = 2 * second
	r.Finish(1, scheduler.Map, 0, 0)
	r.Now = 20 * second
	r.Want(r.Serve(1)) // moved, but not before it has been stopped
	killed, forgotten := 0, 0
	for v, ok := p.Kill(r.Now, r.View()); ok; v, ok = p.Kill(r.Now, r.View()) {
		if v.Node == topology.NoNode {
			forgotten++
			r.Send(scheduler.TaskLost(v.Task))
			continue
		}
		killed++
		r.Send(scheduler.TaskKilled(v.Task, v.Node))
	}
	j := r.View().Job(1)
	if killed != 2 || forgotten != 1 || j.Pending(scheduler.Map) != 3 || j.Pending(scheduler.Reduce) != 1 {
		t.Errorf("killed %d, forgot %d, %d maps pending", killed, forgotten, j.Pending(scheduler.Map))
	}
	if a := p.feedback.attained(r.Now, j, p.at(j)); a != 0 {
		t.Errorf("attained %v after a restart", a)
	}
	r.Want(r.Serve(0))
	r.Want(r.Serve(1), 1, 1, 1)
}
