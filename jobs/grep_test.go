package jobs_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestGrepLinesAgainstGrep wants the lines, and their order over files and splits.
func TestGrepLinesAgainstGrep(t *testing.T) {
	b := newBed(t)
	b.write("in/a", oddText(8000))
	b.write("in/b", []byte("word at the start\nand the word"))
	b.write("in/c", zipfText(t, 200_000))
	b.write("in/d", nil)
	for _, c := range []struct {
		pattern, grep string
		flags         []string
	}{
		{"word", "grep -h -a -F word", []string{"--fixed"}},
		{"foo.bar", "grep -h -a -F foo.bar", []string{"--fixed"}},
		{"foo.bar", "grep -h -a -E foo.bar", nil},
		{"^a", "grep -h -a -E ^a", nil},
		{"(word|Zebra)s? *$", "grep -h -a -E '(word|Zebra)s? *$'", nil},
		{"zEBRA", "grep -h -a -i zEBRA", []string{"--ignore-case"}},
		{"FOO.BAR", "grep -h -a -F -i FOO.BAR", []string{"--ignore-case", "--fixed"}},
		{"^$", "grep -h -a -E '^$'", nil},
		{"no such thing anywhere", "grep -h -a -F 'no such thing anywhere'", []string{"--fixed"}},
		{"\r", "grep -h -a -F \"$(printf '\\r')\"", []string{"--fixed"}},
		{"x", "grep -h -a -F x", []string{"--fixed"}},
	} {
		want := b.shell("%s in/a in/b in/c in/d", c.grep)
		if strings.HasPrefix(c.pattern, "no such") != (want == "") {
			t.Fatalf("the reference for %q has %d bytes", c.pattern, len(want))
		}
		for _, s := range setups() {
			s.reducers = 0 // map-only
			got, _ := b.run(s, "grep", slices.Concat(c.flags, []string{
				"--lines", "--pattern", c.pattern, "--input", b.path("in"), "--split-bytes", "40000",
			})...)
			same(t, named(c.pattern), want, got)
		}
	}
}

// TestGrepFixedBytes: a plain string may be any bytes but a newline.
func TestGrepFixedBytes(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	in := b.write("in", []byte("caf\xe9 au lait\ncaf\u00e9\n\xe9\n"))
	got, _ := b.run(setup{}, "grep", "--fixed", "--lines", "--pattern", "\xe9", "--input", in)
	if want := "caf\xe9 au lait\n\xe9\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestGrepFoldedBytesAgainstGrep: strings of any bytes, in upper and lower case, are found as grep finds them that knows no language.
func TestGrepFoldedBytesAgainstGrep(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const alphabet = "aAkK \xff\xfe\xe9" // no two of them are a letter of several bytes
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) string {
		out := make([]byte, n)
		for i := range out {
			out[i] = alphabet[rng.IntN(len(alphabet))]
		}
		return string(out)
	}
	var text strings.Builder
	for range 3000 {
		text.WriteString(draw(rng.IntN(12)) + "\n")
	}
	in := b.write("in", []byte(text.String()))
	matched := 0
	for range 20 {
		pattern := draw(1+rng.IntN(2)) + "\xff" + draw(rng.IntN(2))
		b.write("pattern", []byte(pattern+"\n"))
		lines := b.shell("grep -a -F -i -f pattern in")
		counts := b.shell(`grep -a -o -F -i -f pattern in | sort | uniq -c | sed 's/^ *\([0-9]*\) /\1	/' | sort -t '	' -k1,1nr -k2`)
		matched += strings.Count(lines, "\n")
		got, _ := b.run(setup{}, "grep", "--fixed", "--ignore-case", "--lines", "--pattern", pattern, "--input", in, "--split-bytes", "5000")
		same(t, named(fmt.Sprintf("lines with %q", pattern)), lines, got)
		got, _ = b.run(setup{}, "grep", "--fixed", "--ignore-case", "--pattern", pattern, "--input", in, "--split-bytes", "5000")
		same(t, named(fmt.Sprintf("counts of %q", pattern)), counts, got)
	}
	if matched < 100 {
		t.Fatalf("%d lines match: the test looks at nothing", matched)
	}
}

type named string

func (n named) String() string { return string(n) }

// TestGrepCountsAgainstUniq: the matches of every line, most frequent first.
func TestGrepCountsAgainstUniq(t *testing.T) {
	b := newBed(t)
	in := b.write("in", slices.Concat(zipfText(t, 200_000), []byte("aa aaa foofoo a1a22a333 A1\n")))
	const order = ` in | sort | uniq -c | sed 's/^ *\([0-9]*\) /\1	/' | sort -t '	' -k1,1nr -k2`
	for _, c := range []struct {
		pattern, grep string
		flags         []string
	}{
		{"[a-z]*e", "grep -a -o -E '[a-z]*e'", nil},
		{"^[a-z]", "grep -a -o -E '^[a-z]'", nil},
		{"a[0-9]+", "grep -a -o -E 'a[0-9]+'", nil},
		{"a[0-9]+", "grep -a -o -i -E 'a[0-9]+'", []string{"--ignore-case"}},
		{"aa", "grep -a -o -F aa", []string{"--fixed"}},
		{"x*", "grep -a -o -E 'x*'", nil}, // empty matches do not count
		{`\bth`, `grep -a -o -E '\bth'`, nil},
	} {
		want := b.shell("%s%s", c.grep, order)
		for _, s := range setups() {
			got, _ := b.run(s, "grep", slices.Concat(c.flags, []string{
				"--pattern", c.pattern, "--input", in, "--split-bytes", "40000",
			})...)
			same(t, named(c.pattern), want, got)
		}
	}
}
