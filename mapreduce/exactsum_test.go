package mapreduce_test

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/mapreduce"
)

func genFloat() *rapid.Generator[float64] {
	return rapid.Custom(func(t *rapid.T) float64 {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]float64{
				0, math.Copysign(0, -1), 0.1, -0.1, 1, 1e16, -1e16, 1 << 53, math.MaxFloat64, -math.MaxFloat64,
				math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 0x1p-1022, math.Inf(1), math.Inf(-1), math.NaN(),
			}).Draw(t, "special")
		case 1:
			return math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		case 2:
			return math.Ldexp(1, rapid.IntRange(-1074, 1023).Draw(t, "power"))
		default:
			return rapid.Float64Range(-1e6, 1e6).Draw(t, "usual")
		}
	})
}

// exactly is the sum by numbers of any length, rounded once.
func exactly(values []float64) float64 {
	sum, rest, special := new(big.Float).SetPrec(4000), 0.0, false
	for _, v := range values {
		if math.IsInf(v, 0) || v != v {
			rest, special = rest+v, true
			continue
		}
		sum.Add(sum, new(big.Float).SetFloat64(v))
	}
	if special {
		return rest
	}
	f, _ := sum.Float64()
	return f + 0 // without the sign of zero
}

// TestSumOfFloats is the float next to the true sum, whatever the order of the values is and however they are grouped: the same bytes.
func TestSumOfFloats(t *testing.T) {
	plan, err := mapreduce.Sum.Plan(mapreduce.Float64)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(genFloat(), 1, 30).Draw(t, "values")
		want := mapreduce.Float64.Append(nil, exactly(values))
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var parts [][]byte
		for _, i := range random.Perm(len(values)) {
			parts = append(parts, plan.Lift(nil, mapreduce.Float64.Append(nil, values[i])))
		}
		for len(parts) > 1 { // any two, in any order
			i := random.IntN(len(parts))
			x := parts[i]
			parts = append(parts[:i], parts[i+1:]...)
			j := random.IntN(len(parts))
			parts[j] = plan.Merge(parts[j], x)
		}
		if got := plan.Settle(nil, parts[0]); !bytes.Equal(got, want) {
			g, _ := mapreduce.Float64.Decode(got)
			t.Fatalf("%v, want %v", g, exactly(values))
		}
		if n := len(parts[0]); n > 300 {
			t.Fatalf("an accumulator of %d bytes", n)
		}
	})
}

// BenchmarkSumOfFloats is what adding one value to a sum costs.
func BenchmarkSumOfFloats(b *testing.B) {
	plan, err := mapreduce.Sum.Plan(mapreduce.Float64)
	if err != nil {
		b.Fatal(err)
	}
	for _, spread := range []float64{1, 40} {
		b.Run(fmt.Sprintf("spread=%g", spread), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			var values [1024][]byte
			for i := range values {
				values[i] = mapreduce.Float64.Append(nil, math.Exp(random.NormFloat64()*spread))
			}
			acc := bytes.Clone(values[0])
			for i := 0; b.Loop(); i++ {
				acc = plan.Merge(acc, values[i%len(values)])
			}
			b.ReportMetric(float64(len(acc)), "bytes")
		})
	}
}
