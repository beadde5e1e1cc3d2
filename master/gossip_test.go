package master

import (
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/membership"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// TestGossipWithoutAKey: where there is no key workers join all the same, and the master tells how long a round trip to one takes. Nobody
// is suspected because another member of the name of a worker has gone.
func TestGossipWithoutAKey(t *testing.T) {
	m := served(t, patient, func(c *Config) { c.Gossip, c.Insecure = "127.0.0.1:0", true })
	where := must(t, m, rpc.Caller{Node: "w1"}, api.ClusterGossip, struct{}{})
	h, other := newHand(t, m, "w1"), newHand(t, m, "w2")
	for _, h := range []*hand{h, other} {
		h.report.Fresh = true
		h.say()
	}
	join := func(name, role string) *membership.List {
		t.Helper()
		list, err := membership.Start(membership.Config{
			Member: membership.Member{Name: name, Role: role, Session: "first life of " + name}, Bind: "127.0.0.1:0",
			Seeds: func() []string { return []string{where.Addr} }, Label: where.Label, Log: m.cfg.Log,
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	worker := join("w1", "worker")
	defer worker.Close()
	eventually(t, "a round trip is told", func() bool {
		nodes := must(t, m, ann, api.NetStatus, struct{}{}).Nodes
		if len(nodes) != 2 || nodes[1].RTT != 0 {
			t.Fatalf("%+v", nodes)
		}
		return nodes[0].RTT > 0
	})
	stranger := join("w2", "watcher")
	eventually(t, "the other has joined", func() bool { return len(m.members.Members()) == 3 })
	if err := stranger.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other is gone", func() bool { return len(m.members.Members()) == 2 })
	m.heard(membership.Event{Kind: membership.Joined, Member: membership.Member{Name: "w1", Role: "worker", Session: h.report.Session}})
	for _, name := range []wire.NodeName{"w1", "w2"} {
		if s := stateOf(t, m, name); s != "up" {
			t.Errorf("%s is %s", name, s)
		}
	}
}
