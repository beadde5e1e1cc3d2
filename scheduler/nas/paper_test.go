package nas

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// ninety is a node that may produce 90 MB and runs maps of 30 and 20 MB.
func ninety(t *testing.T, jobs ...*scheduler.JobSpec) (*rig, *Policy) {
	t.Helper()
	p := nasPolicy(t, func(c *Config) { c.TrafficLimit = 90 * mb })
	r := newRig(t, p, 1, 1, scheduler.Capacity{Containers: 3})
	r.Submit(spec(9, "busy", 1, on(30, 0), on(20, 0)))
	r.run(9, 0, 0)
	r.run(9, 1, 0)
	for _, s := range jobs {
		r.Submit(s)
	}
	return r, p
}

// spec/nas 3.16, example 2 (MTS): 40 MB are left on the node; t1 35 MB of a predicted job,
// t2 10 MB of an unpredicted one, t3 45 MB.
func TestMTSExample(t *testing.T) {
	begin := func(jobs ...*scheduler.JobSpec) (*rig, *Policy) { return ninety(t, jobs...) }
	t1 := func() *scheduler.JobSpec { return predicted(spec(1, "u", 1, on(35, 0)), 35) }
	t2 := func() *scheduler.JobSpec { return spec(2, "u", 1, on(10, 0)) }
	t3 := func() *scheduler.JobSpec { return spec(3, "u", 1, on(45, 0)) }

	r, _ := begin(t1(), t2(), t3())
	got, _ := r.offer(0)
	r.want(got, mapOf(2, 0))

	r, _ = begin(t1(), t3())
	got, _ = r.offer(0)
	r.want(got, mapOf(1, 0))

	// With only t3 the user is skipped and the next one is examined.
	r, p := begin(t3(), spec(4, "v", 1, on(40, 0)))
	got, _ = r.offer(0)
	r.want(got, mapOf(4, 0))
	if w := p.maps.At(r.View().Job(3).User().Slot()); w.Skips != 1 {
		t.Errorf("u was skipped %d times, want 1", w.Skips)
	}

	// With only t3 and the counter at 135 it is launched through line 11 of MTS (spec/nas 3.6).
	r, p = begin(t3())
	for i := range 135 {
		if got, _ = r.offer(0); len(got) != 0 {
			t.Fatalf("t3 was launched after %d skips", i)
		}
	}
	if w := p.maps.At(r.View().Job(3).User().Slot()); w.Skips != 135 {
		t.Errorf("u was skipped %d times, want 135", w.Skips)
	}
	got, _ = r.offer(0)
	r.want(got, mapOf(3, 0))
	if w := p.maps.At(r.View().Job(3).User().Slot()); w.Skips != 135 {
		t.Errorf("a launch that nobody waited for left %d skips, want 135 (spec/nas 6.5)", w.Skips)
	}
}

// spec/nas 4.3: on the real cluster 5 s since the first skip replace the count.
func TestMTSByTime(t *testing.T) {
	p := nasPolicy(t, func(c *Config) { c.TrafficLimit, c.Maps.ByTime = mb, true })
	r := newRig(t, p, 1, 1, scheduler.Capacity{Containers: 1})
	r.Submit(spec(1, "u", 1, on(45, 0)))
	r.offer(0)
	r.Now = 5*time.Second - 1
	if got, _ := r.offer(0); len(got) != 0 {
		t.Fatal("launched before 5 s")
	}
	r.Now = 5 * time.Second
	got, _ := r.offer(0)
	r.want(got, mapOf(1, 0))
}

// spec/nas 5, item 3: portions over the racks sum to one, so that ReduceNum before
// rounding sums to all reduces; running maps count by prediction (spec/nas 3.8).
func TestPortions(t *testing.T) {
	p := nasPolicy(t, nil)
	r := newRig(t, p, 4, 1, scheduler.Capacity{Containers: 20})
	s := spec(1, "u", 10)
	for range 10 {
		s.Splits.Add(10*mb, 0)
	}
	s.Maps = 10
	r.Submit(s)
	for i, n := range []topology.NodeID{0, 0, 0, 0, 0, 0, 1, 1, 1, 2} {
		r.run(1, int32(i), n)
	}
	for i := range int32(5) {
		r.finish(1, i, 10*mb, 10*mb)
	}
	sum := 0.0
	for rack, want := range []float64{0.6, 0.3, 0.1, 0} {
		got := p.est.portion(r.View().Job(1), topology.RackID(rack))
		if sum += got; !near(got, want) {
			t.Errorf("rack %d has %g of the output, want %g", rack, got, want)
		}
	}
	if !near(sum, 1) {
		t.Errorf("portions sum to %g", sum)
	}
}

// spec/nas 3.16, example 5: the order of CA-RTS for one user, all eligible.
func TestCAOrder(t *testing.T) {
	p := nasPolicy(t, func(c *Config) { c.Prefer = true })
	r := newRig(t, p, 2, 1, scheduler.Capacity{MapSlots: 20, ReduceSlots: 1})
	type row struct {
		id      scheduler.JobID
		out     int64 // MB of map output
		node    topology.NodeID
		delayed bool
	}
	// Output on node 0 (rack 0): not reached there; on node 1: reached in rack 0.
	rows := []row{{1, 300, 1, false}, {2, 200, 0, false}, {3, 150, 0, true}, {4, 50, 0, false}, {5, 60, 1, false}, {6, 0, 0, false}, {7, 0, 1, false}}
	names := map[scheduler.JobID]string{1: "H1", 2: "H2", 3: "H3", 4: "M1", 5: "M2", 6: "L1", 7: "L2"}
	for _, row := range rows {
		r.Submit(spec(row.id, "u", 1, on(1, row.node)))
		r.run(row.id, 0, row.node)
		r.finish(row.id, 0, mb, max(row.out*mb, 1000))
		if row.delayed {
			p.est.of(r.View().Job(row.id)).delayed = 1
		}
	}
	var order []string
	for range rows {
		got, why := r.offer(0)
		if len(got) != 1 {
			t.Fatalf("launched %v: %s", got, why.Text(r.View()))
		}
		order = append(order, names[got[0].Job])
		r.Send(scheduler.TaskFinished(got[0], 0, time.Second, 0, 0))
		r.Send(scheduler.JobFinished(got[0].Job))
	}
	want := []string{"H3", "H2", "M1", "L1", "L2", "M2", "H1"}
	for i := range want {
		if order[i] != want[i] {
			t.Fatalf("order %v, want %v", order, want)
		}
	}
}

// spec/nas 3.8, share: a rack with its share of a job's reduces gets no more of them until patience is over, also where it is
// congested; what then starts there restores nothing, a reduce below the share does.
func TestSharePlace(t *testing.T) {
	for _, congested := range []bool{false, true} {
		p := nasPolicy(t, func(c *Config) { c.Reduces.Skips = 2 })
		r := newRig(t, p, 2, 1, scheduler.Capacity{MapSlots: 20, ReduceSlots: 2})
		r.Submit(spec(1, "u", 4, on(1, 0), on(1, 0)))
		for i := range int32(2) {
			r.run(1, i, 0)
			r.finish(1, i, mb, 200*mb)
		}
		r.Send(scheduler.NetSample(1, 0.9, 0, congested))
		if !congested {
			r.Send(scheduler.NetSample(1, 0.1, 0, false))
		}
		skips := 0
		for got, _ := r.offer(1); len(got) == 0; got, _ = r.offer(1) {
			if skips++; skips > 20 {
				t.Fatal("never launched")
			}
		}
		if want := map[bool]int{false: 2, true: 4}[congested]; skips != want { // CR-RTS has its own patience before
			t.Errorf("congested %v: filler after %d empty offers, want %d", congested, skips, want)
		}
		slot := r.View().Job(1).User().Slot()
		if w := p.places.At(slot); w.Skips == 0 {
			t.Error("filler restored patience")
		}
		got, _ := r.offer(0)
		if len(got) == 0 {
			t.Fatal("no reduce where the output is")
		}
		if w := p.places.At(slot); w.Skips != 0 {
			t.Errorf("a reduce where the output is left %d skips", w.Skips)
		}
	}
}

// spec/nas 3.16, example 6: CR-RTS serves the light job of the second user, delays the
// heavy reduces of the first and raises the map filter; afterwards CA-RTS serves
// the delayed one before heavy ones that are not.
func TestCRExample(t *testing.T) {
	p := nasPolicy(t, nil)
	r := newRig(t, p, 1, 1, scheduler.Capacity{MapSlots: 20, ReduceSlots: 1})
	r.ready(spec(1, "u1", 2, on(1, 0)), 200*mb)
	r.ready(spec(2, "u2", 1, on(1, 0)), 1000)
	r.Send(scheduler.NetSample(0, 0.9, 0.1, true))
	got, _ := r.offer(0)
	r.want(got, reduceOf(2, 0))
	u1 := r.View().Job(1)
	if skips, tags := p.reduces.At(u1.User().Slot()).Skips, p.est.of(u1).delayed; skips != 1 || tags != 2 || !p.isFiltered(0) {
		t.Errorf("u1: %d skips, %d tags, map filter %v; want 1, 2, true", skips, tags, p.isFiltered(0))
	}
	// The filter keeps the maps of heavy and medium jobs back, not those of light
	// ones.
	r.Submit(spec(3, "u3", 1, on(500, 0)))
	r.Submit(predicted(spec(4, "u4", 1, on(500, 0)), 0))
	got, why := r.offer(0)
	r.want(got, mapOf(4, 0))
	if why.Code != scheduler.ForNetwork {
		t.Errorf("reason %v: %s", why.Code, why.Text(r.View()))
	}
	// Uncongested again: the filter goes with the first sample (spec/nas 6.21).
	r.Send(scheduler.NetSample(0, 0.5, 0.1, false))
	if p.isFiltered(0) {
		t.Error("the map filter is still raised")
	}
	r.Send(scheduler.TaskFinished(reduceOf(2, 0), 0, time.Second, 0, 0))
	r.Send(scheduler.JobFinished(2))
	r.ready(spec(5, "u1", 1, on(1, 0)), 900*mb) // heavier, but not delayed
	got, _ = r.offer(0)
	if len(got) == 0 || got[len(got)-1] != reduceOf(1, 0) {
		t.Fatalf("launched %v, want the delayed reduce of j1", got)
	}
	if est := p.est.of(u1); est.delayed != 1 {
		t.Errorf("%d tags left, want 1", est.delayed)
	}
}

// spec/nas 3.9: who was skipped D^r times gets a reduce in a congested rack.
func TestCRPatience(t *testing.T) {
	for _, c := range []struct {
		any   bool
		after []int // reduces launched at each offer
	}{
		{false, []int{0, 0, 0, 2}}, // only a light reduce restores patience (spec/nas 6.5): the second heavy one goes with the first
		{true, []int{0, 0, 0, 1, 0, 0, 1}},
	} {
		p := nasPolicy(t, func(cfg *Config) { cfg.Reduces.Skips, cfg.ResetAny = 3, c.any })
		r := newRig(t, p, 1, 1, scheduler.Capacity{MapSlots: 2, ReduceSlots: 2})
		r.Submit(spec(1, "u1", 2, on(1, 0)))
		r.run(1, 0, 0)
		r.finish(1, 0, mb, 200*mb)
		r.Send(scheduler.NetSample(0, 0, 0.8, true)) // at the threshold is congested
		for i, want := range c.after {
			got, why := r.offer(0)
			if len(got) != want || want == 0 && why.Code != scheduler.ForNetwork {
				t.Fatalf("reset any %t, offer %d: launched %v, want %d: %s", c.any, i, got, want, why.Text(r.View()))
			}
		}
	}
}

// spec/nas 3.16, example 7, and the identity of 2.5: reduces in proportion to map output
// balance up and down, all on the fullest rack stay more local.
func TestLocalShuffleIdentity(t *testing.T) {
	share := func(p, q []float64) (local float64, up, down []float64) {
		for i := range p {
			local += p[i] * q[i]
			up, down = append(up, p[i]*(1-q[i])), append(down, q[i]*(1-p[i]))
		}
		return local, up, down
	}
	p := []float64{0.6, 0.3, 0.1}
	local, up, down := share(p, p)
	if !near(local, 0.46) {
		t.Errorf("local share %g, want 0.46", local)
	}
	for i, want := range []float64{0.24, 0.21, 0.09} {
		if !near(up[i], want) || !near(down[i], want) {
			t.Errorf("rack %d: up %g down %g, want %g", i, up[i], down[i], want)
		}
	}
	local, _, down = share(p, []float64{1, 0, 0})
	if !near(local, 0.6) || !near(down[0], 0.4) {
		t.Errorf("all on A: local %g, down %g; want 0.60, 0.40", local, down[0])
	}
}

// CA-RTS reaches q = p: of ten reduces it places 6, 3 and 1 before any filler.
func TestReducesFollowMapOutput(t *testing.T) {
	pol := nasPolicy(t, nil)
	r := newRig(t, pol, 3, 1, scheduler.Capacity{MapSlots: 10, ReduceSlots: 10})
	s := spec(1, "u", 10)
	for range 10 {
		s.Splits.Add(10*mb, 0)
	}
	s.Maps = 10
	r.Submit(s)
	for i, n := range []topology.NodeID{0, 0, 0, 0, 0, 0, 1, 1, 1, 2} {
		r.run(1, int32(i), n)
		r.finish(1, int32(i), 10*mb, 10*mb)
	}
	j := r.View().Job(1)
	for rack, want := range []int32{6, 3, 1} {
		for k := range int32(10) {
			c := pol.choice(j, topology.RackID(rack))
			if c.reached != (k >= want) {
				t.Fatalf("rack %d with %d reduces: reached %v, want %d to be its share", rack, k, c.reached, want)
			}
			if c.reached {
				break
			}
			r.Send(scheduler.Launched(reduceOf(1, j.Running(scheduler.Reduce)), topology.NodeID(rack), scheduler.Anywhere, false))
		}
	}
}
