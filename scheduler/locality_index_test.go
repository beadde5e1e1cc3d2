package scheduler

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A localIndex answers as loops over plain lists of maps do: with few places and with many, with long rows and short ones, whatever is
// taken and put back in between.
func TestLocalIndexAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		places := pick[int32](r, 1, 63, 64, 65, 128, 200)
		used := 1 + r.Int32N(pick[int32](r, 3, fewRows, fewRows+1, 40))
		state := make([]TaskState, 1+r.IntN(60))
		at := map[int32][]int32{} // maps by place
		for m := range int32(len(state)) {
			for range r.IntN(4) {
				if p := r.Int32N(places) % used * max(1, places/used) % places; !slices.Contains(at[p], m) {
					at[p] = append(at[p], m)
				}
			}
		}
		var x localIndex
		scratch := make([]int32, places)
		x.build(int(places), scratch, func(yield func(p, m int32)) {
			for m := range int32(len(state)) {
				for _, p := range slices.Sorted(maps.Keys(at)) {
					if slices.Contains(at[p], m) {
						yield(p, m)
					}
				}
			}
		})
		if got := slices.Sorted(x.places); !slices.Equal(got, slices.Sorted(maps.Keys(at))) || slices.Max(scratch) != 0 {
			t.Fatalf("places %v, reference %v; scratch %v", got, slices.Sorted(maps.Keys(at)), scratch)
		}
		for range 60 {
			flip(&x, at, state, r.Int32N(int32(len(state))))
			compareIndex(t, &x, at, state, r.Int32N(places))
			compareIndex(t, &x, at, state, pick(r, -1, places, places+64, 1<<30))
		}
	})
}

// flip takes a map that is pending out, and puts one that is not back in.
func flip(x *localIndex, at map[int32][]int32, state []TaskState, m int32) {
	pending := state[m] == TaskPending
	state[m] = TaskPending
	if pending {
		state[m] = TaskRunning
	}
	for p := range at {
		if !slices.Contains(at[p], m) {
			continue
		}
		if pending {
			x.take(p)
		} else {
			x.put(p, m)
		}
	}
}

func compareIndex(t *rapid.T, x *localIndex, at map[int32][]int32, state []TaskState, p int32) {
	t.Helper()
	var want []int32
	for _, m := range at[p] {
		if state[m] == TaskPending {
			want = append(want, m)
		}
	}
	if len(at[p]) == 0 {
		x.put(p, 0) // is at no place that it has: nothing changes
	}
	first := int32(-1)
	if len(want) > 0 {
		first = want[0]
	}
	all := slices.Collect(x.all(p, state))
	if got := x.first(p, state); int(x.count(p)) != len(want) || got != first || !slices.Equal(all, want) {
		t.Fatalf("at %d: %d, %v, first %d; reference %v", p, x.count(p), all, got, want)
	}
	if again := slices.Collect(x.all(p, state)); !slices.Equal(again, want) {
		t.Fatalf("at %d: %v once the first was asked for, reference %v", p, again, want)
	}
	for m := range x.all(p, state) {
		if m != first {
			t.Fatalf("at %d: a walk that ends early saw %d, want %d", p, m, first)
		}
		break
	}
	if len(at[p]) == 0 && x.take(p) != 0 {
		t.Fatalf("a map was taken from %d, where none is", p)
	}
}
