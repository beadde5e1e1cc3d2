package sim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/topology"
)

func policy(t testing.TB, name string, params map[string]string) scheduler.Policy {
	t.Helper()
	p, err := policies.Policy(name, params)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func cluster(t testing.TB, racks, nodes int) *topology.Topology {
	t.Helper()
	topo, err := topology.Uniform(racks, nodes, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

func seconds(f float64) time.Duration { return time.Duration(math.Round(f * float64(time.Second))) }

// spec/slowdown 4.3: the eight jobs of Table II, each alone on 10 nodes of 6 map and 2
// reduce slots, with the task lengths reconstructed there: run time and slot occupancy
// within 0.1 %.
func TestTableII(t *testing.T) {
	for _, c := range []struct {
		name            string
		maps, reduces   int32
		m, r, size, run float64
	}{
		{"GREP 2/1", 2, 1, 27.04, 9.06, 63.14, 36.10},
		{"SORT 4/1", 4, 1, 9.17, 23.53, 60.21, 32.70},
		{"WCOUNT 4/1", 4, 1, 28.03, 14.01, 126.13, 42.04},
		{"GREP 50/5", 50, 5, 29.76, 13.07, 1553.35, 42.83},
		{"WCOUNT 100/10", 100, 10, 32.47, 21.86, 3790.30, 86.80},
		{"SORT 200/20", 200, 20, 12.20, 101.11, 5194.20, 149.91},
		{"GREP 400/40", 400, 40, 29.01, 15.27, 15696.00, 233.61},
		{"WCOUNT 600/60", 600, 60, 25.98, 106.65, 26663.40, 579.75},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := Run(Config{
				Topology: cluster(t, 1, 10), Capacity: scheduler.Capacity{MapSlots: 6, ReduceSlots: 2},
				Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(), Model: NewFixed(),
			}, []*Job{{
				Spec: &scheduler.JobSpec{Maps: c.maps, Reduces: c.reduces},
				Maps: []time.Duration{seconds(c.m)}, Reduces: []time.Duration{seconds(c.r)},
			}})
			if err != nil {
				t.Fatal(err)
			}
			within(t, "run time", res.Jobs[0].Execution().Seconds(), c.run, 0.001)
			within(t, "occupancy", res.Jobs[0].Occupied.Seconds(), c.size, 0.001)
		})
	}
}

func within(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > share*want {
		t.Errorf("%s is %.2f, want %.2f", what, got, want)
	}
}

// workload draws jobs of every odd kind.
func workload(rng *rand.Rand, n int) []*Job {
	var jobs []*Job
	at := time.Duration(0)
	for i := range n {
		at += time.Duration(rng.IntN(20)) * time.Second
		j := &Job{Spec: &scheduler.JobSpec{
			ID: scheduler.JobID(i), User: fmt.Sprint("u", rng.IntN(3)), Submit: at,
			Maps: int32(rng.IntN(30)), Reduces: int32(rng.IntN(4)), HasDriver: rng.IntN(2) == 0,
		}}
		for range 3 {
			j.Maps = append(j.Maps, time.Duration(1+rng.IntN(20))*time.Second)
			j.Reduces = append(j.Reduces, time.Duration(1+rng.IntN(20))*time.Second)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// Under every way of reporting, with nodes that die and come back, every job ends,
// nothing runs in a slot that is not there, and the same seed makes the same run.
func TestRunsEndAndRepeat(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		run := func() (*Result, error) {
			rng := rand.New(rand.NewPCG(seed, 1))
			cfg := Config{
				Topology: cluster(t, 2, 3), Capacity: scheduler.Capacity{MapSlots: 3, ReduceSlots: 2, Containers: 6},
				Policy: policy(t, []string{"fifo", "fair", "delay"}[rng.IntN(3)], nil),
				State:  scheduler.DefaultConfig(), Model: NewFixed(), Seed: seed, DriverStart: 2 * time.Second, BreakDeadlocks: true,
			}
			if rng.IntN(2) == 0 {
				cfg.Capacity = scheduler.Capacity{Containers: 4}
			}
			switch rng.IntN(4) {
			case 0:
				cfg.Heartbeat = time.Second
			case 1:
				cfg.Heartbeat, cfg.OutOfBand = 3*time.Second, true
			case 2:
				cfg.Heartbeat, cfg.ReportLate = time.Second, true
			}
			for range rng.IntN(3) {
				at := time.Duration(rng.IntN(100)) * time.Second
				cfg.Faults = append(cfg.Faults, Fault{Node: topology.NodeID(rng.IntN(5)), At: at, Until: at + 30*time.Second})
			}
			running := map[topology.NodeID]int{}
			cfg.Watch = func(_ time.Duration, a Attempt, started bool) {
				if !started {
					running[a.Node]--
					return
				}
				if running[a.Node]++; running[a.Node] > 6 {
					rt.Fatalf("node %d runs %d attempts", a.Node, running[a.Node])
				}
			}
			return Run(cfg, workload(rng, 12))
		}
		a, err := run()
		if err != nil {
			rt.Fatal(err)
		}
		for i, j := range a.Jobs {
			if j.Finished < j.Submitted {
				rt.Fatalf("job %d ended at %v, before its submission at %v", i, j.Finished, j.Submitted)
			}
		}
		b, err := run()
		if err != nil {
			rt.Fatal(err)
		}
		if a.Makespan != b.Makespan || a.Events != b.Events || a.Launches != b.Launches {
			rt.Fatalf("two runs of one seed differ: %v %v", a.Makespan, b.Makespan)
		}
	})
}

// A cluster that can never run a task is diagnosed, not waited for.
func TestStall(t *testing.T) {
	_, err := Run(Config{
		Topology: cluster(t, 1, 2), Capacity: scheduler.Capacity{ReduceSlots: 1},
		Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(), Model: NewFixed(), Reports: Reports{Heartbeat: time.Second},
	}, []*Job{{Spec: &scheduler.JobSpec{Maps: 3, Reduces: 1}}})
	stall, ok := errors.AsType[*StallError](err)
	if !ok || stall.Left != 1 || len(stall.Why) != 1 || !strings.Contains(stall.Why[0], "j0") {
		t.Fatalf("error %v, want a diagnosis", err)
	}
}

// A policy that waits for a time, on a cluster where nodes ask when something happens: one that asks again starts the map when
// the time is up, one that does not when the next thing happens.
func TestAskAgain(t *testing.T) {
	for _, c := range []struct{ again, start time.Duration }{{0, 40 * time.Second}, {100 * time.Millisecond, 5 * time.Second}} {
		far := &scheduler.JobSpec{ID: 1, Maps: 1, Submit: time.Millisecond, User: "b"}
		far.Splits.Add(1, 0) // beside the node that is taken
		taken := &scheduler.JobSpec{ID: 0, Maps: 1, User: "a"}
		taken.Splits.Add(1, 0)
		res, err := Run(Config{
			Topology: cluster(t, 1, 2), Capacity: scheduler.Capacity{Containers: 1}, Policy: policy(t, "delay", map[string]string{"by": "time", "wait": "5s"}),
			State: scheduler.DefaultConfig(), Model: NewFixed(), Reports: Reports{AskAgain: c.again},
		}, []*Job{{Spec: taken, Maps: []time.Duration{seconds(40)}}, {Spec: far, Maps: []time.Duration{seconds(1)}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Jobs[1].FirstStart; got < c.start || got > c.start+200*time.Millisecond {
			t.Errorf("asking again every %v: the map starts at %v, want about %v", c.again, got, c.start)
		}
	}
}

// The queue against a sorted slice, while time goes on: things at a time, and things so long after now, which stand in lanes; some after a
// time that is past, for which their lane has nothing to offer.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue[int]
		type entry struct {
			at   time.Duration
			what int
		}
		var want []entry
		now := time.Duration(0)
		take := func() {
			stable(want, func(a, b entry) bool { return a.at < b.at })
			at, what := q.take()
			if d := cmp.Diff([]int{int(want[0].at), want[0].what}, []int{int(at), what}); d != "" {
				t.Fatal(d)
			}
			now, want = max(now, at), want[1:]
		}
		for i := range rapid.IntRange(0, 200).Draw(t, "n") {
			d := time.Duration(rapid.IntRange(0, 20).Draw(t, "in"))
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				q.add(now+d, i)
				want = append(want, entry{now + d, i})
			case 1:
				if len(want) > 0 {
					take()
				}
			default:
				from := now - min(now, time.Duration(rapid.SampledFrom([]int{0, 0, 0, 7}).Draw(t, "ago")))
				q.after(from, d, i)
				want = append(want, entry{from + d, i})
			}
		}
		for len(want) > 0 {
			take()
		}
		if q.some() {
			t.Fatal("something is left")
		}
	})
}

// stable is an insertion sort.
func stable[T any](x []T, less func(a, b T) bool) {
	for i := range x {
		for j := i; j > 0 && less(x[j], x[j-1]); j-- {
			x[j], x[j-1] = x[j-1], x[j]
		}
	}
}

func BenchmarkFifo(b *testing.B) {
	for _, size := range []struct{ nodes, jobs, tasks int }{{100, 100, 100_000}, {10_000, 1000, 1_000_000}} {
		b.Run(fmt.Sprintf("nodes=%d/jobs=%d/tasks=%d", size.nodes, size.jobs, size.tasks), func(b *testing.B) {
			topo := cluster(b, max(1, size.nodes/20), min(20, size.nodes))
			var events int64
			for b.Loop() {
				rng := rand.New(rand.NewPCG(1, 2))
				var jobs []*Job
				for i := range size.jobs {
					jobs = append(jobs, &Job{
						Spec: &scheduler.JobSpec{ID: scheduler.JobID(i), Submit: time.Duration(i) * time.Second, Maps: int32(size.tasks / size.jobs)},
						Maps: []time.Duration{seconds(5 + 10*rng.Float64()), seconds(5 + 10*rng.Float64())},
					})
				}
				res, err := Run(Config{
					Topology: topo, Capacity: scheduler.Capacity{MapSlots: 2, ReduceSlots: 1},
					Policy: policy(b, "fifo", nil), State: scheduler.DefaultConfig(), Model: NewFixed(),
				}, jobs)
				if err != nil {
					b.Fatal(err)
				}
				events += res.Events + res.Launches
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
