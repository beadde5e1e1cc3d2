package bare

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// inOut writes the input to a file and returns its name and one for the output.
func inOut(t *testing.T, input []byte) (in, out string) {
	t.Helper()
	dir := t.TempDir()
	in, out = filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, input, 0o644); err != nil {
		t.Fatal(err)
	}
	return in, out
}

// check runs a yardstick with one to three goroutines and compares its output.
func check(t *testing.T, input, want []byte, run func(in, out string, procs int) error) {
	t.Helper()
	in, out := inOut(t, input)
	for procs := 1; procs <= 3; procs++ {
		if err := run(in, out, procs); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%d goroutines: %d bytes %.200q, want %d bytes %.200q", procs, len(got), got, len(want), want)
		}
	}
}

// countReference is the word count of the textbook.
func countReference(text []byte) (lines []byte) {
	counts := map[string]int{}
	for _, w := range bytes.FieldsFunc(text, func(r rune) bool { return r < 0x80 && isSpace(byte(r)) }) {
		counts[string(w)]++
	}
	for _, w := range slices.Sorted(maps.Keys(counts)) {
		lines = fmt.Appendf(lines, "%s\t%d\n", w, counts[w])
	}
	return lines
}

func TestWordCount(t *testing.T) {
	long := strings.Repeat("x", 3*chunkBytes/2)
	tests := []struct{ name, text string }{
		{"empty", ""},
		{"blank", " \t\n\v\f\r "},
		{"one word", "word"},
		{"all separators", "a b\tc\nd\ve\ff\rg\r\n\r\nh"},
		{"near separators", "a\x08b\x0ec\x1fd!e\x7ff\x88g\xa0h\x89i"},
		{"same letters, other lengths", strings.Repeat("a aa aaa aaaaaaa aaaaaaaa aaaaaaaaa ", 3)},
		{"zero bytes", "a a\x00 a\x00\x00 \x00 \x00\x00"},
		{"about the short limit", "123456789012345 1234567890123456 12345678901234567 123456789012345"},
		{"longer than a chunk", "a " + long + " b " + long + "y " + long},
		{"word across chunks", strings.Repeat("z", chunkBytes-3) + " " + "across the border " + "and on"},
		{"chunk ends with a word", strings.Repeat("z", chunkBytes-4) + " abc def"},
		{"chunk ends with a blank", strings.Repeat("z", chunkBytes-4) + " ab cdef"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, []byte(tt.text), countReference([]byte(tt.text)), WordCount)
		})
	}
}

func TestWordCountOfManyWords(t *testing.T) {
	var text []byte
	for i := range 70_000 { // the table grows several times
		text = fmt.Appendf(text, "w%d %x\n", i, i*i%1000)
	}
	check(t, text, countReference(text), WordCount)
}

func TestWordCountOfAnyText(t *testing.T) {
	in, out := inOut(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom([]byte(" \t\nab")), rapid.Byte()), 0, 300).Draw(rt, "text")
		if err := os.WriteFile(in, text, 0o644); err != nil {
			rt.Fatal(err)
		}
		if err := WordCount(in, out, 2); err != nil {
			rt.Fatal(err)
		}
		got, err := os.ReadFile(out)
		if err != nil {
			rt.Fatal(err)
		}
		if want := countReference(text); !bytes.Equal(got, want) {
			rt.Fatalf("counted %q, want %q", got, want)
		}
	})
}

func TestSpaces8AgreesWithBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want uint64
		var p [64]byte
		for i := range p {
			p[i] = rapid.OneOf(rapid.SampledFrom([]byte(" \t\n\v\f\r\x08\x0e\x89\xa0!")), rapid.Byte()).Draw(t, "byte")
			if isSpace(p[i]) {
				want |= 1 << i
			}
		}
		if got := spaces64(&p); got != want {
			t.Fatalf("spaces of %q: %064b, want %064b", p[:], got, want)
		}
	})
}
