package nas

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// spec/nas 3.6, line 10: small-input unpredicted, small-input predicted, large-input
// unpredicted, large-input predicted, whatever the transfer costs.
func TestCategoriesBeforeCost(t *testing.T) {
	p := nasPolicy(t, func(c *Config) { c.Maps.Skips, c.CapTraffic = 0, false })
	r := newRig(t, p, 2, 2, scheduler.Capacity{MapSlots: 1, ReduceSlots: 1})
	// Node 0 asks; node 1 shares its rack, 2 and 3 do not. Small jobs are far and
	// have larger splits than the large jobs that are near.
	r.Submit(predicted(spec(1, "u", 1, on(1, 1), on(20, 1)), 21))
	r.Submit(spec(2, "u", 1, on(1, 1), on(20, 1)))
	r.Submit(predicted(spec(3, "u", 1, on(8, 2)), 8))
	r.Submit(spec(4, "u", 1, on(9, 3)))
	for _, want := range []scheduler.JobID{4, 3, 2, 1} {
		got, _ := r.offer(0)
		r.want(got, mapOf(want, 0))
		r.Send(scheduler.JobVanished(want))
	}
}

// spec/nas 3.8, lines 5 and 6, pair by pair.
func TestChoiceOrder(t *testing.T) {
	r := newRig(t, nasPolicy(t, nil), 1, 1, scheduler.Capacity{Containers: 1})
	r.Submit(spec(1, "u", 1, on(1, 0)))
	r.Submit(spec(2, "u", 1, on(1, 0)))
	older, newer := r.View().Job(1), r.View().Job(2)
	for _, tc := range []struct {
		name         string
		first, then  choice
		delayedFirst bool
	}{
		{"larger first below the share", choice{class: Heavy, shuffle: 9}, choice{class: Heavy, shuffle: 8}, false},
		{"smaller first above it", choice{class: Heavy, reached: true, shuffle: 8}, choice{class: Heavy, reached: true, shuffle: 9}, false},
		{"maps done before size", choice{class: Heavy, done: true, shuffle: 1}, choice{class: Heavy, shuffle: 9}, false},
		{"delayed before maps done", choice{class: Heavy, delayed: true}, choice{class: Heavy, done: true}, false},
		{"class before delayed", choice{class: Heavy}, choice{class: Medium, delayed: true}, false},
		{"delayed before class, by option", choice{class: Medium, delayed: true}, choice{class: Heavy}, true},
		{"maps done before class, by option", choice{class: Light, done: true}, choice{class: Heavy}, true},
		{"light filler before heavy", choice{class: Light, reached: true}, choice{class: Heavy, reached: true}, false},
		{"any share before filler", choice{class: Light}, choice{class: Light, reached: true}, false},
	} {
		// The worse one is the older job, so that only the rule can win.
		tc.first.job, tc.then.job = newer, older
		if tc.first.before(&tc.then, tc.delayedFirst) >= 0 || tc.then.before(&tc.first, tc.delayedFirst) <= 0 {
			t.Errorf("%s: wrong order", tc.name)
		}
	}
	a, b := choice{job: older}, choice{job: newer}
	if a.before(&b, false) >= 0 {
		t.Error("equal jobs are not first come, first served")
	}
}

// A map that failed is found again among maps of different sizes.
func TestSmallestIsFoundAgain(t *testing.T) {
	p := nasPolicy(t, func(c *Config) { c.Maps.Skips, c.TrafficLimit = 0, 1 })
	r := newRig(t, p, 2, 1, scheduler.Capacity{MapSlots: 1})
	r.Submit(spec(1, "u", 1, on(5, 1), on(3, 1), on(9, 1)))
	for _, step := range []struct {
		want int32
		end  func(scheduler.TaskID) scheduler.Event
	}{
		{1, func(t scheduler.TaskID) scheduler.Event { return scheduler.TaskFailed(t, 0) }},
		{1, func(t scheduler.TaskID) scheduler.Event { return scheduler.TaskFinished(t, 0, time.Second, 3*mb, 3*mb) }},
		{0, func(t scheduler.TaskID) scheduler.Event { return scheduler.TaskKilled(t, 0) }},
		{0, func(t scheduler.TaskID) scheduler.Event { return scheduler.TaskFinished(t, 0, time.Second, 5*mb, 5*mb) }},
	} {
		got, _ := r.offer(0)
		r.want(got, mapOf(1, step.want))
		r.Send(step.end(got[0]))
	}
	r.Send(scheduler.TaskLost(mapOf(1, 1)))
	got, _ := r.offer(0)
	r.want(got, mapOf(1, 1))
}

// spec/nas 3.1: 1 before anything is known, the mean of the finished maps after, empty
// inputs ignored; ShuffleSize mixes what was written with what is predicted.
func TestPredictor(t *testing.T) {
	p := nasPolicy(t, nil)
	r := newRig(t, p, 1, 1, scheduler.Capacity{Containers: 9})
	r.Submit(spec(1, "u", 1, on(10, 0), on(20, 0), on(30, 0), on(0, 0)))
	est := p.est.of(r.View().Job(1))
	check := func(ratio, shuffleMB float64, known bool) {
		t.Helper()
		if !near(est.ratio, ratio) || !near(est.shuffle, shuffleMB*mb) || est.predicted != known {
			t.Errorf("ratio %g, shuffle %g MB, predicted %v; want %g, %g, %v", est.ratio, est.shuffle/mb, est.predicted, ratio, shuffleMB, known)
		}
	}
	check(1, 60, false)
	for i := range int32(4) {
		r.run(1, i, 0)
	}
	r.finish(1, 3, 0, 0)
	check(1, 60, false)
	r.finish(1, 0, 10*mb, 20*mb)
	check(2, 20+2*50, true)
	r.finish(1, 1, 20*mb, 0)
	check(1, 20+1*30, true)
	r.Send(scheduler.TaskLost(mapOf(1, 0)))
	check(1, 0+1*40, true)
}

// spec/nas 3.1, item 1: declared sizes are believed of recurring jobs, or of all, or of
// none; a recurring job is known by its last run.
func TestFirstRatio(t *testing.T) {
	for _, tc := range []struct {
		sizes     string
		recurring bool
		want      float64
	}{{"recurring", true, 0.5}, {"recurring", false, 1}, {"all", false, 0.5}, {"none", true, 1}} {
		p := nasPolicy(t, func(c *Config) { c.Sizes = tc.sizes })
		r := newRig(t, p, 1, 1, scheduler.Capacity{Containers: 9})
		s := predicted(spec(1, "u", 1, on(10, 0)), 5)
		s.Recurring = tc.recurring
		r.Submit(s)
		if got := p.est.of(r.View().Job(1)).ratio; got != tc.want {
			t.Errorf("sizes=%s recurring=%v: ratio %g, want %g", tc.sizes, tc.recurring, got, tc.want)
		}
	}
	p := nasPolicy(t, nil)
	r := newRig(t, p, 1, 1, scheduler.Capacity{Containers: 9})
	daily := func(id scheduler.JobID) *scheduler.JobSpec {
		s := spec(id, "u", 1, on(10, 0))
		s.Name, s.Recurring = "daily", true
		return s
	}
	r.Submit(daily(1))
	r.run(1, 0, 0)
	r.finish(1, 0, 10*mb, 3*mb)
	r.Send(scheduler.JobFinished(1))
	r.Submit(daily(2))
	if est := p.est.of(r.View().Job(2)); !near(est.ratio, 0.3) || !est.predicted {
		t.Errorf("second run: ratio %g, predicted %v", est.ratio, est.predicted)
	}
}

// A job without known sizes counts as blocks; one without reduces shuffles
// nothing and is light.
func TestUnknownSizes(t *testing.T) {
	p := nasPolicy(t, nil)
	r := newRig(t, p, 1, 1, scheduler.Capacity{Containers: 1})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 3, Reduces: 1})
	r.Submit(&scheduler.JobSpec{ID: 2, Maps: 3, Input: scheduler.Bytes(900 * mb)})
	if est := p.est.of(r.View().Job(1)); est.shuffle != 3*128*mb || p.est.class(est) != Heavy {
		t.Errorf("three unknown maps shuffle %g", est.shuffle)
	}
	if est := p.est.of(r.View().Job(2)); est.shuffle != 0 || p.est.class(est) != Light {
		t.Errorf("a map-only job shuffles %g", est.shuffle)
	}
}

// A policy that takes over in mid-run learns from what is done and runs.
func TestTakesOver(t *testing.T) {
	r := newRig(t, nasPolicy(t, nil), 2, 1, scheduler.Capacity{Containers: 9})
	r.Submit(spec(1, "u", 2, on(10, 0), on(10, 0), on(10, 0)))
	r.run(1, 0, 0)
	r.run(1, 1, 1)
	r.finish(1, 0, 10*mb, 5*mb)
	p := nasPolicy(t, nil)
	r.SetPolicy(r.Now, p)
	j := r.View().Job(1)
	if est := p.est.of(j); est.ratio != 0.5 || est.running != 10*mb {
		t.Errorf("ratio %g, running %g", est.ratio, est.running)
	}
	if got := p.est.portion(j, 1); got != 0.5 {
		t.Errorf("rack 1 has %g of the output, want half", got)
	}
}

// spec/nas 6.4: with the option, the smallest map runs at once if nobody has one that
// qualifies, but not if somebody has one elsewhere.
func TestFallback(t *testing.T) {
	for _, other := range []bool{false, true} {
		p := nasPolicy(t, func(c *Config) { c.TrafficLimit, c.Fallback = mb, true })
		r := newRig(t, p, 2, 1, scheduler.Capacity{MapSlots: 1, ReduceSlots: 1})
		r.Submit(spec(1, "u", 1, on(9, 0), on(7, 0)))
		if other {
			r.Submit(spec(2, "v", 1, on(1, 1)))
		}
		got, _ := r.offer(0)
		if other {
			r.want(got)
		} else {
			r.want(got, mapOf(1, 1))
		}
	}
}

// spec/nas 6.5: only a node-local launch restores patience, or any.
func TestReset(t *testing.T) {
	for _, local := range []bool{false, true} {
		p := nasPolicy(t, func(c *Config) { c.Maps.Skips, c.ResetAny, c.CapTraffic = 1, !local, false })
		r := newRig(t, p, 2, 1, scheduler.Capacity{MapSlots: 1})
		r.Submit(spec(1, "u", 1, on(1, 1), on(1, 1), on(1, 1)))
		r.offer(0)
		got, _ := r.offer(0)
		r.want(got, mapOf(1, 0))
		r.finish(1, 0, mb, mb)
		got, _ = r.offer(0)
		if want := 0; local {
			r.want(got, mapOf(1, 1)) // still out of patience
		} else if len(got) != want {
			t.Errorf("launched %v, want a fresh wait", got)
		}
	}
}

// spec/nas 6.8: by option, output that lies on a node until its job ends counts too.
func TestUnfetchedOutput(t *testing.T) {
	p := nasPolicy(t, func(c *Config) { c.TrafficLimit, c.CountUnfetched = 10*mb, true })
	r := newRig(t, p, 1, 2, scheduler.Capacity{Containers: 9})
	r.Submit(spec(1, "u", 1, on(4, 0), on(4, 0)))
	r.Submit(spec(2, "u", 0, on(4, 0)))
	r.run(1, 0, 0)
	r.run(1, 1, 0)
	r.run(2, 0, 0)
	load := func(want float64) {
		t.Helper()
		if got := p.Load(0, r.View()); got != want*mb {
			t.Errorf("load %g MB, want %g", got/mb, want)
		}
	}
	load(8)
	r.finish(1, 0, 4*mb, 3*mb)
	load(3 + 3) // the other is now predicted at 3
	r.finish(2, 0, 4*mb, 4*mb)
	load(6) // map-only output is not shuffled
	r.Send(scheduler.TaskLost(mapOf(1, 0)))
	load(3)
	r.run(1, 0, 1)
	r.finish(1, 0, 4*mb, 3*mb)
	load(3)
	r.finish(1, 1, 4*mb, 3*mb)
	load(3)
	r.Send(scheduler.JobVanished(1))
	load(0)
}

// spec/nas 3.13: the ablations differ from NAS as the table says.
func TestAblations(t *testing.T) {
	for _, tc := range []struct {
		info       *scheduler.Info
		mechanisms string
		tMax       float64
		capped     bool
	}{
		{&Info, "all", 0.5, true},
		{&MTSInfo, "mts", 0.2, true},
		{&MTSCAInfo, "mts-ca", 0.5, true},
		{&NoTTInfo, "all", 0.5, false},
		{&NoMCTInfo, "all", 0.2, true},
		{&NoBothInfo, "all", 0.2, false},
	} {
		made, err := tc.info.Make(nil)
		if err != nil {
			t.Fatal(err)
		}
		c := made.(*Policy).cfg
		if c.Mechanisms != tc.mechanisms || c.TMax != tc.tMax || c.TMin != 0.2 || c.CapTraffic != tc.capped {
			t.Errorf("%s: %+v", tc.info.Name, c)
		}
	}
	// Congestion stops a heavy reduce under NAS only.
	for _, info := range []*scheduler.Info{&Info, &MTSInfo, &MTSCAInfo} {
		p := schedulertest.Factory(t, info, nil)()
		r := newRig(t, p, 1, 1, scheduler.Capacity{MapSlots: 1, ReduceSlots: 1})
		r.Submit(spec(1, "u", 1, on(1, 0)))
		r.run(1, 0, 0)
		r.finish(1, 0, mb, 200*mb)
		r.Send(scheduler.NetSample(0, 1, 1, true))
		if got, _ := r.offer(0); len(got) == 0 != (info == &Info) {
			t.Errorf("%s in a congested rack launched %v", info.Name, got)
		}
	}
}

// 3: in a shared pool reduces take at most their share of a node while maps are
// pending.
func TestMaxReduceFraction(t *testing.T) {
	p := nasPolicy(t, func(c *Config) { c.CapTraffic = false })
	r := newRig(t, p, 1, 2, scheduler.Capacity{Containers: 4})
	s := spec(1, "u", 9)
	for range 20 {
		s.Splits.Add(mb, 0, 1)
	}
	s.Maps = 20
	r.Submit(s)
	for i := range int32(10) {
		r.run(1, i, topology.NodeID(i%2))
		r.finish(1, i, mb, mb)
	}
	r.offer(0)
	u := r.View().Used(0)
	if u.Slots[scheduler.Reduce] != 2 || u.Slots[scheduler.Map] != 2 {
		t.Errorf("%d reduces and %d maps on a node of 4", u.Slots[scheduler.Reduce], u.Slots[scheduler.Map])
	}
}

func TestBadParameters(t *testing.T) {
	for _, tc := range []struct{ name, value, expect string }{
		{"t-min", "0.6", "t-min <= t-max"},
		{"t-max", "1.5", "out of range"},
		{"congestion", "0", "> 0"},
		{"key", "team", "one of"},
		{"mechanisms", "none", "one of"},
		{"heavy", "1", "light <= heavy"},
		{"skips", "3", "no parameter"},
		{"look", "0", "out of range"},
	} {
		if _, err := Info.Make(map[string]string{tc.name: tc.value}); err == nil || !strings.Contains(err.Error(), tc.expect) {
			t.Errorf("%s=%s: %v, want an error with %q", tc.name, tc.value, err, tc.expect)
		}
	}
}

// spec/nas 3.9, edge cases: under background traffic that never ends heavy jobs still
// finish, one patience at a time.
func TestPermanentCongestion(t *testing.T) {
	p := nasPolicy(t, func(c *Config) { c.Maps.Skips, c.Reduces.Skips = 10, 10 })
	r := newRig(t, p, 2, 2, scheduler.Capacity{Containers: 4})
	for rack := range topology.RackID(2) {
		r.Send(scheduler.NetSample(rack, 1, 1, true))
	}
	for id := range scheduler.JobID(5) {
		r.Submit(spec(id, "u", 3, on(200, 0, 2), on(200, 1, 3), on(200, 0, 3)))
	}
	left := 5
	for range 2000 {
		r.Now += time.Second
		for n := range topology.NodeID(4) {
			launched, _ := r.offer(n)
			for _, task := range launched {
				r.Send(scheduler.TaskFinished(task, n, time.Second, 200*mb, 200*mb))
				if j := r.View().Job(task.Job); j.Complete() {
					r.Send(scheduler.JobFinished(j.ID()))
					left--
				}
			}
		}
		if left == 0 {
			return
		}
	}
	t.Errorf("%d of 5 jobs starve", left)
}
