package shuffle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestSum: an output's sum is that of its records, however much memory there was, however they are packed, and whether they were
// spilled, folded or combined; another value, another order of values or another partition is another sum.
func TestSum(t *testing.T) {
	var in []pair
	for i := range 20_000 {
		in = append(in, pair{fmt.Sprint("key ", i*7919%1000), string(encodeInt(nil, int64(i)))})
	}
	in = append(in, pair{"large", strings.Repeat("x", 300<<10)})
	sum := func(m mode, budget int64, packed Compression, in []pair) uint64 {
		t.Helper()
		if m.ints {
			in = in[:20_000]
		}
		out := collect(t, Config{
			Dir: t.TempDir(), Name: "map", Pool: NewPool(budget), Fold: m.fold, Combine: m.combine, Compression: packed, MergeFactor: 3,
			Partitions: 3, Partition: func(k, _ []byte) int { return int(k[len(k)-1]) % 3 },
		}, in)
		defer out.Release() //nolint:errcheck // the directory goes with the test
		return out.Sum()
	}
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			want := sum(m, 64<<20, None, in)
			if want == 0 {
				t.Fatal("the sum is 0")
			}
			for _, budget := range []int64{512 << 10, 2 << 20, 64 << 20} {
				for _, packed := range []Compression{None, S2} {
					if got := sum(m, budget, packed, in); got != want {
						t.Errorf("%d KiB, %v: %x, with all memory %x", budget>>10, packed, got, want)
					}
				}
			}
			other := slices.Clone(in)
			other[7].value = string(encodeInt(nil, 1<<40))
			if sum(m, 64<<20, None, other) == want && m.name != "min" {
				t.Error("another value, the same sum")
			}
			other = slices.Clone(in)
			other[7].key = "key X"
			if sum(m, 64<<20, None, other) == want {
				t.Error("another key, the same sum")
			}
		})
	}
}
