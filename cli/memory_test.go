//go:build !race

// The race detector takes several times the memory; other tests run the same jobs under it.

package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

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

// memoryShapes make inputs for a budget of so many MiB: records of an eighth and a quarter of it, and ordinary ones.
var memoryShapes = map[string]func(c *child, budget int64, scale int){
	"eighth":  func(c *child, budget int64, scale int) { c.largeLines(6*scale, int(budget/8)) },
	"quarter": func(c *child, budget int64, scale int) { c.largeLines(3*scale, int(budget/4)-16) },
	"records": func(c *child, _ int64, scale int) {
		c.ok("gen", "records", "--size", fmt.Sprint(8_000_000*scale*scale), "in")
	},
	"skewed": func(c *child, _ int64, scale int) {
		c.ok("gen", "records", "--skew", "1.2", "--size", fmt.Sprint(8_000_000*scale*scale), "in")
	},
	"hot": func(c *child, _ int64, scale int) {
		c.ok("gen", "records", "--hot", "0.5", "--size", fmt.Sprint(8_000_000*scale*scale), "in")
	},
}

// largeLines writes n lines of size bytes, newline included.
func (c *child) largeLines(n, size int) {
	c.t.Helper()
	f, err := os.Create(c.path("in"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	rng := rand.New(rand.NewPCG(1, uint64(size)))
	for i := range n {
		var words bytes.Buffer
		for range 1000 {
			fmt.Fprintf(&words, "%06d ", rng.IntN(1_000_000))
		}
		left, _ := fmt.Fprintf(w, "%d\t", i)
		for left = size - 1 - left; left > 0; left -= words.Len() {
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
	budgets, shapes, scale := []int64{32}, []string{"eighth"}, 1
	if require.Stressed() {
		budgets, shapes, scale = []int64{32, 64, 256}, []string{"eighth", "quarter", "records", "skewed", "hot"}, 4
	}
	for _, budget := range budgets {
		for _, shape := range shapes {
			c := newChild(t)
			memoryShapes[shape](c, budget<<20, scale)
			for name, words := range memoryRuns {
				t.Run(fmt.Sprintf("%d/%s/%s", budget, shape, name), func(t *testing.T) {
					c.t = t
					if name == "join" && (shape == "skewed" || shape == "hot") {
						words = "join --left few --right IN" // with itself it would write the square of the rows of one key
						c.few("in", "few", 10)
					}
					args := strings.Fields(strings.ReplaceAll(words, "IN", "in"))
					args = append([]string{"run"}, args...)
					c.ok(append(args, "--output", "out", "--overwrite", "--progress", "none", "--memory", fmt.Sprintf("%dMiB", budget))...)
					c.within(budget << 20 * 115 / 100)
				})
			}
		}
	}
}
