package gensort

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// summarize makes rows [0, n) and adds them up.
func summarize(tb testing.TB, n int, form Form) Summary {
	tb.Helper()
	var s Summary
	g := NewGenerator(Uint128{}, form)
	buf := make([]byte, 1000*RecordSize)
	for n > 0 {
		part := buf[:min(n, 1000)*RecordSize]
		g.Fill(part)
		if err := s.Add(part); err != nil {
			tb.Fatal(err)
		}
		n -= len(part) / RecordSize
	}
	return s
}

// Sums that users of gensort and valsort have published for these row counts.
// (13,107,200 ASCII rows give 63f9af71da7682 and 500 million ee6b6a9da7427ce:
// checked once, too slow for here.)
func TestPublishedChecksums(t *testing.T) {
	tests := []struct {
		rows int
		form Form
		want string
	}{
		{163_840, ASCII, "1400fed7bb2c2"},
		{1_000_000, Binary, "7a27e2d0d55de"},
	}
	for _, tt := range tests {
		if s := summarize(t, tt.rows, tt.form); s.Checksum.String() != tt.want {
			t.Errorf("%d %v rows: checksum %v, want %s", tt.rows, tt.form, s.Checksum, tt.want)
		}
	}
}

// keyed returns records with the given one-byte keys.
func keyed(keys ...byte) []byte {
	p := make([]byte, len(keys)*RecordSize)
	for i, k := range keys {
		p[i*RecordSize+KeySize-1] = k
		p[i*RecordSize+KeySize] = byte(i) // beyond the key: must not matter for order
	}
	return p
}

func TestSummaryJudgesOrder(t *testing.T) {
	tests := []struct {
		name                         string
		keys                         []byte
		duplicates, unordered, first uint64
	}{
		{"none", nil, 0, 0, 0},
		{"one", []byte{7}, 0, 0, 0},
		{"rising", []byte{1, 2, 3}, 0, 0, 0},
		{"equal keys are in order", []byte{2, 2, 2, 3}, 2, 0, 0},
		{"a fall counts once", []byte{1, 5, 2, 3}, 0, 1, 2},
		{"each fall counts", []byte{3, 2, 2, 1}, 1, 2, 1},
		{"keys are unsigned", []byte{0x7f, 0x80, 0xff}, 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s Summary
			if err := s.Add(keyed(tt.keys...)); err != nil {
				t.Fatal(err)
			}
			got := []uint64{s.Records, s.Duplicates, s.Unordered, s.FirstUnordered}
			want := []uint64{uint64(len(tt.keys)), tt.duplicates, tt.unordered, tt.first}
			if !slices.Equal(got, want) {
				t.Errorf("records, duplicates, unordered, first = %v, want %v", got, want)
			}
		})
	}
}

func TestMergeOfPartsIsOnePass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.ByteRange(0, 3), 0, 20).Draw(t, "keys")
		all := keyed(keys...)
		var whole, merged Summary
		if err := whole.Add(all); err != nil {
			t.Fatal(err)
		}
		for rest := all; len(rest) > 0; {
			n := rapid.IntRange(0, len(rest)/RecordSize).Draw(t, "part") * RecordSize
			var part Summary
			if err := part.Add(rest[:n]); err != nil {
				t.Fatal(err)
			}
			merged.Merge(part)
			rest = rest[n:]
		}
		if diff := cmp.Diff(whole, merged); diff != "" {
			t.Fatalf("merged summary differs (-one pass +merged):\n%s", diff)
		}
	})
}

func TestAddRefusesPartialRecord(t *testing.T) {
	var s Summary
	if err := s.Add(make([]byte, RecordSize+30)); err == nil {
		t.Error("Add of 130 bytes succeeded")
	}
	if s.Records != 1 {
		t.Errorf("%d records added, want the whole one", s.Records)
	}
}

func TestReport(t *testing.T) {
	var s Summary
	if err := s.Add(keyed(1, 1, 2)); err != nil {
		t.Fatal(err)
	}
	want := "Records: 3\nChecksum: " + s.Checksum.String() + "\nDuplicate keys: 1\nSUCCESS - all records are in order\n"
	if diff := cmp.Diff(want, s.String()); diff != "" {
		t.Error(diff)
	}
	if err := s.Add(keyed(0)); err != nil {
		t.Fatal(err)
	}
	want = "First unordered record is record 3\nRecords: 4\nChecksum: " + s.Checksum.String() +
		"\nERROR - there are 1 unordered records\n"
	if diff := cmp.Diff(want, s.String()); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkSummary(b *testing.B) {
	buf := make([]byte, 10_000*RecordSize)
	NewGenerator(Uint128{}, Binary).Fill(buf)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		var s Summary
		if err := s.Add(buf); err != nil {
			b.Fatal(err)
		}
	}
}
