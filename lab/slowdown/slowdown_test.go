package slowdown

import (
	"math"
	"slices"
	"testing"
)

// percentiles50 are runs of which only the median is known.
func percentiles50(x ...float64) spread {
	var runs []spread
	for _, v := range x {
		runs = append(runs, spread{q: map[int]float64{50: v}})
	}
	return average(runs)
}

// A ratio of two averages has no interval where every workload has the same ratio, however far workloads are apart: both are left out together.
func TestEstimateLeavesOutTheSameWorkload(t *testing.T) {
	over := func(s ...spread) float64 { return s[0].q[50] / s[1].q[50] }
	same := estimate(over, percentiles50(2, 8, 20, 60), percentiles50(1, 4, 10, 30))
	if math.Abs(same.Low-2) > 1e-9 || math.Abs(same.High-2) > 1e-9 || same.N != 4 {
		t.Errorf("%+v, want 2 without a width", same)
	}
	apart := estimate(over, percentiles50(2, 8, 20, 60), percentiles50(4, 10, 30, 1))
	if math.Abs(apart.Mean-2) > 1e-9 || apart.Low > 1 || apart.High < 3 {
		t.Errorf("%+v, want a wide interval around 2", apart)
	}
}

// What is judged over many workloads has the best limit of every share, by a search that saw other limits, and the limits that a source names.
func TestJudgedLimits(t *testing.T) {
	at := func(name string, _ float64) spread {
		v := map[string]float64{limited("sita", 10, 8000): 1, limited("sita", 40, 18000): 1}[name]
		if v == 0 {
			v = 2
		}
		return spread{q: map[int]float64{50: 1, 95: v}}
	}
	got := judgedLimits(at)
	for _, want := range []string{limited("sita", 10, 8000), limited("sita", 40, 18000), limited("sita", 30, 24000), limited("tags", 50, 14000)} {
		if !slices.Contains(got, want) {
			t.Errorf("%v has no %s", got, want)
		}
	}
}

// Jobs with less of their work in reduces offer the map slots more than they can do (spec/slowdown 6.14); those of the other pages do not.
func TestReadingsOfCompLoadTheMapSlots(t *testing.T) {
	for _, c := range compReadings {
		load := c.from.mapLoad(1, 0.9)
		if c.from == drawn && load > 0.95 || c.from != drawn && load < 1 {
			t.Errorf("%s: the map slots have a load of %.2f", c.name, load)
		}
	}
}

// A job pays if it is slower than under FIFO; by rank nobody pays where the same slowdowns have only changed places.
func TestPays(t *testing.T) {
	base := spread{slow: []float64{1, 2, 3, 4}, sizes: []float64{10, 20, 20_000, 30_000}}
	other := spread{slow: []float64{2, 1, 4, 3}, sizes: base.sizes}
	if got, want := pays(base, other), (payers{jobs: 0.5, much: 0.5, ranks: 0, large: 0.5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	other.slow = []float64{1, 2, 3.1, 9}
	if got, want := pays(base, other), (payers{jobs: 0.5, much: 0.25, ranks: 0.5, large: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
