package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

// TestNetIsSorted: racks and nodes by name, and what racks sent to each other with them; a rack that says too little sent nothing.
func TestNetIsSorted(t *testing.T) {
	s := wire.NetStatus{
		Racks: []wire.NetRack{{Rack: "r10", To: []int64{33, 31, 32}}, {Rack: "r1", To: []int64{13, 11, 12}}, {Rack: "r2", To: []int64{23, 21}}},
		Nodes: []wire.NetNode{{Node: "w10"}, {Node: "w1"}, {Node: "w9"}},
	}
	s.Sort(human.Compare)
	want := wire.NetStatus{
		Racks: []wire.NetRack{{Rack: "r1", To: []int64{11, 12, 13}}, {Rack: "r2", To: []int64{21, 0, 23}}, {Rack: "r10", To: []int64{31, 32, 33}}},
		Nodes: []wire.NetNode{{Node: "w1"}, {Node: "w9"}, {Node: "w10"}},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
}
