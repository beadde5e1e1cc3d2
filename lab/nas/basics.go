package nas

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/nas"
)

// mix counts the classes in the trace.
func mix(r *lab.Recorder) {
	day, err := lab.PublicTrace(lab.FBDay)
	if errors.Is(err, lab.ErrNoTraces) {
		r.Only(lab.FromModel)
		r.Check(lab.Reported("1: job mix", "12,226 small-input, 16,792 light", "the public trace is not here").Accept("exact").Because("set the environment variable MILLRACE_TRACES to the directory of the public traces"))
		return
	}
	r.Must(err)
	r.Only(lab.FromTrace)
	r.Seeds(1, 1)
	classes := nas.DefaultClasses()
	var small float64
	var count [3]float64
	for _, j := range day {
		if classes.Small(float64(j.InputBytes)) {
			small++
		}
		count[classes.Of(float64(j.ShuffleBytes))]++
	}
	r.Check(lab.Within("1: jobs", float64(len(day)), 24_442, 0))
	r.Check(lab.Within("1: small-input jobs", small, 12_226, 0).Because("published as 50.02 %"))
	for i, want := range []float64{16_792, 3_074, 4_576} {
		why := ""
		if i == 2 {
			why = r.Say("slip")
		}
		r.Check(lab.Within(fmt.Sprintf("1: %v jobs", nas.Class(i)), count[i], want, 0).Because(why))
	}
	drawMix(r, day, small, count)
}

// The chances of spec/nas 2.5: that a node holds a job's data, and that its map is small enough.
const (
	nearChance = 0.1
	fitChance  = 0.5
)

// skips draws the chances of spec/nas 2.5.
func skips(r *lab.Recorder) {
	const n = 200_000
	r.Seeds(1, 1)
	rng := rand.New(rand.NewPCG(r.Seed(), 0x5c))
	share := func(tries int, chance float64) float64 {
		found := 0
		for range n {
			for range tries {
				if rng.Float64() < chance {
					found++
					break
				}
			}
		}
		return 100 * float64(found) / n
	}
	bars := chart.Bars{Frame: chart.Frame{Title: "Drawn beside published", X: chart.Axis{Label: "%"}}}
	for _, c := range []struct {
		item                 string
		tries                int
		chance, want, within float64
		why                  string
	}{
		{"near and qualified within 10 skips, %", 3 * 10, nearChance * fitChance, 78.5, 1, r.Say("chances")},
		{"near and qualified within 40 skips, %", 3 * 40, nearChance * fitChance, 99.8, 0.2, ""},
		{"a light job among 3 users, %", 3, 0.687, 97, 0.5, "f = 0.687 (the job is shuffle-light), one job for each user"},
		{"a light job among 5 users, %", 5, 0.687, 99.7, 0.2, ""},
	} {
		got := share(c.tries, c.chance)
		r.Check(lab.Within("2: "+c.item, got, c.want, c.within).Because(c.why))
		bars.Bars = append(bars.Bars, chart.Plain(c.item, got).Beside(c.want))
	}
	drawSkips(r)
	r.Figure("drawn", bars)
}

// formulas checks the equations on random cases.
func formulas(r *lab.Recorder) {
	r.Seeds(1, 1)
	rng := rand.New(rand.NewPCG(r.Seed(), 0xf0))
	var threshold, ends, sums, links, local float64
	falling := 0
	for range 2_000 {
		maps, shuffle := 0.0, 0.0
		for range 1 + rng.IntN(20) {
			k := float64(1 + rng.IntN(500))
			maps, shuffle = maps+k, shuffle+k*rng.Float64()*1e8
		}
		m := float64(1 + rng.IntN(16))
		threshold = max(threshold, math.Abs(nas.TrafficThreshold(m, shuffle, maps)/(m*shuffle/maps)-1))
		lo, hi := rng.Float64()*1e9, 1e9+rng.Float64()*1e13
		at := func(s float64) float64 { return nas.CompletionThreshold(s, lo, hi, 0.2, 0.5, false) }
		ends = max(ends, math.Abs(at(lo)-0.5), math.Abs(at(hi)-0.2))
		a, b := lo+rng.Float64()*(hi-lo), lo+rng.Float64()*(hi-lo)
		if at(min(a, b)) >= at(max(a, b)) {
			falling++
		}
		sum, up, keep := racksIdentity(rng)
		sums, links, local = max(sums, sum), max(links, up), max(local, keep)
	}
	r.Check(lab.Within("3: traffic threshold against m times the mean map output, relative", threshold, 0, 1e-12).Because("equation 3.3; m is the number of containers on a node"))
	r.Check(lab.Within("3: completion threshold at the ends", ends, 0, 1e-12).Because("equation 3.5: T_max for the smallest shuffle, T_min for the largest"))
	r.Check(lab.Holds("3: completion threshold falls with the shuffle", lab.Order("falls (equation 3.5)"), fmt.Sprintf("in %d of 2000 random pairs", falling), falling == 2_000, "in every pair the larger shuffle has no higher threshold"))
	r.Check(lab.Within("3: reduces over racks before rounding, against all", sums, 0, 1e-9).Because(r.Say("in proportion")))
	r.Check(lab.Within("3: up and down load with q = p", links, 0, 1e-12).Because(r.Say("shares")))
	r.Check(lab.Within("3: local share with q = p against the sum of squares", local, 0, 1e-12).Because("the part of the shuffle that stays inside racks"))
	drawFormulas(r)
}

// racksIdentity spreads a job's maps over racks at random, puts reduces in the same
// proportion, and returns how far the stated identities are off.
func racksIdentity(rng *rand.Rand) (sum, links, local float64) {
	p := make([]float64, 2+rng.IntN(29))
	total := 0.0
	for i := range p {
		p[i] = rng.ExpFloat64()
		total += p[i]
	}
	reduces := float64(1 + rng.IntN(700))
	all, squares, inside := 0.0, 0.0, 0.0
	for i := range p {
		p[i] /= total
		all += reduces * p[i]
		squares += p[i] * p[i]
	}
	for i := range p {
		up, down := 0.0, 0.0
		for j := range p {
			if i == j {
				inside += p[i] * p[j]
				continue
			}
			up += p[i] * p[j]
			down += p[j] * p[i]
		}
		links = max(links, math.Abs(up-down), math.Abs(up-p[i]*(1-p[i])))
	}
	return math.Abs(all - reduces), links, math.Abs(inside - squares)
}
