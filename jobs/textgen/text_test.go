package textgen

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"sync"
	"testing"
)

func newText(tb testing.TB, c TextConfig) *Text {
	tb.Helper()
	text, err := NewText(c)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func fillBlock(s interface{ Fill([]byte, uint64) }, size int, block uint64) []byte {
	dst := make([]byte, size)
	s.Fill(dst, block)
	return dst
}

// Data sets are named by their configuration: a change of one byte is a change
// of the data set and must be meant.
func TestBlocksAreStable(t *testing.T) {
	text := newText(t, DefaultTextConfig())
	records, err := NewRecords(RecordsConfig{Exponent: 1, Hot: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		source interface{ Fill([]byte, uint64) }
		block  uint64
		want   string
	}{
		{"text 0", text, 0, "9148e15f7dc3be44"},
		{"text 1000", text, 1000, "4520a37d57bd7758"},
		{"records 7", records, 7, "44ebfb959c9cc760"},
	}
	for _, tt := range tests {
		sum := sha256.Sum256(fillBlock(tt.source, BlockBytes, tt.block))
		if got := hex.EncodeToString(sum[:8]); got != tt.want {
			t.Errorf("%s has SHA-256 %s..., want %s...", tt.name, got, tt.want)
		}
	}
}

// wordsOf is the vocabulary as text.
func wordsOf(n int) []string {
	words := make([]string, n)
	for i, s := range vocabulary(n) {
		words[i] = string(s[:s[advanceByte]-1])
	}
	return words
}

func TestVocabulary(t *testing.T) {
	const n = 100_000
	words := wordsOf(n)
	if got := wordsOf(1000); !slices.Equal(got, words[:1000]) {
		t.Error("a small vocabulary is not the beginning of a large one")
	}
	distinct := make(map[string]bool, n)
	for _, w := range words {
		distinct[w] = true
		if len(w) < 1 || len(w) > maxLetters || len(bytes.Trim([]byte(w), "abcdefghijklmnopqrstuvwxyz")) > 0 {
			t.Errorf("word %q", w)
		}
	}
	if len(distinct) != n {
		t.Errorf("%d distinct words of %d", len(distinct), n)
	}
}

func TestTextOfEverySizeIsWholeWords(t *testing.T) {
	text := newText(t, TextConfig{Words: 2000, Exponent: 1})
	known := map[string]bool{}
	for _, w := range wordsOf(2000) {
		known[w] = true
	}
	for size := range 600 {
		got := fillBlock(text, size, uint64(size))
		if size > 0 && got[size-1] != '\n' {
			t.Fatalf("%d bytes do not end with a newline: %q", size, got)
		}
		for w := range bytes.FieldsSeq(got) {
			if !known[string(w)] {
				t.Fatalf("%d bytes hold the unknown word %q", size, w)
			}
		}
		if size > 8 && bytes.Contains(got, []byte("  ")) {
			t.Fatalf("%d bytes hold a gap: %q", size, got)
		}
	}
}

func TestTinyVocabularyFillsEverySize(t *testing.T) {
	text := newText(t, TextConfig{Words: 1, MinLine: 3, MaxLine: 3})
	word := wordsOf(1)[0]
	for size := 1; size < 200; size++ {
		got := fillBlock(text, size, 0)
		for w := range bytes.FieldsSeq(got) {
			if string(w) != word {
				t.Fatalf("%d bytes hold %q", size, w)
			}
		}
		if got[size-1] != '\n' || bytes.IndexByte(got, 0) >= 0 {
			t.Fatalf("%d bytes: %q", size, got)
		}
	}
}

func TestLinesHaveTheGivenNumberOfWords(t *testing.T) {
	text := newText(t, TextConfig{Words: 1000, Exponent: 1, MinLine: 2, MaxLine: 5})
	lines := bytes.Split(bytes.TrimSuffix(fillBlock(text, 1<<16, 0), []byte("\n")), []byte("\n"))
	count := map[int]int{}
	for _, line := range lines[:len(lines)-1] { // the last is cut by the block's end
		count[len(bytes.Fields(line))]++
	}
	for n := 2; n <= 5; n++ {
		if share := float64(count[n]) / float64(len(lines)); math.Abs(share-0.25) > 0.03 {
			t.Errorf("%.3f of the lines have %d words, want about 0.25", share, n)
		}
		delete(count, n)
	}
	if len(count) > 0 {
		t.Errorf("lines of other lengths: %v", count)
	}
}

func TestWordsFollowZipf(t *testing.T) {
	text := newText(t, DefaultTextConfig())
	counts, total := map[string]int{}, 0
	for block := range uint64(4) {
		for w := range bytes.FieldsSeq(fillBlock(text, BlockBytes, block)) {
			counts[string(w)]++
			total++
		}
	}
	if letters := 4*BlockBytes/float64(total) - 1; letters < 5 || letters > 6 {
		t.Errorf("%.2f letters a word, want 5 to 6", letters)
	}
	harmonic := math.Log(100_000) + 0.5772
	for r, w := range wordsOf(50) {
		want := float64(total) / float64(r+1) / harmonic
		if got := float64(counts[w]); math.Abs(got-want) > 6*math.Sqrt(want) {
			t.Errorf("rank %d (%s) occurs %v times, want about %.0f", r, w, got, want)
		}
	}
}

func TestSeedsAndBlocksDiffer(t *testing.T) {
	other := DefaultTextConfig()
	other.Seed = 1
	a, b := newText(t, DefaultTextConfig()), newText(t, other)
	blocks := [][]byte{fillBlock(a, 4096, 0), fillBlock(a, 4096, 1), fillBlock(b, 4096, 0), fillBlock(b, 4096, 1)}
	for i := range blocks {
		for j := range i {
			if bytes.Equal(blocks[i][:100], blocks[j][:100]) {
				t.Errorf("blocks %d and %d are alike", i, j)
			}
		}
	}
}

func TestFillFromManyGoroutines(t *testing.T) {
	text := newText(t, TextConfig{Words: 1000, Exponent: 1})
	var group sync.WaitGroup
	got := make([][]byte, 8)
	for i := range got {
		group.Go(func() { got[i] = fillBlock(text, 1<<14, uint64(i)) })
	}
	group.Wait()
	for i := range got {
		if !bytes.Equal(got[i], fillBlock(text, 1<<14, uint64(i))) {
			t.Errorf("block %d depends on who makes it", i)
		}
	}
}

func TestTextConfigRefused(t *testing.T) {
	for _, c := range []TextConfig{
		{Words: -1},
		{Words: maxChoices + 1},
		{Exponent: -1},
		{Exponent: math.NaN()},
		{Exponent: 11},
		{MinLine: 3, MaxLine: 2},
		{MaxLine: 2},
		{MinLine: -1, MaxLine: 2},
	} {
		if _, err := NewText(c); err == nil {
			t.Errorf("NewText(%+v) succeeded", c)
		}
	}
}

func BenchmarkText1MiB(b *testing.B) {
	text := newText(b, DefaultTextConfig())
	dst := make([]byte, BlockBytes)
	b.SetBytes(BlockBytes)
	b.ReportAllocs()
	var block uint64
	for b.Loop() {
		text.Fill(dst, block)
		block++
	}
}
