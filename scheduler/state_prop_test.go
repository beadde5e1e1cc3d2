package scheduler

import (
	"errors"
	"fmt"
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
	attempts []topology.NodeID // of the present try
	starts   map[topology.NodeID]time.Duration
	zombies  []topology.NodeID // left over when another attempt finished
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
	running, zombie := slices.Index(t.attempts, e.Node), slices.Index(t.zombies, e.Node)
	switch e.Kind {
	case EvLaunched:
		if d.up[e.Node] == NodeIsDown || t.done || len(t.attempts) > 0 && (!e.Second || running >= 0 || zombie >= 0) {
			return false
		}
		t.attempts = append(t.attempts, e.Node)
		if t.starts == nil {
			t.starts = make(map[topology.NodeID]time.Duration)
		}
		t.starts[e.Node] = now
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
	case what < 24:
		return Launched(task, node, Remote, r.IntN(3) == 0)
	case what < 30:
		return TaskFinished(task, node, 0, 10, 5)
	case what < 36:
		return pick(r, TaskFailed(task, node), TaskKilled(task, node))
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

// tally is what the reference counts over all jobs.
type tally struct {
	used    Usage
	racks   map[topology.RackID]*Usage
	running map[topology.NodeID]int
	perUser map[string]int64
}

func compare(now time.Duration, v *View, ref *dumb, racks, perRack int) error {
	sum := &tally{racks: make(map[topology.RackID]*Usage), running: make(map[topology.NodeID]int), perUser: make(map[string]int64)}
	for id := range ref.jobs {
		if err := compareJob(now, v, id, ref.jobs[id], racks, perRack, sum); err != nil {
			return err
		}
	}
	if sum.used != *v.ClusterUsed() {
		return fmt.Errorf("cluster uses %+v, reference %+v", *v.ClusterUsed(), sum.used)
	}
	all := int32(0)
	for r := range topology.RackID(racks) {
		up := int32(0)
		for n := range v.Topology().NodesIn(r) {
			if ref.up[n] == NodeIsReady {
				up++
			}
		}
		if t := v.RackTotal(r); t != referenceTotal(up) {
			return fmt.Errorf("rack %d has room %+v, reference has %d nodes up", r, t, up)
		}
		all += up
		if want := sum.racks[r]; want != nil && *want != *v.RackUsed(r) || want == nil && *v.RackUsed(r) != (Usage{}) {
			return fmt.Errorf("rack %d uses %+v, reference %+v", r, *v.RackUsed(r), want)
		}
	}
	if t := v.Total(); t != referenceTotal(all) {
		return fmt.Errorf("the cluster has room %+v, reference has %d nodes up", t, all)
	}
	for n := range topology.NodeID(racks * perRack) {
		count := 0
		for range v.RunningOn(n) {
			count++
		}
		if count != sum.running[n] {
			return fmt.Errorf("node %d runs %d, reference %d", n, count, sum.running[n])
		}
	}
	for g := range v.Groups(UserGroup) {
		if g.PendingTasks(Map) != sum.perUser[g.Name()] {
			return fmt.Errorf("user %s has %d pending maps, reference %d", g.Name(), g.PendingTasks(Map), sum.perUser[g.Name()])
		}
	}
	return compareActive(v)
}

// referenceTotal is the room of so many nodes.
func referenceTotal(nodes int32) Totals {
	c := referenceRoom
	return Totals{Nodes: nodes, Slots: [NumKinds]int32{Map: nodes * c.MapSlots, Reduce: nodes * c.ReduceSlots}, VCores: nodes * c.VCores, MemoryMB: int64(nodes) * c.MemoryMB}
}

// compareActive checks the counts of users with runnable work against a loop.
func compareActive(v *View) error {
	for q := range v.Groups(QueueGroup) {
		for k := Map; k <= Reduce; k++ {
			users := make(map[*Group]bool)
			jobs := int32(0)
			for j := range q.Jobs().All() {
				if j.Runnable(k) {
					users[j.User()] = true
					jobs++
				}
			}
			if int(q.ActiveMembers(k)) != len(users) || q.RunnableJobs(k) != jobs {
				return fmt.Errorf("queue %s: %d users and %d jobs run %vs, reference %d and %d", q.Name(), q.ActiveMembers(k), q.RunnableJobs(k), k, len(users), jobs)
			}
		}
	}
	return nil
}

func compareJob(now time.Duration, v *View, id JobID, want *dumbJob, racks, perRack int, sum *tally) error {
	j := v.Job(id)
	if j == nil || j.Phase() != want.phase {
		return fmt.Errorf("%v: phase differs: %v, reference %v", id, j, want.phase)
	}
	shares := make([]RackShare, racks)
	for k := range Kind(NumKinds) {
		if err := compareTasks(now, v, j, k, want, shares, sum); err != nil {
			return err
		}
	}
	out := int64(0)
	for r, share := range shares {
		out += share.MapOutput
		if got := j.InRack(topology.RackID(r)); got != share {
			return fmt.Errorf("%v in rack %d: %+v, reference %+v", id, r, got, share)
		}
	}
	if _, got := j.MapBytes(); got != out {
		return fmt.Errorf("%v: map output %d, reference %d", id, got, out)
	}
	if _, all := j.MapsDoneAt(); all != (want.phase == Ready && j.Done(Map) == j.Total(Map)) {
		return fmt.Errorf("%v: maps done %v with %d of %d", id, all, j.Done(Map), j.Total(Map))
	}
	return comparePlaces(v, j, want, racks, perRack)
}

func compareTasks(now time.Duration, v *View, j *Job, k Kind, want *dumbJob, shares []RackShare, sum *tally) error {
	var counts [3]int32
	var elapsed time.Duration
	for i := range want.tasks[k] {
		t := &want.tasks[k][i]
		counts[t.state()]++
		if j.TaskState(k, int32(i)) != t.state() {
			return fmt.Errorf("%v %v %d is %v, reference %v", j.ID(), k, i, j.TaskState(k, int32(i)), t.state())
		}
		if t.done {
			share := &shares[v.RackOf(t.doneOn)]
			share.Done[k]++
			if k == Map {
				share.MapOutput += 5
			}
		}
		for _, n := range append(slices.Clone(t.attempts), t.zombies...) {
			r := v.RackOf(n)
			if sum.racks[r] == nil {
				sum.racks[r] = &Usage{}
			}
			sum.used.add(k, j.Demand(k))
			sum.racks[r].add(k, j.Demand(k))
			sum.running[n]++
			shares[r].Running[k]++
			elapsed += now - t.starts[n]
		}
	}
	if got := [3]int32{j.Pending(k), j.Running(k), j.Done(k)}; got != counts {
		return fmt.Errorf("%v %v: pending, running, done %v, reference %v", j.ID(), k, got, counts)
	}
	if got := j.Elapsed(now, k); got != elapsed {
		return fmt.Errorf("%v %v: running for %v, reference %v", j.ID(), k, got, elapsed)
	}
	if k == Map {
		sum.perUser[j.User().Name()] += int64(counts[TaskPending])
	}
	return nil
}

// comparePlaces checks what is pending at each node and rack.
func comparePlaces(v *View, j *Job, want *dumbJob, racks, perRack int) error {
	at := func(near func(topology.NodeID) bool) []int32 {
		var out []int32
		for i := range want.tasks[Map] {
			if want.tasks[Map][i].state() == TaskPending && slices.ContainsFunc(want.spec.Splits.Of(int32(i)), near) {
				out = append(out, int32(i))
			}
		}
		return out
	}
	known := func(n topology.NodeID) bool { return n >= 0 && int(n) < racks*perRack }
	for n := range topology.NodeID(racks * perRack) {
		ref := at(func(r topology.NodeID) bool { return r == n })
		if got := slices.Collect(v.PendingMapsOn(j, n)); !slices.Equal(got, ref) || int(v.LocalOn(j, n)) != len(ref) {
			return fmt.Errorf("%v on node %d: %v (%d), reference %v", j.ID(), n, got, v.LocalOn(j, n), ref)
		}
		if v.HasLocal(j, n) != (len(ref) > 0) {
			return fmt.Errorf("%v has local maps on node %d: %v, reference %v", j.ID(), n, v.HasLocal(j, n), ref)
		}
		if first, ok := v.PendingMapOn(j, n); ok != (len(ref) > 0) || ok && first != ref[0] {
			return fmt.Errorf("%v on node %d: first %d, reference %v", j.ID(), n, first, ref)
		}
	}
	for r := range topology.RackID(racks) {
		ref := at(func(n topology.NodeID) bool { return known(n) && int(n)/perRack == int(r) })
		if got := slices.Collect(v.PendingMapsIn(j, r)); !slices.Equal(got, ref) || int(v.LocalIn(j, r)) != len(ref) {
			return fmt.Errorf("%v in rack %d: %v (%d), reference %v", j.ID(), r, got, v.LocalIn(j, r), ref)
		}
	}
	all := at(func(topology.NodeID) bool { return true })
	if first, ok := v.AnyPendingMap(j); ok && len(all) > 0 && first > all[0] {
		return fmt.Errorf("%v: first pending map %d, reference %d", j.ID(), first, all[0])
	}
	return nil
}
