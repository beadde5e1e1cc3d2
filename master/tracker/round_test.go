package tracker

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/fifo"
	"github.com/millrace/millrace/topology"
)

// killer is fifo with victims.
type killer struct {
	*fifo.Policy
	doomed []scheduler.Victim
	beats  []time.Duration // when a heartbeat of node 0 was observed
	asked  int             // Assign calls
}

func (k *killer) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	if e.Kind == scheduler.EvHeartbeat && e.Node == 0 {
		k.beats = append(k.beats, now)
	}
	k.Policy.Observe(now, e, v)
}

func (k *killer) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	k.asked++
	return k.Policy.Assign(now, n, v)
}

func (k *killer) Kill(time.Duration, *scheduler.View) (v scheduler.Victim, ok bool) {
	if len(k.doomed) == 0 {
		return v, false
	}
	v, k.doomed = k.doomed[0], k.doomed[1:]
	return v, true
}

// TestForgottenReduce: a policy that wants a finished reduce run again gets that, and the map of the same index stays
// done; what was journalled says the same.
func TestForgottenReduce(t *testing.T) {
	s := newScene(t, 2, 2)
	p := &killer{Policy: fifo.New(scheduler.DefaultReduceRule())}
	s.c.SetPolicy(s.now, p)
	s.finish(s.n1, 2)
	s.say(s.n1) // it hears of the reduces
	var first wire.AttemptID
	for id := range s.n1.running {
		if id.Kind == wire.ReduceTask && id.Index == 1 {
			first = id
		}
	}
	s.say(s.n1, wire.Ended{ID: first, OK: true, Millis: 5})
	want := func(what string, maps, reduces int) {
		t.Helper()
		st, err := s.c.Status(s.job)
		if err != nil || st.Maps.Done != maps || st.Reduces.Done != reduces {
			t.Fatalf("%s: %d maps and %d reduces are done, %v", what, st.Maps.Done, st.Reduces.Done, err)
		}
	}
	want("at first", 2, 1)
	sid := s.c.jobs[s.job].current().sid
	p.doomed = []scheduler.Victim{{Task: scheduler.TaskID{Job: sid, Kind: scheduler.Reduce, Index: 1}, Node: topology.NoNode}}
	s.c.Tick(s.now)
	want("forgotten", 2, 0)
	s.say(s.n1)
	again := 0
	for id := range s.n1.running {
		if id.Kind == wire.ReduceTask && id.Index == 1 && id.Try != first.Try {
			again++
		}
	}
	if again != 1 {
		t.Errorf("the reduce runs again %d times: %v", again, s.n1.running)
	}
	records := s.c.Take().Records
	if r := records[len(records)-1]; r.Kind != TaskLost || r.Task.Kind != wire.ReduceTask || r.Task.Index != 1 {
		t.Errorf("the last record is %+v %+v", r, r.Task)
	}
}

// TestHeartbeatsFollowReports: a worker's heartbeats come at the configured interval, not with each offer and not with
// each report, however many there are; and not later because of those between.
func TestHeartbeatsFollowReports(t *testing.T) {
	s := newScene(t, 2, 1) // a map runs and one waits, so that there is something to offer
	p := &killer{Policy: fifo.New(scheduler.DefaultReduceRule())}
	s.c.SetPolicy(s.now, p)
	begin := s.now
	for s.now < begin+10*time.Second {
		s.say(s.n0)
		s.say(s.n1)
		s.now += 30 * time.Millisecond
		s.c.Tick(s.now)
	}
	if n := len(p.beats); n < 9 || n > 11 || p.asked < 100 {
		t.Errorf("%d heartbeats in 10 s of reports every 50 ms, %d offers; the interval is a second", n, p.asked)
	}
}

// TestEndsOfMapsAskNobodyElse: while reduces wait for room, the end of a map offers its own node. All nodes are offered when the first
// reduces may start, and at the last map.
func TestEndsOfMapsAskNobodyElse(t *testing.T) {
	const maps = 12
	s := &scene{t: t, c: newCore(t), n0: &hand{name: "n0", rack: "r0", room: 1}, n1: &hand{name: "n1", rack: "r1", room: 1}}
	s.c.Resume(0)
	for _, h := range []*hand{s.n0, s.n1} {
		h.restart()
		s.say(h)
	}
	id, err := s.c.Submit(s.now, wire.JobSpec{Name: "j", User: "ann", Stages: 1, Slowstart: 0.01, Program: wire.Program{Builtin: "sleep"}})
	if err != nil {
		t.Fatal(err)
	}
	s.job = id
	s.say(s.n0)
	if _, err := s.c.Plan(s.now, runningDriver(s.c, id), &wire.StagePlan{Splits: splitsOf(maps), Reducers: 100}); err != nil {
		t.Fatal(err)
	}
	s.say(s.n1)
	for n := range maps {
		from := s.c.log.before + uint64(len(s.c.log.lines))
		s.finish(s.n1, 1)
		all := 0
		for _, l := range s.c.Lines(from).Lines {
			if l.Kind == drive.LineRound && l.Round.Parts == drive.Offer && l.Round.Nodes == nil {
				all++
			}
		}
		if want := n == 0 || n == maps-1; all > 0 != want {
			t.Errorf("at the end of map %d all nodes were offered %d times", n+1, all)
		}
	}
}
