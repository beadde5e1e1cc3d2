package main

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/require"
)

const sample = `package p

const two = 1 + 1

func f(a, b int) (int, error) {
	n := 0
	for i := 0; i < a; i++ {
		n += i
	}
	if err := g(); err != nil && a > b {
		return 0, err
	}
	g()
	m.cfg.Log.Info("n", "is", n)
	return n - b, nil
}
`

func TestChanges(t *testing.T) {
	all, err := changesOf("p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{ // what is changed, and a line of the result
		"negate i < a":                     "for i := 0; !(i < a); i++ {",
		"<= for < in i < a":                "for i := 0; i <= a; i++ {",
		"drop n += i":                      "\t\t\n\t}",
		"negate err != nil && a > b":       "if err := g(); !(err != nil && a > b) {",
		"|| for && in err != nil && a > b": "if err := g(); err != nil || a > b {",
		">= for > in a > b":                "err != nil && a >= b {",
		"nil for err in return 0, err":     "return 0, nil\n",
		"drop g()":                         "\t}\n\t\n\tm.cfg.Log",
		"+ for - in n - b":                 "return n + b, nil",
	}
	for _, c := range all {
		line, ok := want[c.what]
		if !ok {
			t.Errorf("line %d: %s should not be changed", c.line, c.what)
			continue
		}
		delete(want, c.what)
		if got := string(c.apply([]byte(sample))); !strings.Contains(got, line) {
			t.Errorf("%s gives\n%s", c.what, got)
		}
	}
	for what := range want {
		t.Error("not found:", what)
	}
	if _, err := changesOf("p.go", []byte("package")); err == nil {
		t.Error("half a file was parsed")
	}
}

// module writes a module of these files and goes there.
func module(t *testing.T, files map[string]string) {
	t.Helper()
	require.Tool(t, "go")
	t.Chdir(t.TempDir())
	files["go.mod"] = "module example.com/m\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// mistakes are all changes of a file that build, in order.
func mistakes(t *testing.T, file string) (*checker, []*mistake) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := changesOf(file, src)
	if err != nil {
		t.Fatal(err)
	}
	check, err := newChecker([]string{path.Dir(file)})
	if err != nil {
		t.Fatal(err)
	}
	var out []*mistake
	for _, c := range all {
		if check.builds(path.Dir(file), map[string][]byte{file: c.apply(src)}) == nil {
			out = append(out, &mistake{change: c, id: len(out) + 1})
		}
	}
	return check, out
}

// TestWhatFailsAnywayNoticesNothing: a test that fails without the mistake too does not count, and hides no test that notices.
func TestWhatFailsAnywayNoticesNothing(t *testing.T) {
	module(t, map[string]string{
		"p/p.go": "package p\n\nfunc Add(a, b int) int { return a + b }\n\nfunc Sub(a, b int) int { return a - b }\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestAlways(t *testing.T) { t.Fatal(\"as ever\") }\n\n" +
			"func TestAdd(t *testing.T) {\n\tif Add(2, 1) != 3 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n",
	})
	check, all := mistakes(t, "p/p.go")
	if err := tryAll(t.TempDir(), check, all, settings{atOnce: 2}); err != nil {
		t.Fatal(err)
	}
	got, counts := map[string]string{}, map[string]*tally{}
	for _, m := range all {
		got[m.what] = m.String()
		count(counts, "p", m.verdict)
	}
	want := map[string]string{
		"- for + in a + b": "noticed by p TestAdd",
		"+ for - in a - b": "unsure: without the mistake they fail too: p TestAlways",
	}
	if !maps.Equal(got, want) || *counts["p"] != (tally{made: 1, noticed: 1, unsure: 1}) {
		t.Errorf("%q, counted %+v", got, counts["p"])
	}
}

// TestWhereMistakesAreMade: in code that is built here, of the folder that is asked for; never in tests, nor in what only tests use.
func TestWhereMistakesAreMade(t *testing.T) {
	t.Chdir("../..")
	for path, want := range map[string]bool{
		"master/loop.go": true, "internal/disk/lock_linux.go": true, "master/loop_test.go": false, "master/peer_other.go": false, "internal/mutate/try.go": false,
		"internal/testcluster/files.go": false, "internal/require/require.go": false, "dfs/testdata/x.go": false, "master/README.md": false, "internal/disk/free_windows.go": false,
	} {
		if got := ours(filepath.FromSlash(path)); got != want {
			t.Errorf("mistakes are made in %s: %t", path, got)
		}
	}
	anywhere := regexp.MustCompile("")
	some, err := changes("dfs/names/tr", anywhere)
	if err != nil || len(some) < 10 {
		t.Fatalf("%d changes, %v", len(some), err)
	}
	for _, c := range some {
		if !strings.HasPrefix(c.file, "dfs/names/tr") || strings.HasSuffix(c.file, "_test.go") || c.line < 1 {
			t.Errorf("%+v", c)
		}
	}
	some, err = changes("", regexp.MustCompile("^master$"))
	if err != nil || slices.ContainsFunc(some, func(c change) bool { return path.Dir(c.file) != "master" }) {
		t.Errorf("mistakes outside of the only package, or %v", err)
	}
	if _, err := changes("nowhere", anywhere); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a folder that is none: %v", err)
	}
	if err := run(settings{n: 1, seed: 1, in: "nowhere", only: anywhere}); err == nil {
		t.Error("mistakes were made in a folder that is none")
	}
	t.Chdir(t.TempDir())
	if _, err := changes("", anywhere); err == nil {
		t.Error("mistakes were found where there is no code")
	}
}

// TestFailures: a test that hangs is one that fails; a program may fail without one.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		printed string
		want    []string
	}{
		{"\x16=== RUN   TestHangs\npanic: test timed out\n", []string{"TestHangs"}},
		{"\x16=== RUN   TestGood\n\x16--- PASS: TestGood (0.00s)\npanic: later\n", nil},
		{"\x16=== RUN   TestBad\n\x16=== RUN   TestBad/part\n\x16=== NAME  TestBad\nwords\x16--- FAIL: TestBad (0.00s)\n    \x16--- FAIL: TestBad/part (0.00s)\n\x16=== RUN   TestLeft\n", []string{"TestBad"}},
		{"=== RUN   TestOfAChild\n\x16=== RUN   TestSkips\n\x16--- SKIP: TestSkips (0.00s)\n", nil},
		{strings.Repeat("x", 1<<17) + "\n\x16=== RUN   TestHangs\n", []string{"TestHangs"}},
	} {
		var e events
		for piece := range slices.Chunk([]byte(c.printed), 7) {
			if _, err := e.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if got := e.failures(); !slices.Equal(got, c.want) {
			t.Errorf("%.80q: %q", c.printed, got)
		}
	}
}
