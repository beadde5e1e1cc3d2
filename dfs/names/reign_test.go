package names

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// reignRig is a service on a real directory, which can be copied.
func reignRig(t *testing.T, dir string) *rig {
	t.Helper()
	root, err := disk.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { _ = root.Close() })
	r := newRig(t)
	r.disk, r.cfg.Checkpoint = root, filepath.Join(dir, "names.db")
	return r
}

// beginsIn is reignRig on a copy of a directory, opened.
func beginsIn(t *testing.T, dir string, change func(c *Config)) *rig {
	t.Helper()
	to := t.TempDir()
	must(t, os.CopyFS(to, os.DirFS(dir)))
	r := reignRig(t, to)
	change(&r.cfg)
	r.open()
	return r
}

func asItIs(*Config) {}

// greet registers a node that has obeyed a reign before, and returns the one that it obeys now.
func (r *rig) greet(name wire.NodeName, seen wire.Reign) (wire.Reign, error) {
	resp, err := r.s.Register(wire.RegisterRequest{Node: name, Addr: "a:1", Seen: seen, Volumes: []wire.Volume{{ID: "v", Total: 1 << 40, Free: 1 << 39}}})
	return wire.Reign{Epoch: resp.Epoch, Name: resp.Name}, err
}

func (r *rig) mkdir(path string) error {
	_, err := r.s.Mkdir(wire.MkdirRequest{Path: path})
	return err
}

// TestReignsFollowEachOther: a node obeys the next opening of a directory, also after a few that it has missed, and none
// on a copy that was made before.
func TestReignsFollowEachOther(t *testing.T) {
	dir := t.TempDir()
	r := reignRig(t, dir)
	r.open()
	first, err := r.greet("n1", wire.Reign{})
	must(t, err)
	must(t, r.s.Close())
	before := t.TempDir()
	must(t, os.CopyFS(before, os.DirFS(dir)))
	for range 3 {
		r.restart()
	}
	last, err := r.greet("n1", first)
	must(t, err)
	if last.Epoch != first.Epoch+3 {
		t.Errorf("epoch %d after %d", last.Epoch, first.Epoch)
	}
	other := beginsIn(t, before, asItIs)
	if _, err := other.greet("n1", last); !errors.Is(err, wire.Stale) || !strings.Contains(err.Error(), "--take-over") {
		t.Errorf("the master on the old copy: %v", err)
	}
	for range 5 { // its epoch is higher now, and still it knows nothing of the other
		other.restart()
	}
	if _, err := other.greet("n1", last); !errors.Is(err, wire.Stale) {
		t.Errorf("the master on the old copy, of epoch %d: %v", other.s.Epoch(), err)
	}
}

// TestOldMasterEnds: a service that nodes obey meets one that has obeyed another since: it ends. All it says is that.
func TestOldMasterEnds(t *testing.T) {
	for name, which := range map[string]wire.NodeName{"one of its own nodes": "n1", "a node that it never saw": "n2"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			old := reignRig(t, dir)
			old.open()
			first, err := old.greet("n1", wire.Reign{})
			must(t, err)
			must(t, old.mkdir("/a"))
			next := beginsIn(t, dir, asItIs) // while the old one runs
			later, err := next.greet("n1", first)
			must(t, err)
			if _, err := old.greet(which, later); !errors.Is(err, wire.Stale) {
				t.Errorf("met: %v", err)
			}
			for what, err := range map[string]error{"a change": old.mkdir("/b"), "a tick": old.s.Tick(), "the jobs' journal": old.s.Fence(), "a submission": old.s.MayChange()} {
				if !errors.Is(err, wire.Stale) {
					t.Errorf("%s: %v", what, err)
				}
			}
			must(t, next.mkdir("/b"))
		})
	}
}

// TestDesertedMasterChangesNothing: a service whose nodes are gone, as after it was stopped for a while, may have been
// replaced. It acknowledges nothing until one is back.
func TestDesertedMasterChangesNothing(t *testing.T) {
	r := newRig(t)
	r.open()
	must(t, r.mkdirs(0, 1)) // before any node came
	r.addNode("n1", "r", 1<<39)
	r.step(time.Minute)
	r.now += r.cfg.DeadAfter
	if err := r.mkdir("/late"); !errors.Is(err, wire.Unavailable) || !errors.Is(r.s.MayChange(), wire.Unavailable) {
		t.Errorf("a change without nodes: %v", err)
	}
	r.step(time.Second)
	must(t, r.mkdir("/late"))
}

// TestTakeOver: a directory that was put back from a copy is of a lower epoch than nodes obey. Its service says so and
// changes nothing; told to take over, it says above which epoch it has to be, and is obeyed then.
func TestTakeOver(t *testing.T) {
	dir := t.TempDir()
	r := reignRig(t, dir)
	r.open()
	must(t, r.s.Close())
	backup := t.TempDir()
	must(t, os.CopyFS(backup, os.DirFS(dir)))
	r.open()
	r.restart()
	seen, err := r.greet("n1", wire.Reign{})
	must(t, err)

	var told []error
	back := beginsIn(t, backup, func(c *Config) { c.Told = func(err error) { told = append(told, err) } })
	for range 3 {
		_, err = back.greet("n1", seen)
	}
	if !errors.Is(err, wire.Stale) || len(told) != 1 || len(back.s.Rivals()) != 1 {
		t.Errorf("met: %v, told %d times, of %v", err, len(told), back.s.Rivals())
	}
	if _, err := back.greet("n9", wire.Reign{}); err == nil {
		t.Error("a node that never obeyed anybody puts it in charge")
	}
	if err := back.mkdir("/x"); !errors.Is(err, wire.Unavailable) || !strings.Contains(err.Error(), "--take-over") {
		t.Errorf("a change: %v", err)
	}
	must(t, back.s.Tick())

	taking := beginsIn(t, backup, func(c *Config) { c.TakeOver = true })
	_, err = taking.greet("n1", seen)
	above, ok := taking.s.Above()
	if !errors.Is(err, wire.Stale) || !ok || above != seen.Epoch {
		t.Fatalf("to be above %d, is %d: %v", seen.Epoch, above, err)
	}
	if err := taking.s.Close(); !errors.Is(err, wire.Stale) {
		t.Errorf("a service that has ended writes a checkpoint: %v", err)
	}
	taking.cfg.Over = above
	taking.open()
	if now, err := taking.greet("n1", seen); err != nil || now.Epoch <= seen.Epoch {
		t.Errorf("obeys epoch %d after %d: %v", now.Epoch, seen.Epoch, err)
	}
	must(t, taking.mkdir("/x"))
	taking.cfg.TakeOver, taking.cfg.Over = false, 0
	taking.restart()
	if _, err := taking.greet("n2", seen); err != nil {
		t.Errorf("another node of that master, later: %v", err)
	}
}

// TestOlderVersionsAreFollowed: directories and nodes of a version whose reigns had no names.
func TestOlderVersionsAreFollowed(t *testing.T) {
	r := newRig(t)
	copyFile(t, "testdata/golden-v2.db", r.cfg.Checkpoint)
	r.open()
	if _, err := r.greet("n7", wire.Reign{Epoch: 1}); err != nil || r.s.Epoch() != 2 {
		t.Errorf("epoch %d: %v", r.s.Epoch(), err)
	}
	if _, err := r.greet("n8", wire.Reign{Epoch: 3}); !errors.Is(err, wire.Stale) {
		t.Errorf("of a later epoch: %v", err)
	}
}

// TestInventedReign: nobody ends a master by saying that a node has obeyed a later one, unless that one began on a copy of its
// directory.
func TestInventedReign(t *testing.T) {
	r := reignRig(t, t.TempDir())
	r.open()
	first, err := r.greet("n1", wire.Reign{})
	must(t, err)
	stranger := reignRig(t, t.TempDir())
	stranger.cfg.Epoch = first.Epoch + 7
	stranger.open()
	elsewhere, err := stranger.greet("n9", wire.Reign{})
	must(t, err)
	later := first
	later.Epoch++
	for what, seen := range map[string]wire.Reign{
		"a name of its own": {Epoch: 1 << 60, Name: "x"}, "a long name": {Epoch: 9, Name: strings.Repeat("A", 50)}, "no name": {Epoch: 9},
		"the signature of another epoch": later, "a master of another directory": elsewhere,
	} {
		if _, err := r.greet("n2", seen); !errors.Is(err, wire.Stale) {
			t.Errorf("%s: %v", what, err)
		}
		if err := r.mkdir("/" + what); err != nil {
			t.Errorf("after %s: %v", what, err)
		}
	}
	_, err = r.greet("n1", first)
	must(t, err)
}
