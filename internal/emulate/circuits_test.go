package emulate

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/sim/flow"
	"github.com/millrace/millrace/topology"
)

var testSwitch = topology.OCS{Rate: topology.Mbps(200), Interval: time.Second, Reconfig: 20 * time.Millisecond, Threshold: 1e6}

// An elephant is a transfer between two racks that waits for circuits.
type elephant struct {
	from, to int
	bytes    int64
	start    time.Duration
}

// elephants are transfers of a fifth of an interval to four intervals.
func elephants(rng *rand.Rand, racks int) (list []elephant) {
	for range 3 + rng.IntN(8) {
		e := elephant{from: rng.IntN(racks), bytes: 5e6 + rng.Int64N(95e6), start: time.Duration(rng.Int64N(int64(3 * time.Second)))}
		e.to = (e.from + 1 + rng.IntN(racks-1)) % racks
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b elephant) int { return cmp.Compare(a.start, b.start) })
	return list
}

// simulated is when the simulator ends them.
func simulated(t *testing.T, list []elephant, racks int) []time.Duration {
	t.Helper()
	b := topology.NewBuilder()
	for range racks {
		r, err1 := b.AddRack(topology.Rack{Uplink: topology.Mbps(10)})
		_, err2 := b.AddNode(topology.Node{Rack: r})
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
	}
	if err := b.SetOCS(testSwitch); err != nil {
		t.Fatal(err)
	}
	net, err := flow.New(b.Topology(), flow.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ends := make([]time.Duration, len(list))
	until := func(end time.Duration) {
		for at := net.Next(); at < end; at = net.Next() {
			for tag, ok := net.Done(at); ok; tag, ok = net.Done(at) {
				ends[tag] = at
			}
		}
	}
	for i, e := range list {
		until(e.start)
		net.Start(e.start, flow.Spec{From: flow.Rack(topology.RackID(e.from)), To: flow.Rack(topology.RackID(e.to)), Bytes: float64(e.bytes), Optical: true, Tag: int32(i)})
	}
	until(flow.Never)
	return ends
}

// emulated is when the emulated links end them, by a clock of the test's own.
func emulated(t *testing.T, list []elephant, racks int) []time.Duration {
	t.Helper()
	links, _ := open2(t)
	names := make([]string, racks)
	for i := range names {
		names[i] = fmt.Sprint("r", i)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(xxh3.HashString(a)|1, xxh3.HashString(b)|1) }) // equals are chosen among by number
	const begin = int64(time.Hour)
	step := (&Shaper{Rates: topology.Links{Uplink: topology.Mbps(10), Optical: testSwitch}}).step()
	moves, at := make([]rpc.Transfer, len(list)), make([]int64, len(list))
	for i, e := range list {
		moves[i].Due, at[i] = e.bytes, begin+int64(e.start)
	}
	ends := make([]time.Duration, len(list))
	for left := len(list); left > 0; {
		next := -1
		for i := range list {
			if ends[i] == 0 && (next < 0 || at[i] < at[next]) {
				next = i
			}
		}
		if at[next] > begin+int64(time.Hour) {
			t.Fatalf("an hour later %d of %d have not ended", left, len(list))
		}
		e, m := &list[next], &moves[next]
		if m.Due <= 0 {
			ends[next] = time.Duration(at[next] - begin)
			left--
			continue
		}
		c, err := links.circuit(names[e.from], names[e.to])
		if err != nil {
			t.Fatal(err)
		}
		wait, _ := links.pass(at[next], c, testSwitch, int(min(m.Due, int64(step))), m)
		at[next] += max(1, int64(wait))
	}
	return ends
}

// TestCircuitsAreTheSimulators: elephants between racks end, over circuits that are matched anew every interval and after dark
// times, when the simulator says, each within a tenth of its time, for many mixes of elephants.
func TestCircuitsAreTheSimulators(t *testing.T) {
	const racks = 4
	for seed := range uint64(40) {
		list := elephants(rand.New(rand.NewPCG(seed, 2)), racks)
		want, got := simulated(t, list, racks), emulated(t, list, racks)
		for i, e := range list {
			took, should := got[i]-e.start, want[i]-e.start
			if d := took - should; d.Abs() > should/10 {
				t.Errorf("seed %d: elephant %d of %d, %+v, took %s, the simulator says %s", seed, i, len(list), e, took, should)
			}
		}
	}
}

// TestLit: a node says to which rack a circuit is lit from its own, once it is no longer dark, and within what time circuits are matched anew.
func TestLit(t *testing.T) {
	links, other := open2(t)
	racks := func() []string { return []string{"r1", "r2", "r3"} }
	s := &Shaper{Links: links, Rates: topology.Links{Optical: testSwitch}, Self: Place{"w1", "r1"}, Racks: racks}
	for _, to := range racks()[1:] {
		if _, err := other.circuit("r1", to); err != nil {
			t.Fatal(err)
		}
	}
	c, err := other.circuit("r1", "r3")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		lit  int64
		want string
	}{{0, ""}, {clock() + int64(time.Hour), ""}, {clock(), "r3"}} {
		c.lit.Store(tt.lit)
		if to, next, ok := s.Lit(); to != tt.want || next <= 0 || next > testSwitch.Interval || !ok {
			t.Errorf("lit at %d: to %q, anew in %s, %v", tt.lit, to, next, ok)
		}
	}
	s.Racks = func() []string { return []string{"r1", "r2"} }
	if to, _, ok := s.Lit(); ok {
		t.Errorf("r3 is not known, and there is a circuit to %q", to)
	}
	back := &Shaper{Links: links, Rates: s.Rates, Self: Place{"w3", "r3"}, Racks: racks}
	if to, _, ok := back.Lit(); to != "" || !ok {
		t.Errorf("a circuit leads one way only, and r3 has one to %q", to)
	}
	if _, _, ok := (&Shaper{Links: links, Self: s.Self, Racks: racks}).Lit(); ok {
		t.Error("there is no switch")
	}
}
