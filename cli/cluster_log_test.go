package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestUpWithoutItsMaster: where the master's directory is lost, down does not promise that files come back, and up says why the workers cannot be used.
func TestUpWithoutItsMaster(t *testing.T) {
	dir := t.TempDir()
	t.Cleanup(func() { clusterKill(t, dir) })
	call := func(ok bool, says string, words ...string) string {
		t.Helper()
		out, err := exec.Command("millrace", append([]string{"cluster"}, append(words, "--dir", dir)...)...).CombinedOutput()
		if (err == nil) != ok || !strings.Contains(string(out), says) {
			t.Errorf("%v: %v, want %q in\n%s", words, err, says, out)
		}
		return string(out)
	}
	call(true, "", "up", "--workers", "1", "--timeout", "2m")
	call(true, "brings it back with its files and jobs", "down")
	call(true, "", "up", "--timeout", "2m")
	if err := os.RemoveAll(filepath.Join(dir, "master")); err != nil {
		t.Fatal(err)
	}
	if out := call(true, "master is gone", "down"); strings.Contains(out, "brings it back") {
		t.Errorf("down promises what is lost:\n%s", out)
	}
	call(false, "node w1 belongs to another cluster", "up", "--timeout", "5s")
}

func TestErrorLine(t *testing.T) {
	const old, now = "time=2026-11-18T13:54:54.112Z level=ERROR msg=before\n", "time=2026-11-18T13:54:58.112Z level=ERROR msg=\"it failed\" error=x\n"
	since := time.Date(2026, 11, 18, 13, 54, 58, 112_900_000, time.UTC)
	for text, want := range map[string]string{
		"": "", old: "", old + now: `msg="it failed" error=x`, now + strings.ReplaceAll(now, "x", "y"): `msg="it failed" error=x`,
		strings.ReplaceAll(now, "ERROR", "WARN"): "",
		old + "millrace: no such flag\n":         "millrace: no such flag",
		"millrace: no such flag\n" + old:         "", // of an earlier start
	} {
		if got := errorLine(text, since); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
