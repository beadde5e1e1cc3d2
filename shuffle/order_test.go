package shuffle

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// arrival is a drawn way of bringing the outputs of maps to a reduce.
type arrival struct {
	cfg   Config
	merge IntakeConfig
	maps  [][]pair // what each map emits
	order []int    // in which order they come
	lanes int      // fetchers at once
}

func drawArrival(t *rapid.T, m *mode, pool *Pool, dir string) *arrival {
	a := &arrival{cfg: Config{Dir: dir, Pool: pool, Partitions: 1, Fold: m.fold, Combine: m.combine}, lanes: rapid.IntRange(1, 4).Draw(t, "fetchers")}
	a.cfg.Compression = Compression(rapid.IntRange(0, 1).Draw(t, "compression"))
	a.cfg.MergeFactor = rapid.SampledFrom([]int{2, 3, 64}).Draw(t, "factor")
	if rapid.Bool().Draw(t, "case-blind") {
		a.cfg.Compare = func(a, b []byte) int { return bytes.Compare(bytes.ToLower(a), bytes.ToLower(b)) }
	}
	keys := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "A", "b", "key-number", "Key-Number", strings.Repeat("long", 80), "zz"}), 1, 5).Draw(t, "keys")
	most := rapid.SampledFrom([]int{3, 40, 200}).Draw(t, "records of a map")
	giants := rapid.Bool().Draw(t, "giants")
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	for i := range rapid.SampledFrom([]int{1, 2, 5, 40}).Draw(t, "maps") {
		var in []pair
		for j := range random.IntN(most) {
			v := fmt.Sprintf("<%d.%d>", i, j)
			if m.ints {
				v = string(encodeInt(nil, random.Int64N(1<<40)))
			} else if giants && random.IntN(200) == 0 {
				v = strings.Repeat(v, 8<<10) // late in a merge of a small pool
			}
			in = append(in, pair{keys[random.IntN(len(keys))], v})
		}
		a.maps = append(a.maps, in)
		a.order = append(a.order, i)
	}
	a.order = rapid.Permutation(a.order).Draw(t, "arrival")
	a.merge.Memory = rapid.SampledFrom([]int64{1, 2 << 10, 8 << 10, 64 << 10}).Draw(t, "memory")
	return a
}

// want sorts everything stably, in the order of the maps.
func (a *arrival) want(ref func(acc, v string) string) []pair {
	order := a.cfg.Compare
	if order == nil {
		order = bytes.Compare
	}
	all := slices.Concat(a.maps...)
	slices.SortStableFunc(all, func(x, y pair) int { return order([]byte(x.key), []byte(y.key)) })
	if ref == nil {
		return all
	}
	return a.aggregated(all, ref)
}

// aggregated makes one pair of those whose keys the order calls equal, under the least or, if they were combined, the first of
// their keys.
func (a *arrival) aggregated(in []pair, ref func(acc, v string) string) (out []pair) {
	for _, p := range in {
		last := len(out) - 1
		if last < 0 || compareWith(a.cfg.Compare, []byte(out[last].key), []byte(p.key)) != 0 {
			out = append(out, p)
			continue
		}
		out[last].value = ref(out[last].value, p.value)
		if a.cfg.Fold != nil {
			out[last].key = min(out[last].key, p.key)
		}
	}
	return out
}

// got takes the outputs in as they arrive and merges them.
func (a *arrival) got(t *rapid.T) []pair {
	segs := make([]Segment, len(a.maps))
	for i, in := range a.maps {
		cfg := a.cfg
		cfg.Name = fmt.Sprint("map-", i)
		segs[i] = segmentOf(t, collect(t, cfg, in), cfg.Name, 0, nil)
		segs[i].Map = i
	}
	a.merge.Merge = a.cfg.merge()
	a.merge.Merge.Name = "reduce"
	in, err := NewIntake(t.Context(), a.merge)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for lane := range a.lanes {
		wg.Go(func() {
			for i := lane; i < len(a.order); i += a.lanes {
				if err := in.Take(t.Context(), segs[a.order[i]]); err != nil {
					t.Errorf("take: %v", err)
				}
			}
		})
	}
	wg.Wait()
	run, err := in.Merge()
	if err != nil {
		t.Fatal(err)
	}
	out := drain(t, run)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// joinedValues is a combiner that keeps every value, so that its result shows their order.
func joinedValues(key []byte, values Run, emit func(k, v []byte) error) error {
	var all []byte
	for ok := true; ok; ok = values.Next() {
		all = append(all, values.Value()...)
	}
	return emit(key, all)
}

// TestValuesComeInTheOrderOfTheInput: whatever the order in which the outputs of maps arrive, and whatever is merged before all
// are there, a reduce gets exactly what a stable sort of all maps' records gives.
func TestValuesComeInTheOrderOfTheInput(t *testing.T) {
	dir := t.TempDir()
	all := append(slices.Clone(modes), mode{name: "join", combine: joinedValues, ref: func(acc, v string) string { return acc + v }})
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(all).Draw(t, "mode")
		pool := NewPool(256 << 10)
		a := drawArrival(t, &m, pool, dir)
		got := a.got(t)
		if m.ref != nil {
			got = a.aggregated(got, m.ref)
		}
		wantPairs(t, m.name, got, a.want(m.ref))
		wantIdle(t, pool)
		wantEmptyDir(t, dir)
	})
}

// TestEachMapOnce: two attempts of one map have names of their own, and only one goes in.
func TestEachMapOnce(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(1<<20)
	segs, _ := mapOutputs(t, dir, 2, 10, None, nil)
	in := newTestIntake(t, dir, pool, 0, nil)
	segs[1].Map = segs[0].Map
	if err := in.Take(t.Context(), segs[0]); err != nil {
		t.Fatal(err)
	}
	if err := in.Take(t.Context(), segs[1]); !errors.Is(err, ErrDuplicate) {
		t.Errorf("a second output of the map: %v", err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
}
