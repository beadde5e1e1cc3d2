package nas

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

func drawSpec(t *rapid.T, id scheduler.JobID, nodes int) *scheduler.JobSpec {
	s := &scheduler.JobSpec{ID: id, User: rapid.SampledFrom([]string{"u", "v", "w"}).Draw(t, "user"), Reduces: int32(rapid.IntRange(0, 3).Draw(t, "reduces"))}
	sizes := rapid.SampledFrom([][]int64{{0}, {1}, {64}, {1, 3, 8}, {8, 30, 64, 64}}).Draw(t, "sizes")
	stored := rapid.IntRange(0, 5).Draw(t, "stored") > 0
	for range rapid.IntRange(1, 8).Draw(t, "maps") {
		var replicas []topology.NodeID
		for stored && len(replicas) < 2 {
			replicas = append(replicas, topology.NodeID(rapid.IntRange(0, nodes-1).Draw(t, "replica")))
		}
		s.Splits.Add(rapid.SampledFrom(sizes).Draw(t, "size")*mb, replicas...)
	}
	s.Maps = int32(s.Splits.Len())
	for _, b := range s.Splits.Bytes {
		s.Input = scheduler.Bytes(s.Input.Bytes + b)
	}
	if s.Recurring = rapid.Bool().Draw(t, "recurring"); s.Recurring {
		s.Shuffle = scheduler.Bytes(int64(rapid.IntRange(0, 300).Draw(t, "shuffle")) * mb)
	}
	return s
}

var decided [3]int

// Every decision of a random run is the one the listings give (spec/nas 3.5 to 3.9).
func TestAgainstTheListings(t *testing.T) {
	decided = [3]int{}
	rapid.Check(t, checkRun)
	t.Logf("%d maps, %d reduces, %d refusals compared", decided[0], decided[1], decided[2])
	if decided[0] < 100 || decided[1] < 20 || decided[2] < 100 {
		t.Errorf("too little happened: %v", decided)
	}
}

func checkRun(t *rapid.T) {
	cfg := DefaultConfig()
	cfg.Maps.Skips, cfg.Reduces.Skips, cfg.Look = rapid.IntRange(0, 4).Draw(t, "dm"), rapid.IntRange(0, 4).Draw(t, "dr"), 1000
	cfg.Ripe = rapid.Bool().Draw(t, "ripe first")
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	f := &reference{p: p, t: t, samples: map[scheduler.JobID][]float64{}, where: map[scheduler.TaskID]topology.NodeID{}}
	racks, perRack := rapid.IntRange(1, 3).Draw(t, "racks"), rapid.IntRange(1, 2).Draw(t, "nodes")
	topo, err := topology.Uniform(racks, perRack, topology.Gbps(1), topology.Gbps(1))
	if err != nil {
		t.Fatal(err)
	}
	state, err := scheduler.NewState(topo, scheduler.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{t: t, g: scheduler.NewEngine(state, f, nil), nodes: racks * perRack, racks: racks}
	c := rapid.SampledFrom([]scheduler.Capacity{{Containers: 4}, {MapSlots: 3, ReduceSlots: 2}}).Draw(t, "capacity")
	for n := range topology.NodeID(w.nodes) {
		w.feed(scheduler.NodeUp(n, c))
	}
	for range rapid.IntRange(40, 150).Draw(t, "steps") {
		w.step()
	}
	for k := range decided {
		decided[k] += f.decided[k]
	}
}

// walk drives a random run.
type walk struct {
	t            *rapid.T
	g            *scheduler.Engine
	now          time.Duration
	nodes, racks int
	next         scheduler.JobID
	running      []scheduler.Attempt
	done         []scheduler.TaskID
}

func (w *walk) feed(e scheduler.Event) {
	if err := w.g.Feed(w.now, e); err != nil {
		w.t.Fatal(err)
	}
}

func (w *walk) step() {
	w.now += time.Second
	switch what := rapid.IntRange(0, 9).Draw(w.t, "what"); {
	case what < 2:
		w.feed(scheduler.JobSubmitted(drawSpec(w.t, w.next, w.nodes)))
		w.next++
		if _, err := w.g.Admit(w.now, nil); err != nil {
			w.t.Fatal(err)
		}
	case what < 6:
		n := topology.NodeID(rapid.IntRange(0, w.nodes-1).Draw(w.t, "node"))
		_, err := w.g.Offer(w.now, n, func(d scheduler.Decision) { w.running = append(w.running, scheduler.Attempt{Task: d.Task, Node: n}) })
		if err != nil {
			w.t.Fatal(err)
		}
	case what < 8 && len(w.running) > 0:
		w.end()
	case what == 8 && len(w.done) > 0:
		w.lose()
	default:
		busy := rapid.SampledFrom([]float64{0.1, 0.5, 0.9}).Draw(w.t, "busy")
		w.feed(scheduler.NetSample(topology.RackID(rapid.IntRange(0, w.racks-1).Draw(w.t, "rack")), busy, 0, busy > 0.8))
		w.g.Tick(w.now)
	}
}

func (w *walk) end() {
	i := rapid.IntRange(0, len(w.running)-1).Draw(w.t, "attempt")
	a := w.running[i]
	w.running = slices.Delete(w.running, i, i+1)
	if rapid.IntRange(0, 4).Draw(w.t, "fails") == 0 {
		w.feed(scheduler.TaskFailed(a.Task, a.Node))
		return
	}
	j := w.g.View().Job(a.Task.Job)
	in := int64(0)
	if a.Task.Kind == scheduler.Map {
		in = j.SplitBytes(a.Task.Index)
		w.done = append(w.done, a.Task)
	}
	w.feed(scheduler.TaskFinished(a.Task, a.Node, time.Second, in, in*int64(rapid.IntRange(0, 4).Draw(w.t, "ratio"))/2))
	if j.Complete() {
		w.done = slices.DeleteFunc(w.done, func(t scheduler.TaskID) bool { return t.Job == j.ID() })
		w.feed(scheduler.JobFinished(j.ID()))
	}
}

func (w *walk) lose() {
	i := rapid.IntRange(0, len(w.done)-1).Draw(w.t, "lost")
	w.feed(scheduler.TaskLost(w.done[i]))
	w.done = slices.Delete(w.done, i, i+1)
}
