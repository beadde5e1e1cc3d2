package bare

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/internal/find"
)

func grepReference(text []byte, pattern string) (lines []byte) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if bytes.Contains(line, []byte(pattern)) {
			lines = append(append(lines, line...), '\n')
		}
	}
	return lines
}

func TestGrep(t *testing.T) {
	var many []byte
	for i := range 100_000 {
		many = fmt.Appendf(many, "line %d of the file\n", i)
	}
	long := strings.Repeat("x", chunkBytes)
	tests := []struct{ name, text, pattern string }{
		{"empty file", "", "a"},
		{"no match", "a\nb\nc\n", "d"},
		{"no final newline", "a\nb\nabc", "b"},
		{"twice in a line", "abab\nb\nab", "ab"},
		{"at both ends", "ab\n\nba\nxab", "ab"},
		{"empty pattern", "a\n\nb", ""},
		{"not across lines", "a\nb\n", "ab"},
		{"carriage return", "ab\r\ncd\r\n", "\r"},
		{"many chunks, rare", string(many), "77777"},
		{"many chunks, all", string(many), "of the"},
		{"lines longer than chunks", long + long + "needle\n" + long + "\nneedle" + long, "needle"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, []byte(tt.text), grepReference([]byte(tt.text), tt.pattern), func(in, out string, procs int) error {
				return Grep(in, out, tt.pattern, procs)
			})
		})
	}
}

func TestFinderAgreesWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.SampledFrom([]byte("ab\n"))).Draw(t, "text")
		sample := rapid.SliceOf(rapid.SampledFrom([]byte("ab"))).Draw(t, "sample")
		pattern := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 0, 3, -1).Draw(t, "pattern")
		finder := find.New([]byte(pattern), sample)
		if got, want := finder.Index(text), bytes.Index(text, []byte(pattern)); got != want {
			t.Fatalf("index of %q in %q: %d, want %d", pattern, text, got, want)
		}
		if got, want := lines(nil, text, finder), grepReference(text, pattern); !bytes.Equal(got, want) {
			t.Fatalf("lines of %q with %q: %q, want %q", text, pattern, got, want)
		}
	})
}

func TestGrepRefusesNewline(t *testing.T) {
	in, out := inOut(t, nil)
	if err := Grep(in, out, "a\nb", 1); err == nil {
		t.Error("a pattern with a newline was taken")
	}
}

func TestBadFiles(t *testing.T) {
	in, out := inOut(t, []byte("x"))
	missing := filepath.Join(t.TempDir(), "none", "such")
	grep := func(in, out string, procs int) error { return Grep(in, out, "x", procs) }
	for name, run := range map[string]func(in, out string, procs int) error{"wordcount": WordCount, "sort": Sort, "grep": grep} {
		if err := run(missing, out, 2); err == nil {
			t.Errorf("%s: missing input: no error", name)
		}
		if err := run(filepath.Dir(in), out, 2); err == nil {
			t.Errorf("%s: directory as input: no error", name)
		}
		if err := run(in, missing, 2); err == nil {
			t.Errorf("%s: output in no directory: no error", name)
		}
	}
}
