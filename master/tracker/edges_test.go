package tracker

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestTimesOfSilence: a worker is silent, late or outlived when a time is over, and not a moment earlier.
func TestTimesOfSilence(t *testing.T) {
	h := newHall(t)
	n, other := h.c.byName["n1"], h.c.byName["n2"]
	h.c.byName["n0"].heard = 0
	for what, x := range map[string]struct {
		limit time.Duration
		is    func(after time.Duration) bool
	}{
		"silent": {h.c.cfg.Silence, func(after time.Duration) bool { n.suspect = false; return h.c.silent(n.heard+after, n) }},
		"suspected and silent": {h.c.cfg.Silence / 3, func(after time.Duration) bool {
			h.c.Suspect("n1", "another life")
			if n.suspect {
				t.Error("another life of it is suspected")
			}
			h.c.Suspect("n1", n.session)
			defer func() { n.suspect = false }()
			return h.c.silent(n.heard+after, n)
		}},
		"outlived": {h.c.cfg.Silence / 6, func(after time.Duration) bool { other.heard = n.heard + after; return h.c.outlived(n) }},
		"late": {time.Minute, func(after time.Duration) bool {
			other.heard = n.heard + after
			return slices.Contains(h.c.Overdue(n.heard+after, time.Minute), Late{n.name, n.addr, n.session})
		}},
	} {
		if x.is(x.limit) || !x.is(x.limit+1) {
			t.Errorf("%s: after %v %t, a moment later %t", what, x.limit, x.is(x.limit), x.is(x.limit+1))
		}
	}
	h.c.NodeGone(h.now, "n1", "another life", "why")
	if !n.up {
		t.Error("the end of an earlier life is that of this one")
	}
	h.c.Loose("n1", "another life")
	if n.loose {
		t.Error("the connection of an earlier life is that of this one")
	}
	h.c.NodeGone(h.now, "n1", n.session, "why")
	if n.up || slices.Contains(h.c.Overdue(h.now+time.Hour, time.Minute), Late{n.name, n.addr, n.session}) {
		t.Error("who is gone is late")
	}
}

// TestDeathsThatCount: deaths count for as long as a worker would be excluded, and it is as long as that, to the moment. A third of the workers may be.
func TestDeathsThatCount(t *testing.T) {
	const minute = time.Minute
	for what, x := range map[string]struct {
		deaths []time.Duration // of n2
		others int             // that are excluded
		is     bool
	}{
		"three at once":              {[]time.Duration{minute, minute, minute}, 0, true},
		"two":                        {[]time.Duration{minute, minute}, 0, false},
		"the first just counts":      {[]time.Duration{minute, 2 * minute, 3 * minute}, 0, true},
		"the first counts no longer": {[]time.Duration{minute, 2 * minute, 3*minute + 1}, 0, false},
		"one of three is already":    {[]time.Duration{minute, minute, minute}, 1, false},
	} {
		h := newHall(t)
		n, last := h.c.byName["n2"], time.Duration(0)
		for i := range x.others {
			h.c.nodes[i].excluded = time.Hour
		}
		for _, at := range x.deaths {
			last = at
			h.c.died(at, n)
		}
		end := last + h.c.cfg.Exclude
		if h.c.excludedWhy(end, n) != "" || (h.c.excludedWhy(end-1, n) != "") != x.is || (h.c.restWhy(last, n) != "") != x.is {
			t.Errorf("%s: excluded until %v, %q", what, n.excluded, h.c.excludedWhy(end-1, n))
		}
	}
}

// TestOthersOfADecision: a launch names other jobs with such a task and counts those that it has no room for; its own job is none of them, whether more of it waits
// or not.
func TestOthersOfADecision(t *testing.T) {
	for _, maps := range []int{1, 20} {
		s := newScene(t, maps, 1)
		s.say(s.n0)
		s.say(s.n1)
		launches := 0
		for _, d := range s.c.DecisionsFrom(wire.DecisionsRequest{}).Decisions {
			if d.Do != "launch" {
				continue
			}
			if launches++; len(d.Others) != 0 || d.More != 0 {
				t.Errorf("one job of %d maps: %+v", maps, d)
			}
		}
		if launches == 0 {
			t.Error("nothing was launched")
		}
	}
}

// TestPartOfAStage: a plan is 5 of 100, maps and reduces are 45 each, or 90 where there are no others, and what runs counts by what it reports.
func TestPartOfAStage(t *testing.T) {
	runs := func(kind wire.TaskKind, done float64) *attempt {
		return &attempt{id: wire.AttemptID{Kind: kind}, done: done}
	}
	for what, x := range map[string]struct {
		total, done [2]int32
		running     []*attempt
		want        float64
	}{
		"nothing to do":          {want: 95},
		"planned":                {total: [2]int32{4, 2}, want: 5},
		"a map":                  {total: [2]int32{4, 2}, done: [2]int32{1, 0}, want: 5 + 45.0/4},
		"a reduce":               {total: [2]int32{4, 2}, done: [2]int32{4, 1}, want: 5 + 45 + 45.0/2},
		"all":                    {total: [2]int32{4, 2}, done: [2]int32{4, 2}, want: 95},
		"maps only":              {total: [2]int32{4, 0}, done: [2]int32{2, 0}, want: 50},
		"reduces only":           {total: [2]int32{0, 4}, done: [2]int32{0, 1}, want: 5 + 90.0/4},
		"a map runs":             {total: [2]int32{4, 2}, running: []*attempt{runs(wire.MapTask, 0.5)}, want: 5 + 45.0/8},
		"a reduce runs":          {total: [2]int32{4, 2}, running: []*attempt{runs(wire.ReduceTask, 0.5)}, want: 5 + 45.0/4},
		"a driver is none":       {total: [2]int32{4, 2}, running: []*attempt{runs(wire.DriverTask, 0.5)}, want: 5},
		"more than there can be": {total: [2]int32{1, 1}, done: [2]int32{1, 0}, running: []*attempt{runs(wire.MapTask, 0.5)}, want: 50},
	} {
		st := &stage{plan: &plan{}, total: x.total, doneCount: x.done, running: map[*attempt]bool{}}
		for _, a := range x.running {
			st.running[a] = true
		}
		if got := st.percent(); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", what, got, x.want)
		}
	}
	if got := (&stage{}).percent(); got != 0 {
		t.Errorf("without a plan: %g", got)
	}
}

// TestSamePlace: places are the same if they say the same, or if both say nothing.
func TestSamePlace(t *testing.T) {
	one, same, other := &wire.HeldPlace{Index: 1}, &wire.HeldPlace{Index: 1}, &wire.HeldPlace{Index: 2}
	for _, x := range []struct {
		a, b *wire.HeldPlace
		want bool
	}{{nil, nil, true}, {one, one, true}, {one, same, true}, {one, other, false}, {one, nil, false}, {nil, one, false}} {
		if got := samePlace(x.a, x.b); got != x.want {
			t.Errorf("%v and %v: %t", x.a, x.b, got)
		}
	}
}

// TestPoliciesAreDecisions: a policy that is put in place is told among the decisions; of a place that nothing was put in, nothing is.
func TestPoliciesAreDecisions(t *testing.T) {
	c := newCore(t)
	c.Announce(5, wire.Choice{Name: "fair"}, wire.Choice{})
	c.Announce(6, wire.Choice{}, wire.Choice{Name: "marp"})
	got := c.DecisionsFrom(wire.DecisionsRequest{}).Decisions
	if len(got) != 2 || got[0].At != 5 || got[0].Do != "policy" || got[0].Why != "fair is in place" || got[1].At != 6 || got[1].Why != "marp is in place" {
		t.Errorf("%+v", got)
	}
}

// TestWhenAJobMustFit: after a restart a job may be too large until workers have had the time to report, and to the moment no longer.
func TestWhenAJobMustFit(t *testing.T) {
	s := &scene{t: t, c: newCore(t), n0: &hand{name: "small", rack: "r0", machine: wire.Capacity{VCores: 2, MemoryMB: 2048}}}
	s.c.cfg.Epoch = 2
	s.c.Resume(0)
	s.n0.restart()
	s.say(s.n0)
	large := sleepOf(asks(0, 4096), wire.Demand{}, wire.Demand{})
	end := s.c.resumedAt + s.c.cfg.Grace
	if err := s.c.checkFit(end-1, &large); err != nil {
		t.Errorf("before: %v", err)
	}
	if err := s.c.checkFit(end, &large); wire.KindOf(err) != wire.Invalid {
		t.Errorf("then: %v", err)
	}
}

// TestWhatIsFoundRunning: a master that comes back takes over every map that its workers run, from the first on, and ends those of tasks that there are not.
func TestWhatIsFoundRunning(t *testing.T) {
	s := newScene(t, 2, 1)
	s.say(s.n0)
	s.say(s.n1)
	maps := func() []wire.AttemptID {
		list := append(s.n0.mapsOf(), s.n1.mapsOf()...)
		slices.SortFunc(list, func(a, b wire.AttemptID) int { return int(a.Index - b.Index) })
		return list
	}
	before := maps()
	if len(before) == 0 || before[0].Index != 0 {
		t.Fatalf("%v run", before)
	}
	s.c = restartedAt(t, s.c.Snapshot(s.now), s.now)
	odd := []wire.AttemptID{before[0], before[0]}
	odd[0].Index, odd[0].Try = 2, 77
	odd[1].Index, odd[1].Try = -1, 78
	for _, id := range odd {
		s.n0.running[id] = true
	}
	for range 2 {
		s.say(s.n0)
		s.say(s.n1)
	}
	if after := maps(); !slices.Equal(before, after) {
		t.Errorf("before %v, and after a restart %v", before, after)
	}
}
