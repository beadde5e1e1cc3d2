package placement

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/topology"
)

// cluster has out racks of perRack scale-out nodes, then up nodes in one rack.
func cluster(t testing.TB, out, perRack, up int) *topology.Topology {
	t.Helper()
	b := topology.NewBuilder()
	add := func(rack string, n int, class string) {
		r, err := b.AddRack(topology.Rack{Name: rack})
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			if _, err := b.AddNode(topology.Node{Rack: r, Class: class}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range out {
		add(fmt.Sprintf("out%d", i), perRack, "scale-out")
	}
	if up > 0 {
		add("up", up, "scale-up")
	}
	return b.Topology()
}

func policy(t testing.TB, name string, topo *topology.Topology) Policy {
	t.Helper()
	p, err := New(name, topo)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func place(t testing.TB, p Policy, rng *rand.Rand, r Request) Placed {
	t.Helper()
	got, err := p.Place(rng, r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func racksOf(topo *topology.Topology, nodes []topology.NodeID) []topology.RackID {
	var out []topology.RackID
	for _, n := range nodes {
		out = append(out, topo.RackOf(n))
	}
	return out
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// spec/nas 2.2, item 7: one replica on the writer's rack, two on different nodes
// of a second rack.
func TestRackAwareThree(t *testing.T) {
	topo := cluster(t, 4, 5, 0)
	p, rng := policy(t, "rack-aware", topo), seeded(1)
	seen := map[topology.NodeID]int{}
	for range 2000 {
		got := place(t, p, rng, Request{Writer: 7, Replicas: 3})
		r := racksOf(topo, got.Nodes)
		if got.Nodes[0] != 7 || r[1] == r[0] || r[2] != r[1] || got.Bent != 0 {
			t.Fatalf("placed on %v in racks %v (%v)", got.Nodes, r, got.Bent)
		}
		seen[got.Nodes[1]]++
	}
	for n := range topology.NodeID(20) { // 2000 over the 15 nodes of other racks: 133 each
		if c := seen[n]; topo.RackOf(n) != topo.RackOf(7) && (c < 85 || c > 190) {
			t.Errorf("node %d was second %d times of 2000, want about 133", n, c)
		}
	}
}

func TestRackAwareFallbacks(t *testing.T) {
	topo := cluster(t, 2, 2, 0) // racks {0,1} {2,3}
	p := policy(t, "rack-aware", topo)
	down := func(nodes ...topology.NodeID) func(topology.NodeID) bool {
		return func(n topology.NodeID) bool { return !slices.Contains(nodes, n) }
	}
	for name, tc := range map[string]struct {
		req   Request
		first topology.NodeID // NoNode: any
		racks int
		bent  Bent
	}{
		"writer full":                    {Request{Writer: 0, Replicas: 3, Usable: down(0)}, 1, 2, 0},
		"writer excluded":                {Request{Writer: 0, Replicas: 3, Excluded: []topology.NodeID{0}}, 1, 2, 0},
		"writer's rack dead":             {Request{Writer: 0, Replicas: 2, Usable: down(0, 1)}, topology.NoNode, 1, OneRack},
		"second rack half dead":          {Request{Writer: 0, Replicas: 3, Usable: down(3)}, 0, 2, 0},
		"client outside":                 {Request{Writer: topology.NoNode, Replicas: 3}, topology.NoNode, 2, 0},
		"one replica":                    {Request{Writer: 3, Replicas: 1}, 3, 1, 0},
		"one lost, two left in one rack": {Request{Writer: 0, Replicas: 3, Have: []topology.NodeID{2, 3}}, topology.NoNode, 1, 0},
	} {
		for seed := range uint64(20) {
			got := place(t, p, seeded(seed), tc.req)
			if tc.first != topology.NoNode && got.Nodes[0] != tc.first {
				t.Errorf("%s: first on %d, want %d", name, got.Nodes[0], tc.first)
			}
			r := racksOf(topo, got.Nodes)
			slices.Sort(r)
			if n := len(slices.Compact(r)); n != tc.racks || got.Bent != tc.bent {
				t.Errorf("%s: %v in %d racks, bent %v; want %d, %v", name, got.Nodes, n, got.Bent, tc.racks, tc.bent)
			}
		}
	}
	got := place(t, p, seeded(1), Request{Writer: 2, Replicas: 3, Have: []topology.NodeID{2, 3}})
	if topo.RackOf(got.Nodes[0]) == topo.RackOf(2) {
		t.Errorf("the third of three in one rack went to %v", got.Nodes)
	}
}

func TestTooFewNodes(t *testing.T) {
	topo := cluster(t, 1, 2, 0)
	for _, name := range Names() {
		got, err := policy(t, name, topo).Place(seeded(1), Request{Writer: 0, Replicas: 3})
		if !errors.Is(err, ErrTooFew) || !strings.Contains(err.Error(), "3 replicas wanted, but only 2 nodes") {
			t.Errorf("%s: error %v", name, err)
		}
		if len(got.Nodes) != 2 || got.Bent&OneRack == 0 {
			t.Errorf("%s: placed %v, bent %v", name, got.Nodes, got.Bent)
		}
		if _, err := policy(t, name, topo).Place(seeded(1), Request{}); err == nil {
			t.Errorf("%s: zero replicas were placed", name)
		}
	}
	if _, err := New("magic", topo); err == nil || !strings.Contains(err.Error(), "planned-racks, rack-aware, two-plus-one") {
		t.Errorf("unknown name: %v", err)
	}
}

// spec/hybrid 5, item 1: 10,000 blocks, each with exactly two scale-out replicas
// and one scale-up replica on three nodes in exactly two racks.
// spec/hybrid 3.9, example 5: two scale-up nodes get about half each.
func TestHybridTwoPlusOne(t *testing.T) {
	topo := cluster(t, 4, 10, 2)
	p, rng := policy(t, "two-plus-one", topo), seeded(2)
	on := map[topology.NodeID]int{}
	for range 10_000 {
		got := place(t, p, rng, Request{Writer: 3, Replicas: 3})
		r := racksOf(topo, got.Nodes)
		if r[0] != r[1] || r[2] != 4 || r[0] == 4 || got.Bent != 0 {
			t.Fatalf("placed on %v in racks %v (%v)", got.Nodes, r, got.Bent)
		}
		for _, n := range got.Nodes {
			on[n]++
		}
	}
	if a, b := on[40], on[41]; a+b != 10_000 || a < 4800 || a > 5200 {
		t.Errorf("the scale-up nodes hold %d and %d of 10,000", a, b)
	}
	for n := range topology.NodeID(40) { // 500 each
		if on[n] < 400 || on[n] > 600 {
			t.Errorf("node %d holds %d replicas, want about 500", n, on[n])
		}
	}
}

func TestHybridOverflow(t *testing.T) {
	topo := cluster(t, 3, 4, 2)
	p := policy(t, "two-plus-one", topo)
	got := place(t, p, seeded(3), Request{Writer: 0, Replicas: 3, Usable: func(n topology.NodeID) bool { return n < 12 }})
	if got.Bent != Overflow {
		t.Errorf("full scale-up nodes: bent %v, placed %v", got.Bent, got.Nodes)
	}
	if r := racksOf(topo, got.Nodes); r[0] != r[1] || r[2] == 3 {
		t.Errorf("the overflow went to racks %v", r)
	}
	got = place(t, p, seeded(3), Request{Writer: 0, Replicas: 2, Usable: func(n topology.NodeID) bool { return n >= 12 }})
	if got.Bent != Overflow|OneRack || got.Bent.String() != "one-rack,overflow" {
		t.Errorf("no scale-out node: bent %v", got.Bent)
	}
	got = place(t, p, seeded(3), Request{Replicas: 3, Have: []topology.NodeID{0, 1}})
	if len(got.Nodes) != 1 || got.Nodes[0] < 12 {
		t.Errorf("the lost scale-up replica was put on %v", got.Nodes)
	}
}

func TestHybridSplitsAndLeastUsed(t *testing.T) {
	cfg := DefaultHybridConfig()
	for n, up := range map[int]int{1: 0, 2: 1, 3: 1, 4: 1, 5: 2, 6: 2, 9: 3} {
		if got := cfg.split(n); got != up {
			t.Errorf("of %d replicas %d go to scale-up, want %d", n, got, up)
		}
	}
	cfg.LeastUsed = true
	topo := cluster(t, 2, 3, 3)
	p, err := NewHybrid(topo, cfg)
	if err != nil {
		t.Fatal(err)
	}
	used := map[topology.NodeID]int64{6: 5, 7: 2, 8: 3}
	got := place(t, p, seeded(1), Request{Replicas: 3, Used: func(n topology.NodeID) int64 { return used[n] }})
	if got.Nodes[2] != 7 {
		t.Errorf("scale-up replica on %d, want the emptiest, 7", got.Nodes[2])
	}
	for _, bad := range []HybridConfig{{Up: "", OutShare: 2, UpShare: 1}, {Up: "x", UpShare: 1}, {Up: "x", OutShare: 2}} {
		if _, err := NewHybrid(topo, bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// spec/jobpacker 3.9: replica-1 racks go round, so that each of r_map racks gets
// ceil(N_map/r_map) blocks at most; replicas 2 and 3 share one other rack.
func TestPlannedGoesRound(t *testing.T) {
	topo := cluster(t, 6, 4, 0)
	p, rng := policy(t, "planned-racks", topo), seeded(4)
	racks := []topology.RackID{1, 4, 5}
	count := map[topology.RackID]int{}
	for i := range 100 {
		got := place(t, p, rng, Request{Writer: 0, Replicas: 3, Racks: racks, First: i})
		r := racksOf(topo, got.Nodes)
		count[r[0]]++
		if r[1] == r[0] || r[2] != r[1] || got.Bent != 0 {
			t.Fatalf("racks %v, bent %v", r, got.Bent)
		}
	}
	if count[1] != 34 || count[4] != 33 || count[5] != 33 {
		t.Errorf("first replicas by rack: %v", count)
	}
	got := place(t, p, rng, Request{Writer: 0, Replicas: 3, Racks: []topology.RackID{1}, Usable: func(n topology.NodeID) bool { return topo.RackOf(n) != 1 }})
	if got.Bent != OffPlan || got.Nodes[0] != 0 {
		t.Errorf("dead planned rack: %v, bent %v", got.Nodes, got.Bent)
	}
	// spec/jobpacker 3.12: the further replicas in racks chosen from the rest.
	got = place(t, p, rng, Request{Replicas: 3, Racks: []topology.RackID{1}, Others: []topology.RackID{1, 3}})
	if r := racksOf(topo, got.Nodes); !slices.Equal(r, []topology.RackID{1, 3, 3}) {
		t.Errorf("racks %v, want 1 3 3", r)
	}
}

// Whatever the cluster and the request: distinct, usable nodes, as many as
// wanted or all there are; the same seed gives the same; three replicas span two
// racks wherever two racks can take one.
func TestPlaceProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		topo := cluster(t, rapid.IntRange(1, 5).Draw(rt, "racks"), rapid.IntRange(1, 4).Draw(rt, "per rack"), rapid.IntRange(0, 3).Draw(rt, "up"))
		n := topo.NumNodes()
		node := rapid.Map(rapid.IntRange(-1, n), func(i int) topology.NodeID { return topology.NodeID(i) })
		dead := rapid.SliceOfN(rapid.Bool(), n, n).Draw(rt, "dead")
		req := Request{
			Writer: node.Draw(rt, "writer"), Replicas: rapid.IntRange(1, 7).Draw(rt, "replicas"),
			Excluded: rapid.SliceOfN(node, 0, 3).Draw(rt, "excluded"),
			Have:     rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, n-1), func(i int) topology.NodeID { return topology.NodeID(i) }), 0, 2, rapid.ID).Draw(rt, "have"),
			Usable:   func(i topology.NodeID) bool { return !dead[i] },
			Racks:    rapid.SliceOfN(rapid.Map(rapid.IntRange(0, topo.NumRacks()-1), func(i int) topology.RackID { return topology.RackID(i) }), 0, 3).Draw(rt, "plan"),
			First:    rapid.IntRange(0, 9).Draw(rt, "first"),
		}
		var can []topology.NodeID
		for i := range topology.NodeID(n) {
			if !dead[i] && !slices.Contains(req.Excluded, i) && !slices.Contains(req.Have, i) {
				can = append(can, i)
			}
		}
		name := rapid.SampledFrom(Names()).Draw(rt, "policy")
		seed := rapid.Uint64().Draw(rt, "seed")
		got, err := policy(t, name, topo).Place(seeded(seed), req)
		again, _ := policy(t, name, topo).Place(seeded(seed), req)
		if !slices.Equal(got.Nodes, again.Nodes) {
			rt.Fatalf("same seed: %v, then %v", got.Nodes, again.Nodes)
		}
		check(rt, topo, &req, can, got, err)
	})
}

func check(t *rapid.T, topo *topology.Topology, req *Request, can []topology.NodeID, got Placed, err error) {
	want := max(req.Replicas-len(req.Have), 0)
	if (err != nil) != (want > len(can)) || len(got.Nodes) != min(want, len(can)) {
		t.Fatalf("%d wanted, %d usable: placed %v, error %v", want, len(can), got.Nodes, err)
	}
	seen := slices.Clone(req.Have)
	for _, n := range got.Nodes {
		if !slices.Contains(can, n) || slices.Contains(seen, n) {
			t.Fatalf("%d is not usable or taken twice in %v beside %v", n, got.Nodes, req.Have)
		}
		seen = append(seen, n)
	}
	reach := racksOf(topo, append(slices.Clone(can), req.Have...))
	slices.Sort(reach)
	have := racksOf(topo, seen)
	slices.Sort(have)
	if len(got.Nodes) > 0 && len(seen) >= 3 && len(slices.Compact(reach)) > 1 && len(slices.Compact(have)) == 1 {
		t.Fatalf("%v are all in one rack although others were usable", seen)
	}
}

func BenchmarkPlace10kNodes(b *testing.B) {
	topo := cluster(b, 500, 20, 20)
	for _, name := range Names() {
		b.Run(name, func(b *testing.B) {
			p, rng := policy(b, name, topo), seeded(1)
			req := Request{Writer: 5, Replicas: 3, Racks: []topology.RackID{3, 9}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Place(rng, req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A third replica never joins two that share a rack, if another rack is usable.
func TestThirdLeavesTheRack(t *testing.T) {
	topo := cluster(t, 2, 3, 0)
	for _, name := range Names() {
		for seed := range uint64(30) {
			got := place(t, policy(t, name, topo), seeded(seed), Request{Writer: 0, Replicas: 3, Have: []topology.NodeID{0, 1}})
			if len(got.Nodes) != 1 || topo.RackOf(got.Nodes[0]) != 1 || got.Bent&OneRack != 0 {
				t.Fatalf("%s: third on %v, bent %v", name, got.Nodes, got.Bent)
			}
		}
	}
}

// A plan that is kept already does not pull further replicas into its racks.
func TestPlannedGoesOn(t *testing.T) {
	topo := cluster(t, 2, 3, 0)
	for seed := range uint64(30) {
		got := place(t, policy(t, "planned-racks", topo), seeded(seed), Request{Replicas: 2, Have: []topology.NodeID{3}, Racks: []topology.RackID{1}})
		if topo.RackOf(got.Nodes[0]) != 0 {
			t.Fatalf("second on %v, beside the first", got.Nodes)
		}
	}
}

// Six replicas over five racks: none holds more than (6-1)/5 + 2 = 3.
func TestManyReplicasSpread(t *testing.T) {
	topo := cluster(t, 5, 8, 0)
	for seed := range uint64(300) {
		got := place(t, policy(t, "rack-aware", topo), seeded(seed), Request{Writer: 0, Replicas: 6})
		count := map[topology.RackID]int{}
		for _, r := range racksOf(topo, got.Nodes) {
			if count[r]++; count[r] > 3 {
				t.Fatalf("four of %v are in rack %d", got.Nodes, r)
			}
		}
	}
}

// Where the fuller of two loses, counts stay even; a single draw spreads them by several times as much.
func TestFullerLoses(t *testing.T) {
	topo := cluster(t, 4, 4, 0)
	spread := func(known bool) int {
		rng := seeded(5)
		count := make([]int, topo.NumNodes())
		for range 4000 {
			r := Request{Writer: topology.NoNode, Replicas: 1}
			if known {
				r.Fuller = func(a, b topology.NodeID) bool { return count[a] > count[b] }
			}
			count[place(t, RackAware{topo}, rng, r).Nodes[0]]++
		}
		return slices.Max(count) - slices.Min(count)
	}
	if with, without := spread(true), spread(false); with > 8 || without < 3*with {
		t.Errorf("250 blocks on each node: they differ by %d, by %d without a preference", with, without)
	}
}

// TestFewNodesThatCan: where hardly a node can take a block those that can are found, each as often as others.
func TestFewNodesThatCan(t *testing.T) {
	topo := cluster(t, 4, 100, 0)
	can := []topology.NodeID{3, 150, 399}
	p, rng, got := policy(t, "rack-aware", topo), rand.New(rand.NewPCG(1, 1)), map[topology.NodeID]int{}
	for range 900 {
		r := Request{Writer: topology.NoNode, Replicas: 1, Usable: func(n topology.NodeID) bool { return slices.Contains(can, n) }}
		got[place(t, p, rng, r).Nodes[0]]++
	}
	for _, n := range can {
		if got[n] < 200 || got[n] > 400 {
			t.Errorf("node %d is taken %d times of 900, among 3", n, got[n])
		}
	}
}
