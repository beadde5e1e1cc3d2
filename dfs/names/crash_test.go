package names

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

// TestPowerCut runs random changes until the power goes in the middle of one. The
// namespace that comes back is the one before that change or the one after it: all that
// was acknowledged, nothing by halves. The checkpoint is a copy of its file between
// transactions; bbolt keeps its own promise about the rest.
func TestPowerCut(t *testing.T) {
	seeds := uint64(30)
	if require.Stressed() {
		seeds = 1000
	}
	for seed := range seeds {
		cutOnce(t, seed)
	}
}

func cutOnce(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	r := newRig(t)
	m := memdisk.New()
	r.disk = m
	r.open()
	for i := range 4 {
		r.addNode(wire.NodeName(fmt.Sprintf("n%d", i)), fmt.Sprintf("r%d", i%2), 1<<39)
	}
	must(t, r.s.Tick())
	var after *memdisk.FS
	at, db := m.Ops()+1+rng.IntN(250), filepath.Join(t.TempDir(), "names.db")
	m.SetFail(func(_, _ string, n int) error {
		if n >= at && after == nil {
			after = m.Crash(rng)
			copyFile(t, r.cfg.Checkpoint, db)
		}
		return nil
	})
	before, now := "", r.s.dump()
	for after == nil {
		before = now
		if err := r.randomChange(rng); wire.KindOf(err) == wire.Internal && err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		now = r.s.dump()
	}
	must(t, r.s.Close())
	r.disk, r.cfg.Checkpoint = after, db
	r.open()
	if got := r.s.dump(); got != before && got != now {
		t.Fatalf("seed %d: after the power cut\n%s\nbefore the change\n%s\nafter the change\n%s", seed, got, before, now)
	}
	r.s.audit(t)
	r.step(5 * time.Second)
	for range 20 { // and it goes on
		if err := r.randomChange(rng); wire.KindOf(err) == wire.Internal && err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	r.s.audit(t)
	must(t, r.s.Close())
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, data, 0o600))
}

// randomChange makes one change, which may be refused.
func (r *rig) randomChange(rng *rand.Rand) error {
	dir := fmt.Sprintf("/d%d", rng.IntN(3))
	name := fmt.Sprintf("%s/f%d", dir, rng.IntN(4))
	user := fmt.Sprintf("u%d", rng.IntN(2))
	r.wall = r.wall.Add(time.Second)
	switch rng.IntN(12) {
	case 0:
		_, err := r.s.Mkdir(wire.MkdirRequest{Path: dir, User: user})
		return err
	case 1:
		return r.s.Delete(wire.DeleteRequest{Path: dir, Recursive: rng.IntN(3) == 0})
	case 2:
		return r.s.Delete(wire.DeleteRequest{Path: name})
	case 3:
		_, err := r.s.Rename(wire.RenameRequest{From: name, To: fmt.Sprintf("/d%d/g", rng.IntN(3)), Replace: true})
		return err
	case 4:
		_, err := r.s.Rename(wire.RenameRequest{From: dir, To: fmt.Sprintf("/d%d/sub", rng.IntN(3))})
		return err
	case 5:
		_, err := r.s.SetReplication(wire.SetReplicationRequest{Path: name, Replication: 1 + rng.IntN(3)})
		return err
	case 6:
		return r.s.SetQuota(wire.QuotaRequest{Of: user, Files: 50, Bytes: int64(rng.IntN(1 << 20))})
	case 7:
		_, err := r.s.Drain(wire.DrainRequest{Node: "n3", Undo: rng.IntN(2) == 0, Force: true})
		return err
	case 8:
		return r.s.Checkpoint()
	}
	return r.randomWrite(rng, name, user)
}

// randomWrite goes on writing a file, or begins one.
func (r *rig) randomWrite(rng *rand.Rand, name, user string) error {
	r.s.mu.RLock()
	var open *inode
	for _, i := range byID(r.s.inodes) {
		if i.file != nil && i.file.writing != nil {
			open = i
		}
	}
	r.s.mu.RUnlock()
	if open == nil {
		_, err := r.s.Create(wire.CreateRequest{Path: name, User: user, Holder: "h", BlockSize: 1000, Parents: true, Overwrite: rng.IntN(2) == 0})
		return err
	}
	last := open.file.last()
	if last == nil || last.building == nil {
		var previous *wire.Block
		if last != nil {
			previous = &last.Block
		}
		if rng.IntN(3) == 0 {
			_, err := r.s.Complete(wire.CompleteRequest{File: open.id, Holder: "h", Last: previous, CRC: 3})
			return err
		}
		_, err := r.s.AddBlock(wire.AddBlockRequest{File: open.id, Holder: "h", Previous: previous})
		return err
	}
	done := last.Block
	done.Len = 1 + rng.Int64N(1000)
	switch rng.IntN(5) {
	case 0:
		return r.s.Abandon(wire.LeaseRequest{Holder: "h", File: open.id})
	case 1:
		_, err := r.s.Bump(wire.BumpRequest{File: open.id, Holder: "h", Block: last.Block, Alive: []wire.NodeName{"n0"}})
		return err
	case 2:
		_, err := r.s.Complete(wire.CompleteRequest{File: open.id, Holder: "h", Last: &done, Stored: []wire.NodeName{"n0", "n1"}, CRC: 3})
		return err
	}
	_, err := r.s.AddBlock(wire.AddBlockRequest{File: open.id, Holder: "h", Previous: &done, Stored: []wire.NodeName{"n1"}})
	return err
}

// A failed sync is never acknowledged, nothing goes on after it, and reads of what is
// not durable fail instead of lying.
func TestFailedSync(t *testing.T) {
	r := newRig(t)
	m := memdisk.New()
	r.disk = m
	r.open()
	_, err := r.s.Mkdir(wire.MkdirRequest{Path: "/safe"})
	must(t, err)
	m.SetFail(func(op, _ string, _ int) error {
		if op == "sync" {
			return syscall.EIO
		}
		return nil
	})
	if _, err := r.s.Mkdir(wire.MkdirRequest{Path: "/lost"}); !errors.Is(err, wire.Unavailable) {
		t.Errorf("mkdir: %v", err)
	}
	m.SetFail(nil)
	if _, err := r.s.Mkdir(wire.MkdirRequest{Path: "/later"}); !errors.Is(err, wire.Unavailable) {
		t.Errorf("mkdir after the failure: %v", err)
	}
	if _, err := r.s.Stat(wire.PathRequest{Path: "/lost"}); !errors.Is(err, wire.Unavailable) {
		t.Errorf("stat of what is not durable: %v", err)
	}
	if _, err := r.s.Stat(wire.PathRequest{Path: "/safe"}); err != nil {
		t.Errorf("stat of what is durable: %v", err)
	}
	if err := r.s.Close(); err == nil {
		t.Error("closing says nothing")
	}
	r.disk = m.Crash(rand.New(rand.NewPCG(1, 2)))
	r.open()
	if _, err := r.s.Stat(wire.PathRequest{Path: "/lost"}); !errors.Is(err, wire.NotFound) {
		t.Errorf("stat after the restart: %v", err)
	}
}

// A full disk refuses changes with its reason, keeps all that was acknowledged, and the
// service goes on when there is room again.
func TestFullDisk(t *testing.T) {
	r := newRig(t)
	m := memdisk.New()
	m.SetLimit(1 << 20)
	r.disk = m
	r.open()
	hog, err := m.Create("hog")
	must(t, err)
	_, free, _ := m.Free()
	_, err = hog.Write(make([]byte, free))
	must(t, err)
	made := 0
	for err = nil; err == nil && made < 10_000; made++ {
		_, err = r.s.Mkdir(wire.MkdirRequest{Path: fmt.Sprintf("/d%d", made)})
	}
	made--
	if !errors.Is(err, wire.NoSpace) || made < 1 {
		t.Fatalf("after %d directories: %v", made, err)
	}
	if resp, err := r.s.List(wire.ListRequest{Path: "/", Limit: 10_000}); err != nil || len(resp.Entries) != made {
		t.Errorf("%d of %d directories, %v", len(resp.Entries), made, err)
	}
	must(t, hog.Truncate(0))
	_, err = r.s.Mkdir(wire.MkdirRequest{Path: "/again"})
	must(t, err)
	r.restart()
	if resp, err := r.s.List(wire.ListRequest{Path: "/", Limit: 10_000}); err != nil || len(resp.Entries) != made+1 {
		t.Errorf("after a restart %d of %d directories, %v", len(resp.Entries), made+1, err)
	}
}
