package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/require"
)

// A module that scheduler new writes compiles, keeps the promises and runs in the simulator; when its policy is wrong,
// scheduler test says which promise breaks, in the smallest situation.
func TestModuleOfOnesOwnPolicy(t *testing.T) {
	t.Parallel()
	require.Tool(t, "go")
	source, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "mine")
	call := func(in string, want int, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = in
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Fatalf("%s %v ended with %d, want %d:\n%s", name, args, got, want, out)
		}
		return string(out)
	}
	call("", 0, millrace, "scheduler", "new", "mine", "--dir", dir, "--source", source)
	call(dir, 0, "go", "vet", "./...")
	if out := call("", 0, millrace, "scheduler", "test", dir, "--situations", "50"); !strings.Contains(out, "mine keeps every promise in 50 situations") {
		t.Error(out)
	}
	if out := call(dir, 0, "go", "run", ".", "sim", "run", "--policy", "fair,mine", "--trace", "gen:fb-2010:30"); !strings.Contains(out, "│ mine ") {
		t.Error(out)
	}

	file := filepath.Join(dir, "policy.go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Replace(string(text), "return int64(j.Pending(scheduler.Map))", "return 100 / int64(3-j.Pending(scheduler.Map))", 1)
	if err := os.WriteFile(file, []byte(wrong), 0o644); err != nil {
		t.Fatal(err)
	}
	out := call("", 1, millrace, "scheduler", "test", dir)
	for _, want := range []string{"broken: it makes no mistake of its own", "integer divide by zero", "1 node in 1 rack", "j0, 3 maps, 0 reduces"} {
		if !strings.Contains(out, want) {
			t.Errorf("scheduler test does not say %q:\n%s", want, out)
		}
	}
}

// The example's policy serves a live cluster: its reason stands in the decision log.
func TestOwnPolicyLive(t *testing.T) {
	t.Parallel()
	e := newExample(t, "policy")
	e.write("in.txt", []byte(strings.Repeat("a rose is a rose\n", 1000)))
	must := func(args ...string) string {
		t.Helper()
		out, errs, code := e.run(args...)
		if code != 0 {
			t.Fatalf("%v ended with %d: %s", args, code, errs)
		}
		return out
	}
	must("cluster", "up", "--workers", "2", "--dir", "cluster", "--policy", "shortest", "--timeout", "2m")
	defer must("cluster", "down", "--dir", "cluster")
	c := clusterAt(t, filepath.Join(e.dir, "cluster"))
	must("run", "wordcount", "--master", c.Master, "--input", "in.txt", "--output", "out", "--progress", "none")
	if out := must("scheduler", "log", "--master", c.Master); !strings.Contains(out, "has the smallest key") {
		t.Errorf("no decision was shortest's:\n%s", out)
	}
}
