package automaton

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// pair is a Searcher and the standard library's form of the same expression, which has (?m) and no newline in it.
func pair(t interface{ Fatal(...any) }, expr string) (*Searcher, *regexp.Regexp) {
	tree, err := syntax.Parse(expr, syntax.Perl&^(syntax.OneLine|syntax.ClassNL))
	if err != nil {
		t.Fatal(err)
	}
	re, ok := Compile(tree)
	if !ok {
		t.Fatal(expr, "is too large")
	}
	return re.NewSearcher(), regexp.MustCompile("(?m)" + expr)
}

// found are the matches and lines that a searcher finds.
func found(s *Searcher, text []byte) (out []string) {
	s.Matches(text, func(from, to int) { out = append(out, fmt.Sprintf("%d %d", from, to)) })
	s.Lines(text, func(line []byte) { out = append(out, string(line)) })
	return out
}

// wanted are those of the standard library, line by line.
func wanted(re *regexp.Regexp, text []byte) (out []string) {
	var lines []string
	at := 0
	for whole := range bytes.Lines(text) {
		line := bytes.TrimSuffix(whole, []byte("\n"))
		all := re.FindAllIndex(line, -1)
		for _, m := range all {
			out = append(out, fmt.Sprintf("%d %d", at+m[0], at+m[1]))
		}
		if len(all) > 0 {
			lines = append(lines, string(line))
		}
		at += len(whole)
	}
	return append(out, lines...)
}

// TestAgainstLibrary: expressions of few letters, so that priorities, empty matches and what is around them matter.
func TestAgainstLibrary(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{"a", "b", "é", "[^a]", ".", "^", "$", `\b`, `\B`, "(?i:k)", "", "ab", `\w`, "[ß-é]"})
	expr := rapid.Custom(func(t *rapid.T) string {
		one := func() string {
			p := pieces.Draw(t, "piece")
			if p == "" || p == "^" || p == "$" || strings.HasPrefix(p, `\`) && p != `\w` {
				return p
			}
			return p + rapid.SampledFrom([]string{"", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}"}).Draw(t, "times")
		}
		var b strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			fmt.Fprintf(&b, "(%s%s|%s)%s", one(), one(), one(), rapid.SampledFrom([]string{"", "", "*", "+", "?", "+?"}).Draw(t, "times"))
		}
		return b.String()
	})
	rapid.Check(t, func(t *rapid.T) {
		e := expr.Draw(t, "expression")
		text := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "k", "K", "\u212a", "é", " ", "\n", "世"}), 0, 20).Draw(t, "text"), ""))
		s, re := pair(t, e)
		if got, want := found(s, text), wanted(re, text); !slices.Equal(got, want) {
			t.Fatalf("%s in %q: found %q, want %q", e, text, got, want)
		}
	})
}

// TestTableMadeAnew: an expression with thousands of states finds the same with a table that is too small for them, and says that it is slow.
func TestTableMadeAnew(t *testing.T) {
	t.Parallel()
	s, re := pair(t, "a[ab]{13}$|b[ab]{13}b")
	rng := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 30_000)
	for i := range text {
		text[i] = "ab"[rng.IntN(2)]
		if i%60 == 59 {
			text[i] = '\n'
		}
	}
	if got, want := found(s, text), wanted(re, text); !slices.Equal(got, want) {
		t.Errorf("found %d, want %d", len(got), len(want))
	}
	if s.forward.era < 3 {
		t.Errorf("the table was made %d times", s.forward.era)
	}
	if s.forward.used > maxTable || cap(s.forward.next)*4 > 2*maxTable {
		t.Errorf("the table takes %d bytes and has room for %d", s.forward.used, cap(s.forward.next)*4)
	}
	if !s.Slow() {
		t.Error("it is not slow")
	}
	if s, _ := pair(t, "[a-z]+e[a-z]*"); len(found(s, bytes.Repeat([]byte("some text\n"), 1000))) == 0 || s.Slow() {
		t.Error("an easy one is slow, or finds nothing")
	}
}

// TestTooLarge: a program of more nodes than a step may look at is refused.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	tree, err := syntax.Parse(`(\pL\pN){40}`, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := Compile(tree); ok {
		t.Error("a program of thousands of nodes was taken")
	}
}

// TestEachSequence: sequences of bytes are the UTF-8 of all runes of a range, and of no other.
func TestEachSequence(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, r := range [][2]rune{{0, unicode.MaxRune}, {0, 0x7f}, {0x80, 0x7ff}, {0x7ff, 0x800}, {0xd7ff, 0xe000}, {0xd800, 0xdfff}, {0xffff, 0x10000}, {0x1234, 0x12345}, {'a', 'a'}} {
		var all [][][2]byte
		eachSequence(r[0], r[1], func(seq [][2]byte) { all = append(all, slices.Clone(seq)) })
		probes := []rune{r[0], r[1], r[0] - 1, r[1] + 1}
		for range 2000 {
			probes = append(probes, rng.Int32N(unicode.MaxRune+1), r[0]+rng.Int32N(r[1]-r[0]+1))
		}
		for _, p := range probes {
			if !utf8.ValidRune(p) {
				continue
			}
			has := 0
			for _, seq := range all {
				if takes(seq, utf8.AppendRune(nil, p)) {
					has++
				}
			}
			if want := p >= r[0] && p <= r[1]; has > 1 || (has == 1) != want {
				t.Fatalf("%U to %U: %d sequences take %U", r[0], r[1], has, p)
			}
		}
	}
}

func takes(seq [][2]byte, b []byte) bool {
	for i, r := range seq {
		if len(seq) != len(b) || b[i] < r[0] || b[i] > r[1] {
			return false
		}
	}
	return true
}

func BenchmarkLines1MiB(b *testing.B) {
	text := []byte(strings.Repeat("the quick brown fox jumps over a lazy dog\nand sings a tale of it\n", 1<<14)[:1<<20])
	for name, expr := range map[string]string{"all": "[a-z]+e[a-z]*", "half": "[a-z]+ing", "none": "q[aeiou]{2}z"} {
		s, _ := pair(b, expr)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Lines(text, func([]byte) {})
			}
		})
		b.Run(name+"-matches", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Matches(text, func(int, int) {})
			}
		})
	}
}
