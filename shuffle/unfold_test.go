package shuffle

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// unfoldCase is records under a fold whose table is of no use at first.
type unfoldCase struct {
	budget int64
	fold   *Fold
	key    func(i int) string
	add    func(c *Collector, key string, i int) error
	join   func(acc, v string) string // of the reference
	value  func(i int) string
}

func unfoldCases() map[string]unfoldCase {
	short := func(i int) string { return fmt.Sprintf("w%07d", i*7919%1_000_003) }
	long := func(i int) string { return short(i) + strings.Repeat(" and so on", 5) }
	ints := unfoldCase{
		fold: &Fold{Op: SumInt}, add: func(c *Collector, key string, i int) error { return c.AddInt([]byte(key), int64(i)) },
		value: func(i int) string { return string(encodeInt(nil, int64(i))) },
		join: func(acc, v string) string {
			a, _ := decodeInt([]byte(acc))
			b, _ := decodeInt([]byte(v))
			return string(encodeInt(nil, a+b))
		},
	}
	lists := unfoldCase{ // the order of values shows
		fold:  &Fold{Bytes: func(acc, v []byte) []byte { return append(append(acc, ','), v...) }},
		add:   func(c *Collector, key string, i int) error { return c.Add([]byte(key), []byte(strconv.Itoa(i))) },
		value: strconv.Itoa, join: func(acc, v string) string { return acc + "," + v },
	}
	cases := map[string]unfoldCase{}
	for name, c := range map[string]unfoldCase{"ints": ints, "lists": lists} {
		for length, key := range map[string]func(int) string{"short": short, "long": long} {
			for _, mib := range []int64{1, 16} {
				c.key, c.budget = key, mib<<20
				cases[fmt.Sprintf("%s of %s keys, %d MiB", name, length, mib)] = c
			}
		}
	}
	return cases
}

// TestTableThatFoldsNothingEnds: keys that come once end the table, and what comes again later is folded all the same.
func TestTableThatFoldsNothingEnds(t *testing.T) {
	const keys = 3 * leastJudged
	for name, uc := range unfoldCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, pool := t.TempDir(), NewPool(uc.budget)
			c, err := NewCollector(t.Context(), Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1, Fold: uc.fold, KeepInMemory: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Discard()
			var in []pair
			for i := range keys + keys/2 {
				key := uc.key(i % keys)
				in = append(in, pair{key, uc.value(i)})
				if err := uc.add(c, key, i); err != nil {
					t.Fatal(err)
				}
			}
			if uc.budget > 1<<20 && c.table != nil {
				t.Errorf("after %d keys, each once, there is still a table", keys)
			}
			if n := c.Stats().Records; n > int64(len(in)) || n < int64(len(in)-foldAhead) {
				t.Errorf("%d records are counted, want %d", n, len(in))
			}
			out, err := c.Finish()
			if err != nil {
				t.Fatal(err)
			}
			// What folding saves is what is missing in the output, whether a table saved it or the sort after it.
			if st := c.Stats(); st.Records != int64(len(in)) || st.OutRecords > st.Records || st.CombineIn-st.CombineOut != st.Records-st.OutRecords {
				t.Errorf("%+v: of %d records", st, len(in))
			}
			run, err := Merge(t.Context(), MergeConfig{Dir: dir, Name: "reduce", Pool: pool, Fold: uc.fold}, []Source{out.Source(0)})
			if err != nil {
				t.Fatal(err)
			}
			whole := func([]byte, []byte) int { return 0 }
			want := folded(reference(in, 1, whole, func(a, b []byte) int { return compareWith(nil, a, b) })[0], uc.join)
			wantPairs(t, name, drain(t, run), want)
			if err := out.Release(); err != nil {
				t.Fatal(err)
			}
			wantIdle(t, pool)
			wantEmptyDir(t, dir)
		})
	}
}

// TestTableThatFoldsStays: keys that come again, be it seldom, are worth a table as long as it has room for all of them.
func TestTableThatFoldsStays(t *testing.T) {
	pool := NewPool(64 << 20)
	c, err := NewCollector(t.Context(), Config{Dir: t.TempDir(), Name: "map", Pool: pool, Partitions: 1, Fold: &Fold{Op: SumInt}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Discard()
	for i := range 3 * leastJudged {
		if err := c.AddInt(fmt.Appendf(nil, "%d", i*7919%(2*leastJudged)/2*(i%7+1)), 1); err != nil {
			t.Fatal(err)
		}
	}
	if !c.judged || c.table == nil {
		t.Errorf("judged %v, table %v, want a table that was judged and stays", c.judged, c.table != nil)
	}
}

// TestFewAgain: what keys that came again tell of all keys, for a table with room for a million.
func TestFewAgain(t *testing.T) {
	for _, c := range []struct {
		n, again float64
		want     bool
	}{
		{30_000, 0, true},
		{30_000, 100, true},      // 4.5 million keys: a full table would fold little
		{30_000, 1000, false},    // 450,000 keys: a full table folds more than half
		{30_000, 500_000, false}, // words
		{4096, 1, true},
		{4096, 3, false},
	} {
		if got := fewAgain(c.n, c.again, 1e6); got != c.want {
			t.Errorf("%v keys, %v again: %v, want %v", c.n, c.again, got, c.want)
		}
	}
}
