package roster

import (
	"encoding/json"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// outputsOn makes the names of so many map outputs, of two stages.
func outputsOn(n int) []wire.AttemptID {
	ids := make([]wire.AttemptID, n)
	for i := range ids {
		ids[i] = wire.AttemptID{Job: "job-123", Stage: i % 2, Kind: wire.MapTask, Index: int32(i / 2), Try: 5<<32 + uint64(i*7)}
	}
	return ids
}

// TestMuchIsHeld: 300,000 outputs are told in reports that are far below what a message may hold, in order, none left out,
// however many reports are lost or repeated.
func TestMuchIsHeld(t *testing.T) {
	const limit = 16 << 20
	ids := outputsOn(300_000)
	c := New(Config{Node: "n1", Session: "s", Held: ids})
	got := map[wire.AttemptID]bool{}
	var to *wire.HeldPlace
	parts := 0
	for seq := uint64(1); ; seq++ {
		r := c.Report()
		if !r.Full {
			break
		}
		if b, err := json.Marshal(r); err != nil || len(b) > limit/4 {
			t.Fatalf("a report of %d bytes: %v", len(b), err)
		}
		if parts == 0 {
			if again := c.Report(); again.HeldTo != r.HeldTo || again.HeldFrom != r.HeldFrom {
				t.Fatal("a stretch that was not answered is told otherwise")
			}
		}
		if parts > 0 && (r.HeldFrom == nil || *r.HeldFrom != *to) {
			t.Fatalf("stretch %d begins at %v, the one before ended at %v", parts, r.HeldFrom, to)
		}
		for i := range r.Held {
			if err := r.Held[i].Each(func(id wire.AttemptID) { got[id] = true }); err != nil {
				t.Fatal(err)
			}
		}
		to = r.HeldTo
		parts++
		c.Answer(&wire.Answer{Epoch: 1, Seq: r.Seq})
	}
	if len(got) != len(ids) || parts < 2 || to != nil {
		t.Errorf("%d of %d outputs in %d reports, the last up to %v", len(got), len(ids), parts, to)
	}
	c.Answer(&wire.Answer{Epoch: 1, Seq: c.Report().Seq, Full: true})
	if r := c.Report(); !r.Full || r.HeldFrom != nil {
		t.Error("asked again it does not begin anew")
	}
}

// TestHeldWhileItChanges: an output that goes, or comes, while the rest is told is in its stretch or not, as it is then.
func TestHeldWhileItChanges(t *testing.T) {
	c := New(Config{Node: "n1", Session: "s", Held: outputsOn(10), HeldAtOnce: 4, Capacity: wire.Capacity{Containers: 2}})
	r := c.Report()
	if r.HeldTo == nil || r.HeldTo.Index != 3 || !r.Fresh {
		t.Fatalf("%+v", r)
	}
	c.Answer(&wire.Answer{Epoch: 1, Seq: r.Seq, Launch: []wire.Launch{launchOf(1)}}) // of job-1, which comes first
	c.Ended(wire.Ended{ID: launchOf(1).ID, OK: true})
	c.LostOutput(outputsOn(10)[9])
	if r = c.Report(); r.HeldFrom != nil {
		t.Error("after a loss it does not begin anew")
	}
	n := 0
	for i := range r.Held {
		if err := r.Held[i].Each(func(wire.AttemptID) { n++ }); err != nil {
			t.Fatal(err)
		}
	}
	if n != 4 || r.Held[0].Job != "job-1" || r.Fresh {
		t.Errorf("%d outputs: %+v", n, r.Held)
	}
}

// TestTwoAttemptsOfOneMapAreToldTogether: a stretch ends behind a map, not between its attempts, and what fits one report is told in one.
func TestTwoAttemptsOfOneMapAreToldTogether(t *testing.T) {
	held := []wire.AttemptID{launchOf(1).ID, launchOf(2).ID, launchOf(3).ID, launchOf(4).ID}
	held[1].Index, held[3].Index = held[0].Index, held[2].Index
	for most, want := range map[int]int{1: 2, 2: 2, 3: 4, 4: 4} {
		r := New(Config{Held: held, HeldAtOnce: most}).Report()
		n := 0
		for i := range r.Held {
			if err := r.Held[i].Each(func(wire.AttemptID) { n++ }); err != nil {
				t.Fatal(err)
			}
		}
		if n != want || (r.HeldTo == nil) != (most == len(held)) {
			t.Errorf("at most %d: %d are told, up to %v", most, n, r.HeldTo)
		}
	}
}
