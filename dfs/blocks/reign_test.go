package blocks

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// TestReignOutlivesTheProcess: a node that is started anew, on one or both of its disks, obeys no master but those that
// the process before would have obeyed, tells masters which one that was, and keeps its blocks from the others.
func TestReignOutlivesTheProcess(t *testing.T) {
	s, names, d := heardService(t)
	b := wire.Block{ID: 1, Gen: 1, Len: 10}
	names.registered.Name = "new"
	if err := put(s.store, b); err != nil {
		t.Fatal(err)
	}
	if err := s.introduce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	var told []string
	s = NewService(openOn(t, d), Config{Node: "n1", Names: names, Event: func(e Event) { told = append(told, e.What) }})
	for _, old := range []wire.Reign{{Epoch: 2, Name: "old"}, {Epoch: 2}, {Epoch: 3, Name: "copy"}} {
		names.registered.Epoch, names.registered.Name = old.Epoch, old.Name
		if err := s.introduce(t.Context()); wire.KindOf(err) != wire.Stale || err == nil {
			t.Errorf("introduced to %v: %v", old, err)
		}
		names.answer = wire.BeatResponse{Epoch: old.Epoch, Name: old.Name, Delete: []wire.Block{b}}
		if s.beat(t.Context()); check(s.store, b) != nil {
			t.Fatalf("the order of %v was carried out", old)
		}
	}
	want := wire.Reign{Epoch: 3, Name: "new"}
	if r := names.registers[len(names.registers)-1]; r.Seen != want || names.told().Seen != want {
		t.Errorf("says that it obeyed %v and %v", r.Seen, names.told().Seen)
	}
	if len(told) == 0 || slices.ContainsFunc(told, func(what string) bool { return what != "the master is not obeyed" }) {
		t.Errorf("told %q", told)
	}
	names.registered.Epoch, names.registered.Name = 4, "newer"
	if err := s.introduce(t.Context()); err != nil {
		t.Errorf("introduced to a newer one: %v", err)
	}
}
