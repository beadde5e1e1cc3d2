package emulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/sim/flow"
	"github.com/millrace/millrace/topology"
)

// A transfer that never ends, in turns on its way.
type transfer struct {
	way  way
	step int
	at   int64 // when its turn has passed
	sent float64
}

// passTurns lets transfers have their turns for so long, by a clock of the test's own.
func passTurns(list []*transfer, from, until int64) {
	for {
		next := list[0]
		for _, t := range list {
			if t.at < next.at {
				next = t
			}
		}
		if next.at >= until {
			return
		}
		if next.at > from {
			next.sent += float64(next.step)
		}
		next.at += max(1, int64(next.way.reserve(next.at, next.step)))
	}
}

// TestSharesAreMaxMin: transfers between the machines of four racks with narrow uplinks get what the simulator's max-min sharing gives
// them, each within a tenth, for many mixes of transfers.
func TestSharesAreMaxMin(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			rates := topology.Links{NIC: topology.Mbps(100), Uplink: topology.Mbps(40)}
			topo, err := topology.Uniform(4, 3, rates.NIC, rates.Uplink)
			if err != nil {
				t.Fatal(err)
			}
			net, err := flow.New(topo, flow.Config{})
			if err != nil {
				t.Fatal(err)
			}
			links, _ := open2(t)
			place := func(n topology.NodeID) Place { return Place{fmt.Sprint("n", n), fmt.Sprint("r", topo.RackOf(n))} }
			const begin = int64(time.Hour)
			var list []*transfer
			var ids []flow.ID
			for range 4 + rng.IntN(24) {
				a, b := topology.NodeID(rng.IntN(12)), topology.NodeID(rng.IntN(12))
				if a == b {
					continue
				}
				s := &Shaper{Links: links, Rates: rates, Self: place(a)}
				w := s.way(place(b))
				list = append(list, &transfer{way: w, step: s.step(), at: begin})
				ids = append(ids, net.Start(0, flow.Spec{From: flow.Node(a), To: flow.Node(b), Bytes: 1e12}))
			}
			net.Done(time.Second) // rates are shared out
			const seconds = 20
			passTurns(list, begin+int64(time.Second), begin+(seconds+1)*int64(time.Second))
			for i, tr := range list {
				if got, want := tr.sent/seconds, net.Rate(ids[i]); !(math.Abs(got/want-1) <= 0.1) {
					t.Errorf("transfer %d of %d has %.0f bytes a second, want %.0f", i, len(list), got, want)
				}
			}
		})
	}
}

// TestAFewBytesPassALongTransfer: what is small waits for a turn of each of those that share its link, not for all they send.
func TestAFewBytesPassALongTransfer(t *testing.T) {
	links, _ := open2(t)
	s := &Shaper{Links: links, Rates: topology.Links{NIC: topology.Mbps(16)}, Self: Place{"a", "r"}}
	const begin = int64(time.Hour)
	var list []*transfer
	for range 10 {
		list = append(list, &transfer{way: s.way(Place{"b", "r"}), step: s.step(), at: begin})
	}
	passTurns(list, begin, begin+int64(time.Second))
	if wait := s.way(Place{"b", "r"}).reserve(begin+int64(time.Second), 100); wait > 11*turn {
		t.Errorf("100 bytes wait %s behind ten transfers", wait)
	}
}

// TestLinksAreClosedDuringATransfer: a transfer of many turns goes on, unslowed, when the links are closed.
func TestLinksAreClosedDuringATransfer(t *testing.T) {
	links, _ := open2(t)
	s := &Shaper{Links: links, Rates: topology.Links{NIC: topology.Mbps(1)}, Self: Place{"a", "r"}, Locate: func(string) (Place, bool) { return Place{"b", "r"}, true }}
	begun, done := make(chan bool), make(chan bool)
	go func() {
		s.Send(rpc.Peer{Name: "b", What: rpc.Shuffle}, 2000, nil) // two turns
		close(begun)
		s.Send(rpc.Peer{Name: "b", What: rpc.Shuffle}, 1<<30, nil) // two hours
		close(done)
	}()
	<-begun
	if err := links.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
}
