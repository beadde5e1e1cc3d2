package blocks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// A volume is one data directory. After the first failure that is the disk's fault it is not used again until
// the process restarts.
type volume struct {
	id      string
	fs      disk.FS
	reserve int64
	pending atomic.Int64 // bytes promised to blocks being written

	mu     sync.Mutex // guards failed
	failed error

	synced sync.Map // directories known to exist durably
}

// identity is the content of a volume's VERSION file.
type identity struct {
	Format  int    `json:"format"`
	Cluster string `json:"cluster"`
	Node    string `json:"node"`
	Volume  string `json:"volume"`
}

const (
	format      = 1
	versionFile = "VERSION"
	tmpDir      = "tmp"
	badDir      = "bad"
)

// openVolume prepares a data directory. The first time it gives it an identity; later its identity must match.
// An empty cluster matches any.
func openVolume(fsys disk.FS, want identity, reserve int64) (*volume, identity, error) {
	got, err := readIdentity(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		want.Format = format
		got, err = want, writeIdentity(fsys, want)
	}
	switch {
	case err != nil:
		return nil, got, err
	case got.Format != format:
		return nil, got, wire.Errorf(wire.Invalid, "data directory of format %d; this program reads %d", got.Format, format)
	case got.Node != want.Node:
		return nil, got, wire.Errorf(wire.Invalid, "data directory belongs to node %q, this is %q: give each node its own", got.Node, want.Node)
	case got.Cluster != "" && want.Cluster != "" && got.Cluster != want.Cluster:
		return nil, got, wire.Errorf(wire.Invalid, "data directory belongs to cluster %s, not to %s: empty it or use another", got.Cluster, want.Cluster)
	}
	v := &volume{id: got.Volume, fs: fsys, reserve: reserve}
	for _, d := range []string{tmpDir, badDir, "blocks"} {
		if err := fsys.MkdirAll(d); err != nil {
			return nil, got, err
		}
	}
	return v, got, fsys.SyncDir(".")
}

func readIdentity(fsys disk.FS) (identity, error) {
	var id identity
	err := readJSON(fsys, versionFile, &id)
	return id, err
}

// readJSON reads a small file.
func readJSON(fsys disk.FS, name string, v any) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return wire.Errorf(wire.Corrupt, "%s of the data directory: %w", name, err)
	}
	return nil
}

func writeIdentity(fsys disk.FS, id identity) error {
	b, err := json.Marshal(id)
	if err != nil {
		return err
	}
	const tmp = versionFile + ".new"
	if err := fsys.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, versionFile); err != nil {
		return err
	}
	return fsys.SyncDir(".")
}

// blame decides whether an error is the disk's fault and, if so, fails the volume. A full disk is not a broken
// one.
func (v *volume) blame(err error) error {
	if err == nil {
		return nil
	}
	k := wire.KindOf(err)
	switch {
	case isNoSpace(err):
		return wire.Errorf(wire.NoSpace, "volume %s: %w", v.id, err)
	case k == wire.Corrupt || k == wire.Stale || k == wire.Invalid || k == wire.Exists:
		return err
	}
	v.fail(err)
	return wire.Errorf(wire.Unavailable, "volume %s: %w", v.id, err)
}

func (v *volume) fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failed == nil {
		v.failed = err
	}
}

func (v *volume) failure() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failed
}

// room returns how much may still be written, beyond the reserve and what is promised.
func (v *volume) room() (total, free int64) {
	total, free, err := v.fs.Free()
	if err != nil {
		v.fail(err)
		return 0, 0
	}
	return total, max(0, free-v.reserve-v.pending.Load())
}

func (v *volume) describe() wire.Volume {
	if err := v.failure(); err != nil {
		return wire.Volume{ID: v.id, Failed: err.Error()}
	}
	total, free := v.room()
	return wire.Volume{ID: v.id, Total: total, Free: free}
}

// probe writes, syncs and removes a small file, as the volume does with a block.
func (v *volume) probe() {
	const name = tmpDir + "/probe"
	err := func() error {
		if err := v.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f, err := v.fs.Create(name)
		if err != nil {
			return err
		}
		_, err = f.Write([]byte("probe\n"))
		return errors.Join(err, f.Sync(), f.Close(), v.fs.Remove(name))
	}()
	if err != nil && !isNoSpace(err) {
		v.fail(fmt.Errorf("probe: %w", err))
	}
}

// place makes sure that a directory exists durably.
func (v *volume) place(dir string) error {
	if _, ok := v.synced.Load(dir); ok {
		return nil
	}
	if err := v.fs.MkdirAll(dir); err != nil {
		return err
	}
	if err := v.fs.SyncDir("blocks"); err != nil {
		return err
	}
	v.synced.Store(dir, true)
	return nil
}
