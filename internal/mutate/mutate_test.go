package main

import (
	"maps"
	"os"
	"path/filepath"
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

// TestWhatFailsAnywayNoticesNothing: a test that fails without the mistake too does not count, and hides no test that notices.
func TestWhatFailsAnywayNoticesNothing(t *testing.T) {
	require.Tool(t, "go")
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"p/p.go": "package p\n\nfunc Add(a, b int) int { return a + b }\n\nfunc Sub(a, b int) int { return a - b }\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestAlways(t *testing.T) { t.Fatal(\"as ever\") }\n\n" +
			"func TestAdd(t *testing.T) {\n\tif Add(2, 1) != 3 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	src, err := os.ReadFile("p/p.go")
	if err != nil {
		t.Fatal(err)
	}
	all, err := changesOf("p/p.go", src)
	if err != nil {
		t.Fatal(err)
	}
	got, counts := map[string]string{}, tally{}
	for _, c := range all {
		v, err := try(t.TempDir(), &c, false)
		if err != nil {
			t.Fatal(err)
		}
		got[c.what] = v.String()
		counts.add(v)
	}
	want := map[string]string{
		"- for + in a + b": "noticed by example.com/m/p TestAdd",
		"+ for - in a - b": "unsure: without the mistake they fail too: example.com/m/p TestAlways",
	}
	if !maps.Equal(got, want) || counts != (tally{made: 1, noticed: 1, unsure: 1}) {
		t.Errorf("%q, counted %+v", got, counts)
	}
}

// TestWhereMistakesAreMade: in code that is built here, of the folder that is asked for; never in tests, nor in what only tests use.
func TestWhereMistakesAreMade(t *testing.T) {
	t.Chdir("../..")
	for path, want := range map[string]bool{
		"master/loop.go": true, "internal/disk/lock_linux.go": true, "master/loop_test.go": false, "master/peer_other.go": false, "internal/mutate/try.go": false,
		"internal/testcluster/files.go": false, "dfs/testdata/x.go": false, "master/README.md": false, "internal/disk/free_windows.go": false,
	} {
		if got := ours(filepath.FromSlash(path)); got != want {
			t.Errorf("mistakes are made in %s: %t", path, got)
		}
	}
	some, err := changes("dfs/names/tr")
	if err != nil || len(some) < 10 {
		t.Fatalf("%d changes, %v", len(some), err)
	}
	for _, c := range some {
		if !strings.HasPrefix(c.file, "dfs/names/tr") || strings.HasSuffix(c.file, "_test.go") || c.line < 1 {
			t.Errorf("%+v", c)
		}
	}
	if _, err := changes("nowhere"); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a folder that is none: %v", err)
	}
	if err := run(1, 1, "nowhere", false); err == nil {
		t.Error("mistakes were made in a folder that is none")
	}
	t.Chdir(t.TempDir())
	if _, err := changes(""); err == nil {
		t.Error("mistakes were found where there is no code")
	}
}

// TestFailures: a test that hangs is one that fails; a package may fail without one.
func TestFailures(t *testing.T) {
	const events = `{"Action":"run","Package":"a","Test":"TestHangs"}
{"Action":"run","Package":"b","Test":"TestGood"}
{"Action":"pass","Package":"b","Test":"TestGood"}
{"Action":"run","Package":"c","Test":"TestBad"}
{"Action":"run","Package":"c","Test":"TestBad/part"}
{"Action":"fail","Package":"c","Test":"TestBad/part"}
{"Action":"fail","Package":"c","Test":"TestBad"}
{"Action":"run","Package":"c","Test":"TestLeft"}
{"Action":"fail","Package":"a"}
{"Action":"fail","Package":"b"}
{"Action":"fail","Package":"c"}
{"Action":"pass","Package":"d"}
`
	want := map[string][]string{"a": {"TestHangs"}, "b": nil, "c": {"TestBad"}}
	if got := failures(strings.NewReader(events)); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%q", got)
	}
}
