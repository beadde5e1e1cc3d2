package flow

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/topology"
)

func uniform(t testing.TB, racks, nodes int, nic, uplink topology.Rate) *topology.Topology {
	t.Helper()
	topo, err := topology.Uniform(racks, nodes, nic, uplink)
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

func network(t testing.TB, topo *topology.Topology, cfg Config) *Network {
	t.Helper()
	n, err := New(topo, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// run plays a network to its end and returns when each tag ended.
func run(n *Network) map[int32]time.Duration {
	out := map[int32]time.Duration{}
	for at := n.Next(); at != Never; at = n.Next() {
		for {
			tag, ok := n.Done(at)
			if !ok {
				break
			}
			out[tag] = at
		}
	}
	return out
}

func near(t *testing.T, what string, got time.Duration, want, share float64) {
	t.Helper()
	if math.Abs(got.Seconds()-want) > share*want {
		t.Errorf("%s at %v, want %gs", what, got, want)
	}
}

// Two flows share an uplink of 100; when the shorter has ended the other has it alone.
// A flow inside a rack is held back by nobody, one inside a node takes no time.
func TestShare(t *testing.T) {
	n := network(t, uniform(t, 2, 2, 1000, 100), Config{})
	n.Start(0, Spec{From: Node(0), To: Node(2), Bytes: 100, Tag: 1})
	n.Start(0, Spec{From: Node(1), To: Node(3), Bytes: 300, Tag: 2})
	n.Start(0, Spec{From: Node(0), To: Node(1), Bytes: 900, Tag: 3})
	n.Start(0, Spec{From: Node(1), To: Node(1), Bytes: 900, Tag: 4})
	ends := run(n)
	near(t, "the shorter", ends[1], 2, 1e-6)
	near(t, "the longer", ends[2], 4, 1e-6)
	near(t, "the one inside the rack", ends[3], 900.0/950, 1e-6)
	if ends[4] != 0 {
		t.Errorf("the one inside the node took %v", ends[4])
	}
	if tot := n.Totals(); tot.CrossRack != 400 || tot.InRack != 1800 || tot.Flows != 4 {
		t.Errorf("totals %+v", tot)
	}
}

// On a grid a flow begins and ends on ticks.
func TestTicks(t *testing.T) {
	n := network(t, uniform(t, 2, 1, 1000, 100), Config{Tick: time.Second})
	n.Done(300 * time.Millisecond)
	n.Start(300*time.Millisecond, Spec{From: Node(0), To: Node(1), Bytes: 150, Tag: 1})
	if ends := run(n); ends[1] != 3*time.Second {
		t.Errorf("ended at %v, want 3s: it begins at 1s and needs 1.5s", ends[1])
	}
}

// spec/jobpacker 3.15, item 3.
func TestMatchingExample(t *testing.T) {
	got := match([][]int64{{0, 5, 1}, {2, 0, 4}, {6, 1, 0}}, nil)
	if !slices.Equal(got, []int{1, 2, 0}) {
		t.Errorf("circuits %v, want 1->2, 2->3, 3->1", got)
	}
}

// The matching weighs as much as the best of all permutations, and among those keeps as
// many circuits as can be kept.
func TestMatchingAgainstAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		size := 1 + rng.IntN(6)
		if rng.IntN(20) == 0 {
			size = 7
		}
		w := make([][]int64, size)
		for i := range w {
			w[i] = make([]int64, size)
			for j := range w[i] {
				w[i][j] = int64(max(0, rng.IntN(12)-4))
			}
		}
		keep := rng.Perm(size)
		best, kept := int64(-1), 0
		permute(size, func(p []int) {
			sum, k := value(w, p, keep)
			if sum > best || sum == best && k > kept {
				best, kept = sum, k
			}
		})
		got := match(w, keep)
		if sum, k := value(w, got, keep); sum != best || k != kept {
			rt.Fatalf("%v of %v weighs %d and keeps %d of %v; the best %d and %d", got, w, sum, k, keep, best, kept)
		}
		taken := map[int]bool{}
		for _, j := range got {
			if j >= 0 && taken[j] {
				rt.Fatalf("%v uses an output twice", got)
			}
			taken[j] = true
		}
	})
}

func value(w [][]int64, p, keep []int) (sum int64, kept int) {
	for i, j := range p {
		if j >= 0 && w[i][j] > 0 {
			sum += w[i][j]
			if keep[i] == j {
				kept++
			}
		}
	}
	return sum, kept
}

func permute(n int, visit func([]int)) {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	var rec func(int)
	rec = func(k int) {
		if k == n {
			visit(p)
			return
		}
		for i := k; i < n; i++ {
			p[k], p[i] = p[i], p[k]
			rec(k + 1)
			p[k], p[i] = p[i], p[k]
		}
	}
	rec(0)
}

func optical(t testing.TB, racks int, o topology.OCS) *topology.Topology {
	t.Helper()
	b := topology.NewBuilder()
	for range racks {
		r, err := b.AddRack(topology.Rack{Uplink: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.AddNode(topology.Node{Rack: r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.SetOCS(o); err != nil {
		t.Fatal(err)
	}
	return b.Topology()
}

// spec/jobpacker 2.2, Figure 4.3: 60 units of time for the skewed matrix, 18.75 for the
// balanced one, without dark time and with an interval short against the transfers.
func TestFigure43(t *testing.T) {
	for _, c := range []struct {
		rows [4]float64
		want float64
	}{{[4]float64{20, 2.5, 1.25, 1.25}, 60}, {[4]float64{6.25, 6.25, 6.25, 6.25}, 18.75}} {
		n := network(t, optical(t, 4, topology.OCS{Rate: 1, Interval: 10 * time.Millisecond}), Config{})
		for i, row := range c.rows {
			for j := range 4 {
				if i != j {
					n.Start(0, Spec{From: Rack(topology.RackID(i)), To: Rack(topology.RackID(j)), Bytes: row, Optical: true})
				}
			}
		}
		var last time.Duration
		for _, at := range run(n) {
			last = max(last, at)
		}
		near(t, "the last of the matrix", last, c.want, 0.01)
		if tot := n.Totals(); math.Abs(tot.Optical-tot.CrossRack) > 1e-9 {
			t.Errorf("%v of %v went over circuits", tot.Optical, tot.CrossRack)
		}
	}
}

// spec/jobpacker 2.1: with 10 ms of dark time before each transfer of 1.125 GB at 100 Gb/s a
// circuit is busy nine tenths of the time, and less with smaller ones.
func TestElephantThreshold(t *testing.T) {
	use := func(bytes float64) float64 {
		o := topology.OCS{Rate: topology.Gbps(100), Reconfig: 10 * time.Millisecond}
		o.Interval = o.Reconfig + o.Rate.Time(int64(bytes)) + 10 // a matching right after each transfer
		n := network(t, optical(t, 3, o), Config{})
		const rounds = 50
		now := time.Duration(0)
		for i := range rounds {
			n.Start(now, Spec{From: Rack(0), To: Rack(topology.RackID(1 + i%2)), Bytes: bytes, Optical: true})
			for at := n.Next(); at != Never; at = n.Next() {
				if _, ok := n.Done(at); ok {
					now = at
				}
			}
		}
		return rounds * o.Rate.Time(int64(bytes)).Seconds() / now.Seconds()
	}
	if got := use(1.125e9); math.Abs(got-0.9) > 0.005 {
		t.Errorf("utilisation %.4f, want 0.9", got)
	}
	if small := use(0.5e9); small >= 0.85 {
		t.Errorf("half the size gives %.4f, want less", small)
	}
}

// A configuration that does not change costs no dark time, and elephants do not fall back
// to the packet network (spec/jobpacker 3.1, 6.15).
func TestCircuitStays(t *testing.T) {
	n := network(t, optical(t, 2, topology.OCS{Rate: 100, Interval: time.Second, Reconfig: 500 * time.Millisecond}), Config{})
	n.Start(0, Spec{From: Rack(0), To: Rack(1), Bytes: 400, Tag: 1, Optical: true})
	ends := run(n)
	near(t, "a transfer over several intervals", ends[1], 4.5, 1e-6)
	up, _ := n.RackBytes(ends[1], 0)
	if up != 0 {
		t.Errorf("%v bytes of an elephant crossed the packet network", up)
	}
}

// A flow that is extended ends later; one that is stopped does not end; both are counted.
func TestExtendAndStop(t *testing.T) {
	for _, optic := range []bool{false, true} {
		n := network(t, optical(t, 3, topology.OCS{Rate: 1, Interval: time.Millisecond}), Config{})
		a := n.Start(0, Spec{From: Rack(0), To: Rack(1), Bytes: 10, Tag: 1, Optical: optic})
		b := n.Start(0, Spec{From: Rack(1), To: Rack(2), Bytes: 10, Tag: 2, Optical: optic})
		n.Done(0)
		n.Done(5 * time.Second)
		if !n.Extend(5*time.Second, a, 10) {
			t.Error("a flow under way was not extended")
		}
		n.Stop(5*time.Second, b)
		ends := run(n)
		near(t, "the extended flow", ends[1], 20, 1e-6)
		if _, ok := ends[2]; ok {
			t.Error("a stopped flow ended")
		}
		if tot := n.Totals().CrossRack; math.Abs(tot-25) > 1e-6 {
			t.Errorf("%v bytes crossed, want 25", tot)
		}
		if n.Extend(30*time.Second, a, 1) {
			t.Error("a flow that had ended was extended")
		}
	}
}

// Elephants between two racks share their circuit from the moment another comes, and from the moment one goes.
func TestElephantsShareACircuit(t *testing.T) {
	topo := optical(t, 2, topology.OCS{Rate: 100, Interval: 20 * time.Second})
	start := func(n *Network, at time.Duration, bytes float64, tag int32) ID {
		return n.Start(at, Spec{From: Rack(0), To: Rack(1), Bytes: bytes, Tag: tag, Optical: true})
	}
	n := network(t, topo, Config{})
	start(n, 0, 400, 1)
	n.Done(0)
	start(n, 2*time.Second, 300, 2)
	ends := run(n)
	near(t, "the first, 4 s of its last 200 bytes at half the rate", ends[1], 6, 1e-6)
	near(t, "the second, its last 100 bytes alone", ends[2], 7, 1e-6)

	n = network(t, topo, Config{})
	start(n, 0, 400, 1)
	other := start(n, 0, 400, 2)
	n.Done(0)
	n.Stop(2*time.Second, other)
	near(t, "the one that is left alone after 2 s", run(n)[1], 5, 1e-6)
}

// A circuit goes to whom most is left for, at each matching anew: what has been sent does not count any more.
func TestCircuitFollowsWhatIsLeft(t *testing.T) {
	n := network(t, optical(t, 3, topology.OCS{Rate: 100, Interval: time.Second}), Config{Plain: true})
	n.Start(0, Spec{From: Rack(0), To: Rack(1), Bytes: 300, Tag: 1, Optical: true})
	n.Start(0, Spec{From: Rack(0), To: Rack(2), Bytes: 250, Tag: 2, Optical: true})
	ends := run(n)
	near(t, "the larger, in turns with the other", ends[1], 5, 1e-6)
	near(t, "the smaller", ends[2], 5.5, 1e-6)
}

// TestEndedAndOptical: a flow that has ended, was stopped or uses a circuit has no rate on the packet network, and only one under way takes
// more bytes; the place of one that has ended is another's, who is not mistaken for it.
func TestEndedAndOptical(t *testing.T) {
	n := network(t, optical(t, 3, topology.OCS{Rate: 1, Interval: time.Second}), Config{})
	start := func(from, to topology.RackID, bytes float64, optic bool) ID {
		return n.Start(n.now, Spec{From: Rack(from), To: Rack(to), Bytes: bytes, Optical: optic})
	}
	ended, stopped, elephant, runs := start(0, 1, 1, false), start(0, 2, 9, false), start(1, 0, 9, true), start(1, 2, 9, false)
	at := func(d time.Duration) {
		for n.Next() <= d {
			for clock := n.Next(); ; {
				if _, ok := n.Done(clock); !ok {
					break
				}
			}
		}
	}
	at(3 * time.Second)
	if !n.Stop(3*time.Second, stopped) || n.Stop(3*time.Second, stopped) || n.Stop(3*time.Second, ended) {
		t.Error("a flow is stopped that is not under way, or one that is was not")
	}
	at(3 * time.Second)
	waits := start(2, 0, 5, false) // in the place of one that is gone
	for name, c := range map[string]struct {
		id   ID
		rate float64
		more bool
	}{
		"ended": {ended, 0, false}, "stopped": {stopped, 0, false}, "elephant": {elephant, 0, true}, "under way": {runs, 1, true}, "waits": {waits, 0, true},
	} {
		if got := n.Rate(c.id); got != c.rate {
			t.Errorf("%s: rate %g, want %g", name, got, c.rate)
		}
		for bytes, want := range map[float64]bool{-1: false, 0: c.more, 2: c.more} {
			if got := n.Extend(3*time.Second, c.id, bytes); got != want {
				t.Errorf("%s: takes %g more: %v", name, bytes, got)
			}
		}
	}
	at(time.Minute)
	if got := n.Totals(); math.Abs(got.CrossRack-(1+1.5+11+11+7)) > 1e-6 || math.Abs(got.Optical-11) > 1e-6 || got.Flows != 5 || got.InRack != 0 {
		t.Errorf("%+v", got)
	}
}

// TestCards: what a node sends and what it receives share its card each for itself; a rack as a whole has the cards of all its nodes.
func TestCards(t *testing.T) {
	for name, c := range map[string]struct {
		flows []Spec
		want  float64 // seconds until the last of 100 bytes each has ended
	}{
		"two into one card":               {[]Spec{{From: Node(0), To: Node(2)}, {From: Node(1), To: Node(2)}}, 2},
		"two out of one card":             {[]Spec{{From: Node(2), To: Node(0)}, {From: Node(2), To: Node(1)}}, 2},
		"in and out":                      {[]Spec{{From: Node(0), To: Node(2)}, {From: Node(2), To: Node(1)}}, 1},
		"out of all cards of a rack":      {[]Spec{{From: Rack(0), To: Node(3)}}, 1},
		"four into all cards of a rack":   {[]Spec{{From: Node(3), To: Rack(0)}, {From: Node(4), To: Rack(0)}, {From: Node(5), To: Rack(0)}, {From: Node(6), To: Rack(0)}}, 4.0 / 3},
		"four out of all cards of a rack": {[]Spec{{From: Rack(0), To: Node(3)}, {From: Rack(0), To: Node(4)}, {From: Rack(0), To: Node(5)}, {From: Rack(0), To: Node(6)}}, 4.0 / 3},
	} {
		b := topology.NewBuilder()
		for _, nodes := range []int{3, 4} {
			r, err := b.AddRack(topology.Rack{Uplink: 1e6})
			if err != nil {
				t.Fatal(err)
			}
			for range nodes {
				if _, err := b.AddNode(topology.Node{Rack: r, NIC: 100}); err != nil {
					t.Fatal(err)
				}
			}
		}
		n := network(t, b.Topology(), Config{})
		for _, s := range c.flows {
			s.Bytes = 100
			n.Start(0, s)
		}
		var last time.Duration
		for at := n.Next(); at != Never; at = n.Next() {
			for _, ok := n.Done(at); ok; _, ok = n.Done(at) {
				last = at
			}
		}
		near(t, name, last, c.want, 1e-6)
	}
}
