package jobs_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/jobs/textgen"
)

// zipfText is natural enough: a few frequent words, many rare ones.
func zipfText(t testing.TB, size int) []byte {
	g, err := textgen.NewText(textgen.DefaultTextConfig())
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, (size+textgen.BlockBytes-1)/textgen.BlockBytes*textgen.BlockBytes)
	for i := 0; i < len(data); i += textgen.BlockBytes {
		g.Fill(data[i:i+textgen.BlockBytes], uint64(i/textgen.BlockBytes))
	}
	return data[:size]
}

// oddText has what text files have: CRLF, NUL, invalid UTF-8, empty and long lines,
// duplicates, white space at both ends, no final newline.
func oddText(lines int) []byte {
	rng := rand.New(rand.NewPCG(11, 11))
	pieces := []string{
		"", "a", "A", "b", "\r", "\x00", "\xff\xfe", "ä", "word", "wor", "words", " ", "\t", "  two", "Zebra", "0",
		strings.Repeat("long", 50), "\x7f", "foo.bar", "foo bar",
	}
	var out bytes.Buffer
	for range lines {
		for range rng.IntN(5) {
			out.WriteString(pieces[rng.IntN(len(pieces))])
			out.WriteByte(" \tx"[rng.IntN(3)])
		}
		out.WriteByte('\n')
	}
	out.WriteString("the last line has no end")
	return out.Bytes()
}

func TestWordCountAgainstAwkAndAMap(t *testing.T) {
	mawk := require.Tool(t, "mawk")
	b := newBed(t)
	b.write("in/a", zipfText(t, 1_500_000))
	b.write("in/b", []byte("last words\nwithout an end"))
	want := b.shell(`%s '{ for (i = 1; i <= NF; i++) n[$i]++ } END { for (w in n) print w "\t" n[w] }' in/a in/b | sort`, mawk)
	for _, s := range setups() {
		got, _ := b.run(s, "wordcount", "--input", b.path("in"), "--split-bytes", "300000")
		same(t, s, want, sortedText(got))
		if s.reducers == 1 {
			same(t, s, got, sortedText(got))
		}
	}
}

// TestWordCountOfAnyBytes against a Go map, where awk has its own idea of a byte.
func TestWordCountOfAnyBytes(t *testing.T) {
	b := newBed(t)
	rng := rand.New(rand.NewPCG(2, 2))
	data := make([]byte, 300_000)
	for i := range data {
		data[i] = byte(rng.IntN(256))
		if rng.IntN(4) == 0 {
			data[i] = " \n\t\v\f\r"[rng.IntN(6)]
		}
	}
	counts := map[string]int{}
	for _, w := range bytes.FieldsFunc(data, asciiSpace) {
		counts[string(w)]++
	}
	var lines []string
	for w, n := range counts {
		lines = append(lines, fmt.Sprintf("%s\t%d\n", w, n))
	}
	slices.SortFunc(lines, func(a, b string) int {
		wa, _, _ := strings.Cut(a, "\t")
		wb, _, _ := strings.Cut(b, "\t")
		return strings.Compare(wa, wb)
	})
	s := setup{memory: 1 << 20, workers: 3, reducers: 1, compress: "s2"}
	got, _ := b.run(s, "wordcount", "--input", b.write("in", data), "--split-bytes", "20000")
	same(t, s, strings.Join(lines, ""), got)
}

func TestSortAgainstSort(t *testing.T) {
	b := newBed(t)
	for name, data := range map[string][]byte{
		"odd":           oddText(20_000),
		"zipf":          zipfText(t, 1_000_000),
		"empty":         nil,
		"one newline":   []byte("\n"),
		"one byte":      []byte("x"),
		"only newlines": bytes.Repeat([]byte("\n"), 5000),
		"all the same":  bytes.Repeat([]byte("the same line\n"), 20_000),
		"crlf":          bytes.ReplaceAll(oddText(500), []byte("\n"), []byte("\r\n")),
	} {
		t.Run(name, func(t *testing.T) {
			in := b.write("in", data)
			want := b.shell("sort in")
			for _, s := range setups() {
				got, _ := b.run(s, "sort", "--input", in, "--split-bytes", "150000")
				same(t, s, want, got)
			}
		})
	}
}

// TestSortOfManyFiles: a file without a final newline does not run into the next.
func TestSortOfManyFiles(t *testing.T) {
	b := newBed(t)
	b.write("in/a", []byte("b\na"))
	b.write("in/b", []byte("d\nc"))
	b.write("in/sub/c", []byte("\n"))
	s := setups()[1]
	got, _ := b.run(s, "sort", "--input", b.path("in"))
	same(t, s, b.shell("sort in/a in/b in/sub/c"), got)
}

func TestDistinctAgainstSortU(t *testing.T) {
	b := newBed(t)
	in := b.write("in", oddText(20_000))
	want := b.shell("sort -u in")
	for _, s := range setups() {
		got, _ := b.run(s, "distinct", "--input", in, "--split-bytes", "150000")
		same(t, s, want, got)
	}
}

func TestTopKAgainstUniq(t *testing.T) {
	b := newBed(t)
	in := b.write("in", zipfText(t, 400_000))
	words := b.shell("tr -s ' ' '\\n' <in | grep -v '^$' | sort | uniq -c | sort -k1,1nr -k2 | awk '{ print $1 \"\\t\" $2 }'")
	lines := b.shell("sort in | uniq -c | sed 's/^ *\\([0-9]*\\) /\\1\\t/' | sort -t '\t' -k1,1nr -k2 | head -n 5")
	for _, s := range setups() {
		s.reducers = 0 // the job has one
		got, _ := b.run(s, "topk", "--k", "25", "--input", in, "--split-bytes", "90000")
		same(t, s, firstLines(words, 25), got)
		got, _ = b.run(s, "topk", "--k", "5", "--by", "line", "--input", in)
		same(t, s, lines, got)
	}
	got, _ := b.run(setup{memory: 1 << 20}, "topk", "--k", "1000000", "--input", in)
	same(t, setup{}, words, got)
}

func firstLines(s string, n int) string {
	return strings.Join(strings.SplitAfter(s, "\n")[:n], "")
}

func asciiSpace(c rune) bool { return c == ' ' || c >= '\t' && c <= '\r' }
