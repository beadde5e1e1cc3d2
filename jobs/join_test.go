package jobs_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/require"
)

// nestedLoop joins two tables of "key TAB rest" lines the dumb way.
func nestedLoop(left, right []string) string {
	var out []string
	for _, l := range left {
		for _, r := range right {
			lk, lv, _ := strings.Cut(l, "\t")
			rk, rv, _ := strings.Cut(r, "\t")
			if lk == rk {
				out = append(out, lk+"\t"+lv+"\t"+rv+"\n")
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

func table(rng *rand.Rand, rows int, side string) (out []string) {
	keys := []string{"a", "b", "", "\x00", "\x00\x00", "\x00\x01", "\x01", "\xff", "a\x00", "a\x01", "only " + side, "ä"}
	for i := range rows {
		row := keys[rng.IntN(len(keys))]
		if rng.IntN(10) > 0 {
			row += fmt.Sprintf("\t%s%d", side, i)
		}
		out = append(out, row)
	}
	return out
}

// TestJoinAgainstNestedLoop, with keys that look like the marks that the join uses.
func TestJoinAgainstNestedLoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 21))
	left, right := table(rng, 300, "left"), table(rng, 250, "right")
	b := newBed(t)
	l := b.write("l", []byte(strings.Join(left, "\n")+"\n"))
	r := b.write("r", []byte(strings.Join(right, "\n")))
	want := nestedLoop(left, right)
	if want == "" {
		t.Fatal("nothing to join")
	}
	for _, s := range setups() {
		got, _ := b.run(s, "join", "--left", l, "--right", r, "--split-bytes", "700")
		same(t, s, want, sortedText(got))
	}
}

// TestJoinOfOneLargeKey: very many rows of one key on both sides, more than a join
// holds in memory on the left.
func TestJoinOfOneLargeKey(t *testing.T) {
	leftRows, rightRows, pad := 90, 3, 100_000
	if require.Stressed() {
		leftRows, rightRows, pad = 20_000, 50, 500
	}
	b := newBed(t)
	var left, right bytes.Buffer
	for i := range leftRows {
		fmt.Fprintf(&left, "k\t%d%s\n", i, strings.Repeat("x", pad))
	}
	for i := range rightRows {
		fmt.Fprintf(&right, "k\t%d\n", i)
	}
	stages := []string{"--left", b.write("l", left.Bytes()), "--right", b.write("r", right.Bytes())}
	got, res := b.run(setup{memory: 1 << 20, reducers: 3}, "join", stages...)
	if n := strings.Count(got, "\n"); n != leftRows*rightRows {
		t.Errorf("%d rows, want %d", n, leftRows*rightRows)
	}
	seen := map[string]int{}
	for line := range strings.Lines(got) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		seen[strings.TrimRight(parts[1], "x")]++
	}
	for i := range leftRows {
		if seen[fmt.Sprint(i)] != rightRows {
			t.Fatalf("row %d of the left was joined %d times, want %d", i, seen[fmt.Sprint(i)], rightRows)
		}
	}
	if res.Counts.Get("task", "reduce_input_groups") != 1 {
		t.Error("one key was more than one group")
	}
}

// TestInvertedIndexAgainstAMap lists the files of every word, each once, in order.
func TestInvertedIndexAgainstAMap(t *testing.T) {
	b := newBed(t)
	files := map[string]map[string]bool{}
	for i := range 7 {
		path := b.write(fmt.Sprintf("in/%d.txt", i), zipfText(t, 60_000)[i*7000:][:3000])
		for w := range strings.FieldsSeq(string(zipfText(t, 60_000)[i*7000:][:3000])) {
			if files[w] == nil {
				files[w] = map[string]bool{}
			}
			files[w][path] = true
		}
	}
	var lines []string
	for w, in := range files {
		var list []string
		for f := range in {
			list = append(list, f)
		}
		slices.Sort(list)
		lines = append(lines, w+"\t"+strings.Join(list, " ")+"\n")
	}
	slices.Sort(lines)
	for _, s := range setups() {
		got, _ := b.run(s, "inverted-index", "--input", filepath.Join(b.dir, "in"), "--split-bytes", "900")
		same(t, s, strings.Join(lines, ""), sortedText(got))
	}
}

// TestPi against the same points, found another way: digits written in reverse.
func TestPi(t *testing.T) {
	const points = 5 * 20_000
	reversed := func(i, base int) float64 {
		num, den := 0, 1
		for ; i > 0; i /= base {
			num, den = num*base+i%base, den*base
		}
		return float64(num) / float64(den)
	}
	inside := 0
	for i := 1; i <= points; i++ {
		if math.Hypot(reversed(i, 2)-0.5, reversed(i, 3)-0.5) <= 0.5 {
			inside++
		}
	}
	want := fmt.Sprintf("pi\t%v\n", 4*float64(inside)/points)
	b := newBed(t)
	for _, s := range setups() {
		s.reducers = 0 // the job has one
		got, _ := b.run(s, "pi", "--maps", "5", "--samples", "20000")
		same(t, s, want, got)
	}
}

// TestLoadJobs: sleep and synthetic have the tasks and the bytes that they are told.
func TestLoadJobs(t *testing.T) {
	b := newBed(t)
	_, res := b.run(setup{}, "synthetic", "--maps", "4", "--reduces", "3", "--map-time", "1ms", "--reduce-time", "1ms", "--shuffle-bytes", "400KiB")
	if s := res.Stages[0]; s.Maps != 4 || s.Reduces != 3 {
		t.Errorf("%d maps and %d reduces, want 4 and 3", s.Maps, s.Reduces)
	}
	if n := res.Counts.Get("task", "map_output_bytes"); n < 400<<10 || n > 410<<10 {
		t.Errorf("%d bytes shuffled, want about 400 KiB", n)
	}
	input := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(input, make([]byte, 5<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	_, res = b.run(setup{}, "synthetic", "--maps", "5", "--input", input, "--split-bytes", "1KiB", "--reduces", "2", "--map-time", "1ms", "--reduce-time", "1ms", "--shuffle-bytes", "50KiB")
	if s, in, n := res.Stages[0], res.Counts.Get("task", "map_input_bytes"), res.Counts.Get("task", "map_output_bytes"); s.Maps != 5 || in != 5<<10 || n < 50<<10 || n > 52<<10 {
		t.Errorf("%d maps of %d bytes, %d bytes shuffled, want 5, 5 KiB and 50 KiB", s.Maps, in, n)
	}
	_, res = b.run(setup{}, "sleep", "--maps", "3", "--reduces", "0", "--map-time", "1ms")
	if s := res.Stages[0]; s.Maps != 3 || s.Reduces != 0 {
		t.Errorf("%d maps and %d reduces, want 3 and 0", s.Maps, s.Reduces)
	}
}
