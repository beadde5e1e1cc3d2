package nas

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// spec/nas 3.16, example 1, and equation (3.3): 6 containers, 600 MB from 10 maps and nothing from
// 30 give 90 MB; it is m times the mean output of a map.
func TestTrafficThreshold(t *testing.T) {
	if got := TrafficThreshold(6, 600, 40); got != 90 {
		t.Errorf("threshold %g, want 90", got)
	}
	if got := TrafficThreshold(6, 0, 0); !math.IsInf(got, 1) {
		t.Errorf("without jobs %g, want none (3.4)", got)
	}
	if got := TrafficThreshold(6, 0, 5); got != 0 {
		t.Errorf("with nothing to shuffle %g, want 0 (3.4)", got)
	}
	// The same through the policy: ratio 1 for A, B has no reduces.
	p := nasPolicy(t, nil)
	r := newRig(t, p, 1, 4, scheduler.Capacity{Containers: 6})
	a, b := spec(1, "a", 1), spec(2, "b", 0)
	for range 10 {
		a.Splits.Add(60*mb, 0)
	}
	for range 30 {
		b.Splits.Add(128*mb, 1)
	}
	a.Maps, b.Maps = 10, 30
	r.Submit(a)
	r.Submit(b)
	if p.TrafficThreshold() != 90*mb {
		t.Errorf("policy's threshold %g MB, want 90", p.limit/mb)
	}
	r.Send(scheduler.JobVanished(1))
	r.Send(scheduler.JobVanished(2))
	if !math.IsInf(p.limit, 1) {
		t.Errorf("threshold %g after all jobs left, want none", p.limit)
	}
}

// spec/nas 3.4, note: the published operator overrides.
func TestTrafficOverrides(t *testing.T) {
	for _, tc := range []struct {
		change func(*Config)
		want   float64
	}{
		{func(c *Config) { c.TrafficLimit = 7 * mb }, 7 * mb},
		{func(c *Config) { c.TrafficScale = 2 }, 12 * mb},
		{func(c *Config) { c.CapTraffic = false }, math.Inf(1)},
	} {
		p := nasPolicy(t, tc.change)
		r := newRig(t, p, 1, 1, scheduler.Capacity{Containers: 6})
		r.Submit(spec(1, "a", 1, on(1, 0)))
		if p.limit != tc.want {
			t.Errorf("threshold %g, want %g", p.limit, tc.want)
		}
	}
}

// spec/nas 3.16, example 3, and equation (3.5) with its checks.
func TestCompletionThreshold(t *testing.T) {
	for s, want := range map[float64]float64{0: 0.5, 50: 0.35, 100: 0.2} {
		if got := CompletionThreshold(s, 0, 100, 0.2, 0.5, false); !near(got, want) {
			t.Errorf("threshold of %g is %g, want %g", s, got, want)
		}
	}
	if got := CompletionThreshold(7, 7, 7, 0.2, 0.5, false); got != 0.2 {
		t.Errorf("with one size %g, want T_min (3.7)", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(0, 1e12).Draw(t, "smin")
		hi := lo + rapid.Float64Range(1, 1e13).Draw(t, "span")
		log := rapid.Bool().Draw(t, "log")
		tMin := rapid.Float64Range(0, 0.5).Draw(t, "tmin")
		tMax := tMin + rapid.Float64Range(0.01, 0.5).Draw(t, "more")
		f := func(s float64) float64 { return CompletionThreshold(s, lo, hi, tMin, tMax, log) }
		if math.Abs(f(lo)-tMax) > 1e-6 || math.Abs(f(hi)-tMin) > 1e-6 {
			t.Fatalf("ends %g and %g, want %g and %g", f(lo), f(hi), tMax, tMin)
		}
		a := rapid.Float64Range(0, 1).Draw(t, "a")
		b := rapid.Float64Range(0, 1).Draw(t, "b")
		if a < b && f(lo+a*(hi-lo)) < f(lo+b*(hi-lo))-1e-9 {
			t.Fatal("the threshold rises with the shuffle")
		}
	})
}

// spec/nas 3.7, note: with a giant job the linear rule is T_max for a 100 GB shuffle, the
// logarithmic one is not.
func TestLogScale(t *testing.T) {
	const giant, big = 29.8e12, 100e9
	if got := CompletionThreshold(big, 0, giant, 0.2, 0.5, false); got < 0.49 {
		t.Errorf("linear: %g", got)
	}
	if got := CompletionThreshold(big, 0, giant, 0.2, 0.5, true); got > 0.3 {
		t.Errorf("log: %g", got)
	}
}

// spec/nas 3.16, example 4, and equation (3.4): 10 reduces over racks with 60/30/10/0 percent.
func TestReduceNum(t *testing.T) {
	for portion, want := range map[float64]int32{0.6: 6, 0.3: 3, 0.1: 1, 0: 0} {
		if got := ReduceNum(10, portion); got != want {
			t.Errorf("portion %g: %d reduces, want %d", portion, got, want)
		}
	}
}

// spec/nas 2.5 and 5, item 2: the skip analysis, by formula and by drawing lots.
func TestSkipAnalysis(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 26))
	fail := func(jobs int, p, q float64, skips int) float64 {
		return math.Pow(1-p*q, float64(jobs*skips))
	}
	const runs = 40_000
	for _, tc := range []struct {
		skips     int
		want, tol float64
	}{{10, 0.785, 0.01}, {40, 0.998, 0.002}} {
		if got := 1 - fail(3, 0.1, 0.5, tc.skips); math.Abs(got-tc.want) > tc.tol {
			t.Errorf("formula: success within %d skips %.4f, want %g", tc.skips, got, tc.want)
		}
		hits := 0
		for range runs {
			if heartbeats(r, 3, 0.1, 0.5, tc.skips) {
				hits++
			}
		}
		if got := float64(hits) / runs; math.Abs(got-tc.want) > tc.tol {
			t.Errorf("drawn: success within %d skips %.4f, want %g +- %g", tc.skips, got, tc.want, tc.tol)
		}
	}
}

// spec/nas 2.5: the chance that one of the first users has a shuffle-light job.
func TestLightJobSearch(t *testing.T) {
	const runs = 40_000
	r := rand.New(rand.NewPCG(20, 26))
	for _, tc := range []struct {
		users     int
		want, tol float64
	}{{3, 0.970, 0.005}, {5, 0.997, 0.002}} {
		hits := 0
		for range runs {
			for range tc.users {
				if r.Float64() < 0.687 {
					hits++
					break
				}
			}
		}
		formula, drawn := 1-math.Pow(1-0.687, float64(tc.users)), float64(hits)/runs
		if math.Abs(formula-tc.want) > tc.tol || math.Abs(drawn-tc.want) > tc.tol {
			t.Errorf("a light job among %d users: formula %.4f, drawn %.4f, want %g +- %g", tc.users, formula, drawn, tc.want, tc.tol)
		}
	}
}

// heartbeats draws independent offers: is there one within skips for which some
// job has data on the node (p) in a shuffle-qualified map (q)?
func heartbeats(r *rand.Rand, jobs int, p, q float64, skips int) bool {
	for range skips {
		for range jobs {
			if r.Float64() < p && r.Float64() < q {
				return true
			}
		}
	}
	return false
}

// TestBoundsFollowEveryChange: S_min and S_max are those of a scan, whatever jobs come, go and change (spec/nas 3.7).
func TestBoundsFollowEveryChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 7))
	for range 200 {
		e := &estimates{dirty: true, all: make([]estimate, 6)}
		for range 60 {
			j := &e.all[rng.IntN(len(e.all))]
			old := *j
			j.live = true
			j.counted, j.shuffle = rng.IntN(3) > 0, float64(rng.IntN(9))
			e.moved(old.shuffle, old.counted, j.shuffle, j.counted)
			wantMin, wantMax := math.Inf(1), 0.0
			for _, j := range e.all {
				if j.counted {
					wantMin, wantMax = min(wantMin, j.shuffle), max(wantMax, j.shuffle)
				}
			}
			if gotMin, gotMax := e.bounds(); gotMin != wantMin || gotMax != wantMax {
				t.Fatalf("bounds %v and %v, a scan has %v and %v", gotMin, gotMax, wantMin, wantMax)
			}
		}
	}
}
