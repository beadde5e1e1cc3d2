package jobs_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a directory to run built-in jobs in, without anything left behind.
type bed struct {
	t   testing.TB
	dir string
}

func newBed(t testing.TB) *bed {
	t.Helper()
	b := &bed{t, t.TempDir()}
	if err := os.Mkdir(b.path("scratch"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, dir := range []string{b.dir, b.path("scratch")} {
			left, _ := filepath.Glob(filepath.Join(dir, ".*"))
			more, _ := filepath.Glob(filepath.Join(dir, "millrace-*"))
			for _, f := range append(left, more...) {
				t.Errorf("left behind: %s", f)
			}
		}
	})
	return b
}

func (b *bed) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bed) write(name string, content []byte) string {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), content, 0o644); err != nil {
		b.t.Fatal(err)
	}
	return b.path(name)
}

// setup is how a job is run: the corners of what must not change the output.
type setup struct {
	memory   int64
	workers  int
	reducers int
	compress string
}

func (s setup) String() string {
	return fmt.Sprintf("%dMiB,workers=%d,reducers=%d,%s", s.memory>>20, s.workers, s.reducers, s.compress)
}

// setups cover 1 MiB and plenty, 1 and 4 workers, one reduce and many, and every
// compression; under stress, all combinations.
func setups() []setup {
	if !require.Stressed() {
		return []setup{
			{1 << 20, 1, 1, "none"},
			{1 << 20, 4, 7, "s2"},
			{1 << 20, 4, 1, "zstd"},
			{64 << 20, 1, 7, "zstd"},
			{64 << 20, 4, 1, "s2"},
			{64 << 20, 4, 7, "none"},
		}
	}
	var all []setup
	for _, memory := range []int64{1 << 20, 64 << 20} {
		for _, workers := range []int{1, 4} {
			for _, reducers := range []int{1, 7, 40} {
				for _, compress := range []string{"none", "s2", "zstd"} {
					all = append(all, setup{memory, workers, reducers, compress})
				}
			}
		}
	}
	return all
}

// run runs a built-in job and returns its output and counters.
func (b *bed) run(s setup, name string, words ...string) (string, local.Result) {
	b.t.Helper()
	out, res, err := b.try(s, name, words...)
	if err != nil {
		b.t.Fatalf("%s, %v: %v", name, s, err)
	}
	return out, res
}

func (b *bed) try(s setup, name string, words ...string) (string, local.Result, error) {
	b.t.Helper()
	words = append(words, "--output", b.path("out"))
	if s.reducers > 0 {
		words = append(words, "--reducers", fmt.Sprint(s.reducers))
	}
	if s.compress != "" {
		words = append(words, "--compress", s.compress)
	}
	stages, err := jobs.Parse(name, words)
	if err != nil {
		return "", local.Result{}, err
	}
	res, err := local.Run(b.t.Context(), local.Config{
		Sort: s.memory, Workers: s.workers, Scratch: b.path("scratch"),
	}, stages...)
	if err != nil {
		if _, statErr := os.Lstat(b.path("out")); statErr == nil {
			b.t.Errorf("%s failed and left its output visible", name)
		}
		return "", res, err
	}
	return b.take(), res, nil
}

// take returns the parts of the output one after the other and removes it.
func (b *bed) take() string {
	b.t.Helper()
	parts, err := filepath.Glob(b.path("out/part-*"))
	if err != nil {
		b.t.Fatal(err)
	}
	var all bytes.Buffer
	for _, p := range parts {
		content, err := os.ReadFile(p)
		if err != nil {
			b.t.Fatal(err)
		}
		all.Write(content)
	}
	if err := os.RemoveAll(b.path("out")); err != nil {
		b.t.Fatal(err)
	}
	return all.String()
}

// shell runs a command as the reference, in the C locale. Exit status 1 without a
// message is grep finding nothing.
func (b *bed) shell(format string, args ...any) string {
	b.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf(format, args...))
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Dir = b.dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil && (errs.Len() > 0 || cmd.ProcessState.ExitCode() != 1) {
		b.t.Fatalf("%s: %v: %s", cmd, err, errs.String())
	}
	return string(out)
}

// same compares byte for byte and shows where the first difference is.
func same(t testing.TB, what fmt.Stringer, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	around := func(s string) string { return s[max(0, at-40):min(len(s), at+40)] }
	t.Errorf("%v: %d bytes, want %d; they differ at %d: %q, want %q",
		what, len(got), len(want), at, around(got), around(want))
}

// sortedText is for jobs whose parts are sorted each but not as a whole.
func sortedText(s string) string {
	lines := strings.SplitAfter(s, "\n")
	lines = lines[:len(lines)-1]
	slices.Sort(lines)
	return strings.Join(lines, "")
}
