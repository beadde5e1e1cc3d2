package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/emulate"
	"github.com/millrace/millrace/internal/require"
)

// TestProgramsFindTheirFiles: below a directory that only root may pass, as root's own, a program finds its files by
// their full names, writes there, and still nowhere else.
func TestProgramsFindTheirFiles(t *testing.T) {
	require.Tmpfs(t, "size=1m") // who may mount this has views of files of its own, too
	j := testJail(t)
	if j.place == "" {
		t.Fatal("programs get no view of files of their own, though this machine lets root mount")
	}
	c, parent := enter(t, j)
	defer c.leave()
	if err := os.Chmod(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "side", "script"), []byte("found\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := sh(t, c, `cat "$(pwd)/side/script"; echo own > "$HOME/own" && cat "$(pwd)/own"; echo other > /run/millrace/other`)
	if !strings.HasPrefix(out, "found\nown\n") || !strings.Contains(out, "denied") {
		t.Errorf("it said %q", out)
	}
	if left, _ := filepath.Glob(j.place + "/*"); len(left) > 0 {
		t.Errorf("others see %v", left)
	}
}

// TestLentLinks: a program with a user of its own uses the file of emulated links, which only the worker may open.
func TestLentLinks(t *testing.T) {
	j := testJail(t)
	c, parent := enter(t, j)
	defer c.leave()
	file := filepath.Join(parent, "links")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lent, err := c.lend(&emulate.Setting{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if lent.FD != linksFD || linksFD != 6 {
		t.Fatalf("the file is %d", lent.FD)
	}
	out := sh(t, c, "echo shared >&6")
	if b, err := os.ReadFile(file); err != nil || string(b) != "shared\n" {
		t.Errorf("the file has %q, %v; the program said %q", b, err, out)
	}
}
