package jobpacker

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// naive plans with one number per container, line by line as spec/jobpacker 3.7
// has it.
type naive struct {
	k    *packer
	free [][]time.Duration // T_ik, by rack; containers are shared
}

func (n *naive) clone() [][]time.Duration {
	out := make([][]time.Duration, len(n.free))
	for i := range out {
		out[i] = slices.Clone(n.free[i])
	}
	return out
}

// racks returns the width racks whose q-th container is free first.
func racks(free [][]time.Duration, width, q int) []int {
	order := make([]int, len(free))
	at := func(i int) time.Duration {
		s := slices.Sorted(slices.Values(free[i]))
		return s[min(q, len(s))-1]
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	return slices.Sorted(slices.Values(order[:width]))
}

// fill puts q tasks on the earliest containers of one rack, in waves.
func fill(times []time.Duration, q int, from, length time.Duration) (end time.Duration) {
	for end = from; q > 0; {
		slices.Sort(times)
		for i := range times[:min(q, len(times))] {
			times[i] = max(times[i], from) + length
			end = max(end, times[i])
			q--
		}
	}
	return end
}

func (n *naive) heavy(d *draft) (out [2][]int, end time.Duration) {
	end = math.MaxInt64
	var keep [][]time.Duration
	width := 0
	for _, w := range d.feasible {
		free := n.clone()
		q, p := ceilDiv(n.k.provision(d.profile.Maps), w.Maps), ceilDiv(n.k.provision(d.profile.Reduces), w.Reduces)
		maps := racks(free, w.Maps, q)
		mapsEnd := d.arrival
		for _, i := range maps {
			mapsEnd = max(mapsEnd, fill(free[i], q, d.arrival, d.profile.MapTime))
		}
		start := mapsEnd + n.k.model.ShuffleStage(&d.profile, w)
		reds := racks(free, w.Reduces, p)
		done := time.Duration(0)
		for _, i := range reds {
			done = max(done, fill(free[i], p, start, d.profile.ReduceTime))
		}
		if done < end || done == end && w.Maps+w.Reduces < width {
			out, end, keep, width = [2][]int{maps, reds}, done, free, w.Maps+w.Reduces
		}
	}
	n.free = keep
	return out, end
}

// take runs n tasks on the containers with the smallest times, in waves.
func take(free [][]time.Duration, tasks int, length time.Duration, from func(racks []int) time.Duration) (used []int, end time.Duration) {
	type place struct{ rack, at int }
	for tasks > 0 {
		var all []place
		for r := range free {
			slices.Sort(free[r])
			for i := range free[r] {
				all = append(all, place{r, i})
			}
		}
		slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(free[a.rack][a.at], free[b.rack][b.at]) })
		all = all[:min(tasks, len(all))]
		if used == nil {
			for _, p := range all {
				used = append(used, p.rack)
			}
			slices.Sort(used)
			used = slices.Compact(used)
		}
		start := from(used)
		for _, p := range all {
			free[p.rack][p.at] = max(free[p.rack][p.at], start) + length
			end = max(end, free[p.rack][p.at])
		}
		tasks -= len(all)
	}
	return used, end
}

func (n *naive) light(d *draft) (out [2][]int, end time.Duration) {
	out[0], end = take(n.free, n.k.provision(d.profile.Maps), d.profile.MapTime, func([]int) time.Duration { return d.arrival })
	if d.profile.Reduces == 0 {
		return out, end
	}
	maps := end
	out[1], end = take(n.free, n.k.provision(d.profile.Reduces), d.profile.ReduceTime, func(r []int) time.Duration {
		return maps + n.k.model.electricalShuffle(&d.profile, Pair{len(out[0]), len(r)})
	})
	return out, end
}

// The planner against the naive one, on random clusters and jobs: same racks,
// same end, same free times.
func TestPlannerAgainstNaive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := DefaultConfig()
		cfg.Overprovision = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(rt, "over")
		cfg.Printed = rapid.Bool().Draw(rt, "printed")
		count, each := rapid.IntRange(1, 5).Draw(rt, "racks"), rapid.IntRange(1, 6).Draw(rt, "containers")
		k := &packer{cfg: &cfg}
		k.reset(uniform(t, count, scheduler.Capacity{Containers: int32(each)}).View())
		n := &naive{k: k}
		for range count {
			n.free = append(n.free, make([]time.Duration, each))
		}
		for i := range rapid.IntRange(1, 6).Draw(rt, "jobs") {
			s := recurring(scheduler.JobID(i), int32(rapid.IntRange(1, 20).Draw(rt, "maps")), int32(rapid.IntRange(0, 9).Draw(rt, "reduces")), rapid.Int64Range(0, 20*gb).Draw(rt, "shuffle"))
			s.Submit = time.Duration(rapid.IntRange(0, 40).Draw(rt, "arrival")) * time.Second
			d := &draft{spec: s, profile: profileOf(s), arrival: s.Submit}
			d.feasible = k.model.Feasible(&d.profile)
			plan := n.light
			if len(d.feasible) > 0 {
				plan = n.heavy
			}
			want, end := plan(d)
			got := k.plan(0, []*scheduler.JobSpec{s})[0]
			if fmt.Sprint(got.racks) != fmt.Sprint(want) || got.end != end {
				rt.Fatalf("job %d: racks %v until %v, want %v until %v", i, got.racks, got.end, want, end)
			}
		}
		for r, times := range n.free {
			slices.Sort(times)
			for q := range each {
				if k.free[0][r].nth(q+1) != times[q] {
					rt.Fatalf("rack %d: times %v, want %v", r, k.free[0][r], times)
				}
			}
		}
	})
}

// spec/jobpacker 3.6: by arrival online; B = 1 is widest job first; every job is
// planned once whatever B.
func TestOrder(t *testing.T) {
	cfg := DefaultConfig()
	cfg.SubBatches = 1
	mk := func(id scheduler.JobID, width float64, length, arrival time.Duration) *draft {
		return &draft{spec: &scheduler.JobSpec{ID: id}, width: width, length: length, arrival: arrival}
	}
	ids := func(jobs []*draft) (out []scheduler.JobID) {
		for _, d := range jobs {
			out = append(out, d.spec.ID)
		}
		return out
	}
	batch := []*draft{mk(1, 2, 5, 0), mk(2, 4, 1, 0), mk(3, 2, 9, 0)}
	if got := ids(cfg.order(batch)); !slices.Equal(got, []scheduler.JobID{2, 3, 1}) {
		t.Errorf("batch order %v", got)
	}
	online := []*draft{mk(1, 2, 5, 7), mk(2, 1, 1, 3), mk(3, 9, 9, 7)}
	if got := ids(cfg.order(online)); !slices.Equal(got, []scheduler.JobID{2, 3, 1}) {
		t.Errorf("online order %v", got)
	}
	cfg.SubBatches = 4
	got := ids(cfg.order(batch))
	if slices.Sort(got); !slices.Equal(got, []scheduler.JobID{1, 2, 3}) {
		t.Errorf("in 4 sub-batches: %v", got)
	}
}

// spec/jobpacker 3.13, lines 1 and 2: the allocation Corral keeps is the best of
// those it walks through, by a plain simulation of racks.
func TestCorralAgainstNaive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := DefaultConfig()
		cfg.Corral, cfg.Electrical = true, topology.Gbps(1)
		count := rapid.IntRange(1, 4).Draw(rt, "racks")
		c := &corral{cfg: &cfg}
		c.reset(uniform(t, count, scheduler.Capacity{Containers: 3}).View())
		var jobs []*scheduler.JobSpec
		for i := range rapid.IntRange(1, 4).Draw(rt, "jobs") {
			s := recurring(scheduler.JobID(i), int32(rapid.IntRange(1, 30).Draw(rt, "maps")), int32(rapid.IntRange(0, 9).Draw(rt, "reduces")), rapid.Int64Range(0, 9*gb).Draw(rt, "shuffle"))
			s.Submit = time.Duration(rapid.IntRange(0, 2).Draw(rt, "arrival")) * time.Minute
			jobs = append(jobs, s)
		}
		best := naiveCorral(c, jobs)
		var last, sum time.Duration
		together := true
		for _, p := range c.plan(0, jobs) {
			last, sum = max(last, p.end), sum+p.end-p.arrival
			together = together && p.arrival == jobs[0].Submit
			if len(p.racks[0]) == 0 || len(p.racks[0]) > count {
				rt.Fatalf("%d racks", len(p.racks[0]))
			}
		}
		got := last.Seconds()
		if !together {
			got = sum.Seconds() / float64(len(jobs))
		}
		if math.Abs(got-best) > 1e-6 {
			rt.Fatalf("objective %g, the best on the way was %g", got, best)
		}
	})
}

func naiveCorral(c *corral, jobs []*scheduler.JobSpec) float64 {
	width := make([]int, len(jobs))
	for i := range width {
		width[i] = 1
	}
	takes := func(i int) time.Duration { p := profileOf(jobs[i]); return c.model.Same(&p, width[i]) }
	best := math.Inf(1)
	for {
		best = min(best, objective(jobs, width, takes, len(c.racks)))
		longest := -1
		for i := range jobs {
			if width[i] < len(c.racks) && (longest < 0 || takes(i) > takes(longest)) {
				longest = i
			}
		}
		if longest < 0 {
			return best
		}
		width[longest]++
	}
}

func objective(jobs []*scheduler.JobSpec, width []int, takes func(int) time.Duration, racks int) float64 {
	order := make([]int, len(jobs))
	together := true
	for i := range order {
		order[i] = i
		together = together && jobs[i].Submit == jobs[0].Submit
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(jobs[a].Submit, jobs[b].Submit), cmp.Compare(width[b], width[a]), cmp.Compare(takes(b), takes(a)))
	})
	free := make([]time.Duration, racks)
	var last, sum time.Duration
	for _, i := range order {
		slices.Sort(free)
		end := max(free[width[i]-1], jobs[i].Submit) + takes(i)
		for r := range width[i] {
			free[r] = end
		}
		last, sum = max(last, end), sum+end-jobs[i].Submit
	}
	if together {
		return last.Seconds()
	}
	return sum.Seconds() / float64(len(jobs))
}

// spec/jobpacker 3.8: (1+ratio) times the containers are kept for a job.
func TestOverprovision(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Overprovision = 1
	k := &packer{cfg: &cfg}
	k.reset(uniform(t, 1, scheduler.Capacity{Containers: 8}).View())
	k.plan(0, []*scheduler.JobSpec{recurring(1, 3, 0, 0)})
	if got := fmt.Sprint(k.free[0][0]); got != "[{0 2} {10000000000 6}]" {
		t.Errorf("free %s, want 2 now and 6 in 10 s", got)
	}
}

// What was planned before the planner looked at the cluster again is kept: the
// same containers at the same times.
func TestReserveRepeatsThePlan(t *testing.T) {
	cfg := DefaultConfig()
	for _, c := range []scheduler.Capacity{{Containers: 6}, {MapSlots: 4, ReduceSlots: 2}} {
		v := uniform(t, 4, c).View()
		k := &packer{cfg: &cfg}
		k.reset(v)
		plans := k.plan(0, []*scheduler.JobSpec{recurring(1, 8, 2, 9*gb), recurring(2, 4, 6, 5*gb), recurring(3, 4, 1, 3*gb)})
		plans = append(plans, k.plan(0, []*scheduler.JobSpec{recurring(4, 9, 3, 0)})...)
		plans = append(plans, k.plan(0, []*scheduler.JobSpec{recurring(5, 70, 5, 0)})...) // several waves
		want := fmt.Sprint(k.free)
		k.reset(v)
		for _, p := range plans {
			if p.heavy != (p.spec.ID <= 3) {
				t.Fatalf("%v: heavy %v", p.spec.ID, p.heavy)
			}
			k.reserve(p)
		}
		if got := fmt.Sprint(k.free); got != want {
			t.Errorf("%+v: free\n%s, before\n%s", c, got, want)
		}
	}
}

// A change of the cluster makes the policy plan anew around what runs.
func TestPlansSurviveChanges(t *testing.T) {
	r := uniform(t, 2, scheduler.Capacity{Containers: 4})
	r.Submit(recurring(1, 4, 0, 0))
	first := r.p.arrived[0].racks[0]
	r.Send(scheduler.NodeUpdated(0, scheduler.Capacity{Containers: 4}))
	r.Submit(recurring(2, 4, 0, 0))
	if second := r.p.arrived[1].racks[0]; second[0] == first[0] {
		t.Errorf("both jobs are planned for rack %v", first)
	}
}

// A rack that died is not planned for.
func TestPlansAvoidDeadRacks(t *testing.T) {
	r := uniform(t, 3, scheduler.Capacity{Containers: 4})
	r.Submit(recurring(1, 1, 0, 0))
	if err := r.NodeLost(0, 2, true, nil); err != nil {
		t.Fatal(err)
	}
	r.Submit(recurring(2, 12, 0, 0))
	if racks := r.p.arrived[1].racks[0]; slices.Contains(racks, 2) {
		t.Errorf("planned for racks %v", racks)
	}
}

// spec/jobpacker 3.13, line 3: L(r) = l_map + (D/r)*((r-1)/r)/bw_e + l_red, and no
// shuffle without reduces.
func TestCorralLatency(t *testing.T) {
	m := Model{Racks: 4, MapSlots: 10, ReduceSlots: 10, Electrical: topology.Rate(100)}
	p := Profile{Maps: 40, Reduces: 10, MapTime: time.Second, ReduceTime: 2 * time.Second, Shuffle: 400}
	for r, want := range map[int]time.Duration{1: 6 * time.Second, 2: 5 * time.Second, 4: 3750 * time.Millisecond} {
		if got := m.Same(&p, r); got != want {
			t.Errorf("on %d racks %v, want %v", r, got, want)
		}
	}
	p.Reduces = 0
	if got := m.Same(&p, 2); got != 2*time.Second {
		t.Errorf("without reduces %v, want 2 s", got)
	}
}

// TestBestOfAllPairs: the least latency is that of some pair and of no pair less, the widest included (spec/jobpacker 3.5).
func TestBestOfAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		m := Model{Racks: 1 + rng.IntN(5), MapSlots: 4, ReduceSlots: 4, Electrical: topology.Rate(100), Optical: 1000, Threshold: 200}
		p := Profile{Maps: 1 + rng.IntN(60), Reduces: 1 + rng.IntN(60), MapTime: time.Second, ReduceTime: 2 * time.Second, Shuffle: int64(rng.IntN(5000))}
		var all []time.Duration
		for x := range m.Racks {
			for y := range m.Racks {
				all = append(all, m.Latency(&p, Pair{x + 1, y + 1}))
			}
		}
		if got, want := m.best(&p), slices.Min(all); got != want {
			t.Fatalf("%+v on %d racks: %v, want %v", p, m.Racks, got, want)
		}
	}
}
