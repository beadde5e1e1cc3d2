package shuffle

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sortKeys sorts keys through an index of small blocks and returns them with
// their numbers, so that a test sees whether equal keys kept their order.
func sortKeys(t testingT, keys []string, parts int, compare func(a, b []byte) int) []string {
	t.Helper()
	pool := NewPool(minBudget)
	data, idx, scratch := newArena(pool), newIndex(pool), newIndex(pool)
	for i, k := range keys {
		value := fmt.Appendf(nil, "%d", i)
		if size := recordSize(len(k), len(value)); size > len(data.free) {
			data.grow(size)
		}
		if idx.full() {
			idx.grow()
			scratch.grow()
		}
		e := entry{loc: data.put([]byte(k), value), tag: makeTag(len(k)%parts, len(k))}
		if compare == nil {
			e.prefix = prefixOf([]byte(k))
		}
		idx.add(e)
	}
	starts, err := sortIndex(context.Background(), &idx, &scratch, parts, &data, compare)
	if err != nil {
		t.Fatalf("sort: %v", err)
	}
	var out []string
	for p := range parts {
		for i := starts[p]; i < starts[p+1]; i++ {
			e := idx.at(i)
			key, value := pairAt(&data, e.loc)
			if compare == nil && e.prefix != prefixOf([]byte(key)) {
				t.Fatalf("entry %d has lost its prefix", i)
			}
			out = append(out, fmt.Sprintf("%d/%s/%s", p, key, value))
		}
	}
	return out
}

func pairAt(a *arena, loc uint32) (key, value string) {
	b := a.at(loc)
	k, v, h, _ := parseHeader(b)
	return string(b[h : h+k]), string(b[h+k : h+k+v])
}

// sortedReference is what sortKeys should return.
func sortedReference(keys []string, parts int, compare func(a, b []byte) int) []string {
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		if d := len(keys[x])%parts - len(keys[y])%parts; d != 0 {
			return d
		}
		return compareWith(compare, []byte(keys[x]), []byte(keys[y]))
	})
	var out []string
	for _, i := range order {
		out = append(out, fmt.Sprintf("%d/%s/%d", len(keys[i])%parts, keys[i], i))
	}
	return out
}

func TestSortAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := slices.Collect(func(yield func(string) bool) {
			for _, p := range drawPairs(t, false) {
				if !yield(p.key) {
					return
				}
			}
		})
		parts := rapid.SampledFrom([]int{1, 3}).Draw(t, "parts")
		var compare func(a, b []byte) int
		if rapid.Bool().Draw(t, "own order") {
			compare = func(a, b []byte) int { return len(a) - len(b) }
		}
		if got, want := sortKeys(t, keys, parts, compare), sortedReference(keys, parts, compare); !slices.Equal(got, want) {
			t.Fatalf("got  %.300q\nwant %.300q", got, want)
		}
	})
}

// TestSortHardKeys has key sets on which a radix sort may stumble.
func TestSortHardKeys(t *testing.T) {
	sets := map[string]func(i int) string{
		"all equal":         func(int) string { return "the same" },
		"all empty":         func(int) string { return "" },
		"zeros":             func(i int) string { return strings.Repeat("\x00", i%40) },
		"long shared":       func(i int) string { return strings.Repeat("p", 300) + fmt.Sprint(i*7919%5000) },
		"each longer":       func(i int) string { return strings.Repeat("ab", i%700) },
		"descending":        func(i int) string { return fmt.Sprintf("%08d", 99999999-i) },
		"shared, numbered":  func(i int) string { return fmt.Sprintf("k00%06d", i*7919%5000) },
		"end behind shared": func(i int) string { return "shared"[:3+i%4] + string([]byte{byte(i % 3)}) },
		"zero in shared":    func(i int) string { return strings.TrimRight("ab\x00\x00"+strings.Repeat("c", i%3), "\x00") },
		"two values":        func(i int) string { return fmt.Sprint("value ", i&1) },
		"255 and its like":  func(i int) string { return strings.Repeat("x", 250+i%10) },
		"differ in one bit": func(i int) string { return string([]byte{0x80, 0, 0, 0, 0, 0, 0, byte(i & 1), byte(i)}) },
	}
	for name, key := range sets {
		t.Run(name, func(t *testing.T) {
			keys := make([]string, 5000)
			for i := range keys {
				keys[i] = key(i)
			}
			if got, want := sortKeys(t, keys, 1, nil), sortedReference(keys, 1, bytes.Compare); !slices.Equal(got, want) {
				t.Fatalf("got  %.300q\nwant %.300q", got, want)
			}
		})
	}
}

func TestPrefixOrdersAsKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := []byte(genKey().Draw(t, "a")), []byte(genKey().Draw(t, "b"))
		pa, pb := prefixOf(a), prefixOf(b)
		if c := bytes.Compare(a, b); c < 0 && pa > pb || c > 0 && pa < pb {
			t.Fatalf("prefixes %016x and %016x", pa, pb)
		}
	})
}

func TestRecordsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SampledFrom([]int{0, 1, 127, 128, 129, 16383, 16384, 3 << 20})
		k, v := make([]byte, sizes.Draw(t, "key")), make([]byte, sizes.Draw(t, "value"))
		b := make([]byte, recordSize(len(k), len(v)))
		if n := putRecord(b, k, v); n != len(b) {
			t.Fatalf("wrote %d of %d bytes", n, len(b))
		}
		if kl, vl, h, ok := parseHeader(b); !ok || kl != len(k) || vl != len(v) || h+kl+vl != len(b) {
			t.Fatalf("read %d %d %d %v", kl, vl, h, ok)
		}
		if _, _, _, ok := parseHeader(b[:len(b)-1]); ok {
			t.Fatalf("a cut record was taken for whole")
		}
	})
}

func TestIntsOrderAsTheirBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		ea, eb := encodeInt(nil, a), encodeInt(nil, b)
		if (a < b) != (bytes.Compare(ea, eb) < 0) {
			t.Fatalf("%x %x", ea, eb)
		}
		if back, ok := decodeInt(ea); !ok || back != a {
			t.Fatalf("%d came back as %d", a, back)
		}
	})
}

func TestWindowsMakeLaterMergesFull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, factor := rapid.IntRange(2, 300).Draw(t, "runs"), rapid.IntRange(2, 64).Draw(t, "factor")
		for n > factor {
			lo, count := nextWindow(n, factor, func(i int) int64 { return int64(i * 31 % 17) })
			if count < 2 || count > factor || lo < 0 || lo+count > n {
				t.Fatalf("window %d+%d of %d", lo, count, n)
			}
			if n -= count - 1; (n-factor)%(factor-1) != 0 {
				t.Fatalf("%d runs left for merges of %d", n, factor)
			}
		}
	})
}

// TestSharedPrefix: bytes that all keys begin with are counted up to the first zero; fewer than it takes to matter, and keys that agree
// in all eight, count as none.
func TestSharedPrefix(t *testing.T) {
	for _, x := range []struct {
		keys []string
		want int
	}{
		{[]string{"abcdefgh", "abcdefgi"}, 7},
		{[]string{"abcdefgh", "abcdxfgh"}, 4},
		{[]string{"abcdefgh", "abcdefgh"}, 0},
		{[]string{"abcdefgh"}, 0},
		{[]string{"abcdefgh", "xbcdefgh"}, 0},
		{[]string{"ab\x00defgh", "ab\x00defgx"}, 2},
		{[]string{"abcdefgh", "abcdefgx", "abcxefgh"}, 3},
	} {
		ix := newIndex(NewPool(minBudget))
		for _, k := range x.keys {
			if ix.full() {
				ix.grow()
			}
			ix.add(entry{prefix: prefixOf([]byte(k))})
		}
		if got := sharedPrefix(&ix, 0, len(x.keys)); got != x.want {
			t.Errorf("%q: %d bytes are shared, want %d", x.keys, got, x.want)
		}
	}
}
