package names

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// The surplus replica is never the only one of its rack where two racks are wanted, not
// even when a move points at it.
func TestSurplusKeepsRacks(t *testing.T) {
	r := newRig(t)
	r.open()
	for i, rack := range []string{"a", "b", "b"} {
		r.addNode(wire.NodeName(fmt.Sprintf("n%d", i)), rack, 1<<39)
	}
	must(t, r.put(wire.CreateRequest{Path: "/f", Replication: 3}, 1, "n0"))
	r.step(time.Second)
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	b := r.s.blocks[1]
	b.owner.file.replicas = 2
	r.s.balance.moved = map[wire.BlockID]*node{1: r.s.byName["n0"]}
	if n := r.s.surplus(b, b.count()); n == nil || n.rack != "b" {
		t.Errorf("the surplus is on %+v", n)
	}
	r.s.balance.moved = map[wire.BlockID]*node{1: r.s.byName["n1"]}
	if n := r.s.surplus(b, b.count()); n == nil || n.name != "n1" {
		t.Errorf("the surplus is on %+v, although n1's was moved", n)
	}
}

func TestBlockMustBeStored(t *testing.T) {
	r := newRig(t)
	r.open()
	r.addNode("n0", "a", 1<<39)
	f, err := r.s.Create(wire.CreateRequest{Path: "/f", Holder: "h", BlockSize: 100})
	must(t, err)
	p, err := r.s.AddBlock(wire.AddBlockRequest{File: f.File.ID, Holder: "h"})
	must(t, err)
	done := p.Block
	for size, want := range map[int64]wire.Kind{50: wire.Unavailable, 101: wire.Invalid, -1: wire.Invalid} {
		done.Len = size
		if _, err := r.s.Complete(wire.CompleteRequest{File: f.File.ID, Holder: "h", Last: &done}); !errors.Is(err, want) {
			t.Errorf("%d bytes that nobody stored: %v", size, err)
		}
	}
	done.Len = 50
	_, err = r.s.Beat(wire.BeatRequest{Node: "n0", Session: r.nodes["n0"].session, Received: []wire.Block{done}})
	must(t, err)
	fi, err := r.s.Complete(wire.CompleteRequest{File: f.File.ID, Holder: "h", Last: &done})
	if err != nil || fi.Len != 50 || fi.Open {
		t.Errorf("%+v, %v", fi, err)
	}
}

// Old sessions, foreign clusters and pages out of order are refused.
func TestStrangers(t *testing.T) {
	r := newRig(t)
	r.open()
	r.addNode("n0", "a", 1<<39)
	old := r.nodes["n0"].session
	r.startNode("n0")
	if resp, err := r.s.Beat(wire.BeatRequest{Node: "n0", Session: old}); err != nil || !resp.Register {
		t.Errorf("a beat of an old session: %+v, %v", resp, err)
	}
	if err := r.s.Report(wire.ReportRequest{Node: "n0", Session: old, Last: true}); !errors.Is(err, wire.Stale) {
		t.Errorf("a report of an old session: %v", err)
	}
	if err := r.s.Report(wire.ReportRequest{Node: "n0", Session: r.nodes["n0"].session, Page: 2, Last: true}); !errors.Is(err, wire.Invalid) {
		t.Errorf("a report that begins with page 2: %v", err)
	}
	if _, err := r.s.Register(wire.RegisterRequest{Node: "x", Cluster: "another"}); !errors.Is(err, wire.Invalid) {
		t.Errorf("a node of another cluster: %v", err)
	}
	if _, err := r.s.Register(wire.RegisterRequest{Node: "a\nb"}); !errors.Is(err, wire.Invalid) {
		t.Errorf("an odd name: %v", err)
	}
	epoch := r.s.Epoch()
	if _, err := Open(r.cfg); !errors.Is(err, wire.Unavailable) {
		t.Errorf("a second service on the same checkpoint: %v", err)
	}
	r.restart()
	if r.s.Epoch() != epoch+1 {
		t.Errorf("epoch %d after %d", r.s.Epoch(), epoch)
	}
}

// While this process slept nobody could reach it: no node is dead for that, no lease ends.
func TestSleep(t *testing.T) {
	r := newRig(t)
	r.open()
	for i := range 3 {
		r.addNode(wire.NodeName(fmt.Sprintf("n%d", i)), "a", 1<<39)
	}
	_, err := r.s.Create(wire.CreateRequest{Path: "/f", Holder: "h"})
	must(t, err)
	r.step(time.Second)
	r.now += time.Hour
	must(t, r.s.Tick())
	for _, n := range r.s.Nodes() {
		if n.State != "live" {
			t.Errorf("%s is %s", n.Node, n.State)
		}
	}
	must(t, r.s.RenewLease(wire.LeaseRequest{Holder: "h"}))
}

// TestFewestCopiesFirst is the order of FAULTS row 43: of the blocks of a lost node those with one copy
// left are copied before those with two, although they are newer.
func TestFewestCopiesFirst(t *testing.T) {
	r := newRig(t)
	r.cfg.RepairPerTick = 1
	r.open()
	for i := range 5 {
		r.addNode(wire.NodeName(fmt.Sprintf("n%d", i)), fmt.Sprintf("r%d", i%2), 1<<39)
	}
	const files = 8
	for i := range files {
		must(t, r.put(wire.CreateRequest{Path: fmt.Sprint("/three", i), Replication: 3}, 1, "n0"))
	}
	for i := range files {
		must(t, r.put(wire.CreateRequest{Path: fmt.Sprint("/two", i), Replication: 2}, 1, "n0"))
	}
	r.step(time.Second)
	r.takeLog()
	r.nodes["n0"].up = false
	r.step(40 * time.Second)
	var order []int
	for line := range strings.Lines(r.takeLog()) {
		var from, to string
		var id int
		if n, _ := fmt.Sscanf(line, "%s copies %d to %s", &from, &id, &to); n == 3 {
			order = append(order, id)
		}
	}
	if len(order) != 2*files {
		t.Fatalf("%d copies: %v", len(order), order)
	}
	for i, id := range order {
		if urgent := id > files; urgent != (i < files) {
			t.Fatalf("copied in the order %v; those above %d had one copy left", order, files)
		}
	}
}
