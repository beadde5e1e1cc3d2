package tracker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// tell sends a report of a worker beside what it runs, and returns the answer.
func (s *scene) tell(h *hand, change func(r *wire.Report)) wire.Answer {
	s.t.Helper()
	h.seq++
	r := &wire.Report{
		Node: h.name, Rack: h.rack, Session: h.addr(), Seq: h.seq, Addr: h.addr(), Idle: -1, Capacity: wire.Capacity{Containers: h.room},
	}
	for id := range h.running {
		r.Running = append(r.Running, wire.Progress{ID: id})
	}
	change(r)
	a, err := s.c.Report(s.now, r, 1<<62)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// TestReportsOfWhatIsNone: a worker that speaks of tasks, stages and jobs that are none is told to stop what it runs of them and that
// their ends are noted. The job stays as it is, and the master lives.
func TestReportsOfWhatIsNone(t *testing.T) {
	s := newScene(t, 2, 4)
	s.finish(s.n1, 2)
	s.say(s.n1) // hears of its reduces
	var reduce wire.AttemptID
	for id := range s.n1.running {
		reduce = id
	}
	if reduce.Kind != wire.ReduceTask {
		t.Fatalf("n1 runs %v", s.n1.running)
	}
	want := fmt.Sprintf("%+v", s.status())
	same := func(what string, id wire.AttemptID) {
		t.Helper()
		if got := fmt.Sprintf("%+v", s.status()); got != want {
			t.Errorf("%s %v: the job was\n%s\nand is\n%s", what, id, want, got)
			want = got
		}
	}
	for _, id := range []wire.AttemptID{
		{Job: s.job, Kind: wire.MapTask, Index: -1},
		{Job: s.job, Kind: wire.MapTask, Index: 2},
		{Job: s.job, Kind: wire.MapTask, Index: 1 << 30},
		{Job: s.job, Kind: wire.ReduceTask, Index: -1},
		{Job: s.job, Kind: wire.ReduceTask, Index: 2},
		{Job: s.job, Kind: wire.ReduceTask, Index: 1 << 30},
		{Job: s.job, Kind: wire.MapTask, Stage: -1},
		{Job: s.job, Kind: wire.MapTask, Stage: 1},
		{Job: s.job, Kind: wire.DriverTask, Stage: 1},
		{Job: s.job, Kind: wire.DriverTask, Index: 3},
		{Job: s.job, Kind: "cook"},
		{Job: "job-99", Kind: wire.MapTask},
		{Kind: wire.ReduceTask},
	} {
		id.Try = 77
		a := s.tell(s.n1, func(r *wire.Report) { r.Running = append(r.Running, wire.Progress{ID: id, Done: 0.5}) })
		if !slices.ContainsFunc(a.Kill, func(k wire.Kill) bool { return k.ID == id && k.Why != "" }) || len(a.Kill) != 1 {
			t.Errorf("%v runs, and to be stopped are %v", id, a.Kill)
		}
		same("runs", id)
		for _, e := range []wire.Ended{{ID: id, OK: true, Counts: wire.Counts{"g": {"n": 1}}}, {ID: id, Error: "no"}, {ID: id, Lost: true, Error: "no disk"}} {
			if id.Kind == "cook" && !e.OK {
				continue
			}
			a := s.tell(s.n1, func(r *wire.Report) { r.Ended = []wire.Ended{e} })
			if !slices.Contains(a.Ended, id) || len(a.Kill) != 0 {
				t.Errorf("%+v has ended, and noted are %v, to be stopped %v", e, a.Ended, a.Kill)
			}
			same("has ended", id)
		}
		for _, unreached := range []bool{false, true} {
			bad := wire.BadFetch{Map: id, By: reduce, Why: "damaged", Unreached: unreached}
			s.tell(s.n1, func(r *wire.Report) { r.BadFetch = []wire.BadFetch{bad} })
			s.c.complaint(s.now, bad)
			same("cannot be fetched", id)
		}
		if id.Index >= 0 {
			held := append(slices.Clone(s.n1.held), id)
			s.tell(s.n1, func(r *wire.Report) { r.Full, r.Held = true, wire.PackHeld(held) })
			same("is held", id)
		}
	}
	a := s.tell(s.n1, func(r *wire.Report) {
		r.Full, r.Held = true, []wire.HeldOutputs{{StageRef: wire.StageRef{Job: s.job}, Packed: []byte{0xff}}}
	})
	if same("no list", wire.AttemptID{}); !a.Full {
		t.Error("a list that is not understood is not asked for again")
	}
}

// TestRecordsOfWhatIsNone: records of tasks that no stage has, as a damaged journal may hold them, change nothing.
func TestRecordsOfWhatIsNone(t *testing.T) {
	s := newScene(t, 2, 4)
	s.finish(s.n1, 1)
	records := s.c.Snapshot(s.now)
	state := func(c *Tracker) string {
		got, err := c.Status(s.job)
		return fmt.Sprintf("%+v, %v, %d records", got, err, len(c.Snapshot(s.now)))
	}
	want := state(restarted(t, records))
	done := s.n1.held[0]
	for _, r := range []Record{
		{Kind: TaskDone, Task: &TaskRecord{Kind: wire.MapTask, Index: 2, Try: 5, Node: "n1", Rack: "r1"}},
		{Kind: TaskDone, Task: &TaskRecord{Kind: wire.ReduceTask, Index: 2, Try: 5, Node: "n1", Rack: "r1"}},
		{Kind: TaskDone, Task: &TaskRecord{Kind: wire.DriverTask, Try: 5, Node: "n1", Rack: "r1"}},
		{Kind: TaskDone, Task: &TaskRecord{Kind: wire.MapTask, Index: done.Index, Try: 5, Node: "n0", Rack: "r0"}}, // another did it before
		{Kind: TaskLost, Task: &TaskRecord{Kind: wire.MapTask, Index: 2, Try: done.Try}},
		{Kind: TaskLost, Task: &TaskRecord{Kind: wire.ReduceTask, Index: 2}},
		{Kind: TaskLost, Task: &TaskRecord{Kind: wire.DriverTask}},
		{Kind: TaskLost, Task: &TaskRecord{Kind: wire.MapTask, Index: done.Index, Try: done.Try + 1}},
		{Kind: JobEnded, Job: "job-99", State: Failed},
		{Kind: TaskDone, Job: "job-99", Task: &TaskRecord{Kind: wire.MapTask, Node: "n1", Rack: "r1"}},
	} {
		if r.Job == "" {
			r.Job = s.job
		}
		if got := state(restarted(t, append(slices.Clone(records), r))); got != want {
			t.Errorf("%s %+v: was\n%s\nis\n%s", r.Kind, r.Task, want, got)
		}
	}
}
