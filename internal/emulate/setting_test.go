package emulate

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

// TestPlacesAreAskedFor: nodes are known by name and by address once the master has listed them; of what is no node the master is asked once a
// second at most, and again where it did not answer.
func TestPlacesAreAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, failed := 0, errors.New("no answer")
		master := func(ctx context.Context) ([]wire.NodeStatus, error) {
			if end, ok := ctx.Deadline(); !ok || time.Until(end) > askEvery {
				t.Error("the question has no end")
			}
			asked++
			return []wire.NodeStatus{{Node: "w1", Addr: "10.0.0.1:7", Rack: "r2"}, {Node: "w2", Addr: "10.0.0.2:7", Rack: "r1"}, {Node: "w3", Addr: "10.0.0.3:7", Rack: "r2"}}, failed
		}
		s, err := Setting{File: filepath.Join(t.TempDir(), "links"), Rates: topology.Links{NIC: 5}}.Start(Place{"w2", "r1"}, master)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Links.Close()
		if s.Self != (Place{"w2", "r1"}) || s.Rates.NIC != 5 {
			t.Errorf("the node is at %v, with %v", s.Self, s.Rates)
		}
		for i, tt := range []struct {
			peer   string
			later  time.Duration
			answer error
			want   Place
			asked  int
		}{
			{"w1", 0, failed, Place{}, 1},
			{"w1", askEvery - 1, nil, Place{}, 1},
			{"w1", 1, nil, Place{"w1", "r2"}, 2},
			{"10.0.0.3:7", 0, nil, Place{"w3", "r2"}, 2},
			{"client", 0, nil, Place{}, 2},
			{"client", askEvery, nil, Place{}, 3},
			{"w2", askEvery, nil, Place{"w2", "r1"}, 3},
		} {
			time.Sleep(tt.later)
			failed = tt.answer
			if at, ok := s.Locate(tt.peer); at != tt.want || ok != (tt.want != Place{}) || asked != tt.asked {
				t.Errorf("%d: %s is at %v, %v; the master was asked %d times, want %v after %d", i, tt.peer, at, ok, asked, tt.want, tt.asked)
			}
		}
		if racks := s.Racks(); !slices.Equal(racks, []string{"r1", "r2"}) {
			t.Errorf("the racks are %q", racks)
		}
	})
	if _, err := (Setting{File: filepath.Join(t.TempDir(), "no", "links")}).Start(Place{}, nil); err == nil {
		t.Error("links were made where no directory is")
	}
}

// TestRoute: map output for another rack goes by circuit if there is a switch and it is an elephant, alone or with what goes there too.
func TestRoute(t *testing.T) {
	where := map[string]Place{"near": {"w2", "r1"}, "far": {"w3", "r2"}}
	locate := func(p string) (Place, bool) { at, ok := where[p]; return at, ok }
	for _, tt := range []struct {
		peer     string
		what     rpc.Traffic
		bytes    int64
		together bool
		ocs      topology.OCS
		want     rpc.Traffic
	}{
		{"far", rpc.Shuffle, 1e6 + 1, false, testSwitch, rpc.Circuit},
		{"far", rpc.Shuffle, 1e6, false, testSwitch, rpc.Shuffle},
		{"far", rpc.Shuffle, 1, true, testSwitch, rpc.Circuit},
		{"far", rpc.Block, 1e9, true, testSwitch, rpc.Block},
		{"far", rpc.Shuffle, 1e9, true, topology.OCS{}, rpc.Shuffle},
		{"near", rpc.Shuffle, 1e9, true, testSwitch, rpc.Shuffle},
		{"client", rpc.Shuffle, 1e9, true, testSwitch, rpc.Shuffle},
	} {
		s := &Shaper{Rates: topology.Links{Optical: tt.ocs}, Self: Place{"w1", "r1"}, Locate: locate}
		if got := s.Route(rpc.Peer{Name: tt.peer, What: tt.what}, tt.bytes, tt.together); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestCircuitsCarry: what goes by circuit pays there and not on the uplinks; all else pays on them, whatever it belongs to.
func TestCircuitsCarry(t *testing.T) {
	const rate = topology.Rate(1e9)
	ocs := topology.OCS{Rate: rate, Interval: 20 * time.Millisecond, Reconfig: time.Millisecond}
	for what, want := range map[rpc.Traffic]string{rpc.Circuit: "circuit r1 r2", rpc.Shuffle: "up r1"} {
		links, _ := open2(t)
		s := &Shaper{
			Links: links, Rates: topology.Links{NIC: rate, Uplink: rate, Optical: ocs}, Self: Place{"w1", "r1"},
			Locate: func(string) (Place, bool) { return Place{"w2", "r2"}, true },
		}
		const bytes = 1e5
		move := rpc.Transfer{Due: bytes}
		s.Send(rpc.Peer{Name: "w2", What: what}, bytes, &move)
		for _, link := range []string{"circuit r1 r2", "up r1"} {
			if l, err := links.find(link); err != nil || (l.next.Load() != 0) != (link == want) {
				t.Errorf("%v: used %s, %v", what, link, err)
			}
		}
		if (move.Due == 0) != (what == rpc.Circuit) {
			t.Errorf("%v: %d bytes are still to come", what, move.Due)
		}
	}
}

// TestTurns: in one turn passes what the slowest link carries in it, and never very little; a link without a rate is none.
func TestTurns(t *testing.T) {
	for _, tt := range []struct {
		rates topology.Links
		want  int
	}{
		{topology.Links{}, minStep},
		{topology.Links{NIC: 1}, minStep},
		{topology.Links{NIC: 1e9}, 4e6},
		{topology.Links{NIC: 1e9, Uplink: 1e8}, 4e5},
		{topology.Links{NIC: 1e8, Uplink: 1e9}, 4e5},
		{topology.Links{NIC: 1e9, Optical: topology.OCS{Rate: 1e7}}, 4e4},
		{topology.Links{NIC: 1e9, Racks: map[string]topology.Rack{"r1": {Uplink: 1e8}, "r2": {}}}, 4e5},
		{topology.Links{NIC: 1e9, Racks: map[string]topology.Rack{"r1": {Uplink: 1e8, Downlink: 1e7}}}, 4e4},
	} {
		if got := (&Shaper{Rates: tt.rates}).step(); got != tt.want {
			t.Errorf("%+v: %d bytes, want %d", tt.rates, got, tt.want)
		}
	}
}
