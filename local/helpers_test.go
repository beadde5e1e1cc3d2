package local_test

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a place to run jobs in. When the test ends it must hold no more than the
// test's own files and the outputs of jobs that succeeded.
type bed struct {
	t             testing.TB
	dir, out, tmp string
}

func newBed(t testing.TB) *bed {
	t.Helper()
	dir := t.TempDir()
	b := &bed{t: t, dir: dir, out: filepath.Join(dir, "out"), tmp: filepath.Join(dir, "scratch")}
	if err := os.Mkdir(b.tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.checkClean)
	return b
}

// checkClean wants no temporary file and no half-made output.
func (b *bed) checkClean() {
	b.t.Helper()
	for _, dir := range []string{b.tmp, b.dir} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			b.t.Error(err)
		}
		for _, e := range entries {
			if dir == b.tmp || strings.Contains(e.Name(), "millrace-") {
				b.t.Errorf("left behind: %s", filepath.Join(dir, e.Name()))
			}
		}
	}
}

func (b *bed) write(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// run runs jobs to b.out, with b's scratch directory.
func (b *bed) run(cfg local.Config, stages ...mapreduce.Job) (local.Result, error) {
	b.t.Helper()
	cfg.Scratch = b.tmp
	stages[len(stages)-1].Output = b.out
	return local.Run(b.t.Context(), cfg, stages...)
}

// ok is run for jobs that must succeed; it returns the output and takes it away.
func (b *bed) ok(cfg local.Config, stages ...mapreduce.Job) string {
	b.t.Helper()
	if _, err := b.run(cfg, stages...); err != nil {
		b.t.Fatal(err)
	}
	return b.take()
}

// take returns the parts of the output, one after the other, and removes it.
func (b *bed) take() string {
	b.t.Helper()
	parts, err := filepath.Glob(filepath.Join(b.out, "part-*"))
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(b.out, "_SUCCESS")); err != nil {
		b.t.Errorf("a job succeeded without its mark: %v", err)
	}
	var all bytes.Buffer
	for _, p := range parts {
		data, err := os.ReadFile(p)
		if err != nil {
			b.t.Fatal(err)
		}
		all.Write(data)
	}
	if err := os.RemoveAll(b.out); err != nil {
		b.t.Fatal(err)
	}
	return all.String()
}

// fails runs jobs that must fail, with an error that holds all of the words, and
// wants no output.
func (b *bed) fails(cfg local.Config, words []string, stages ...mapreduce.Job) (local.Result, error) {
	b.t.Helper()
	res, err := b.run(cfg, stages...)
	if err == nil {
		b.t.Fatalf("the job succeeded, want an error with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			b.t.Errorf("the error lacks %q:\n%v", w, err)
		}
	}
	b.noOutput()
	return res, err
}

func (b *bed) noOutput() {
	b.t.Helper()
	if _, err := os.Lstat(b.out); err == nil {
		b.t.Errorf("a job that failed left its output visible")
	}
}

// The word count in three spellings.

var words = mapreduce.Lines(func(line []byte, emit func([]byte, int64)) {
	for w := range bytes.FieldsSeq(line) {
		emit(w, 1)
	}
})

var total = mapreduce.Groups(func(word string, ns iter.Seq[int64], emit func(string, int64)) {
	var sum int64
	for n := range ns {
		sum += n
	}
	emit(word, sum)
})

// totalOfPairs is total for groups of several keys.
var totalOfPairs = mapreduce.Pairs(func(pairs iter.Seq2[string, int64], emit func(string, int64)) {
	for word, n := range pairs {
		emit(word, n)
	}
})

func wordCount(in string, how string) mapreduce.Job {
	job := mapreduce.Job{Name: "words", Input: []string{in}, Map: words}
	switch how {
	case "fold":
		job.Fold = mapreduce.Sum
	case "combine":
		job.Combine, job.Reduce = total, total
	case "reduce":
		job.Reduce = total
	default:
		panic(how)
	}
	return job
}

// counted is the word count of a text by a Go map: sorted "word TAB count" lines.
func counted(text string) []string {
	counts := map[string]int{}
	for w := range strings.FieldsSeq(text) {
		counts[w]++
	}
	var lines []string
	for w, n := range counts {
		lines = append(lines, fmt.Sprintf("%s\t%d", w, n))
	}
	slices.Sort(lines)
	return lines
}

func sortedLines(s string) []string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if s == "" {
		lines = nil
	}
	slices.Sort(lines)
	return lines
}
