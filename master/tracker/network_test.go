package tracker

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestAnAddressThatAnotherHas: w2 has come to where w1 was, before w1 came back elsewhere. Bytes to that address are w2's.
func TestAnAddressThatAnotherHas(t *testing.T) {
	c := newCore(t)
	c.Resume(0)
	tell := func(at time.Duration, r wire.Report) {
		t.Helper()
		r.Seq, r.Idle, r.Capacity, r.Full, r.Fresh = uint64(at), -1, wire.Capacity{Containers: 1}, true, true
		if _, err := c.Report(at, &r, 1<<62); err != nil {
			t.Fatal(err)
		}
	}
	tell(time.Second, wire.Report{Node: "w1", Session: "first", Rack: "r1", Addr: "host:1"})
	tell(20*time.Second, wire.Report{Node: "w2", Session: "s", Rack: "r2", Addr: "host:1"})
	tell(21*time.Second, wire.Report{Node: "w1", Session: "second", Rack: "r1", Addr: "host:2"})
	tell(22*time.Second, wire.Report{Node: "w3", Session: "s", Rack: "r1", Addr: "host:3", Net: []wire.NetBytes{{Peer: "host:1", What: "dfs", Sent: 100}}})
	c.Loose("w1", "second")
	tell(23*time.Second, wire.Report{Node: "w1", Session: "third", Rack: "r1", Addr: "host:4"})
	tell(24*time.Second, wire.Report{Node: "w3", Session: "s", Rack: "r1", Addr: "host:3", Net: []wire.NetBytes{
		{Peer: "host:1", What: "dfs", Sent: 100}, {Peer: "host:2", What: "dfs", Sent: 1000}, {Peer: "host:3", What: "dfs", Sent: 1000},
	}}) // where w1 was before nobody is, and what it sends itself goes nowhere
	if n := c.Net(22 * time.Second).Nodes[2]; n.Node != "w3" || n.Sent["dfs"] != 100 {
		t.Errorf("%s has sent %v, want 100 bytes", n.Node, n.Sent)
	}
}

// TestRackThatCannotBe: a worker whose rack has a name that cannot be a rack's, since another is called so already, is taken in all the same.
func TestRackThatCannotBe(t *testing.T) {
	c := newCore(t)
	c.Resume(0)
	for i, rack := range []string{"", "r0", "r0", ""} { // the rack without a name is called r0
		r := &wire.Report{Node: wire.NodeName(rune('a' + i)), Session: "s", Seq: 1, Rack: rack, Addr: "x", Idle: -1, Capacity: wire.Capacity{Containers: 1}}
		if _, err := c.Report(time.Second, r, 1<<62); err != nil {
			t.Errorf("rack %q: %v", rack, err)
		}
	}
	if n := c.View().Topology().RackSize(0); n != 4 {
		t.Errorf("%d workers are in the rack", n)
	}
}
