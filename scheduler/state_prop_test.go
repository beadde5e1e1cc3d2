package scheduler

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/topology"
)

// A dumbTask is what the reference remembers of a task.
type dumbTask struct {
	done     bool
	doneOn   topology.NodeID
	attempts []dumbAttempt // of the present try
	zombies  []dumbAttempt // left over when another attempt finished
}

type dumbAttempt struct {
	node   topology.NodeID
	start  time.Duration
	second bool
}

type dumbJob struct {
	spec  *JobSpec
	phase Phase
	tasks [NumKinds][]dumbTask
}

// referenceRoom is that of each node: more processors and memory than its tasks take.
var referenceRoom = Capacity{MapSlots: 2, ReduceSlots: 1, VCores: 64, MemoryMB: 1 << 20}

// dumb is the reference: it stores tasks plainly and counts by looping.
type dumb struct {
	jobs map[JobID]*dumbJob
	up   map[topology.NodeID]NodeState
}

func (d *dumbTask) state() TaskState {
	switch {
	case d.done:
		return TaskDone
	case len(d.attempts) > 0:
		return TaskRunning
	}
	return TaskPending
}

func (d *dumb) apply(now time.Duration, e Event) bool {
	switch e.Kind {
	case EvNodeUp:
		d.up[e.Node] = NodeIsReady
		return true
	case EvNodeDown:
		d.up[e.Node] = NodeIsDown
		return true
	case EvNodeDraining:
		if d.up[e.Node] == NodeIsDown {
			return false
		}
		d.up[e.Node] = NodeDrains
		return true
	case EvJobSubmitted:
		if d.jobs[e.Job] != nil {
			return false
		}
		d.jobs[e.Job] = &dumbJob{spec: e.Spec}
		return true
	}
	j := d.jobs[e.Job]
	if j == nil {
		return false
	}
	switch e.Kind {
	case EvJobAdmitted:
		return d.admit(j)
	case EvJobReady:
		return d.ready(j)
	case EvJobFinished, EvJobVanished:
		delete(d.jobs, e.Job)
		return true
	}
	return d.task(now, j, e)
}

func (d *dumb) admit(j *dumbJob) bool {
	if j.phase != Waiting {
		return false
	}
	j.phase = Admitted
	if !j.spec.HasDriver {
		return d.ready(j)
	}
	j.tasks[Driver] = make([]dumbTask, 1)
	return true
}

func (d *dumb) ready(j *dumbJob) bool {
	if j.phase != Admitted {
		return false
	}
	j.phase = Ready
	j.tasks[Map] = make([]dumbTask, j.spec.Maps)
	j.tasks[Reduce] = make([]dumbTask, j.spec.Reduces)
	return true
}

func (d *dumb) task(now time.Duration, j *dumbJob, e Event) bool {
	tasks := j.tasks[e.Task.Kind]
	if e.Task.Index < 0 || int(e.Task.Index) >= len(tasks) {
		return false
	}
	t := &tasks[e.Task.Index]
	there := func(a dumbAttempt) bool { return a.node == e.Node }
	running, zombie := slices.IndexFunc(t.attempts, there), slices.IndexFunc(t.zombies, there)
	switch e.Kind {
	case EvLaunched:
		if d.up[e.Node] == NodeIsDown || t.done || len(t.attempts) > 0 && (!e.Second || running >= 0 || zombie >= 0) {
			return false
		}
		t.attempts = append(t.attempts, dumbAttempt{e.Node, now - e.Duration, e.Second})
		return true
	case EvRestored:
		if t.state() != TaskPending || e.Task.Kind == Driver {
			return false
		}
		t.done, t.doneOn = true, e.Node
		return true
	case EvTaskLost:
		if !t.done {
			return false
		}
		t.done = false
		return true
	}
	if running >= 0 {
		t.attempts = slices.Delete(t.attempts, running, running+1)
		if e.Kind == EvTaskFinished {
			t.done, t.doneOn = true, e.Node
			t.zombies, t.attempts = append(t.zombies, t.attempts...), nil
		}
		return true
	}
	if zombie < 0 {
		return false
	}
	t.zombies = slices.Delete(t.zombies, zombie, zombie+1)
	if e.Kind == EvTaskFinished && len(t.attempts) > 0 {
		t.done, t.doneOn = true, e.Node
		t.zombies, t.attempts = append(t.zombies, t.attempts...), nil
	}
	return true
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func drawSpec(r *rand.Rand, id JobID, nodes int) *JobSpec {
	s := &JobSpec{
		ID: id, User: pick(r, "", "u1", "u2"), Queue: pick(r, "", "q"),
		Maps: r.Int32N(13), Reduces: r.Int32N(5), Slowstart: pick(r, 0, -1, 0.5, 1), HasDriver: r.IntN(3) == 0,
		MapDemand: Demand{Slots: r.Int32N(3)},
	}
	if r.IntN(4) > 0 {
		for range s.Maps {
			var at []topology.NodeID
			for range r.IntN(4) {
				at = append(at, topology.NodeID(r.IntN(nodes+2)-1))
			}
			s.Splits.Add(10, at...)
		}
	}
	return s
}

// drawTask names some task of a live job, or now and then of none.
func drawTask(r *rand.Rand, next JobID, v *View) TaskID {
	if l := v.Jobs().Len(); l > 0 && r.IntN(10) > 0 {
		j := v.Jobs().At(r.IntN(l))
		return TaskID{Job: j.ID(), Kind: Kind(r.IntN(NumKinds)), Index: r.Int32N(13)}
	}
	return TaskID{Job: JobID(r.Int32N(int32(next) + 1)), Kind: Kind(r.IntN(NumKinds)), Index: r.Int32N(13)}
}

func drawEvent(r *rand.Rand, nodes int, next *JobID, v *View) Event {
	node := topology.NodeID(r.IntN(nodes))
	task := drawTask(r, *next, v)
	what := r.IntN(40)
	if what >= 24 && what < 36 { // aim at what runs: most such events should hit
		for a := range v.RunningOn(node) {
			task = a.Task
			if r.IntN(2) == 0 {
				break
			}
		}
	}
	switch {
	case what < 2:
		return NodeUp(node, referenceRoom)
	case what < 3:
		return pick(r, NodeDown(node), NodeDraining(node))
	case what < 5:
		*next++
		return JobSubmitted(drawSpec(r, *next-1, nodes))
	case what < 8:
		return JobAdmitted(task.Job)
	case what < 9:
		return JobReady(task.Job, nil)
	case what < 10 && r.IntN(4) == 0:
		return pick(r, JobFinished(task.Job), JobVanished(task.Job))
	case what < 11:
		return Found(task, node, time.Duration(r.IntN(5))*time.Second)
	case what < 24:
		return Launched(task, node, Remote, r.IntN(3) == 0)
	case what < 30:
		return TaskFinished(task, node, 0, 10, 5)
	case what < 36:
		return pick(r, TaskFailed(task, node), TaskKilled(task, node))
	case what < 37:
		return Restored(task, node, 0, time.Second, 10, 5)
	}
	if j := v.Job(task.Job); j != nil && r.IntN(4) > 0 {
		for i := range v.DoneOn(j, Map, node) {
			return TaskLost(TaskID{Job: j.ID(), Index: i})
		}
	}
	return TaskLost(task)
}

// Random events, half of them nonsense: State accepts what the reference
// accepts, and every index agrees with a loop over plain tasks.
func TestStateAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		racks, perRack := rapid.IntRange(1, 3).Draw(t, "racks"), rapid.SampledFrom([]int{1, 3, 10}).Draw(t, "per rack")
		topo, err := topology.Uniform(racks, perRack, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewState(topo, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		ref := &dumb{jobs: make(map[JobID]*dumbJob), up: make(map[topology.NodeID]NodeState)}
		next := JobID(0)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for n := range topo.NumNodes() {
			e := NodeUp(topology.NodeID(n), referenceRoom)
			if err := s.Apply(0, e); err != nil || !ref.apply(0, e) {
				t.Fatal(err)
			}
		}
		for step := range 300 {
			e := drawEvent(r, topo.NumNodes(), &next, s.View())
			now := time.Duration(step) * time.Second
			err := s.Apply(now, e)
			want := ref.apply(now, e)
			if (err == nil) != want {
				t.Fatalf("step %d: %v: state says %v, reference accepts: %v", step, e, err, want)
			}
			if err != nil && !errors.Is(err, ErrStale) {
				t.Fatalf("%v: unmarked error %v", e, err)
			}
			if err := compare(now, s.View(), ref, racks, perRack); err != nil {
				t.Fatalf("step %d after %v: %v", step, e, err)
			}
		}
	})
}
