package names

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/wire"
)

// TestSecondServiceIsRefused is the half of FAULTS row 21 where the lock holds.
func TestSecondServiceIsRefused(t *testing.T) {
	r := newRig(t)
	r.open()
	if _, err := Open(r.cfg); !errors.Is(err, wire.Unavailable) || !strings.Contains(err.Error(), "another service") {
		t.Errorf("a second service: %v", err)
	}
	if err := r.s.Tick(); err != nil {
		t.Errorf("the first after that: %v", err)
	}
}

// breakLock gives the checkpoint to whoever comes next: a copy takes the place of the locked file.
func breakLock(t *testing.T, name string) {
	t.Helper()
	in, err := os.Open(name)
	must(t, err)
	defer in.Close()
	out, err := os.Create(name + ".copy")
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
	must(t, os.Rename(name+".copy", name))
}

// TestReplacedServiceStepsDown is the other half: the lock was broken. What the first acknowledged the
// second knows; after that the first acknowledges nothing, answers nothing and harms nothing.
func TestReplacedServiceStepsDown(t *testing.T) {
	for _, last := range []string{"records", "nothing"} {
		t.Run("the last file holds "+last, func(t *testing.T) {
			dir := t.TempDir()
			root, err := disk.OpenRoot(dir)
			must(t, err)
			defer root.Close()
			r := newRig(t)
			r.disk, r.cfg.Checkpoint = root, filepath.Join(dir, "names.db")
			r.open()
			made := 0
			if last == "records" {
				made = 5
				must(t, r.mkdirs(0, made))
			}
			old := r.s
			defer old.Close()
			breakLock(t, r.cfg.Checkpoint)
			r.open()
			if r.s.Epoch() <= old.Epoch() {
				t.Errorf("epoch %d after %d", r.s.Epoch(), old.Epoch())
			}
			must(t, r.mkdirs(made, made+5))
			if _, err := old.Mkdir(wire.MkdirRequest{Path: "/zombie"}); !errors.Is(err, wire.Stale) {
				t.Errorf("the old one makes a directory: %v", err)
			}
			if err := old.Tick(); !errors.Is(err, wire.Stale) {
				t.Errorf("the old one ticks: %v", err)
			}
			if _, err := old.Stat(wire.PathRequest{Path: "/"}); !errors.Is(err, wire.Stale) {
				t.Errorf("the old one answers: %v", err)
			}
			if err := old.Checkpoint(); err == nil {
				t.Error("the old one writes a checkpoint")
			}
			must(t, r.mkdirs(made+5, made+10))
			r.restart()
			r.s.audit(t)
			list, err := r.s.List(wire.ListRequest{Path: "/"})
			if err != nil || len(list.Entries) != made+10 {
				t.Errorf("%d directories of %d, %v", len(list.Entries), made+10, err)
			}
		})
	}
}

// TestLateWrite: a service that is stopped between its look at the owner and its write goes on when
// another has taken over. What it writes lies behind the end of its own file and is not believed.
func TestLateWrite(t *testing.T) {
	dir := t.TempDir()
	root, err := disk.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	open := func(fence func() error) (*journal.Journal, []string) {
		var got []string
		c := smallJournal
		c.Fence = fence
		j, err := journal.Open(root, "journal", c, 1, func(_ uint64, p []byte) error { got = append(got, string(p)); return nil })
		must(t, err)
		return j, got
	}
	looks := 0
	var late *journal.Journal
	old, _ := open(func() error {
		if looks++; looks == 3 { // one and two were for the first record
			late, _ = open(func() error { return nil })
			if _, err := late.Commit([]byte("two")); err != nil {
				t.Error(err)
			}
			return nil
		}
		if late != nil {
			return wire.Errorf(wire.Stale, "replaced")
		}
		return nil
	})
	_, err = old.Commit([]byte("one"))
	must(t, err)
	if _, err := old.Commit([]byte("zombie")); !errors.Is(err, wire.Stale) {
		t.Errorf("the late write: %v", err)
	}
	_, err = late.Commit([]byte("three"))
	must(t, err)
	must(t, late.Close())
	_ = old.Close()
	j, got := open(func() error { return nil })
	if fmt.Sprint(got) != "[one two three]" {
		t.Errorf("the journal holds %q", got)
	}
	must(t, j.Close())
	if loss, err := journal.Inspect(root, "journal"); loss != nil || err != nil {
		t.Errorf("inspected: %v, %v", loss, err)
	}
}
