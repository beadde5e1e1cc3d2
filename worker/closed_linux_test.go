package worker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/emulate"
	"github.com/millrace/millrace/worker"
)

// openBelow lists the files below a directory that this process has open, or in its memory.
func openBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	fds, err1 := os.ReadDir("/proc/self/fd")
	maps, err2 := os.ReadFile("/proc/self/maps")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for _, e := range fds {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && strings.HasPrefix(to, dir) {
			files = append(files, to)
		}
	}
	for line := range strings.Lines(string(maps)) {
		if at := strings.Index(line, dir); at >= 0 {
			files = append(files, strings.TrimSpace(line[at:]))
		}
	}
	return files
}

// TestClosedWorkersHoldNothing: of its directory a worker has logs, locks, packs, disks and links open while it works, and none of them when it is closed, or
// could not start.
func TestClosedWorkersHoldNothing(t *testing.T) {
	t.Parallel()
	holds := func(dir string, want ...string) {
		t.Helper()
		files := strings.Join(openBelow(t, dir), "\n")
		for _, name := range want {
			if !strings.Contains(files+"\n", dir+"/"+name) {
				t.Errorf("%s is not open: %s", name, files)
			}
		}
		if len(want) == 0 && files != "" {
			t.Errorf("left open: %s", files)
		}
	}
	h := startHeld(t, 32<<10)
	n := h.withoutLast(t)
	holds(n.Dir, "audit.log\n", "lock\n", "logs\n", "blocks\n", "scratch/"+string(h.job)+".0/small.pack\n")
	n.Stop()
	holds(n.Dir)
	n.Start()
	h.finish(t)

	cfg := usable(t)
	cfg.Emulate = &emulate.Setting{File: filepath.Join(cfg.Dir, "links")}
	w, err := worker.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	holds(cfg.Dir, "links\n")
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	holds(cfg.Dir)
	for _, name := range []string{"audit.log/x", "links/x", "logs", "shipped", "scratch", "blocks", "scratch/job-1.0/small.pack/x"} {
		cfg := cfg
		cfg.Dir = t.TempDir()
		cfg.Emulate = &emulate.Setting{File: filepath.Join(cfg.Dir, "links")}
		at := filepath.Join(cfg.Dir, name) // a file where there should be a directory, or the other way round
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if w, err := worker.Start(cfg); err == nil {
			t.Errorf("it starts with %s, and ends with %v", name, w.Close())
		} else if part, _, _ := strings.Cut(name, "/"); !strings.Contains(err.Error(), part) {
			t.Errorf("with %s: %v", name, err)
		}
		holds(cfg.Dir)
	}
}
