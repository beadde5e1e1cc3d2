package deadline

import (
	"container/heap"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

const second = time.Second

// rig is a small cluster with what the tests of this package add to it.
type rig struct{ *schedulertest.Rig }

func newRig(t *testing.T, p scheduler.Policy, nodes int, c scheduler.Capacity) *rig {
	t.Helper()
	return &rig{schedulertest.NewRig(t, p, nodes, c)}
}

// done runs one map of j on node 0 that takes d.
func (r *rig) done(j scheduler.JobID, index int32, d time.Duration) {
	r.T.Helper()
	t := scheduler.TaskID{Job: j, Index: index}
	r.Send(scheduler.Launched(t, 0, scheduler.Anywhere, false))
	r.Send(scheduler.TaskFinished(t, 0, d, 0, 0))
}

func policy(t *testing.T, max bool, change func(*Config)) *Policy {
	t.Helper()
	c := DefaultConfig(max)
	if change != nil {
		change(&c)
	}
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A run plays jobs in a cluster where tasks only take time: a worker asks when a
// task ends and every 3 s (spec/deadline 4.3, 6.13).
type run struct {
	*rig
	length  func(scheduler.TaskID) time.Duration
	ends    ends
	over    map[scheduler.JobID]time.Duration
	onTick  func()
	nodes   int
	busy    time.Duration // map slot time
	arrival []*scheduler.JobSpec
}

type end struct {
	at   time.Duration
	task scheduler.TaskID
	node topology.NodeID
}

type ends []end

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].at < e[j].at }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(end)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newRun(t *testing.T, p scheduler.Policy, length func(scheduler.TaskID) time.Duration, specs ...*scheduler.JobSpec) *run {
	t.Helper()
	r := &run{rig: newRig(t, p, 60, scheduler.Capacity{MapSlots: 1, ReduceSlots: 1}), length: length, nodes: 60, arrival: specs}
	r.over = make(map[scheduler.JobID]time.Duration)
	return r
}

func (r *run) serve(n topology.NodeID) {
	r.T.Helper()
	_, err := r.Offer(r.Now, n, func(d scheduler.Decision) {
		at := r.Now + r.length(d.Task)
		if d.Task.Kind == scheduler.Reduce {
			if _, ok := r.View().Job(d.Task.Job).MapsDoneAt(); !ok {
				at = 1 << 62 // it begins when the maps are done
			}
		}
		heap.Push(&r.ends, end{at, d.Task, n})
	})
	if err != nil {
		r.T.Fatal(err)
	}
}

// play runs until every job is over.
func (r *run) play() {
	r.T.Helper()
	for tick := time.Duration(0); len(r.over) < len(r.arrival); {
		if len(r.ends) > 0 && r.ends[0].at <= tick {
			r.end(heap.Pop(&r.ends).(end))
			continue
		}
		r.Now = tick
		for _, s := range r.arrival {
			if s.Submit == tick {
				r.Submit(s)
			}
		}
		for n := range r.nodes {
			r.serve(topology.NodeID(n))
		}
		if r.onTick != nil {
			r.onTick()
		}
		tick += 3 * second
	}
}

func (r *run) end(e end) {
	r.T.Helper()
	r.Now = e.at
	if e.task.Kind == scheduler.Map {
		r.busy += r.length(e.task)
	}
	r.Send(scheduler.TaskFinished(e.task, e.node, 0, 0, 0))
	j := r.View().Job(e.task.Job)
	if at, ok := j.MapsDoneAt(); ok && at == r.Now && e.task.Kind == scheduler.Map {
		for i := range r.ends { // its waiting reduces begin
			if w := &r.ends[i]; w.task.Job == j.ID() && w.task.Kind == scheduler.Reduce {
				w.at = r.Now + r.length(w.task)
			}
		}
		heap.Init(&r.ends)
	}
	if j.Complete() {
		r.over[j.ID()] = r.Now
		r.Send(scheduler.JobFinished(j.ID()))
	}
	r.serve(e.node)
}
