package jobs

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// linesOf is what the standard library finds, line by line: each line with its matches.
func linesOf(re lineEngine, text []byte) (out []string) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, newline)
		for _, at := range re.FindAllIndex(line, -1) {
			out = append(out, fmt.Sprintf("%q %d %d", line, at[0], at[1]))
		}
	}
	return out
}

// found is what a search says, in the same form.
func found(s *searcher, text []byte) (out []string) {
	s.seen.Store(searchFirst) // as after the first chunks
	s.eachMatch(text, func(text []byte, from, to int) {
		begin := bytes.LastIndexByte(text[:from], '\n') + 1
		line := bytes.TrimSuffix(text[begin:lineEnd(text, from)], newline)
		out = append(out, fmt.Sprintf("%q %d %d", line, from-begin, to-begin))
	})
	return out
}

// matching are the lines that a search finds, and those of the standard library.
func matching(s *searcher, text []byte) (got, want []string) {
	s.seen.Store(searchFirst)
	s.eachLine(text, func(line []byte) { got = append(got, string(line)) })
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSuffix(line, newline); s.std.Match(line) {
			want = append(want, string(line))
		}
	}
	return got, want
}

var searchPatterns = []string{
	"(?i)word", "[a-z]*shr[a-z]*", `\bqu[a-z]+ing\b`, "(abc|xyz|qrs)[a-z]+", "[a-z]+ing", "q[aeiou]{2}z",
	"[a-z]+e[a-z]*", "(|a)*", "(a*)+b?", `(?:a|b|\b)+`, `\b`, `\B`, "a*?b??", "[^x]", "q|qu|quo", "(a|b)*a(a|b){9}",
	"^a", "b$", "^$", "x*", `[^a]b`, `\s+`, `(?s).+`, `(?m)^a.*$`, `\Aab|b\z`, `\D\W`, `a\nb`, `[\n]`, "(abcd|efgh)+x?", `(?U)a+`,
	`\pL+`, "é|ab", `(?i)straße|ſ`, "a{2,5}", "(a|ab)(c|bcd)", `.`, `[[:^alpha:]]`, `\Bb`, `(?i:k)`,
}

// FuzzLineSearch: a search of many lines at once finds exactly what the standard library finds line by line.
func FuzzLineSearch(f *testing.F) {
	text := "a quick shrewd word\n\nquoting WORD abcing xyzab\nab\r\nquuz a b\n\xff\xfeab\nst\u017fra\u00dfe \u212a \u00e9ab abcd"
	for _, p := range searchPatterns {
		f.Add(p, []byte(text))
		f.Add(p, []byte(text+"\n"))
		f.Add(p, []byte(strings.ReplaceAll(text, "\xff\xfe", "")+"\n\n"))
	}
	f.Fuzz(func(t *testing.T, pattern string, text []byte) {
		if len(pattern) > 200 || len(text) > 4096 {
			return
		}
		search, err := newLineSearch(pattern)
		if err != nil {
			return
		}
		for _, engine := range []string{"automaton", "RE2"} {
			want, got := linesOf(search.std, text), found(&searcher{lineSearch: search}, text)
			if !slices.Equal(want, got) {
				t.Errorf("%s: %q in %q:\n%q, want\n%q", engine, pattern, text, got, want)
			}
			if got, want := matching(&searcher{lineSearch: search}, text); !slices.Equal(want, got) {
				t.Errorf("%s: lines with %q in %q:\n%q, want\n%q", engine, pattern, text, got, want)
			}
			search.own = nil
		}
	})
}

// FuzzFolded: a string in upper and lower case is found where the expression of the same letters is found, and bytes that are no UTF-8 around it
// change nothing.
func FuzzFolded(f *testing.F) {
	for _, s := range []string{"word", "stra\u00dfe k", "\u017f", "a", "aa", "\u212a\u0130i", "\ufffd", "x\ny", "É.*"} {
		f.Add(s, "a WORD and word\nSTRA\u1e9ee \u212a \u017faAaS k\n\nÉ.* \u0130I\ufffd")
	}
	f.Add("\xc3", "\xa9") // together a letter, apart none
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) == 0 || len(pattern) > 200 || len(text) > 4096 || !utf8.ValidString(pattern) || !utf8.ValidString(text) {
			return
		}
		re := regexp.MustCompile("(?i)" + regexp.QuoteMeta(pattern))
		want := linesOf(re, []byte(text))
		if got := found(&searcher{lineSearch: newFoldedSearch(pattern)}, []byte(text)); !slices.Equal(want, got) {
			t.Errorf("%q in %q:\n%q, want\n%q", pattern, text, got, want)
		}
		odd := newFoldedSearch("\xff" + pattern + "\xfe")
		for line := range bytes.Lines([]byte(text)) {
			line = bytes.TrimSuffix(line, newline)
			if at := re.FindIndex(line); at != nil {
				sealed := slices.Concat(line[:at[0]], []byte("\xff"), line[at[0]:at[1]], []byte("\xfe"), line[at[1]:])
				want := []string{fmt.Sprintf("%q %d %d", sealed, at[0], at[1]+2)}
				if got := found(&searcher{lineSearch: odd}, sealed); !slices.Equal(want, got) {
					t.Errorf("%q between odd bytes in %q:\n%q, want\n%q", pattern, sealed, got, want)
				}
			}
		}
	})
}

// TestRequired: the strings that are looked for first.
func TestRequired(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][]string{
		"[a-z]*shr[a-z]*": {"shr"}, `\bqu[a-z]+ing\b`: {"ing"}, "(abc|xyz|qrs)[a-z]+": {"abc", "xyz", "qrs"}, "(?i)word": nil,
		"a?b*": nil, "(long)+x": {"long"}, "(abc)?defg": {"defg"}, "abc|[a-z]": nil, "(x|abcd)e": {"x", "abcd"}, "q[aeiou]{2}z": {"q"},
	} {
		s, err := newLineSearch(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.must, want) {
			t.Errorf("%s: %q, want %q", pattern, s.must, want)
		}
	}
}

// TestRequiredThatMostLinesHave: looking for it costs more than it spares, and is given up; what is found stays.
func TestRequiredThatMostLinesHave(t *testing.T) {
	t.Parallel()
	search, err := newLineSearch("q[ab]")
	if err != nil {
		t.Fatal(err)
	}
	common, rare := []byte(strings.Repeat("qa\nb\n", 100)), []byte(strings.Repeat("cc\nb\n", 100)+"qb\n")
	s := &searcher{lineSearch: search}
	for i, c := range []struct {
		text    []byte
		useless bool
	}{{rare, false}, {common, true}, {rare, true}} {
		if want, got := linesOf(search.std, c.text), found(s, c.text); !slices.Equal(want, got) {
			t.Errorf("text %d: found %q, want %q", i, got, want)
		}
		if s.useless != c.useless {
			t.Errorf("text %d: given up is %v, want %v", i, s.useless, c.useless)
		}
	}
}
