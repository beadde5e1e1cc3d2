//go:build unix

package worker_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/worker"
)

// openDirs makes directories into which everybody may look.
func openDirs(t *testing.T, top string, names ...string) {
	t.Helper()
	for _, name := range append([]string{"."}, names...) {
		dir := filepath.Join(top, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Error(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask is
			t.Error(err)
		}
	}
}

// TestNobodyLooksIn: a master and a worker whose directories were there before, open to everybody, keep what they have of
// users in directories and files of their own.
func TestNobodyLooksIn(t *testing.T) {
	for what, there := range map[string]bool{"new": false, "there before": true} {
		t.Run(what, func(t *testing.T) {
			var tops []string
			open := func(top string, names ...string) {
				tops = append(tops, top)
				if !there {
					names = nil
				}
				openDirs(t, top, names...)
			}
			c := testcluster.Start(t, testcluster.Config{
				Workers: 1,
				Master:  func(m *master.Config) { open(m.Dir, "history", "jobs", "names") },
				Worker:  func(w *worker.Config) { open(w.Dir, "blocks", "logs", "scratch", "shipped", "side") },
			})
			c.Put("/in", "a b c\n")
			if s := c.Finish(c.Submit(wire.JobSpec{}, "wordcount", "--input", "dfs:/in", "--output", "dfs:/out")); s.State != "SUCCEEDED" {
				t.Fatalf("%+v", s)
			}
			for _, top := range tops {
				noneOpen(t, top)
			}
		})
	}
}

// noneOpen looks for what others may read: what lies in a closed directory is closed.
func noneOpen(t *testing.T, top string) {
	t.Helper()
	entries, err := os.ReadDir(top)
	if err != nil || len(entries) < 3 {
		t.Fatalf("%s has %d entries: %v", top, len(entries), err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Error(err)
			continue
		}
		if perm := info.Mode().Perm(); perm&0o077 != 0 {
			t.Errorf("others may look into %s: %o", filepath.Join(top, e.Name()), perm)
		}
	}
}
