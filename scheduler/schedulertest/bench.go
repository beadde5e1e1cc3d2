package schedulertest

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A Size is how big a benchmark's cluster and workload are.
type Size struct {
	Nodes, Jobs, Tasks int
	Users              int                // 0 means Jobs/10, at least 1
	Capacity           scheduler.Capacity // zero means 6 map and 2 reduce slots
}

// Big is the size of the speed targets: 10,000 nodes, 1,000 active jobs,
// 10^6 pending tasks with three replicas each.
var Big = Size{Nodes: 10_000, Jobs: 1_000, Tasks: 1_000_000}

// Small is for a quick look.
var Small = Size{Nodes: 200, Jobs: 100, Tasks: 20_000}

// BenchDecisions measures the steady state of a full cluster: a task finishes,
// its node asks for work, the policy decides. One iteration is that whole round,
// State included. It reports decisions/s, the 99th percentile of one round in
// ns, allocations, and the heap with everything in it. So that the backlog does
// not shrink, finished tasks are declared lost from time to time, while the
// clock stands.
func BenchDecisions(b *testing.B, newPolicy func() scheduler.Policy, size Size) {
	b.Helper()
	f := newBenchField(b, newPolicy(), size)
	f.fill()
	for range 2000 { // let tables grow to their size
		f.round()
	}
	f.restore()
	took := make([]time.Duration, 0, 1<<16)
	b.ReportAllocs()
	decided, spent := f.decided, time.Duration(0)
	for b.Loop() {
		t0 := time.Now()
		f.round()
		d := time.Since(t0)
		spent += d
		if len(took) < cap(took) {
			took = append(took, d)
		} else {
			took[f.r.IntN(len(took))] = d
		}
		if len(f.done) == cap(f.done) {
			b.StopTimer()
			f.restore()
			b.StartTimer()
		}
	}
	b.ReportMetric(float64(f.decided-decided)/spent.Seconds(), "decisions/s")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	b.ReportMetric(float64(mem.HeapAlloc)/(1<<20), "heap-MB")
	runtime.KeepAlive(f)
}

type placed struct {
	task scheduler.TaskID
	node topology.NodeID
}

type benchField struct {
	tb      testing.TB
	g       *scheduler.Engine
	r       *rand.Rand
	now     time.Duration
	size    Size
	running []placed
	done    []scheduler.TaskID // finished since the last restore
	node    topology.NodeID    // being offered
	decided int
	place   func(scheduler.Decision)
}

func newBenchField(tb testing.TB, p scheduler.Policy, size Size) *benchField {
	tb.Helper()
	if size.Users == 0 {
		size.Users = max(size.Jobs/10, 1)
	}
	if size.Capacity == (scheduler.Capacity{}) {
		size.Capacity = scheduler.Capacity{MapSlots: 6, ReduceSlots: 2}
	}
	topo, err := topology.Uniform(max(size.Nodes/20, 1), min(size.Nodes, 20), topology.Gbps(1), topology.Gbps(4))
	if err != nil {
		tb.Fatal(err)
	}
	s, err := scheduler.NewState(topo, scheduler.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	f := &benchField{tb: tb, g: scheduler.NewEngine(s, p, nil), r: rand.New(rand.NewPCG(1, 2)), size: size, done: make([]scheduler.TaskID, 0, max(size.Tasks/200, 1))}
	f.place = func(d scheduler.Decision) {
		f.running = append(f.running, placed{d.Task, f.node})
		f.decided++
	}
	for n := range topo.NumNodes() {
		f.feed(scheduler.NodeUp(topology.NodeID(n), size.Capacity))
	}
	f.submitAll(topo.NumNodes())
	return f
}

func (f *benchField) feed(e scheduler.Event) {
	if err := f.g.Feed(f.now, e); err != nil {
		f.tb.Fatal(err)
	}
}

func (f *benchField) submitAll(nodes int) {
	names := [...]string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for i := range f.size.Jobs {
		maps := f.size.Tasks / f.size.Jobs
		s := &scheduler.JobSpec{
			ID: scheduler.JobID(i), Name: "bench", Maps: int32(maps), Reduces: int32(maps / 50), Priority: scheduler.VeryLow + scheduler.Priority(i%5),
			User: "u" + string(rune('0'+i%f.size.Users%10)) + string(rune('a'+i%f.size.Users/10%26)), Queue: names[i%len(names)], Pool: names[i%len(names)],
			Submit: f.now, Deadline: time.Duration(1+i) * time.Hour, Recurring: i%2 == 0,
			Input: scheduler.Bytes(int64(maps) << 27), Shuffle: scheduler.Bytes(int64(i%100) << 22 * int64(maps) / 100),
			MapTime: 20 * time.Second, ReduceTime: 40 * time.Second, Work: time.Duration(maps) * 20 * time.Second,
		}
		for range maps {
			first := f.r.IntN(nodes)
			second := f.r.IntN(nodes)
			s.Splits.Add(128<<20, topology.NodeID(first), topology.NodeID(second), topology.NodeID(second/20*20+f.r.IntN(min(20, nodes))))
		}
		f.feed(scheduler.JobSubmitted(s))
		f.now += time.Millisecond
	}
	if _, err := f.g.Admit(f.now, nil); err != nil {
		f.tb.Fatal(err)
	}
}

// fill offers every node until the cluster is full, or nearly so: a policy may
// keep places free.
func (f *benchField) fill() {
	for range 2 {
		for n := range f.size.Nodes {
			f.offer(topology.NodeID(n))
		}
	}
	if len(f.running) == 0 {
		f.tb.Fatal("the policy placed nothing in an empty cluster")
	}
}

func (f *benchField) offer(n topology.NodeID) {
	f.node = n
	if _, err := f.g.Offer(f.now, n, f.place); err != nil {
		f.tb.Fatal(err)
	}
}

// round ends one task and offers its node.
func (f *benchField) round() {
	f.now += time.Millisecond
	i := f.r.IntN(len(f.running))
	p := f.running[i]
	f.running[i] = f.running[len(f.running)-1]
	f.running = f.running[:len(f.running)-1]
	f.feed(scheduler.TaskFinished(p.task, p.node, 20*time.Second, 128<<20, 32<<20))
	f.offer(p.node)
	f.done = append(f.done, p.task)
	if len(f.running) == 0 { // a policy that waits: ask other nodes
		f.offer(topology.NodeID(f.r.IntN(f.size.Nodes)))
	}
}

// restore makes what was finished pending again.
func (f *benchField) restore() {
	for _, t := range f.done {
		f.feed(scheduler.TaskLost(t))
	}
	f.done = f.done[:0]
}
