package live

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// TestLaboratories: every arm can be simulated, and the simulator finds what the laboratory is there to show.
func TestLaboratories(t *testing.T) {
	got := map[string]map[string]float64{}
	for _, l := range All {
		got[l.ID] = map[string]float64{}
		for _, quick := range []bool{false, true} {
			for i := range l.Arms {
				a := &l.Arms[i]
				foretold, err := l.Foretell(a, Overheads{Start: 20 * time.Millisecond, Task: 10 * time.Millisecond, End: 30 * time.Millisecond}, quick)
				if err != nil {
					t.Errorf("%s: %v", l.ID, err)
					continue
				}
				for k, m := range l.Measures {
					value := 0.0
					for _, o := range foretold {
						value += m.Of(l.Jobs(quick), o) / float64(len(foretold))
					}
					if math.IsNaN(value) {
						t.Errorf("%s, quick %v: no job is measured by %q", l.ID, quick, m.Name)
					}
					if k == 0 {
						got[l.ID][a.Name] = value
					}
				}
			}
		}
	}
	for _, want := range []struct{ lab, better, worse string }{
		{"small-jobs", "fair", "fifo"},
		{"small-jobs", "fbq", "fifo"},
		{"marp-curve", "marp 0.25", "marp 0.1"},
		{"marp-curve", "marp 0.25", "marp 0.75"},
		{"marp-curve", "marp 0.25", "unlimited"},
		{"marp-curve", "capacity-init, 3 jobs", "unlimited"},
		{"ad-hoc", "jobpacker", "jobpacker-adhoc-agg"},
		{"deadlines", "deadline-max", "fifo"},
		{"queues", "capacity", "fifo"},
		{"users", "user limit 100", "user limit 25"},
		{"locality", "delay", "fair"},
		{"narrow-links", "nas", "fair"},
		{"two-classes", "hybrid", "fair"},
		{"batches", "corral", "fair"},
		{"four-deadline-jobs", "deadline-max", "fair"},
		{"six-terasorts", "all (PRJ)", "one by one"},
	} {
		if b, w := got[want.lab][want.better], got[want.lab][want.worse]; !(b < 0.85*w) {
			t.Errorf("%s: %s gives %.2f s and %s %.2f s", want.lab, want.better, b, want.worse, w)
		}
	}
}

// TestWhatIsMeasuredCounts: times of tasks, of arrivals and of ends reach the simulator.
func TestWhatIsMeasuredCounts(t *testing.T) {
	l := &Laboratory{Machines: uniform(1, 1, 2), Jobs: func(bool) []*sim.Job {
		return add(add(nil, "a", 0, shape{maps: 2, mapTime: time.Second}), "b", time.Second, shape{maps: 1, mapTime: time.Second})
	}}
	a := policy("fifo", true)
	o := Overheads{End: 100 * time.Millisecond, Maps: [][]time.Duration{{2 * time.Second, time.Second}, {time.Second}}, Reduces: [][]time.Duration{nil, nil}, At: []time.Duration{0, 5 * time.Second}}
	foretold, err := l.Foretell(&a, o, false)
	if err != nil || len(foretold) != 1 {
		t.Fatal(foretold, err)
	}
	if got := foretold[0]; math.Abs(got.Seconds[0]-3.1) > 0.01 || math.Abs(got.Seconds[1]-1.1) > 0.01 {
		t.Errorf("%v", got)
	}
}

// TestMachinesInTheMastersOrder: who is asked first is the machine that the master knew first. Its rack, its input and its speed go with it.
func TestMachinesInTheMastersOrder(t *testing.T) {
	m := Machines{Racks: 2, Classes: []Class{{Name: "fast", Count: 1, Containers: 2, Speed: 1}, {Name: "slow", Count: 2, Containers: 3, Speed: 0.5}}}
	order := []int{2, 1, 0}
	topo, room, err := m.Topology(order)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []struct {
		name, rack, class string
		containers        int32
	}{{"w3", "r1", "slow", 3}, {"w2", "r2", "slow", 3}, {"w1", "r1", "fast", 2}} {
		got := topo.Node(topology.NodeID(n))
		if got.Name != want.name || topo.Rack(got.Rack).Name != want.rack || got.Class != want.class || room[n].Containers != want.containers {
			t.Errorf("node %d is %+v in %s with %+v, want %v", n, got, topo.Rack(got.Rack).Name, room[n], want)
		}
	}
	l := &Laboratory{Machines: m, Jobs: func(bool) []*sim.Job {
		j := add(nil, "a", 0, shape{maps: 1, mapTime: time.Second})
		reads(j[0], 8)
		return j
	}}
	a := policy("delay", true)
	for machine, want := range []float64{1, 2, 2} { // how long a map takes where its input is
		o := Overheads{Order: order, Places: [][][]int{{{machine}}}}
		got, err := l.simulate(&a, o, o.measured(l.Jobs(false), &l.Machines))
		if err != nil || math.Abs(got.Seconds[0]-want) > 0.01 || got.Local[0] != 1 || got.Strong[0] != map[bool]float64{true: 1}[machine == 0] {
			t.Errorf("input on machine %d: %+v, %v", machine, got, err)
		}
	}
}

// TestJudge: errors are of jobs, and the order of arms counts where the simulator sees a difference.
func TestJudge(t *testing.T) {
	jobs := func(bool) []*sim.Job { return add(nil, "j", 0, shape{maps: 1, mapTime: time.Second}) }
	l := &Laboratory{Jobs: jobs, Measures: []Measure{mean("a job", every), makespan}}
	arms := []Arm{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	v := l.Judge(arms, false, one(1, 2, 2.01), outcomes(1.05, 2.1, 2))
	if !v.Agrees || v.Tau != 1 || math.Abs(v.MedianError-0.1/2.1) > 1e-9 || len(v.Rows) != 6 {
		t.Errorf("%+v", v)
	}
	if v = l.Judge(arms[:2], false, one(1, 1.5), outcomes(1, 1.7)); v.Agrees || math.Abs(v.Ratio-0.2) > 1e-9 || v.MedianError > maxError || v.Tau != 1 {
		t.Errorf("%+v", v)
	}
	if v = l.Judge(arms, false, one(1, 2, 3), outcomes(2, 1, 3)); v.Agrees || math.Abs(v.Tau-1.0/3) > 1e-9 {
		t.Errorf("%+v", v)
	}
}

// TestJudgeOfChance: where the simulator draws, and where a laboratory is repeated, means are compared. Two arms whose draws overlap have no order
// in one run, and have one in a hundred.
func TestJudgeOfChance(t *testing.T) {
	jobs := func(bool) []*sim.Job { return add(nil, "j", 0, shape{maps: 1, mapTime: time.Second}) }
	l := &Laboratory{Jobs: jobs, Measures: []Measure{mean("a job", every)}}
	arms := []Arm{{Name: "a"}, {Name: "b"}}
	low, high := outcomes(0.8, 1, 1.2), outcomes(0.9, 1.1, 1.3) // means 1 and 1.1, and a deviation of 0.2
	for _, c := range []struct {
		repeat int
		a, b   []float64 // on the cluster, in turn
		tau    float64
	}{{1, []float64{1.1}, []float64{1}, 1}, {100, []float64{1.5, 0.7}, []float64{0.6, 1.4}, -1}} {
		simulated, live := make([][][]*Outcome, 2), make([][]*Outcome, 2)
		for n := range c.repeat {
			simulated[0], simulated[1] = append(simulated[0], slices.Concat(low...)), append(simulated[1], slices.Concat(high...))
			live[0], live[1] = append(live[0], outcomes(c.a[n%len(c.a)])[0][0]), append(live[1], outcomes(c.b[n%len(c.b)])[0][0])
		}
		v := l.Judge(arms, false, simulated, live)
		if math.Abs(v.MedianError-0.1) > 0.01 || v.Tau != c.tau || math.Abs(v.Rows[1].Simulated-1.1) > 1e-9 {
			t.Errorf("%d runs: %+v", c.repeat, v)
		}
	}
	drawn := *l
	drawn.Drawn = func(bool, uint64) []*sim.Job { return jobs(false) } // another job in each repetition: of each its own error
	v := drawn.Judge(arms[:1], false, [][][]*Outcome{{outcomes(1)[0], outcomes(2)[0]}}, [][]*Outcome{{outcomes(2)[0][0], outcomes(1)[0][0]}})
	if math.Abs(v.MedianError-0.75) > 1e-9 {
		t.Errorf("errors of 0.5 and 1 have a median of %v", v.MedianError)
	}
}

// TestSequences: each repetition of table-ii has the fifty jobs in an order and with arrivals of its own, always the same; what is measured of a kind
// of job goes by the sequence of that repetition.
func TestSequences(t *testing.T) {
	names := func(n int) (out []string, at []time.Duration) {
		for _, j := range table2.Repetition(n).Jobs(false) {
			out, at = append(out, j.Spec.Name), append(at, j.Spec.Submit)
		}
		return out, at
	}
	first, came := names(0)
	for n := range 5 {
		order, at := names(n)
		again, same := names(n)
		if (n == 0) != slices.Equal(order, first) || (n == 0) != slices.Equal(at, came) || !slices.Equal(order, again) || !slices.Equal(at, same) {
			t.Errorf("sequence %d: %v", n+1, order)
		}
		if len(order) != 50 || !slices.Equal(slices.Sorted(slices.Values(order)), slices.Sorted(slices.Values(first))) {
			t.Errorf("sequence %d has other jobs: %v", n+1, order)
		}
	}
	l := &Laboratory{Measures: []Measure{mean("a", named("a"))}, Drawn: func(_ bool, n uint64) []*sim.Job {
		jobs := add(add(nil, "a", 0, little), "b", 0, little)
		if n == 2 {
			jobs[0], jobs[1] = jobs[1], jobs[0]
		}
		return jobs
	}}
	runs := []*Outcome{{Seconds: []float64{1, 9}}, {Seconds: []float64{9, 1}}}
	if v := l.Judge([]Arm{{Name: "x"}}, false, [][][]*Outcome{{runs[:1], runs[1:]}}, [][]*Outcome{runs}); !slices.Equal(v.Rows[0].Live, []float64{1, 1}) {
		t.Errorf("measured %v of job a", v.Rows[0].Live)
	}
	if said := table2.Report(Verdict{Rows: make([]Row, len(table2.Measures))}, 5, Overheads{}).Setup; !strings.Contains(said, "Arrival sequences 1 to 5, one for each repetition.") {
		t.Errorf("the page says %q", said)
	}
}

// one is what outcomes are for the simulator, with one draw.
func one(seconds ...float64) (out [][][]*Outcome) {
	for _, arm := range outcomes(seconds...) {
		out = append(out, [][]*Outcome{arm})
	}
	return out
}

// outcomes are of one job, by arm.
func outcomes(seconds ...float64) (out [][]*Outcome) {
	for _, s := range seconds {
		out = append(out, []*Outcome{{Seconds: []float64{s}}})
	}
	return out
}
