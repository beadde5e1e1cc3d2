package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/topology"
)

// A dumbNode is the reference of a node's room: it lays tasks in one by one, from plain counts of what is left.
type dumbNode struct {
	left    Capacity
	c       Capacity
	limited bool // by anything
}

func (d *dumbNode) lay(k Kind, what Demand) bool {
	var places *int32 // that the task takes of
	switch {
	case d.c.Slotted() && k == Map:
		places = &d.left.MapSlots
	case d.c.Slotted() && k == Reduce:
		places = &d.left.ReduceSlots
	case !d.c.Slotted() && d.c.Containers > 0:
		places = &d.left.Containers
	}
	if !d.limited || places != nil && *places < what.Slots || d.c.VCores > 0 && d.left.VCores < what.VCores || d.c.MemoryMB > 0 && d.left.MemoryMB < what.MemoryMB {
		return false
	}
	if places != nil {
		*places -= what.Slots
	}
	d.left.VCores -= what.VCores
	d.left.MemoryMB -= what.MemoryMB
	return true
}

func drawRoom(r *rand.Rand) Capacity {
	return Capacity{
		MapSlots: pick[int32](r, 0, 0, 1, 3), ReduceSlots: pick[int32](r, 0, 0, 2), Containers: pick[int32](r, 0, 2, 5),
		VCores: pick[int32](r, 0, 0, 2, 4), MemoryMB: pick[int64](r, 0, 0, 2048, 4096),
	}
}

func drawDemand(r *rand.Rand) Demand {
	return Demand{Slots: 1 + r.Int32N(3), VCores: 1 + r.Int32N(3), MemoryMB: 512 * (1 + r.Int64N(6))}
}

// A task fits beside others exactly where the reference can lay it in, and as many of the default demand are free as it can.
func TestRoomAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		c := drawRoom(r)
		ref := &dumbNode{left: c, c: c, limited: c != (Capacity{})}
		unit := DefaultConfig().Unit
		var used Usage
		for range 8 {
			for k := range Kind(NumKinds) {
				n, of := int32(0), *ref
				for k != Driver && of.lay(k, unit) {
					n++
				}
				if got := c.free(&used, k, unit); k != Driver && c.VCores == 0 && c.MemoryMB == 0 && got != n {
					t.Fatalf("%+v beside %+v: %d %vs are free, reference %d", c, used, got, k, n)
				}
				if got := c.Slots(k, unit); used == (Usage{}) && k != Driver && c.VCores == 0 && c.MemoryMB == 0 && got != n {
					t.Fatalf("%+v has %d places for %vs, reference %d", c, got, k, n)
				}
			}
			k, d := Kind(r.IntN(NumKinds)), drawDemand(r)
			fits := c.fits(&used, k, d)
			if want := ref.lay(k, d); fits != want {
				t.Fatalf("%+v beside %+v: a %v of %+v fits: %v, reference %v", c, used, k, d, fits, want)
			}
			if fits {
				used.add(k, d)
			}
		}
	})
}

// Where no node could ever hold a task, what is said to lack is what is asked for more of than any node has, and how much that is.
func TestMisfitAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		topo, err := topology.Uniform(1, 3, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewState(topo, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		k, d, holds, known := Kind(r.IntN(NumKinds)), drawDemand(r), false, false
		for n := range topology.NodeID(3) {
			c := drawRoom(r)
			state := NodeState(r.IntN(3))
			s.setNode(n, state, c)
			known = known || state == NodeIsReady
			holds = holds || state == NodeIsReady && (&dumbNode{left: c, c: c, limited: c != (Capacity{})}).lay(k, d)
		}
		m, found := s.view.Misfit(k, d, NodeIsReady)
		if found != (known && !holds) {
			t.Fatalf("a %v of %+v on %+v: no node ever: %v, reference: up %v, holds %v", k, d, s.nodes, found, known, holds)
		}
		if !found {
			return
		}
		asked := map[Measure]int64{Places: int64(d.Slots), VCores: int64(d.VCores), Memory: d.MemoryMB}
		if m.Lacks != Joint && (m.Asked != asked[m.Lacks] || m.Most >= m.Asked) {
			t.Fatalf("a %v of %+v on %+v: %+v", k, d, s.nodes, m)
		}
	})
}

// TestTooLarge: who waits for what no machine has is told what that is, in numbers.
func TestTooLarge(t *testing.T) {
	big := Demand{Slots: 1, VCores: 1, MemoryMB: 9000}
	for _, tc := range []struct {
		name  string
		room  Capacity
		spec  JobSpec
		after []Event // the job is admitted
		want  string  // "": nothing
	}{
		{"fits", Capacity{Containers: 2, VCores: 4, MemoryMB: 4096}, JobSpec{Maps: 1, Reduces: 1}, nil, ""},
		{"a map's memory", Capacity{VCores: 4, MemoryMB: 4096}, JobSpec{Maps: 1, MapDemand: big}, nil, "a map of it asks for 9000 MB, and no machine that is up has as much: the most that one has is 4096 MB"},
		{"a reduce's memory", Capacity{VCores: 4, MemoryMB: 4096}, JobSpec{Maps: 1, Reduces: 1, ReduceDemand: big}, nil, "a reduce of it asks for 9000 MB"},
		{"no reduces", Capacity{VCores: 4, MemoryMB: 4096}, JobSpec{Maps: 1, ReduceDemand: big}, nil, ""},
		{"no maps", Capacity{VCores: 4, MemoryMB: 4096}, JobSpec{Reduces: 1, MapDemand: big}, nil, ""},
		{"cores", Capacity{VCores: 4, MemoryMB: 4096}, JobSpec{Maps: 1, MapDemand: Demand{VCores: 5}}, nil, "asks for 5 vcores, and no machine that is up has as many: the most that one has is 4"},
		{"containers", Capacity{Containers: 2}, JobSpec{Maps: 1, MapDemand: Demand{Slots: 3}}, nil, "asks for 3 slots or containers, and no machine that is up has as many for it: the most is 2"},
		{"a driver", Capacity{VCores: 4, MemoryMB: 4096}, JobSpec{Maps: 1, HasDriver: true, DriverDemand: big}, nil, "a driver of it asks for 9000 MB"},
		{"a driver before any map is known", Capacity{VCores: 4, MemoryMB: 4096}, JobSpec{HasDriver: true, MapDemand: big}, nil, "a map of it asks for 9000 MB"},
		{"no driver is asked for", Capacity{VCores: 4, MemoryMB: 4096}, JobSpec{Maps: 1, DriverDemand: big}, nil, ""},
		{"the map has a place", Capacity{VCores: 4, MemoryMB: 4096}, JobSpec{Maps: 1, MapDemand: big}, []Event{Launched(TaskID{Job: 1}, 0, Remote, false)}, ""},
		{"the driver has a place", Capacity{VCores: 4, MemoryMB: 4096}, JobSpec{Maps: 1, HasDriver: true, DriverDemand: big}, []Event{Launched(TaskID{Job: 1, Kind: Driver}, 0, Anywhere, false)}, ""},
	} {
		g := newTestEngine(t, 1, 1, tc.room, nil)
		spec := tc.spec
		spec.ID = 1
		j := mustSubmit(t, g, &spec)
		for _, e := range tc.after {
			mustFeed(t, g, e)
		}
		why, never := g.View().TooLarge(j)
		if got := why.Text(nil); never != (tc.want != "") || never && !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q (%v), want %q", tc.name, got, never, tc.want)
		}
	}
}

// TestNobodysView: a view says nothing of nodes, racks, jobs and tasks that are not, rather than fail.
func TestNobodysView(t *testing.T) {
	g := newTestEngine(t, 20, 1, Capacity{Containers: 2}, nil)
	spec := &JobSpec{ID: 1, Maps: 1}
	spec.Splits.Add(1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	j, v := mustSubmit(t, g, spec), g.View()
	for _, n := range []topology.NodeID{topology.NoNode, 20, 1 << 20} {
		r := topology.RackID(n)
		_, idle := v.NodeIdle(n)
		_, local := v.PendingMapOn(j, n)
		_, inRack := v.PendingMapIn(j, r)
		var at []any
		for a := range v.RunningOn(n) {
			at = append(at, a)
		}
		for i := range v.PendingMapsOn(j, n) {
			at = append(at, i)
		}
		for i := range v.PendingMapsIn(j, r) {
			at = append(at, i)
		}
		got := []any{
			v.NodeState(n), v.Capacity(n), *v.Used(n), v.FreeSlots(n, Map), v.HasRoom(n, Map), v.Fits(n, j, Map), v.Fresh(n), idle,
			v.LocalOn(j, n), local, v.HasLocal(j, n),
			*v.RackUsed(r), v.RackTotal(r), v.Net(r), v.LocalIn(j, r), inRack, j.InRack(r), len(at),
		}
		want := []any{
			NodeIsDown,
			Capacity{},
			Usage{},
			int32(0), false, false, false, false, int32(0), false, false,
			Usage{},
			Totals{},
			Net{},
			int32(0), false,
			RackShare{},
			0,
		}
		if !slices.Equal(got, want) {
			t.Errorf("node %d, rack %d: %+v", n, r, got)
		}
	}
	for _, task := range []TaskID{{Job: 1, Index: -1}, {Job: 1, Index: 1}, {Job: 1, Kind: Driver}} {
		if got := fmt.Sprint(j.TaskState(task.Kind, task.Index), j.OutputNode(task.Kind, task.Index), v.Tries(j, task)); got != "pending -1 0" {
			t.Errorf("%v: %s", task, got)
		}
	}
	if _, ok := v.NodeIdle(1); ok || v.Group(UserGroup, "eve") != nil {
		t.Error("a processor was never sampled, and eve never came")
	}
}
