package compare

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// A simulated cluster with drivers stands for a real one: its history, replayed under the policy that ran, gives its own times
// again, and under another the times that the jobs themselves have under it.
func TestWhatIf(t *testing.T) {
	at := trace.Origin{Source: "cluster", Policy: "fifo", Nodes: 5, Racks: 2, Room: 13}
	topo, room, err := OriginCluster(at)
	if err != nil {
		t.Fatal(err)
	}
	work := sim.DefaultWorkload(topo, at.Room)
	work.Scale = 0.01
	run := func(policy string, jobs []*sim.Job) (*sim.Result, *Watcher) {
		p, err := policies.Policy(policy, nil)
		if err != nil {
			t.Fatal(err)
		}
		half, err := policies.Admission("marp", map[string]string{"marp": "0.5"})
		if err != nil {
			t.Fatal(err)
		}
		cfg := sim.Config{
			Topology: topo, Capacities: room, Policy: p, Admission: half, State: scheduler.DefaultConfig(), Model: sim.NewFixed(),
			DriverStart: 300 * time.Millisecond, Reports: sim.Reports{AskAgain: 100 * time.Millisecond}, BreakDeadlocks: true,
		}
		w := WatchKinds()
		w.Attach(&cfg)
		res, err := sim.Run(cfg, jobs)
		if err != nil {
			t.Fatal(err)
		}
		return res, w
	}
	fresh := func() []*sim.Job {
		traced := trace.FB2010.Generate(60, rand.New(rand.NewPCG(5, 1)))
		for i := range traced {
			traced[i].Submit /= 60 // so that jobs get into each other's way
		}
		jobs := sim.FromTrace(traced, work, rand.New(rand.NewPCG(5, 2)))
		for _, j := range jobs {
			j.Spec.HasDriver = true
		}
		return jobs
	}
	fifo, w := run("fifo", fresh())
	h := History(at, topo, fifo, w)
	h.Jobs = append(h.Jobs, trace.PastJob{ID: "broken", State: trace.JobFailed, Maps: 3, End: time.Second}, trace.PastJob{ID: "partly", State: trace.JobDone, Maps: 1, End: time.Second})
	past, err := NewPast(h, work, 7)
	if err != nil {
		t.Fatal(err)
	}
	if past.LeftOut != 2 || len(past.Real.Jobs) != 60 {
		t.Errorf("%d jobs and %d left out, want 60 and 2", len(past.Real.Jobs), past.LeftOut)
	}
	near(t, "start of a driver", past.DriverStart.Seconds(), 0.3, 0.001)
	again, _ := run("fifo", past.Workload())
	if m := past.Miss(again); math.Abs(m.Completion) > 0.02 || math.Abs(m.Makespan) > 0.02 || m.Typical > 0.02 {
		t.Errorf("the replay is off by %+v", m)
	}
	fair, _ := run("fair", fresh())
	replayed, _ := run("fair", past.Workload())
	was, is := meanCompletion(fair), meanCompletion(replayed)
	near(t, "mean completion under fair", is, was, 0.03*was)
	if before := meanCompletion(fifo); math.Abs(before-was) < 0.1*before {
		t.Errorf("fifo has %.2f s and fair %.2f: the test does not tell them apart", before, was)
	}
}

func meanCompletion(r *sim.Result) (sum float64) {
	for i := range r.Jobs {
		sum += r.Jobs[i].Completion().Seconds() / float64(len(r.Jobs))
	}
	return sum
}

// Maps of which the history does not say how near their data was have no data to be near to.
func TestReplayWithoutLocality(t *testing.T) {
	h := readHistory(t, `{"millrace_history":1,"origin":{"source":"cluster","nodes":2,"racks":1,"room":4}}
{"job":{"id":"a","submit_ns":0,"start_ns":1,"end_ns":9,"state":"done","maps":1}}
{"job":{"id":"b","submit_ns":0,"start_ns":1,"end_ns":9,"state":"done","maps":1}}
{"attempt":{"job":"a","kind":"map","index":0,"node":"w1","start_ns":1,"end_ns":8}}
{"attempt":{"job":"b","kind":"map","index":0,"node":"w1","start_ns":1,"end_ns":9,"locality":"rack"}}
`)
	topo, _, err := OriginCluster(h.Origin)
	if err != nil {
		t.Fatal(err)
	}
	past, err := NewPast(h, sim.DefaultWorkload(topo, 4), 1)
	if err != nil {
		t.Fatal(err)
	}
	jobs := past.Workload()
	if a, b := jobs[0].Spec.Splits.Len(), jobs[1].Spec.Splits.Len(); a != 0 || b != 1 {
		t.Errorf("%d and %d splits, want none and 1", a, b)
	}
	if got := past.Real.Jobs[1].Local; got != [3]int{0, 1, 0} {
		t.Errorf("localities %v", got)
	}
}

func readHistory(t *testing.T, text string) *trace.History {
	t.Helper()
	h, err := trace.ReadHistory(bytes.NewReader([]byte(text)), "test")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestOriginCluster(t *testing.T) {
	for _, bad := range []trace.Origin{{}, {Nodes: 2, Racks: 3, Room: 9}, {Nodes: 4, Racks: 1, Room: 3}, {Nodes: -1, Racks: 1, Room: 1}} {
		if _, _, err := OriginCluster(bad); err == nil || !strings.Contains(err.Error(), "how large") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	topo, room, err := OriginCluster(trace.Origin{Nodes: 7, Racks: 3, Room: 17})
	if err != nil {
		t.Fatal(err)
	}
	sum, least, most := int32(0), room[0].Containers, room[0].Containers
	for _, c := range room {
		sum, least, most = sum+c.Containers, min(least, c.Containers), max(most, c.Containers)
	}
	if sum != 17 || most-least > 1 || topo.NumRacks() != 3 || topo.RackSize(0) != 3 || topo.RackSize(2) != 2 {
		t.Errorf("room %v, racks of %d, %d, %d", room, topo.RackSize(0), topo.RackSize(1), topo.RackSize(2))
	}
	if _, err := NewPast(&trace.History{Jobs: []trace.PastJob{{ID: "a", State: trace.JobFailed}}}, sim.DefaultWorkload(topo, 17), 1); err == nil {
		t.Error("a history without a job that ended well is replayed")
	}
}

// TestWhatIsReplayed: of a history those jobs are run again that ended well and have a good attempt of every task.
func TestWhatIsReplayed(t *testing.T) {
	for what, x := range map[string]struct {
		change func(j *trace.PastJob, list []trace.PastAttempt)
		kept   bool
	}{
		"it ended well":         {func(*trace.PastJob, []trace.PastAttempt) {}, true},
		"it failed":             {func(j *trace.PastJob, _ []trace.PastAttempt) { j.State = trace.JobFailed }, false},
		"it ended at no time":   {func(j *trace.PastJob, _ []trace.PastAttempt) { j.End = 0 }, false},
		"it ended at once":      {func(j *trace.PastJob, _ []trace.PastAttempt) { j.End = 1 }, true},
		"it has no maps":        {func(j *trace.PastJob, list []trace.PastAttempt) { j.Maps, j.Reduces, list[0].Kind = 0, 3, "reduce" }, false},
		"a task has none":       {func(_ *trace.PastJob, list []trace.PastAttempt) { list[1].Lost = true }, false},
		"a task has two":        {func(_ *trace.PastJob, list []trace.PastAttempt) { list[1] = list[0] }, false},
		"a task had one before": {func(_ *trace.PastJob, list []trace.PastAttempt) { list[2].Lost = true }, true},
	} {
		j := trace.PastJob{ID: "a", State: trace.JobDone, Maps: 1, Reduces: 1, End: time.Second}
		list := []trace.PastAttempt{{Job: "a", Kind: "map"}, {Job: "a", Kind: "reduce", Index: 1}, {Job: "a", Kind: "map"}, {Job: "b", Kind: "map"}}
		x.change(&j, list)
		jobs, attempts := 0, 0
		if x.kept {
			jobs, attempts = 1, 3
		}
		if got := ended(&trace.History{Jobs: []trace.PastJob{j}, Attempts: list}); len(got.Jobs) != jobs || len(got.Attempts) != attempts {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestOriginWithCircuits: the switch of a history is that of the replay, and a job that recurred is planned there, too.
func TestOriginWithCircuits(t *testing.T) {
	o := trace.Origin{Nodes: 2, Racks: 2, Room: 4, Optical: &trace.Optical{Rate: 1e9, Interval: time.Second, Dark: time.Millisecond, Threshold: 7}}
	for _, rack := range []string{"r1", "r2"} {
		o.Machines = append(o.Machines, trace.Machine{Name: "n-" + rack, Rack: rack, Room: 2})
		o.Links = append(o.Links, trace.Link{Rack: rack, Up: 1e8})
	}
	topo, _, err := OriginCluster(o)
	if err != nil {
		t.Fatal(err)
	}
	if want := (topology.OCS{Rate: 1e9, Interval: time.Second, Reconfig: time.Millisecond, Threshold: 7}); topo.OCS() != want {
		t.Errorf("the switch is %+v", topo.OCS())
	}
	h := &trace.History{Origin: o, Jobs: []trace.PastJob{{ID: "a", Recurring: true, InputBytes: 1}, {ID: "b", InputBytes: 1}}}
	jobs := Replay(h, sim.DefaultWorkload(topo, 4), rand.New(rand.NewPCG(1, 1)))
	if !jobs[0].Spec.Recurring || jobs[1].Spec.Recurring {
		t.Error("which jobs recur is not kept")
	}
}
