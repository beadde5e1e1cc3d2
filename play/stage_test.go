package play_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/play"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/topology"
)

// A stage is a recorder of a cluster, whose story a test tells, a second for each part.
type stage struct {
	t    *testing.T
	tape *play.Recorder
	loop *drive.Loop
	now  time.Duration
	deaf bool // nothing is recorded
}

func newStage(t *testing.T, topo *topology.Topology, policy string) *stage {
	t.Helper()
	state, err := scheduler.NewState(topo, scheduler.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	assign, err := policies.Policy(policy, policies.UsualParams(policy, nil))
	if err != nil {
		t.Fatal(err)
	}
	admit, err := policies.Admission("capacity-init", map[string]string{"max-tasks-per-user": "*=50", "poll": "1s"})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, tape: play.NewRecorder(policy, "capacity-init")}
	s.loop = drive.New(scheduler.NewEngine(state, assign, admit), drive.Config{Log: func(l *drive.Line) {
		if !s.deaf {
			s.tape.Hear(s.loop, l)
		}
	}})
	s.tick() // capacity-init begins its first interval
	return s
}

// tick is a round without nodes.
func (s *stage) tick() {
	s.t.Helper()
	if err := s.loop.Round(s.now, drive.Round{Parts: drive.Tick | drive.Admit}, func(drive.Step) {}); err != nil {
		s.t.Fatal(err)
	}
}

// feed tells of events that happen at once.
func (s *stage) feed(events ...scheduler.Event) {
	s.t.Helper()
	for _, e := range events {
		if err := s.loop.Feed(s.now, e); err != nil {
			s.t.Fatal(err)
		}
	}
	s.now += time.Second
}

// offer offers the room of nodes, and returns what starts there.
func (s *stage) offer(nodes ...topology.NodeID) (started []scheduler.TaskID) {
	s.t.Helper()
	err := s.loop.Round(s.now, drive.Round{Parts: drive.All, Nodes: nodes}, func(step drive.Step) {
		if step.Do == drive.Launch {
			started = append(started, step.Task)
		}
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return started
}

// TestAway: a map that reads from another rack has read its input there, and a reduce that part of its own which maps of other racks have made:
// of what it says, or else of its share. A rack that came after the maps has made nothing.
func TestAway(t *testing.T) {
	b := topology.NewBuilder()
	s := newStage(t, b.Topology(), "fifo")
	join := func(rack, name string) topology.NodeID {
		t.Helper()
		r, known := b.Topology().RackByName(rack)
		if !known {
			var err error
			if r, err = b.AddRack(topology.Rack{Name: rack}); err != nil {
				t.Fatal(err)
			}
		}
		n, err := b.AddNode(topology.Node{Name: name, Rack: r, NIC: topology.Gbps(1)})
		if err != nil {
			t.Fatal(err)
		}
		s.feed(scheduler.NodeUp(n, scheduler.Capacity{Containers: 1}))
		return n
	}
	runs := func(n topology.NodeID, kind scheduler.Kind, in, out int64) {
		t.Helper()
		started := s.offer(n)
		if len(started) != 1 || started[0].Kind != kind {
			t.Fatalf("%v start on node %d, want a %v", started, n, kind)
		}
		s.feed(scheduler.TaskFinished(started[0], n, time.Second, in, out))
	}
	first, second := join("r0", "n0"), join("r0", "n1")
	spec := &scheduler.JobSpec{ID: 1, Maps: 4, Reduces: 4, Slowstart: 1}
	for range spec.Maps {
		spec.Splits.Add(1<<20, first)
	}
	s.feed(scheduler.JobSubmitted(spec))
	runs(first, scheduler.Map, 50, 300)
	runs(second, scheduler.Map, 60, 200)
	third := join("r1", "n2")
	runs(third, scheduler.Map, 70, 500)
	runs(first, scheduler.Map, 50, 0)
	fourth := join("r2", "n3")
	runs(first, scheduler.Reduce, 100, 9)
	runs(third, scheduler.Reduce, 100, 9)
	runs(fourth, scheduler.Reduce, 100, 9)
	runs(third, scheduler.Reduce, 0, 9)
	rec := s.tape.Recording()
	if d := cmp.Diff([]int64{0, 0, 70, 0, 50, 50, 100, 125}, rec.Attempts.Away); d != "" {
		t.Errorf("%s of nodes %v", d, rec.Attempts.Node)
	}
	if d := cmp.Diff([]play.Node{{Name: "n0", Places: 1}, {Name: "n1", Places: 1}, {Name: "n2", Rack: 1, Places: 1}, {Name: "n3", Rack: 2, Places: 1}}, rec.Nodes); d != "" {
		t.Error(d)
	}
}

// TestEnds: an attempt may be done, fail, be stopped by the policy, which has a mark with the reason, or run on. A job that is refused ends
// then; one whose driver plans it has the tasks that were found.
func TestEnds(t *testing.T) {
	topo, err := topology.Uniform(1, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, topo, "fair")
	task := func(j scheduler.JobID, k scheduler.Kind, i int32) scheduler.TaskID {
		return scheduler.TaskID{Job: j, Kind: k, Index: i}
	}
	s.feed(scheduler.NodeUp(0, scheduler.Capacity{Containers: 5}))
	s.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 7, Name: "large", HasDriver: true, Maps: 1, Slowstart: -1}))
	s.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 8, Name: "huge", Maps: 51}))
	s.offer(0)
	s.feed(scheduler.JobReady(7, &scheduler.JobSpec{ID: 7, Name: "large", HasDriver: true, Maps: 3, Reduces: 3, Slowstart: -1}))
	s.offer(0)
	s.feed(scheduler.TaskFinished(task(7, scheduler.Map, 0), 0, time.Second, 0, 1), scheduler.TaskFinished(task(7, scheduler.Map, 1), 0, time.Second, 0, 1))
	s.offer(0)
	s.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 9, Name: "small", Maps: 1}))
	for range 3 {
		s.offer(0)
		s.now += time.Second
	}
	s.feed(scheduler.TaskFailed(task(9, scheduler.Map, 0), 0))
	rec := s.tape.Recording()
	jobs := []play.Job{
		{Name: "large", Maps: 3, Reduces: 3, Submit: 1000, Admit: 3000, End: -1},
		{Name: "huge", Maps: 51, Submit: 2000, Admit: -1, End: 3000, Took: 1000, Failed: true},
		{Name: "small", Maps: 1, Submit: 5000, Admit: 6000, End: -1},
	}
	marks := []play.Mark{
		{At: 3000, What: "reject", Text: "huge is refused: a user of queue default may have 50 initialised tasks, and it alone has 51"},
		{At: 7000, What: "stop", Text: "reduce 2 of large: a reduce of large that waits for maps gives its container to a map of small"},
	}
	attempts := play.Attempts{
		Job: []int32{0, 0, 0, 0, 0, 0, 0, 2}, Kind: []uint8{2, 0, 0, 0, 1, 1, 1, 0}, Task: []int32{0, 0, 1, 2, 0, 1, 2, 0}, Node: make([]int32, 8), Place: []int32{0, 1, 2, 3, 4, 1, 2, 2},
		Start: []int64{3000, 1000, 0, 0, 0, 1000, 0, 2000}, Took: []int64{6000, 0, 0, 5000, 5000, 4000, 2000, 2000}, Near: slices.Repeat([]uint8{uint8(scheduler.Anywhere)}, 8),
		How: []uint8{play.Running, play.Done, play.Done, play.Running, play.Running, play.Running, play.Stopped, play.Failed}, Away: make([]int64, 8),
	}
	did := map[drive.Do]int{}
	for _, do := range rec.Decisions.Do {
		did[drive.Do(do)]++
	}
	if did[drive.Launch] != len(attempts.Job) || did[drive.Stop] != 1 || did[drive.Reject] != 1 || len(rec.Decisions.Do) != len(rec.Decisions.At) {
		t.Errorf("decided: %v", did)
	}
	decisions := []int32{-1, -1, 0, 1, 2, 3, 4, 5, 6, -1, 6, 7} // the attempts that they are about
	if d := cmp.Diff(jobs, rec.Jobs) + cmp.Diff(marks, rec.Marks) + cmp.Diff(attempts, rec.Attempts) + cmp.Diff(decisions, rec.Decisions.Attempt); d != "" {
		t.Error(d)
	}
}

// TestAdmission: a job is admitted when the admission policy says so, also the first one, and before anything of it runs.
func TestAdmission(t *testing.T) {
	topo, err := topology.Uniform(1, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, topo, "fifo")
	s.feed(scheduler.NodeUp(0, scheduler.Capacity{Containers: 2}))
	for id := range scheduler.JobID(3) {
		s.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: id, HasDriver: true, Maps: 1 + 50*(int32(id)/2)}))
	}
	s.tick()
	s.now += 2 * time.Second
	if started := s.offer(0); len(started) != 1 {
		t.Fatalf("%v start", started)
	}
	s.now += time.Second
	s.feed(scheduler.JobVanished(0))
	rec := s.tape.Recording()
	for i, want := range []play.Job{{Name: "j0", Maps: 1, Submit: 1000, Admit: 4000, End: 7000, Took: 6000, Failed: true}, {Name: "j1", Maps: 1, Submit: 2000, Admit: 4000, End: -1}, {Name: "j2", Maps: 51, Submit: 3000, Admit: -1, End: 4000, Took: 1000, Failed: true}} {
		if d := cmp.Diff(want, rec.Jobs[i], cmpopts.IgnoreFields(play.Job{}, "Name")); d != "" {
			t.Errorf("job %d: %s", i, d)
		}
	}
}

// TestLateListener: a recorder that hears the end of a story has what came since: of older attempts and jobs it has nothing, and of a machine its room.
func TestLateListener(t *testing.T) {
	topo, err := topology.Uniform(1, 2, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, topo, "fifo")
	s.deaf = true
	s.feed(scheduler.NodeUp(0, scheduler.Capacity{Containers: 2}), scheduler.NodeUp(1, scheduler.Capacity{MapSlots: 2, ReduceSlots: 1}))
	s.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 0, Name: "old", Maps: 2}))
	old := s.offer(0)
	s.deaf = false
	s.feed(scheduler.TaskFinished(old[0], 0, time.Second, 1, 1), scheduler.TaskKilled(old[1], 0))
	s.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Name: "new", Maps: 9}))
	late := s.offer(1, 0)
	s.feed(scheduler.TaskFinished(late[1], 1, time.Second, 1, 1))
	s.feed(scheduler.JobVanished(0))
	s.feed(scheduler.JobFinished(1))
	rec := s.tape.Recording()
	nodes := []play.Node{{Name: "n0", Places: 2}, {Name: "n1", Places: 3}}
	jobs := []play.Job{{Name: "new", Maps: 9, Submit: 3000, Admit: 4000, End: 6000, Took: 3000}}
	if d := cmp.Diff(nodes, rec.Nodes) + cmp.Diff(jobs, rec.Jobs) + cmp.Diff([]play.Mark{}, rec.Marks) + cmp.Diff([]int32{0, 0, 0}, rec.Attempts.Job); d != "" {
		t.Error(d, rec.Attempts)
	}
}
