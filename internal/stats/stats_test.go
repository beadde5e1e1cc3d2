package stats

import (
	"math"
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
}

func TestJain(t *testing.T) {
	near(t, "even", Jain([]float64{2, 2, 2}), 1, 1e-12)
	near(t, "one has all", Jain([]float64{0, 0, 5, 0}), 0.25, 1e-12)
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
	for f, want := range map[float64]string{1234.5: "1234", 123.45: "123.5", 12.345: "12.35", -1.2345: "-1.23", 0.00012345: "0.000123"} {
		if got := Text(f); got != want {
			t.Errorf("%v is %q, want %q", f, got, want)
		}
	}
}
