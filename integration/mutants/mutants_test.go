package mutants

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
)

// A mutant is one planted bug.
type mutant struct {
	name   string
	breaks string
	pkg    string // whose test notices
	run    string // the test
	quick  bool   // planted in every run
	files  []string
	patch  []byte
}

const modulePath = "../.."

var only = flag.String("mutants.only", "", "plant just those whose names match this expression")

// load reads the patches: "breaks:", "caught by: PACKAGE TEST", perhaps "quick: yes", and the difference.
func load(t *testing.T) (out []mutant) {
	t.Helper()
	names, err := filepath.Glob("*.patch")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m := mutant{name: strings.TrimSuffix(name, ".patch"), patch: b}
		for line := range strings.Lines(string(b)) {
			line = strings.TrimSpace(line)
			if v, ok := strings.CutPrefix(line, "breaks: "); ok {
				m.breaks = v
			} else if v, ok := strings.CutPrefix(line, "caught by: "); ok {
				m.pkg, m.run, _ = strings.Cut(v, " ")
			} else if v, ok := strings.CutPrefix(line, "+++ b/"); ok {
				m.files = append(m.files, v)
			} else if line == "quick: yes" {
				m.quick = true
			}
		}
		if m.breaks == "" || m.pkg == "" || m.run == "" || len(m.files) == 0 {
			t.Fatalf("%s: it must say what it breaks, which test catches it, and in which files", name)
		}
		out = append(out, m)
	}
	return out
}

// plant applies patches to copies of the files and returns the file that tells the go command of them.
func plant(t *testing.T, list ...mutant) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for _, m := range list {
		for _, f := range m.files {
			from, err := filepath.Abs(filepath.Join(modulePath, f))
			if err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(dir, f)
			b, err := os.ReadFile(from)
			if err == nil {
				err = os.MkdirAll(filepath.Dir(to), 0o755)
			}
			if err == nil {
				err = os.WriteFile(to, b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			replace[from] = to
		}
		cmd := exec.Command(require.Tool(t, "git"), "apply", "-C1", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(string(m.patch))
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s no longer applies: make it anew where the code is now\n%s", m.name, out)
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return overlay
}

// goCommand runs the go command of the planted code, and all that it starts, in the module's root.
func goCommand(overlay string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = modulePath
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay), "MILLRACE_STRESS=", "MILLRACE_FAULTS=1")
	return cmd.CombinedOutput()
}

// building says whether mutants are compiled: that takes a minute where nothing is in the cache.
func building() bool {
	return os.Getenv("MILLRACE_MUTANTS") != "" || require.Stressed() || *only != ""
}

// TestEveryPatchCompiles: the tests that they name exist, all still apply, and where building is wanted they compile; those that touch different
// files are compiled together.
func TestEveryPatchCompiles(t *testing.T) {
	require.Tool(t, "go")
	rest := load(t)
	if len(rest) < 25 {
		t.Errorf("%d mutants, there should be 25 at least", len(rest))
	}
	for _, m := range rest {
		has := testsOf(t, m.pkg)
		for test := range strings.SplitSeq(m.run, "|") {
			test, _, _ = strings.Cut(test, "/")
			if !strings.Contains(has, "\nfunc "+test+"(") {
				t.Errorf("%s: %s has no %s", m.name, m.pkg, test)
			}
		}
	}
	for len(rest) > 0 {
		var now, later []mutant
		touched := map[string]bool{}
		packages := map[string]bool{}
		for _, m := range rest {
			if slices.ContainsFunc(m.files, func(f string) bool { return touched[f] }) {
				later = append(later, m)
				continue
			}
			now = append(now, m)
			for _, f := range m.files {
				touched[f], packages["./"+filepath.Dir(f)] = true, true
			}
		}
		args := []string{"build"}
		for p := range packages {
			args = append(args, p)
		}
		overlay := plant(t, now...)
		if !building() {
			rest = later
			continue
		}
		if out, err := goCommand(overlay, args...); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		rest = later
	}
}

// TestMutantsAreCaught plants each bug and wants the test that it names to fail.
func TestMutantsAreCaught(t *testing.T) {
	require.Tool(t, "go")
	if !building() {
		t.Skip("set MILLRACE_MUTANTS=1 to plant a few, MILLRACE_STRESS=1 to plant all")
	}
	var survived []string
	tried := 0
	for _, m := range load(t) {
		if !wanted(m) {
			continue
		}
		tried++
		begin := time.Now()
		args := []string{"test", "-count=1", "-timeout=120s", "-run", "^(" + m.run + ")$", m.pkg}
		if usesRapid(t, m.pkg) {
			args = append(args, "-rapid.nofailfile") // it would leave the failure in the source for later runs
		}
		out, err := goCommand(plant(t, m), args...)
		verdict := judge(out, err)
		t.Logf("%-28s %-10s %5.1f s  %s", m.name, verdict, time.Since(begin).Seconds(), m.breaks)
		if verdict != "caught" {
			survived = append(survived, fmt.Sprintf("%s: %s: %s %s\n%s", m.name, verdict, m.pkg, m.run, tail(out)))
		}
	}
	for _, s := range survived {
		t.Error(s)
	}
	t.Logf("%d of %d caught", tried-len(survived), tried)
}

func wanted(m mutant) bool {
	if *only != "" {
		return regexp.MustCompile(*only).MatchString(m.name)
	}
	return m.quick || require.Stressed()
}

func usesRapid(t *testing.T, pkg string) bool {
	t.Helper()
	return strings.Contains(testsOf(t, pkg), `"pgregory.net/rapid"`)
}

// testsOf is the text of a package's test files.
func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(modulePath, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// judge tells a test that failed from one that could not run.
func judge(out []byte, err error) string {
	text := string(out)
	switch {
	case strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]"):
		return "not built"
	case strings.Contains(text, "no tests to run"):
		return "no test"
	case err == nil:
		return "survived"
	case strings.Contains(text, "--- FAIL") || strings.Contains(text, "panic: ") || strings.Contains(text, "fatal error: ") ||
		strings.Contains(text, "*** Test killed with quit: ran too long"): // it hung so that not even its own timeout ended it
		return "caught"
	}
	return "unclear"
}

func tail(b []byte) []byte { return b[max(0, len(b)-1000):] }

func TestJudge(t *testing.T) {
	failed := fmt.Errorf("exit status 1")
	for _, tt := range []struct {
		out  string
		err  error
		want string
	}{
		{"ok  \tx\t0.1s\n", nil, "survived"},
		{"--- FAIL: TestX (0.00s)\nFAIL\n", failed, "caught"},
		{"panic: test timed out after 2m0s\n", failed, "caught"},
		{"SIGQUIT: quit\n*** Test killed with quit: ran too long (3m0s).\n", failed, "caught"},
		{"FAIL\tx [build failed]\n", failed, "not built"},
		{"ok  \tx\t0.1s [no tests to run]\n", nil, "no test"},
		{"signal: killed\n", failed, "unclear"},
	} {
		if got := judge([]byte(tt.out), tt.err); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.out, got, tt.want)
		}
	}
}
