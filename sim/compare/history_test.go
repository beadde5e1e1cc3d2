package compare

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// A run that is written as a history, read and replayed under the same policy ends every
// job when it ended before.
func TestHistoryReplays(t *testing.T) {
	topo, err := topology.Uniform(2, 4, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	work := sim.DefaultWorkload(topo, 16)
	work.Scale = 0.001
	jobs := sim.FromTrace(trace.FB2010.Generate(60, rand.New(rand.NewPCG(5, 1))), work, rand.New(rand.NewPCG(5, 2)))
	run := func(jobs []*sim.Job) (*sim.Result, *Watcher) {
		p, err := policies.Policy("fifo", nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg := sim.Config{Topology: topo, Capacity: scheduler.Capacity{Containers: 2}, Policy: p, State: scheduler.DefaultConfig(), Model: sim.NewFixed()}
		w := WatchKinds()
		w.Attach(&cfg)
		res, err := sim.Run(cfg, jobs)
		if err != nil {
			t.Fatal(err)
		}
		return res, w
	}
	res, w := run(jobs)
	var file bytes.Buffer
	if err := trace.WriteHistory(&file, History(trace.Origin{Source: "sim", Policy: "fifo"}, topo, res, w)); err != nil {
		t.Fatal(err)
	}
	h, err := trace.ReadHistory(&file, "run")
	if err != nil {
		t.Fatal(err)
	}
	again, _ := run(Replay(h, work, rand.New(rand.NewPCG(5, 3))))
	if len(again.Jobs) != len(res.Jobs) {
		t.Fatalf("%d jobs came back, want %d", len(again.Jobs), len(res.Jobs))
	}
	var before, after time.Duration
	for i := range res.Jobs {
		before += res.Jobs[i].Completion()
		after += again.Jobs[i].Completion()
	}
	// Other replicas may change which map goes first, so a job may end a little
	// earlier or later; the whole does not move.
	near(t, "total completion", after.Seconds(), before.Seconds(), 0.02*before.Seconds())
	near(t, "work", again.Busy[scheduler.Map].Seconds(), res.Busy[scheduler.Map].Seconds(), 1e-6)
}

func TestBeside(t *testing.T) {
	topo, err := topology.Uniform(1, 2, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var runs []Run
	for seed := range uint64(2) {
		w := WatchKinds()
		runs = append(runs, NewRun("fifo <x>", seed, twoJobs(t, w), topo, 2, w))
	}
	table, figures := Beside(runs)
	seeds := Repetitions(runs)
	if seeds != 2 || len(figures) < 7 || table.Rows[0][1] != "22.00 (22.00 to 22.00)" {
		t.Errorf("%d seeds, %d figures, table %v", seeds, len(figures), table.Rows[0])
	}
	if r := runs[0]; r.Events == 0 || r.Events != twoJobs(t, nil).Events+6 { // six maps
		t.Errorf("%d events", r.Events)
	}
	var names []string
	for _, f := range figures {
		names = append(names, f.Name)
		shows := 1
		switch c := f.Chart.(type) {
		case chart.CDF:
			shows = len(c.Samples) * len(c.Samples[0].Values) / 2
		case chart.Scatter:
			shows = len(c.Groups) * (len(c.Groups[0].X) + len(c.Groups[0].Y)) / 4
		case chart.Bars:
			shows = len(c.Bars)
		}
		if shows != 1 {
			t.Errorf("%s does not show one policy with its two jobs: %+v", f.Name, f.Chart)
		}
		if svg := chart.Inline(f.Chart); strings.Contains(svg, "<x>") || strings.Contains(svg, "NaN") {
			t.Errorf("%s: a name became markup, or a number is none", f.Name)
		}
	}
	if want := []string{"mean", "tail", "completion", "slowdown", "scatter", "tasks-fifo--x-", "gantt-fifo--x-"}; !slices.Equal(names, want) {
		t.Errorf("charts %q", names)
	}
}

// A Gantt chart is drawn of clusters that it can show, under a name that files can have.
func TestGanttWhereItFits(t *testing.T) {
	for nodes, want := range map[int]int{60: 2, 61: 1} {
		topo, err := topology.Uniform(1, nodes, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := NewRun("x", 0, &sim.Result{}, topo, 1, WatchKinds()).overTime(); len(got) != want {
			t.Errorf("%d nodes: %d charts over time, want %d", nodes, len(got), want)
		}
	}
	if got := safeName("azAZ09 `{@[/:é"); got != "azAZ09--------" {
		t.Errorf("named %q", got)
	}
}

// Stays on a node that overlap lie beside each other, others behind each other; rows stand by node.
func TestLanes(t *testing.T) {
	rows, at := Lanes([]Stay[string]{{"b", 0, 5}, {"a", 0, 10}, {"a", 3, 8}, {"b", 5, 6}, {"a", 8, 9}})
	if !slices.Equal(rows, []Lane[string]{{"a", 0}, {"a", 1}, {"b", 0}}) || !slices.Equal(at, []int{2, 0, 1, 2, 1}) {
		t.Errorf("rows %v, stays at %v", rows, at)
	}
	if rows, at := Lanes[int](nil); len(rows)+len(at) > 0 {
		t.Errorf("of nothing: %v, %v", rows, at)
	}
}

// TestReplayOfJobsThatMakeTheirInput: what such a job read was not known when it came, and is not in the replay. nas, which takes it for
// what its maps will write, would hold all maps but one of each node back, and the job would take three times as long as it did.
func TestReplayOfJobsThatMakeTheirInput(t *testing.T) {
	topo, err := topology.Uniform(2, 2, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	const wave = 300 * time.Millisecond
	past := func(locality string, recurring bool) *trace.History {
		h := &trace.History{Jobs: []trace.PastJob{{ID: "a", Name: "a", State: trace.JobDone, Maps: 30, Reduces: 2, InputBytes: 240, ShuffleBytes: 2520, Recurring: recurring, End: 4 * wave}}}
		for i := range int32(30) {
			from := time.Duration(i/10) * wave
			h.Attempts = append(h.Attempts, trace.PastAttempt{Job: "a", Kind: "map", Index: i, Node: "n", Start: from, End: from + wave, Locality: locality})
		}
		for i := range int32(2) {
			h.Attempts = append(h.Attempts, trace.PastAttempt{Job: "a", Kind: "reduce", Index: i, Node: "n", Start: wave, End: 4 * wave})
		}
		return h
	}
	work := sim.DefaultWorkload(topo, 12)
	for _, c := range []struct {
		locality         string
		recurring, known bool
	}{{"", false, false}, {"", true, true}, {"node", false, true}} {
		if got := Replay(past(c.locality, c.recurring), work, rand.New(rand.NewPCG(1, 1)))[0].Spec.Input; got.Known != c.known {
			t.Errorf("%+v: input %+v", c, got)
		}
	}
	p, err := policies.Policy("nas", policies.LiveParams("nas", nil))
	if err != nil {
		t.Fatal(err)
	}
	res, err := sim.Run(sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{Containers: 3}, Policy: p, State: scheduler.DefaultConfig(), Model: sim.NewFixed(),
		Reports: sim.Reports{AskAgain: 100 * time.Millisecond},
	}, Replay(past("", false), work, rand.New(rand.NewPCG(1, 1))))
	if err != nil || res.Makespan > 5*wave {
		t.Errorf("the job took %v, %v; it was %v", res.Makespan, err, 4*wave)
	}
}

// A reduce that ended before the job's last map, as the graphs of other systems have them, takes no time after it; none takes less than that.
func TestReplayOfReducesBeforeTheLastMap(t *testing.T) {
	h := &trace.History{
		Jobs: []trace.PastJob{{ID: "a", Maps: 2, Reduces: 1}},
		Attempts: []trace.PastAttempt{
			{Job: "a", Kind: "map", Index: 0, End: 10 * time.Second},
			{Job: "a", Kind: "map", Index: 1, End: 300 * time.Second},
			{Job: "a", Kind: "reduce", Start: 10 * time.Second, End: 50 * time.Second},
		},
	}
	topo, err := topology.Uniform(1, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	jobs := Replay(h, sim.DefaultWorkload(topo, 1), rand.New(rand.NewPCG(1, 2)))
	p, err := policies.Policy("fifo", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := sim.Run(sim.Config{Topology: topo, Capacity: scheduler.Capacity{Containers: 1}, Policy: p, State: scheduler.DefaultConfig(), Model: sim.NewFixed()}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	if res.Makespan != 310*time.Second || jobs[0].Spec.Work != 310*time.Second {
		t.Errorf("maps of 10 s and 300 s one after the other, and a reduce: %v, work %v", res.Makespan, jobs[0].Spec.Work)
	}
}
