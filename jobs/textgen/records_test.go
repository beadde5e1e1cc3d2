package textgen

import (
	"bytes"
	"math"
	"strconv"
	"testing"
)

func newRecords(tb testing.TB, c RecordsConfig) *Records {
	tb.Helper()
	r, err := NewRecords(c)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// keysOf parses a block and fails unless every line is a record.
func keysOf(t *testing.T, block []byte, keys int) (counts []int, total int) {
	t.Helper()
	counts = make([]int, keys)
	for line := range bytes.Lines(block) {
		key, value, ok := bytes.Cut(line, []byte{'\t'})
		if !ok || len(key) != keyBytes || key[0] != 'k' || len(value) < 1 || value[len(value)-1] != '\n' {
			t.Fatalf("not a record: %q", line)
		}
		n, err := strconv.Atoi(string(key[1:]))
		if err != nil || n >= keys {
			t.Fatalf("key %q of %d keys", key, keys)
		}
		counts[n]++
		total++
	}
	return counts, total
}

func TestRecordsFillEverySize(t *testing.T) {
	r := newRecords(t, RecordsConfig{Keys: 10, ValueBytes: 5})
	for size := range 300 {
		got := fillBlock(r, size, 0)
		if size < keyBytes+2 {
			if len(bytes.Trim(got, "\n")) != 0 {
				t.Fatalf("%d bytes: %q, want newlines", size, got)
			}
			continue
		}
		if _, n := keysOf(t, got, 10); n != max(1, size/(keyBytes+1+5+1)) {
			t.Fatalf("%d records in %d bytes", n, size)
		}
	}
}

func TestKeysAreSkewedAsAsked(t *testing.T) {
	tests := []struct {
		name   string
		config RecordsConfig
		first  float64 // share of the first key
		last   float64 // share of the last
	}{
		{"even", RecordsConfig{Keys: 20}, 0.05, 0.05},
		{"zipf", RecordsConfig{Keys: 4, Exponent: 1}, 12.0 / 25, 3.0 / 25},
		{"hot", RecordsConfig{Keys: 20, Hot: 0.5}, 0.525, 0.025},
		{"all hot", RecordsConfig{Keys: 20, Hot: 1}, 1, 0},
		{"one key", RecordsConfig{Keys: 1}, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.config.ValueBytes = 4
			block := fillBlock(newRecords(t, tt.config), BlockBytes, 0)
			counts, total := keysOf(t, block, tt.config.Keys)
			for i, want := range map[int]float64{0: tt.first, tt.config.Keys - 1: tt.last} {
				if got := float64(counts[i]) / float64(total); math.Abs(got-want) > 0.01 {
					t.Errorf("key %d has a share of %.3f, want %.3f", i, got, want)
				}
			}
		})
	}
}

func TestRecordsConfigRefused(t *testing.T) {
	for _, c := range []RecordsConfig{
		{Keys: -1},
		{Keys: maxChoices + 1},
		{Exponent: math.Inf(1)},
		{Hot: 1.5},
		{Hot: math.NaN()},
		{ValueBytes: -1},
		{ValueBytes: 1 << 20},
	} {
		if _, err := NewRecords(c); err == nil {
			t.Errorf("NewRecords(%+v) succeeded", c)
		}
	}
}

func BenchmarkRecords1MiB(b *testing.B) {
	for name, c := range map[string]RecordsConfig{"even": {}, "zipf": {Exponent: 1}} {
		b.Run(name, func(b *testing.B) {
			r := newRecords(b, c)
			dst := make([]byte, BlockBytes)
			b.SetBytes(BlockBytes)
			for b.Loop() {
				r.Fill(dst, 0)
			}
		})
	}
}
