package cli

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/procs"
)

// TestStrangersAreNotTheCluster: after a restart of the machine another process may have the number that a daemon had. It is not
// taken for one, let alone ended.
func TestStrangersAreNotTheCluster(t *testing.T) {
	stranger := exec.Command("sleep", "60")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Wait() }()
	defer func() { _ = stranger.Process.Kill() }()
	pid := stranger.Process.Pid
	born := procs.Born(pid)
	dir := t.TempDir()
	begun := func(born string) {
		t.Helper()
		text := fmt.Sprintf(`{"master": "http://127.0.0.1:1", "pid": %d, "born": %q, "workers": [{"name": "w1", "pid": %[1]d, "born": %[2]q, "rack": "r1"}]}`, pid, born)
		if err := os.WriteFile(clusterPath(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(what string) string {
		out, err := exec.Command("millrace", "cluster", what, "--dir", dir).CombinedOutput()
		return fmt.Sprint(string(out), err)
	}
	begun("1 of another start")
	if out := run("status"); strings.Count(out, ", not running") != 2 {
		t.Errorf("status: %s", out)
	}
	if err := (&upOptions{dir: dir}).stopped(dir); err != nil {
		t.Errorf("up: %v", err)
	}
	if out := run("down"); !strings.Contains(out, "is stopped") || !procs.Alive(pid) {
		t.Errorf("down: %s; the stranger lives: %v", out, procs.Alive(pid))
	}
	begun(born)
	if out := run("status"); strings.Count(out, ", running") != 2 {
		t.Errorf("status of the process itself: %s", out)
	}
}
