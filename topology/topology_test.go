package topology

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestUniform(t *testing.T) {
	top, err := Uniform(30, 20, Mbps(250), Gbps(1))
	if err != nil {
		t.Fatal(err)
	}
	if top.NumNodes() != 600 || top.NumRacks() != 30 {
		t.Fatalf("got %d nodes in %d racks", top.NumNodes(), top.NumRacks())
	}
	if got := top.Oversubscription(7); got != 5 { // spec/nas 4.2: 5:1
		t.Errorf("oversubscription %v, want 5", got)
	}
	if got := slices.Collect(top.NodesIn(1)); got[0] != 20 || len(got) != 20 {
		t.Errorf("rack 1 holds %v", got)
	}
	if top.Rack(3).Downlink != Gbps(1) {
		t.Errorf("downlink %v, want the uplink's rate", top.Rack(3).Downlink)
	}
	if _, err := Uniform(0, 3, 0, 0); err == nil {
		t.Error("a cluster without racks was accepted")
	}
}

func TestDistance(t *testing.T) {
	top, err := Uniform(2, 2, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		a, b NodeID
		want Distance
	}{{0, 0, SameNode}, {0, 1, SameRack}, {0, 2, OffRack}, {0, 99, OffRack}, {NoNode, NoNode, OffRack}} {
		if got := top.Distance(tc.a, tc.b); got != tc.want {
			t.Errorf("distance(%d, %d) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestClassesAndNames(t *testing.T) {
	b := NewBuilder()
	up, _ := b.AddRack(Rack{Name: "up"})
	out, _ := b.AddRack(Rack{Name: "out"})
	n1, _ := b.AddNode(Node{Name: "big", Rack: up, Class: "scale-up"})
	n2, _ := b.AddNode(Node{Rack: out, Class: "scale-out"})
	n3, _ := b.AddNode(Node{Rack: out})
	top := b.Topology()
	if c, ok := top.Class("scale-up"); !ok || top.ClassOf(n1) != c || top.ClassName(c) != "scale-up" {
		t.Errorf("class of %d: %d (%v)", n1, c, ok)
	}
	if top.ClassOf(n3) != 0 || top.ClassOf(n2) == 0 || top.NumClasses() != 3 {
		t.Errorf("classes: %d %d of %d", top.ClassOf(n2), top.ClassOf(n3), top.NumClasses())
	}
	if _, ok := top.Class("none"); ok {
		t.Error("found a class that nobody has")
	}
	if n, ok := top.NodeByName("n1"); !ok || n != n2 {
		t.Errorf("n1 is %d", n)
	}
	if top.Node(99).ID != NoNode || top.Rack(NoRack).ID != NoRack || top.RackOf(-1) != NoRack {
		t.Error("unknown ids are not the ids of nothing")
	}
}

func TestBuilderRefuses(t *testing.T) {
	b := NewBuilder()
	r, _ := b.AddRack(Rack{Name: "r"})
	if _, err := b.AddNode(Node{Name: "a", Rack: r}); err != nil {
		t.Fatal(err)
	}
	_, dupNode := b.AddNode(Node{Name: "a", Rack: r})
	_, dupRack := b.AddRack(Rack{Name: "r"})
	_, noRack := b.AddNode(Node{Name: "b", Rack: 7})
	_, badNIC := b.AddNode(Node{Name: "c", Rack: r, NIC: -1})
	_, badLink := b.AddRack(Rack{Name: "q", Uplink: -1})
	for _, tc := range []struct {
		err  error
		want string
	}{
		{dupNode, "node a exists"},
		{dupRack, "rack r exists"},
		{noRack, "no rack 7"},
		{badNIC, "node c: negative"},
		{badLink, "rack q: negative"},
		{b.SetOCS(OCS{Rate: 1}), "interval must be positive"},
		{b.SetOCS(OCS{Rate: 1, Interval: 1, Reconfig: 2}), "shorter than the interval"},
		{b.SetOCS(OCS{Threshold: -1}), "negative elephant"},
	} {
		if tc.err == nil || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("got error %v, want %q", tc.err, tc.want)
		}
	}
	if b.Topology().NumNodes() != 1 {
		t.Error("a refused node was added")
	}
}

// spec/jobpacker 2.1: 1.125 GB at 100 Gb/s last 90 ms.
func TestRates(t *testing.T) {
	if got := Gbps(100).Time(1_125_000_000); got != 90*time.Millisecond {
		t.Errorf("1.125 GB take %v", got)
	}
	if got := Rate(0).Time(1); got != 0 {
		t.Errorf("an unmodelled link takes %v", got)
	}
	for r, want := range map[Rate]string{Gbps(1): "1Gb/s", Mbps(250): "250Mb/s", Rate(1): "8b/s"} {
		if r.String() != want {
			t.Errorf("%v, want %s", r, want)
		}
	}
}

// TestSetRack: a node that has moved is a member of its new rack alone, in order.
func TestSetRack(t *testing.T) {
	b := NewBuilder()
	for _, name := range []string{"r0", "r1"} {
		if _, err := b.AddRack(Rack{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		if _, err := b.AddNode(Node{Rack: RackID(i % 2)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // again changes nothing
		if err := b.SetRack(2, 1); err != nil {
			t.Fatal(err)
		}
	}
	topo := b.Topology()
	if in0, in1 := slices.Collect(topo.NodesIn(0)), slices.Collect(topo.NodesIn(1)); !slices.Equal(in0, []NodeID{0, 4}) || !slices.Equal(in1, []NodeID{1, 2, 3}) {
		t.Errorf("the racks have %v and %v", in0, in1)
	}
	if topo.RackOf(2) != 1 || topo.Node(2).Rack != 1 {
		t.Errorf("node 2 is in rack %d and says %d", topo.RackOf(2), topo.Node(2).Rack)
	}
	if b.SetRack(5, 1) == nil || b.SetRack(0, 2) == nil {
		t.Error("what is not there has moved")
	}
}
