package blocks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// reignFile holds the reign of the master that the node obeyed last, on each volume: a worker that is started anew, with
// whatever master's address, still knows whom its blocks belong to.
const reignFile = "REIGN"

// reign is that of the master that this node obeys. On the disks it is never older than last.
type reign struct {
	mu   sync.Mutex // guards last and the files
	last wire.Reign
}

// later returns the later of a reign and that of a volume, which may have none.
func later(r wire.Reign, fsys disk.FS) (wire.Reign, error) {
	var on wire.Reign
	if err := readJSON(fsys, reignFile, &on); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if on.Epoch > r.Epoch {
		return on, nil
	}
	return r, nil
}

// Reign returns the last reign that was obeyed.
func (s *Store) Reign() wire.Reign {
	s.reign.mu.Lock()
	defer s.reign.mu.Unlock()
	return s.reign.last
}

// Obey returns an error of kind Stale if a master must not be obeyed: the node has obeyed one of a higher epoch, or
// another of the same. A new reign is on all disks before Obey returns.
func (s *Store) Obey(r wire.Reign) error {
	s.reign.mu.Lock()
	defer s.reign.mu.Unlock()
	last := s.reign.last
	switch {
	case r == last, r.Epoch == last.Epoch && r.Name == "":
		return nil
	case r.Epoch < last.Epoch, r.Epoch == last.Epoch && last.Name != "":
		return wire.Errorf(wire.Stale, "the master's epoch is %d (%.8s), node %s has obeyed one of epoch %d (%.8s): is an old master running, or one on a copy of the directory? (millrace master --take-over makes one rule that was put back from a backup)",
			r.Epoch, r.Name, s.cfg.Node, last.Epoch, last.Name)
	}
	if err := s.keepReign(r); err != nil {
		return err
	}
	s.reign.last = r
	return nil
}

// keepReign writes a reign to all volumes that work, of which there must be one.
func (s *Store) keepReign(r wire.Reign) error {
	err := wire.Errorf(wire.Unavailable, "no volume of node %s works", s.cfg.Node)
	for _, v := range s.volumes {
		if v.failure() != nil {
			continue
		}
		switch e := writeReign(v.fs, r); {
		case e == nil, isNoSpace(e): // such a disk has no room for the file's first time, as before there were any
			err = nil
		default:
			_ = v.blame(e) // the volume remembers
		}
	}
	return err
}

// reignBytes is the size of the file, a line padded with spaces, so that a full disk has room for the next one.
const reignBytes = 128

func writeReign(fsys disk.FS, r wire.Reign) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := fsys.Edit(reignFile)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = fsys.Create(reignFile)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "%-*s\n", reignBytes-1, text), 0)
	return errors.Join(err, f.Sync(), f.Close(), fsys.SyncDir("."))
}
