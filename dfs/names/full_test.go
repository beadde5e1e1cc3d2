package names

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

// Row 24, on a real file system of 16 MiB that holds journal and checkpoint: changes are
// refused with the reason, a checkpoint that does not fit is an error and no more, and
// all goes on when there is room.
func TestFullFileSystem(t *testing.T) {
	dir := require.Tmpfs(t, "size=16m")
	root, err := disk.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	r := newRig(t)
	r.disk, r.cfg.Checkpoint = root, filepath.Join(dir, "names.db")
	r.cfg.Journal = journal.Config{SegmentBytes: 1 << 20, MaxRecord: 64 << 10, MaxBatch: 64 << 10, ReserveBytes: 1 << 20}
	r.open()
	must(t, r.mkdirs(0, 2000))
	hog := filepath.Join(dir, "hog")
	fillDisk(t, hog)
	made, full := 2000, 0
	for ; made < 100_000; made++ {
		if err = r.mkdirs(made, made+1); err != nil {
			break
		}
	}
	if !errors.Is(err, wire.NoSpace) {
		t.Fatalf("after %d directories: %v", made, err)
	}
	fillDisk(t, hog+"2") // what the reserve left over, too
	if err := r.s.Checkpoint(); err != nil {
		full++
		if r.s.CheckpointError() == nil {
			t.Error("the failed checkpoint is not told")
		}
	}
	if _, err := r.s.Stat(wire.PathRequest{Path: fmt.Sprintf("/d%d", made-1)}); err != nil {
		t.Errorf("a read on a full disk: %v", err)
	}
	must(t, os.Remove(hog))
	must(t, os.Remove(hog+"2"))
	must(t, r.mkdirs(made, made+500))
	must(t, r.s.Checkpoint())
	r.restart()
	r.s.audit(t)
	if u, err := r.s.Usage(wire.QuotaRequest{Path: "/"}); err != nil || u.Dirs != int64(made+500) {
		t.Errorf("%d directories came back of %d, %v", u.Dirs, made+500, err)
	}
	t.Logf("%d directories when full, %d checkpoints refused", made, full)
	must(t, r.s.Close())
}

func (r *rig) mkdirs(from, to int) error {
	for n := from; n < to; n++ {
		if _, err := r.s.Mkdir(wire.MkdirRequest{Path: fmt.Sprintf("/d%d", n)}); err != nil {
			return err
		}
	}
	return nil
}

// fillDisk writes a file until nothing more fits.
func fillDisk(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	must(t, err)
	for _, piece := range []int{1 << 16, 1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, piece))
		}
	}
	must(t, f.Close())
}
