package examine

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fifo"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

// TestSeedsStaySituations: a finding names a seed, which gives the same situation and the same run in a later version, too. Where
// fifo decides otherwise on purpose, the files are written anew.
func TestSeedsStaySituations(t *testing.T) {
	var short strings.Builder
	for i := range 96 {
		s := Draw(uint64(i), i%2 == 1)
		if i%8 == 6 {
			s.Limit = 2
		}
		log, err := Run(s, func() scheduler.Policy { return fifo.New(scheduler.DefaultReduceRule()) }, nil, Promises{WorkConserving: true})
		if err != nil {
			t.Fatalf("seed %d: %v", i, err)
		}
		sum := fnv.New64a()
		fmt.Fprint(sum, s.describe(""), strings.Join(log, "\n"))
		fmt.Fprintf(&short, "%d: %d nodes, %d jobs, limit %d, replaced %t: %d decisions, %016x\n", i, s.nodes(), len(s.Jobs), s.Limit, s.Replace, len(log), sum.Sum64())
		if len(log) < 60 && i >= 80 {
			sameAs(t, fmt.Sprintf("run-%d.txt", i), s.describe("")+strings.Join(log, "\n")+"\n")
		}
	}
	sameAs(t, "runs.txt", short.String())
}

// sameAs compares a text with a golden file.
func sameAs(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s", path, got, want)
	}
}
