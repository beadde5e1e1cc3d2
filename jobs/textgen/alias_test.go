package textgen

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// shares adds up what each column of the table gives to each outcome.
func shares(a alias) []float64 {
	p := make([]float64, len(a))
	for i, c := range a {
		own := float64(c.threshold) / (1 << 32)
		p[i] += own / float64(len(a))
		p[c.other] += (1 - own) / float64(len(a))
	}
	return p
}

func TestAliasHoldsTheWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Uint64Range(0, 1<<30), 1, 50).Draw(t, "weights")
		weights[0]++ // not all zero
		var sum float64
		for _, w := range weights {
			sum += float64(w)
		}
		for i, p := range shares(newAlias(weights)) {
			if want := float64(weights[i]) / sum; math.Abs(p-want) > 1e-8 {
				t.Fatalf("outcome %d of %v has a share of %v, want %v", i, weights, p, want)
			}
		}
	})
}

func TestZipfShares(t *testing.T) {
	for _, exponent := range []float64{0, 0.5, 1, 1.2, 3} {
		const n = 1000
		var sum float64
		for r := range n {
			sum += math.Pow(float64(r+1), -exponent)
		}
		for r, p := range shares(newZipf(n, exponent)) {
			if want := math.Pow(float64(r+1), -exponent) / sum; math.Abs(p-want) > 1e-8 {
				t.Fatalf("exponent %v: rank %d has a share of %v, want %v", exponent, r, p, want)
			}
		}
	}
}

func TestDrawStaysInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100).Draw(t, "n")
		a := newZipf(n, 1)
		for _, x := range []uint64{0, math.MaxUint64, rapid.Uint64().Draw(t, "x")} {
			if got := a.draw(x); int(got) >= n {
				t.Fatalf("draw(%#x) of %d outcomes = %d", x, n, got)
			}
		}
	})
}
