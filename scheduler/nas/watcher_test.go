package nas

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// costOf is cost(w) of spec/nas 3.12 for a set of racks, from nothing.
func costOf(s *scheduler.JobSpec, shuffle float64, chosen func(topology.RackID) bool, w int, topo *topology.Topology) float64 {
	missing := 0.0
	for i, b := range s.Splits.Bytes {
		if !slices.ContainsFunc(s.Splits.Of(int32(i)), func(n topology.NodeID) bool { return chosen(topo.RackOf(n)) }) {
			missing += float64(b)
		}
	}
	return missing + shuffle*(1-1/float64(w))
}

// spec/nas 3.12: the chosen racks are the fullest ones, and no other number of fullest
// racks costs less; of equals the larger number is taken.
func TestChooseRacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		racks := rapid.IntRange(1, 6).Draw(t, "racks")
		topo, err := topology.Uniform(racks, 2, topology.Gbps(1), topology.Gbps(1))
		if err != nil {
			t.Fatal(err)
		}
		s := &scheduler.JobSpec{Maps: int32(rapid.IntRange(1, 12).Draw(t, "maps"))}
		for range s.Maps {
			n := rapid.IntRange(0, 2*racks) // one too many: an unknown node
			s.Splits.Add(int64(rapid.IntRange(0, 100).Draw(t, "bytes")), topology.NodeID(n.Draw(t, "a")), topology.NodeID(n.Draw(t, "b")))
		}
		shuffle := float64(rapid.IntRange(0, 600).Draw(t, "shuffle"))
		h := chooseRacks(s, shuffle, topo)
		order, _ := racksByBlocks(s, topo)
		best, least := 0, math.Inf(1)
		for w := 1; w <= racks; w++ {
			c := costOf(s, shuffle, func(r topology.RackID) bool { return slices.Contains(order[:w], r) }, w, topo)
			if c <= least*(1+1e-9) {
				best, least = w, c
			}
		}
		if h.racks != best {
			t.Fatalf("chose %d racks, %d cost least", h.racks, best)
		}
		for r := range topology.RackID(racks) {
			if h.has(r) != slices.Contains(order[:best], r) {
				t.Fatalf("rack %d: chosen %v", r, h.has(r))
			}
		}
	})
}

// spec/nas 3.12: a heavy shuffle squeezes the maps into one rack, none spreads them.
func TestSqueeze(t *testing.T) {
	topo, err := topology.Uniform(3, 1, topology.Gbps(1), topology.Gbps(1))
	if err != nil {
		t.Fatal(err)
	}
	s := spec(1, "u", 1, on(10, 0), on(10, 0), on(10, 1), on(10, 2))
	if h := chooseRacks(s, 1000*mb, topo); h.racks != 1 || !h.has(0) || h.has(1) {
		t.Errorf("heavy: %+v", h)
	}
	if h := chooseRacks(s, 0, topo); h.racks != 3 {
		t.Errorf("nothing to shuffle: %+v", h)
	}
}

func watcher(t *testing.T, change func(*Config)) *Watcher {
	t.Helper()
	cfg := DefaultConfig()
	cfg.TMax = cfg.TMin
	if change != nil {
		change(&cfg)
	}
	w, err := NewWatcher(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// spec/nas 3.12, map(node): a job keeps to its chosen racks until its patience is over or
// the rack is congested.
func TestWatcherKeepsToItsRacks(t *testing.T) {
	heavy := func() *scheduler.JobSpec { return spec(1, "u", 1, on(10, 0), on(10, 0), on(10, 1)) }
	w := watcher(t, func(c *Config) { c.Maps.Skips = 2 })
	r := newRig(t, w, 2, 1, scheduler.Capacity{MapSlots: 1, ReduceSlots: 1})
	r.Submit(heavy())
	for range 2 {
		if got, why := r.offer(1); len(got) != 0 || why.Code != scheduler.ForLocality {
			t.Fatalf("launched %v outside the chosen rack: %s", got, why.Text(r.View()))
		}
	}
	got, _ := r.offer(1)
	r.want(got, mapOf(1, 2))

	w = watcher(t, nil)
	r = newRig(t, w, 2, 1, scheduler.Capacity{MapSlots: 1, ReduceSlots: 1})
	r.Submit(heavy())
	got, _ = r.offer(0)
	r.want(got, mapOf(1, 0))
	r.Send(scheduler.NetSample(1, 0.85, 0, true))
	got, _ = r.offer(1)
	r.want(got, mapOf(1, 2))
}

// spec/nas 3.12, submit(j): a map whose block has no replica in the chosen racks is to be read from
// afar there, so it does not wait for a better place; one that was killed is found again.
func TestWatcherReadsFromAfarAtHome(t *testing.T) {
	r := newRig(t, watcher(t, nil), 2, 2, scheduler.Capacity{MapSlots: 2})
	r.Submit(spec(1, "u", 1, on(10, 0), on(10, 1), on(10, 0), on(10, 2), on(10, 3)))
	got, why := r.offer(0)
	r.want(got, mapOf(1, 0), mapOf(1, 2))
	if why.Code != scheduler.NoRoom {
		t.Errorf("reason %v: %s", why.Code, why.Text(r.View()))
	}
	got, _ = r.offer(1)
	r.want(got, mapOf(1, 1), mapOf(1, 3))
	if got, why = r.offer(2); len(got) != 0 || why.Code != scheduler.ForLocality {
		t.Fatalf("launched %v outside the chosen rack: %s", got, why.Text(r.View()))
	}
	r.Send(scheduler.TaskKilled(mapOf(1, 3), 1))
	got, _ = r.offer(1)
	r.want(got, mapOf(1, 3))
}

// spec/nas 3.12, reduce(node): reduces go where most map output is, up to its share; in a
// congested rack maps from anywhere take their containers, and without one the reduces start.
func TestWatcherReduces(t *testing.T) {
	w := watcher(t, nil)
	r := newRig(t, w, 2, 1, scheduler.Capacity{Containers: 2})
	r.Submit(spec(1, "u", 4, on(10, 0), on(10, 0), on(10, 0), on(10, 1), on(10, 1), on(10, 1)))
	for i, n := range []topology.NodeID{0, 0, 0, 1} {
		r.run(1, int32(i), n)
		r.finish(1, int32(i), 10*mb, 10*mb)
	}
	r.Submit(spec(2, "u", 1, on(10, 0)))
	r.run(2, 0, 0)
	r.finish(2, 0, 10*mb, 90*mb)
	r.Send(scheduler.NetSample(0, 0.9, 0, true))
	got, _ := r.offer(0)
	r.want(got, mapOf(1, 4), mapOf(1, 5)) // remote, in the place of reduces
	r.finish(1, 4, 10*mb, 0)
	r.finish(1, 5, 10*mb, 0)
	got, _ = r.offer(0)                         // still congested, but no map can use the room
	r.want(got, reduceOf(2, 0), reduceOf(1, 0)) // most output here first
	got, why := r.offer(1)
	r.want(got, reduceOf(1, 1)) // a quarter of the output: one of four
	if why.Code != scheduler.ForPlan {
		t.Errorf("rack 1 has its share, but: %s", why.Text(r.View()))
	}
	if text := r.Explain(r.Now, 1).Text(r.View()); text != "reduces of j1 wait for racks with its map output: 1 skips" {
		t.Errorf("explanation: %s", text)
	}
	r.Send(scheduler.TaskFinished(reduceOf(2, 0), 0, time.Second, 0, 0))
	got, _ = r.offer(0)
	r.want(got, reduceOf(1, 2))
}

// spec/nas 3.12: when a sharer may go anywhere, jobs at home in the rack come first, even
// if another has its data on the very node.
func TestWatcherPrefersJobsAtHome(t *testing.T) {
	w := watcher(t, func(c *Config) { c.Maps.Skips = 0 })
	r := newRig(t, w, 2, 2, scheduler.Capacity{MapSlots: 1})
	r.Submit(spec(1, "u", 1, on(10, 2), on(10, 2), on(10, 0))) // at home in rack 1
	r.Submit(spec(2, "u", 1, on(10, 1), on(10, 1)))            // at home in rack 0
	got, _ := r.offer(0)
	r.want(got, mapOf(2, 0))
}
