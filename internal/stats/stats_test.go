package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

func TestEstimate(t *testing.T) {
	e := NewEstimate([]float64{1, 2, 3, 4, 5}) // t(4) = 2.776, s = 1.581
	near(t, "mean", e.Mean, 3, 1e-12)
	near(t, "low", e.Low, 3-1.963, 0.001)
	near(t, "high", e.High, 3+1.963, 0.001)
	if e := NewEstimate([]float64{7}); e.Low != 7 || e.High != 7 {
		t.Errorf("interval of one value: %+v", e)
	}
	if bar := e.Bar("x", 4); bar.Label != "x" || bar.Value != e.Mean || bar.Low != e.Low || bar.High != e.High || bar.Published != 4 {
		t.Errorf("drawn as %+v", bar)
	}
	for want, values := range map[string][]float64{"7": {7}, "7 (7 to 7)": {7, 7}} {
		e := NewEstimate(values)
		if i := e.Interval(); e.Text() != want || math.IsNaN(i.Low) != (len(values) < 2) {
			t.Errorf("of %v: %q, drawn as %+v", values, e.Text(), i)
		}
	}
	if i := NewEstimate([]float64{7}).Interval(); !math.IsNaN(i.Low) || !math.IsNaN(i.High) {
		t.Errorf("of one value %+v is drawn", i)
	}
}

// Of a mean, leaving out one value at a time has the interval of the mean itself; of a ratio of means it has that of the values' departures from it.
func TestLeaveOneOut(t *testing.T) {
	x, y := []float64{1, 2, 3, 4, 5}, []float64{2, 2, 3, 3, 5}
	mean := func(x []float64, without int) float64 {
		kept := append([]float64{}, x...)
		if without >= 0 {
			kept = append(kept[:without], kept[without+1:]...)
		}
		return Mean(kept)
	}
	want := NewEstimate(x)
	got := LeaveOneOut(5, func(without int) float64 { return mean(x, without) })
	near(t, "low", got.Low, want.Low, 1e-9)
	near(t, "high", got.High, want.High, 1e-9)
	ratio := LeaveOneOut(5, func(without int) float64 { return mean(x, without) / mean(y, without) })
	near(t, "ratio", ratio.Mean, 1, 1e-12)
	near(t, "low", ratio.Low, 0.7185, 0.0001) // 5 - 4 * 14/13, 1, 1, 5 - 4 * 11/12 and 1 depart by 0.2268 from their mean, times 2.776 / sqrt(5)
	if ratio.Text() != "1 (0.718 to 1.28)" || LeaveOneOut(1, func(int) float64 { return 7 }).Text() != "7" {
		t.Errorf("%s", ratio.Text())
	}
}

func TestJain(t *testing.T) {
	near(t, "even", Jain([]float64{2, 2, 2}), 1, 1e-12)
	near(t, "one has all", Jain([]float64{0, 0, 5, 0}), 0.25, 1e-12)
	if j := Jain([]float64{0, 0}); !math.IsNaN(j) {
		t.Errorf("nobody has anything: %g", j)
	}
}

// TestDistributions: the normal quantiles are those of the tables; drawn values have the mean and the variation that were asked for.
func TestDistributions(t *testing.T) {
	near(t, "the middle", Normal(0.5), 0, 1e-12)
	near(t, "two sided 5 %", Normal(0.975), 1.959964, 1e-6)
	near(t, "the other side", Normal(0.025), -1.959964, 1e-6)
	rng, x := rand.New(rand.NewPCG(1, 1)), make([]float64, 50_000)
	for i := range x {
		x[i] = Lognormal(rng, 30, 0.5)
	}
	near(t, "the mean", Mean(x), 30, 0.3)
	near(t, "the variation", Deviation(x)/Mean(x), 0.5, 0.02)
	near(t, "the deviation of one", Deviation(x[:1]), 0, 0)
}

func TestQuantiles(t *testing.T) {
	x := []float64{4, 1, 3, 2}
	near(t, "median", Median(x), 2.5, 1e-12)
	near(t, "last", Quantile(Sorted(x), 1), 4, 0)
	low, mean, high := Range(x)
	if low != 1 || mean != 2.5 || high != 4 || !math.IsNaN(Mean(nil)) || !math.IsNaN(Median(nil)) {
		t.Errorf("%v, %v, %v, of nothing %v and %v", low, mean, high, Mean(nil), Median(nil))
	}
}

func TestText(t *testing.T) {
	for f, want := range map[float64]string{1234.5: "1234", 123.45: "123.5", 12.345: "12.35", -1.2345: "-1.23", 0.00012345: "0.000123", 1000: "1000", 100: "100.0", 10: "10.00", 9: "9"} {
		if got := Text(f); got != want {
			t.Errorf("%v is %q, want %q", f, got, want)
		}
	}
	if got := Texts(1, 20, 300); got != "1, 20.00, 300.0" || Texts() != "" {
		t.Errorf("in a row %q", got)
	}
	if got := Span([]float64{4, 1, 4}, "s"); got != "3 s (1 to 4)" {
		t.Errorf("a span is %q", got)
	}
}
