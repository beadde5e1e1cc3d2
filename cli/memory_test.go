//go:build !race

// The race detector takes several times the memory; other tests run the same jobs under it.

package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/millrace/millrace/internal/require"
)

// memoryRuns are jobs whose peak memory is held: every built-in job that reads text, streaming with and without a combiner.
var memoryRuns = map[string]string{
	"wordcount":          "wordcount --input IN",
	"sort":               "sort --input IN",
	"distinct":           "distinct --input IN",
	"topk":               "topk --input IN",
	"inverted-index":     "inverted-index --input IN",
	"grep":               "grep --pattern [0-9]7+1 --input IN",
	"grep lines":         "grep --lines --pattern ^1[0-9]*.[0-9]*7 --input IN",
	"join":               "join --left IN --right IN",
	"streaming":          "streaming --mapper cat --reducer cat --input IN",
	"streaming combined": "streaming --mapper cat --combiner cat --reducer cat --input IN",
}

// memoryShapes make inputs of about a size for a budget: records of an eighth and a quarter of it, ordinary ones, and those that break engines.
var memoryShapes = map[string]func(c *child, budget, size int64){
	"eighth":     func(c *child, budget, size int64) { c.largeLines(size, budget/8) },
	"quarter":    func(c *child, budget, size int64) { c.largeLines(size, budget/4-16) },
	"records":    func(c *child, _, size int64) { c.records("in", size) },
	"skewed":     func(c *child, _, size int64) { c.records("in", size, "--skew", "1.2") },
	"hot":        func(c *child, _, size int64) { c.records("in", size, "--hot", "0.5") },
	"words":      func(c *child, _, size int64) { c.records("in", size, "--skew", "0", "--keys", "16000000") },
	"compressed": (*child).compressed,
	"tiny files": (*child).tinyFiles,
}

// records writes key-value lines, and a few of them for the other side of a join: with itself it would write the square of the rows of a key.
func (c *child) records(name string, size int64, flags ...string) {
	c.t.Helper()
	c.ok(append([]string{"gen", "records", "--size", fmt.Sprint(size), name}, flags...)...)
	c.few(name, "few", 10)
}

// compressed writes records as gzip and as zstd, whose readers hold as much of the text as their formats want.
func (c *child) compressed(_, size int64) {
	c.t.Helper()
	c.records("plain", size/2)
	c.mkdir("in")
	for name, open := range map[string]func(io.Writer) io.WriteCloser{
		"in/a.gz":  func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"in/b.zst": func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
	} {
		c.copy("plain", name, open)
	}
}

// copy writes a file through a writer to another.
func (c *child) copy(from, to string, through func(io.Writer) io.WriteCloser) {
	c.t.Helper()
	r, err := os.Open(c.path(from))
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Close()
	f, err := os.Create(c.path(to))
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	w := through(f)
	_, err = io.Copy(w, r)
	if err := errors.Join(err, w.Close()); err != nil {
		c.t.Fatal(err)
	}
}

// tinyFiles writes thousands of files of a kilobyte.
func (c *child) tinyFiles(_, size int64) {
	c.t.Helper()
	c.mkdir("in")
	for i := range min(size/10_000, 5000) {
		var lines bytes.Buffer
		for j := range 80 {
			fmt.Fprintf(&lines, "word%05d%02d\n", i, j)
		}
		c.write(fmt.Sprintf("in/%05d", i), lines.Bytes())
	}
}

func (c *child) mkdir(name string) {
	c.t.Helper()
	if err := os.MkdirAll(c.path(name), 0o755); err != nil {
		c.t.Fatal(err)
	}
}

// largeLines writes lines of so many bytes, newline included, until they have a size.
func (c *child) largeLines(size, line int64) {
	c.t.Helper()
	f, err := os.Create(c.path("in"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	rng := rand.New(rand.NewPCG(1, uint64(line)))
	for i := range size / line {
		var words bytes.Buffer
		for range 1000 {
			fmt.Fprintf(&words, "%06d ", rng.IntN(1_000_000))
		}
		left, _ := fmt.Fprintf(w, "%d\t", i)
		for left = int(line) - 1 - left; left > 0; left -= words.Len() {
			_, _ = w.Write(words.Bytes()[:min(left, words.Len())])
		}
		_ = w.WriteByte('\n') // Flush says what failed
	}
	if err := w.Flush(); err != nil {
		c.t.Fatal(err)
	}
}

// few writes the first n lines of a file to another.
func (c *child) few(from, to string, n int) {
	c.t.Helper()
	f, err := os.Open(c.path(from))
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	var head bytes.Buffer
	for lines := bufio.NewScanner(f); n > 0 && lines.Scan(); n-- {
		head.Write(append(lines.Bytes(), '\n'))
	}
	c.write(to, head.Bytes())
}

// TestPeakMemory: what a process allocates is at most 1.15 times its budget. The pages of the program's own file come on top; they depend
// on how the file came onto the disk, and the system can drop them. `make memory` measures all shapes at three budgets.
func TestPeakMemory(t *testing.T) {
	budgets, shapes, quarters := []int64{32}, []string{"eighth", "quarter", "hot", "compressed"}, int64(3)
	if require.Stressed() {
		budgets, shapes, quarters = []int64{32, 64, 256}, slices.Sorted(maps.Keys(memoryShapes)), 6
	}
	for _, budget := range budgets {
		for _, shape := range shapes {
			c := newChild(t)
			memoryShapes[shape](c, budget<<20, budget<<20/4*quarters)
			for name, words := range memoryRuns {
				t.Run(fmt.Sprintf("%d/%s/%s", budget, shape, name), func(t *testing.T) {
					c.t = t
					c.peak(budget, words)
				})
			}
		}
	}
}

// TestPeakMemoryOfWindows: so do jobs of several tasks that read files whose decoders hold megabytes of them.
func TestPeakMemoryOfWindows(t *testing.T) {
	const budget = 32
	for form, open := range map[string]func(io.Writer) io.WriteCloser{
		"zstd": func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w, zstd.WithWindowSize(8<<20)); return z },
		"lz4": func(w io.Writer) io.WriteCloser {
			z := lz4.NewWriter(w)
			if err := z.Apply(lz4.BlockSizeOption(lz4.Block4Mb)); err != nil {
				t.Fatal(err)
			}
			return z
		},
	} {
		c := newChild(t)
		c.records("plain", budget<<20/2)
		c.mkdir("in")
		for i := range 3 {
			c.copy("plain", fmt.Sprintf("in/%d", i), open)
		}
		for _, name := range []string{"sort", "streaming"} {
			t.Run(form+"/"+name, func(t *testing.T) {
				c.t = t
				c.peak(budget, memoryRuns[name])
			})
		}
	}
}

// TestPeakMemoryOfKeys: so do jobs whose keys are as long as a record may be, but inverted-index. Each of its two maps has a line and, as the key, a
// copy of its word; with the one that the shuffle takes these are five giants where others have three, and how many of them are in memory at
// once depends on when the maps meet and when the copies are collected: at a quarter of 32 MiB it is 29 MiB, or 37, and 40 where all are.
func TestPeakMemoryOfKeys(t *testing.T) {
	const budget = 32 << 20
	for _, part := range []int64{8, 4} {
		c := newChild(t)
		c.longWords(3*budget, budget/part-4<<10)
		for _, words := range []string{
			"topk", "grep --pattern .+", "wordcount", "sort", "distinct", "inverted-index", "streaming --mapper cat --reducer cat",
		} {
			t.Run(fmt.Sprintf("1 of %d/%s", part, words), func(t *testing.T) {
				c.t = t
				percent := int64(115)
				if words == "inverted-index" && part == 4 {
					percent = 130
				}
				c.peakOf(budget>>20, percent, words+" --input IN")
			})
		}
	}
}

// longWords writes lines of one word of so many bytes until they have a size.
func (c *child) longWords(size, word int64) {
	c.t.Helper()
	rng := rand.New(rand.NewPCG(2, uint64(word)))
	var lines bytes.Buffer
	for range size / word {
		for line := lines.Len(); lines.Len()-line < int(word); {
			fmt.Fprintf(&lines, "%016x", rng.Uint64())
		}
		lines.WriteByte('\n')
	}
	c.write("in", lines.Bytes())
}

// peak runs a job, and wants it to keep to its budget of so many MiB.
func (c *child) peak(budget int64, words string) {
	c.t.Helper()
	c.peakOf(budget, 115, words)
}

// peakOf runs a job, and wants it to keep to so much of its budget.
func (c *child) peakOf(budget, percent int64, words string) {
	c.t.Helper()
	if _, err := os.Stat(c.path("few")); err == nil {
		words = strings.ReplaceAll(words, "--left IN", "--left few")
	}
	args := strings.Fields(strings.ReplaceAll(words, "IN", "in"))
	args = append([]string{"run"}, args...)
	c.ok(append(args, "--output", "out", "--overwrite", "--progress", "none", "--memory", fmt.Sprintf("%dMiB", budget))...)
	c.within(budget << 20 * percent / 100)
}

// TestPeakMemoryOfRows: so do the built-in jobs that make, sort and check rows, and those that read nothing.
func TestPeakMemoryOfRows(t *testing.T) {
	const budget = 32
	rows := 300_000 // 30 MB
	if require.Stressed() {
		rows = 3_000_000
	}
	c := newChild(t)
	for _, words := range []string{
		fmt.Sprintf("teragen --rows %d --output rows", rows), "terasort --input rows --output sorted", "teravalidate --input sorted --output checked",
		"pi --maps 2 --samples 100000 --output pi", "sleep --maps 2 --reduces 1 --map-time 1ms --output slept",
		"synthetic --maps 2 --reduces 2 --map-time 1ms --shuffle-bytes 10MB --output made",
	} {
		t.Run(strings.Fields(words)[0], func(t *testing.T) {
			c.t = t
			c.ok(append(append([]string{"run"}, strings.Fields(words)...), "--progress", "none", "--memory", fmt.Sprintf("%dMiB", budget))...)
			c.within(budget << 20 * 115 / 100)
		})
	}
}
