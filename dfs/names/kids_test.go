package names

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKids: whatever is added and taken out, in whatever order, the entries of a directory are those of a sorted list, from any name on,
// in pieces of which none is empty or too long.
func TestKids(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 9))
		var k kids
		want := map[string]*inode{}
		name := func() string {
			if seed == 0 { // in order
				return fmt.Sprintf("%06d", len(want))
			}
			return fmt.Sprintf("%06d", rng.IntN(20_000))
		}
		check := func() {
			t.Helper()
			sorted := make([]string, 0, len(want))
			for n := range want {
				sorted = append(sorted, n)
			}
			slices.Sort(sorted)
			begin := fmt.Sprintf("%06d", rng.IntN(20_000))
			at, _ := slices.BinarySearch(sorted, begin)
			for from, list := range map[string][]string{"": sorted, begin: sorted[at:]} {
				var got []string
				for i := range k.from(from) {
					got = append(got, i.name)
				}
				if !slices.Equal(got, list) {
					t.Fatalf("seed %d: %d entries from %q on, want %d", seed, len(got), from, len(list))
				}
			}
			for _, p := range k.pieces {
				if len(p) == 0 || len(p) > chunk {
					t.Fatalf("seed %d: a piece of %d entries", seed, len(p))
				}
			}
			if k.n != len(want) {
				t.Fatalf("seed %d: it has %d entries, want %d", seed, k.n, len(want))
			}
		}
		for range 5 * chunk {
			n := name()
			if i := k.get(n); i != want[n] {
				t.Fatalf("seed %d: %s is %v", seed, n, i)
			}
			if want[n] == nil {
				want[n] = &inode{name: n}
				k.add(want[n])
			}
			if len(want)%100 == 0 {
				check()
			}
		}
		for range k.all() { // which may stop
			break
		}
		if len(k.pieces) > 4*len(want)/chunk {
			t.Errorf("seed %d: %d entries in %d pieces", seed, len(want), len(k.pieces))
		}
		check()
		var list []*inode
		for _, i := range want {
			list = append(list, i)
		}
		k.build(list)
		check()
		for n := range want {
			k.remove("x" + n) // nobody
			k.remove(n)
			if delete(want, n); len(want)%200 == 0 {
				check()
			}
		}
	}
}
