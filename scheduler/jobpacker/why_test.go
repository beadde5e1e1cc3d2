package jobpacker

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/topology"
)

// TestPlansSayWhy: a plan says why it has so many racks, in the words of the rule that chose them.
func TestPlansSayWhy(t *testing.T) {
	rack := func(n int) (out []topology.RackID) {
		for r := range n {
			out = append(out, topology.RackID(r))
		}
		return out
	}
	light := Profile{Maps: 6, Reduces: 2, MapTime: time.Second, ReduceTime: time.Second, Shuffle: 4e6}
	mapsOnly := light
	mapsOnly.Reduces = 0
	heavy := light
	heavy.Shuffle = 40e6
	cfg := DefaultConfig()
	k := &packer{cfg: &cfg, circuits: true, model: Model{Racks: 4, MapSlots: 3, ReduceSlots: 3, Electrical: 2e6, Optical: 20e6, Threshold: 18e6}}
	bare := *k
	bare.circuits = false
	c := &corral{cfg: &cfg, model: k.model}
	wide := [kinds][]topology.RackID{rack(4), rack(4)}
	for _, tt := range []struct {
		by   planner
		plan plan
		want string
	}{
		{k, plan{profile: light, racks: wide}, "its shuffle of 4 MB is not worth a circuit, for which it takes 18 MB: it has the 6 containers that are free first, wherever they are (a rack has about 3 containers)"},
		{k, plan{profile: mapsOnly, racks: wide}, "it has no reduces: it has the 6 containers that are free first"},
		{k, plan{profile: heavy, racks: wide}, "over as many racks as it needs no two of them would send the 18 MB that a circuit takes"},
		{k, plan{profile: heavy, heavy: true, racks: [kinds][]topology.RackID{rack(2), rack(1)}}, "its shuffle of 40 MB is worth circuits: of the numbers of racks for which it is, 2 for 6 maps and 1 for 2 reduces end first"},
		{&bare, plan{profile: heavy, heavy: true, racks: wide}, "and this cluster has no circuits"},
		{c, plan{profile: light, racks: wide}, "in one rack, with about 3 containers, it would take 3s, in 4 it takes 2.38s"},
		{c, plan{profile: light, racks: [kinds][]topology.RackID{rack(1), rack(1)}}, "in one rack it takes 3s, and nothing of its shuffle leaves it"},
	} {
		if got := tt.by.why(&tt.plan); !strings.Contains(got, tt.want) {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
}
