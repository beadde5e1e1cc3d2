package flow

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/topology"
)

// reference is progressive filling as the textbook has it: all rates grow together until
// a link is full, whose flows then stay as they are. Slow, over flows and not classes.
func reference(n *Network, specs []Spec) []float64 {
	paths := make([][]int32, len(specs))
	left := map[int32]float64{}
	for i, s := range specs {
		hops, count := n.path(s)
		paths[i] = hops[:count]
		for _, l := range paths[i] {
			left[l] = n.links.capacity[l]
		}
	}
	rates := make([]float64, len(specs))
	fixed := make([]bool, len(specs))
	for {
		users := map[int32]int{}
		for i, p := range paths {
			for _, l := range p {
				if !fixed[i] {
					users[l]++
				}
			}
		}
		if len(users) == 0 {
			return rates
		}
		step := math.Inf(1)
		for l, u := range users {
			step = min(step, left[l]/float64(u))
		}
		full := map[int32]bool{}
		for l, u := range users {
			if left[l]/float64(u) <= step*(1+1e-12) {
				full[l] = true
			}
			left[l] -= step * float64(u)
		}
		for i, p := range paths {
			if fixed[i] {
				continue
			}
			rates[i] += step
			for _, l := range p {
				fixed[i] = fixed[i] || full[l]
			}
		}
	}
}

// randomTopology has racks of different sizes with links of different rates, some not
// modelled.
func randomTopology(t testing.TB, rng *rand.Rand) *topology.Topology {
	t.Helper()
	b := topology.NewBuilder()
	rate := func() topology.Rate {
		if rng.IntN(8) == 0 {
			return 0
		}
		return topology.Rate(1 + rng.IntN(1000))
	}
	for range 1 + rng.IntN(5) {
		r, err := b.AddRack(topology.Rack{Uplink: rate(), Downlink: rate()})
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.IntN(4) {
			if _, err := b.AddNode(topology.Node{Rack: r, NIC: rate()}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.Topology()
}

func randomEnd(rng *rand.Rand, t *topology.Topology) End {
	if rng.IntN(3) == 0 {
		return Rack(topology.RackID(rng.IntN(t.NumRacks())))
	}
	return Node(topology.NodeID(rng.IntN(t.NumNodes())))
}

// Rates are those of the textbook, to nine digits, whatever comes and goes.
func TestRatesAgainstReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		topo := randomTopology(t, rng)
		n, err := New(topo, Config{})
		if err != nil {
			rt.Fatal(err)
		}
		onGrid := rng.IntN(2) == 0 // only flows from racks to nodes
		var ids []ID
		var specs []Spec
		for range 1 + rng.IntN(60) {
			if len(ids) > 0 && rng.IntN(4) == 0 {
				i := rng.IntN(len(ids))
				n.Stop(0, ids[i])
				ids, specs = append(ids[:i], ids[i+1:]...), append(specs[:i], specs[i+1:]...)
			}
			s := Spec{From: randomEnd(rng, topo), To: randomEnd(rng, topo), Bytes: 1e12}
			if onGrid {
				s.From, s.To = Rack(topology.RackID(rng.IntN(topo.NumRacks()))), Node(topology.NodeID(rng.IntN(topo.NumNodes())))
			}
			if _, hops := n.path(s); hops == 0 || n.inside(s) {
				continue
			}
			ids, specs = append(ids, n.Start(0, s)), append(specs, s)
			if rng.IntN(3) == 0 {
				n.Done(0)
			}
		}
		n.Done(0)
		compareRates(rt, n, ids, specs)
	})
}

func compareRates(t interface{ Fatalf(string, ...any) }, n *Network, ids []ID, specs []Spec) {
	for i, want := range reference(n, specs) {
		if got := n.Rate(ids[i]); math.Abs(got-want) > 1e-9*want {
			t.Fatalf("flow %d of %d from %+v to %+v has %v, want %v", i, len(ids), specs[i].From, specs[i].To, got, want)
		}
	}
}

// More racks, or nodes in a rack, than a word of a set has bits.
func TestRatesOnLargeGrids(t *testing.T) {
	for _, size := range [][2]int{{70, 2}, {3, 150}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			racks, nodes := size[0], size[0]*size[1]
			n := network(t, uniform(t, racks, size[1], topology.Mbps(250), topology.Mbps(400)), Config{})
			rng := rand.New(rand.NewPCG(1, 4))
			var ids []ID
			var specs []Spec
			for range racks * nodes / 8 {
				s := Spec{From: Rack(topology.RackID(rng.IntN(racks))), To: Node(topology.NodeID(rng.IntN(nodes))), Bytes: 1e12}
				ids, specs = append(ids, n.Start(0, s)), append(specs, s)
			}
			n.Done(0)
			if !n.grid.pays(len(n.active)) {
				t.Fatal("the grid was not used")
			}
			compareRates(t, n, ids, specs)
		})
	}
}

// Every byte is counted once, on every link it crosses, and the same calls make the same
// ends at the same times, exactly and on a grid.
func TestConservationAndDeterminism(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		tick := []time.Duration{0, 100 * time.Millisecond, time.Second}[rapid.IntRange(0, 2).Draw(rt, "tick")]
		cfg := Config{Tick: tick}
		first, again := storm(rt, t, seed, cfg), storm(rt, t, seed, cfg)
		if len(first) != len(again) {
			rt.Fatalf("%d ends, then %d", len(first), len(again))
		}
		for i := range first {
			if first[i] != again[i] {
				rt.Fatalf("end %d is %v, then %v", i, first[i], again[i])
			}
		}
	})
}

type ending struct {
	at  time.Duration
	tag int32
}

// storm starts, extends and stops flows at random and returns what ended.
func storm(rt *rapid.T, t *testing.T, seed uint64, cfg Config) (out []ending) {
	rng := rand.New(rand.NewPCG(seed, 1))
	topo := randomTopology(t, rng)
	n, err := New(topo, cfg)
	if err != nil {
		rt.Fatal(err)
	}
	up := make([]float64, topo.NumRacks())
	now := time.Duration(0)
	ids := map[int32]ID{}
	drain := func(until time.Duration) {
		for at := n.Next(); at <= until; at = n.Next() {
			for {
				tag, ok := n.Done(at)
				if !ok {
					break
				}
				out = append(out, ending{at, tag})
				delete(ids, tag)
			}
			now = at
		}
	}
	for tag := range int32(40) {
		drain(now + time.Duration(rng.IntN(int(3*time.Second))))
		s := Spec{From: randomEnd(rng, topo), To: randomEnd(rng, topo), Bytes: float64(rng.IntN(5000)), Tag: tag}
		ids[tag] = n.Start(now, s)
		if id, ok := ids[tag-3]; ok && rng.IntN(3) == 0 {
			n.Extend(now, id, 500)
		}
		if id, ok := ids[tag-5]; ok && rng.IntN(4) == 0 {
			n.Stop(now, id)
			delete(ids, tag-5)
		}
	}
	drain(now + 100*time.Hour)
	if flows, classes := n.Flows(); flows+classes+len(ids) > 0 {
		rt.Fatalf("%d flows in %d classes, %d of ours, are left", flows, classes, len(ids))
	}
	for r := range topo.NumRacks() {
		for other := range topo.NumRacks() {
			if r != other {
				up[r] += n.Sent(topology.RackID(r), topology.RackID(other))
			}
		}
		got, _ := n.RackBytes(now, topology.RackID(r))
		modelled := topo.Rack(topology.RackID(r)).Uplink > 0
		if modelled && math.Abs(got-up[r]) > 1e-6*(1+up[r]) {
			rt.Fatalf("rack %d sent %v by its flows, %v by its link", r, up[r], got)
		}
	}
	return out
}
