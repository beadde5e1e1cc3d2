package shuffle

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pair is a record of the reference.
type pair struct{ key, value string }

func (p pair) String() string { return fmt.Sprintf("%.40q=%.40q", p.key, p.value) }

// testingT is what both *testing.T and *rapid.T offer.
type testingT interface {
	Helper()
	Fatalf(format string, args ...any)
}

// drain reads a run to its end and closes it.
func drain(t testingT, run Run) []pair {
	t.Helper()
	var out []pair
	for run.Next() {
		out = append(out, pair{string(run.Key()), string(run.Value())})
		if r, ok := run.(Recorder); ok {
			if kv, n := r.Record(); string(kv[:n]) != string(run.Key()) || string(kv[n:]) != string(run.Value()) {
				t.Fatalf("Record %q, %d differs from Key %q and Value %q", kv, n, run.Key(), run.Value())
			}
		}
	}
	if err := run.Err(); err != nil {
		t.Fatalf("run ended with %v", err)
	}
	if err := run.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	return out
}

// wantPairs fails unless got is want.
func wantPairs(t testingT, what string, got, want []pair) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s: record %d is %v, want %v", what, i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d records, want %d", what, len(got), len(want))
	}
}

// reference sorts by partition and key, stably.
func reference(in []pair, partitions int, part func(k, v []byte) int, cmp func(a, b []byte) int) [][]pair {
	out := make([][]pair, partitions)
	for _, p := range in {
		i := part([]byte(p.key), []byte(p.value))
		out[i] = append(out[i], p)
	}
	for i := range out {
		slices.SortStableFunc(out[i], func(x, y pair) int { return cmp([]byte(x.key), []byte(y.key)) })
	}
	return out
}

// folded reduces equal neighbours of the reference by a function.
func folded(in []pair, f func(acc, v string) string) []pair {
	var out []pair
	for _, p := range in {
		if n := len(out); n > 0 && out[n-1].key == p.key {
			out[n-1].value = f(out[n-1].value, p.value)
		} else {
			out = append(out, p)
		}
	}
	return out
}

func wantEmptyDir(t testingT, dir string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil || len(list) > 0 {
		t.Fatalf("left behind: %v %v", list, err)
	}
}

func wantIdle(t testingT, p *Pool) {
	t.Helper()
	if n := p.InUse(); n != 0 {
		t.Fatalf("%d bytes of the pool are still in use", n)
	}
}

// genKey draws keys that share prefixes, repeat, contain zeros and differ in length.
func genKey() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return strings.Repeat("\x00", rapid.IntRange(0, 20).Draw(t, "zeros"))
		case 1:
			return "http://www.example.com/a/b/" + rapid.StringOfN(rapid.RuneFrom([]rune("ab\x00")), 0, 12, -1).Draw(t, "tail")
		case 2:
			return rapid.SampledFrom([]string{"", "a", "the", "\xff\xff\xff\xff\xff\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff", "aaaaaaaa", "aaaaaaaaa"}).Draw(t, "word")
		case 3:
			return strings.Repeat("x", rapid.IntRange(240, 300).Draw(t, "long"))
		default:
			return string(rapid.SliceOfN(rapid.Byte(), 0, 24).Draw(t, "bytes"))
		}
	})
}

func drawPairs(t *rapid.T, ints bool) []pair {
	keys := rapid.SliceOfN(genKey(), 1, 40).Draw(t, "keys")
	n := rapid.SampledFrom([]int{0, 1, 2, 50, 1000, 6000}).Draw(t, "records")
	size := rapid.SampledFrom([]int{0, 8, 100, 900}).Draw(t, "value size")
	seed := rapid.Uint64().Draw(t, "seed")
	out := make([]pair, n)
	for i := range out {
		seed = seed*6364136223846793005 + 1442695040888963407
		k := keys[seed>>33%uint64(len(keys))]
		if seed>>60 == 0 {
			k += fmt.Sprint(seed >> 40)
		}
		out[i] = pair{k, fmt.Sprint(i) + strings.Repeat("v", size)}
		if ints {
			out[i].value = string(encodeInt(nil, int64(seed)>>20))
		}
	}
	return out
}

// mode is one way to aggregate, and what the reference makes of it.
type mode struct {
	name    string
	fold    *Fold
	combine Combiner
	ints    bool
	ref     func(acc, v string) string // nil: nothing is aggregated
}

func intRef(op IntOp) func(acc, v string) string {
	return func(acc, v string) string {
		a, _ := decodeInt([]byte(acc))
		b, _ := decodeInt([]byte(v))
		return string(encodeInt(nil, op.apply(a, b)))
	}
}

func sumCombiner(key []byte, values Run, emit func(k, v []byte) error) error {
	sum := int64(0)
	for ok := true; ok; ok = values.Next() {
		v, _ := decodeInt(values.Value())
		sum += v
	}
	return emit(key, encodeInt(nil, sum))
}

var modes = []mode{
	{name: "plain"},
	{name: "sum", fold: &Fold{Op: SumInt}, ints: true, ref: intRef(SumInt)},
	{name: "min", fold: &Fold{Op: MinInt}, ints: true, ref: intRef(MinInt)},
	{name: "max", fold: &Fold{Op: MaxInt}, ints: true, ref: intRef(MaxInt)},
	{
		name: "bytes", fold: &Fold{Bytes: func(acc, v []byte) []byte { return append(acc[:0], longest(acc, v)...) }},
		ref: func(acc, v string) string { return string(longest([]byte(acc), []byte(v))) },
	},
	{name: "combine", combine: sumCombiner, ints: true, ref: intRef(SumInt)},
}

// longest is an associative choice between two values.
func longest(a, b []byte) []byte {
	if len(b) > len(a) || len(a) == len(b) && bytes.Compare(b, a) > 0 {
		return bytes.Clone(b)
	}
	return a
}

// TestCollectMergeAgainstReference sends random records through several collectors and a
// merge and compares with a stable sort.
func TestCollectMergeAgainstReference(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(modes).Draw(t, "mode")
		pool := NewPool(int64(rapid.SampledFrom([]int{256 << 10, 1 << 20, 8 << 20}).Draw(t, "budget")))
		cfg := Config{
			Dir: dir, Pool: pool, Fold: m.fold, Combine: m.combine,
			Partitions:   rapid.SampledFrom([]int{1, 2, 7, 1000}).Draw(t, "partitions"),
			Compression:  Compression(rapid.IntRange(0, 2).Draw(t, "compression")),
			KeepInMemory: rapid.Bool().Draw(t, "keep"),
			MergeFactor:  rapid.SampledFrom([]int{2, 3, 64}).Draw(t, "factor"),
		}
		n := cfg.Partitions
		cfg.Partition = func(k, _ []byte) int { return int(nameTag(string(k)) % uint32(n)) }
		order := bytes.Compare
		if rapid.Bool().Draw(t, "reverse") {
			order = func(a, b []byte) int { return bytes.Compare(b, a) }
			cfg.Compare = order
		}
		in := drawPairs(t, m.ints)
		outs := collectAll(t, cfg, in, rapid.IntRange(1, 4).Draw(t, "collectors"))
		for p, want := range reference(in, n, cfg.Partition, order) {
			got := mergeOutputs(t, cfg, outs, p)
			if m.ref != nil {
				got, want = folded(got, m.ref), folded(want, m.ref)
			}
			wantPairs(t, fmt.Sprintf("partition %d", p), got, want)
		}
		for _, o := range outs {
			if err := o.Release(); err != nil {
				t.Fatalf("release: %v", err)
			}
		}
		wantIdle(t, pool)
		wantEmptyDir(t, dir)
	})
}

// collectAll spreads the records, in order, over several collectors.
func collectAll(t testingT, cfg Config, in []pair, collectors int) []*Output {
	t.Helper()
	var outs []*Output
	per := (len(in) + collectors - 1) / collectors
	for i := range collectors {
		cfg.Name = fmt.Sprintf("map-%d", i)
		lo, hi := min(i*per, len(in)), min((i+1)*per, len(in))
		outs = append(outs, collect(t, cfg, in[lo:hi]))
	}
	return outs
}

// collect sends records through one collector.
func collect(t testingT, cfg Config, in []pair) *Output {
	t.Helper()
	c, err := NewCollector(context.Background(), cfg)
	if err != nil {
		t.Fatalf("new collector: %v", err)
	}
	defer c.Discard()
	for _, p := range in {
		if err := c.Add([]byte(p.key), []byte(p.value)); err != nil {
			t.Fatalf("add: %v", err)
		}
	}
	out, err := c.Finish()
	if err != nil {
		t.Fatalf("finish: %v", err)
	}
	st := c.Stats()
	if st.Records != int64(len(in)) {
		t.Fatalf("stats say %d records, want %d", st.Records, len(in))
	}
	return out
}

// mergeOutputs merges one partition of several outputs.
func mergeOutputs(t testingT, cfg Config, outs []*Output, p int) []pair {
	t.Helper()
	var sources []Source
	for _, o := range outs {
		if o.Info(p).Records > 0 {
			sources = append(sources, o.Source(p))
		}
	}
	m := cfg.merge()
	m.Name = "reduce"
	run, err := Merge(context.Background(), m, sources)
	if err != nil {
		t.Fatalf("merge: %v", err)
	}
	return drain(t, run)
}
