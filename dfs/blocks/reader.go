package blocks

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// A Reader is an open replica.
type Reader struct {
	Block wire.Block
	file  disk.File
	crcs  []uint32 // of a block being written; those of a finished one are on disk
}

// Open opens a replica for reading. A replica of a lower generation than asked for is Stale. A replica that is
// being written can be read up to its length when it was opened.
func (s *Store) Open(id wire.BlockID, gen uint64) (*Reader, error) {
	s.mu.Lock()
	r := s.at(id, gen)
	if r == nil {
		s.mu.Unlock()
		return nil, wire.Errorf(wire.NotFound, "%s is not on node %s", id, s.cfg.Node)
	}
	if r.block.Gen != gen {
		s.mu.Unlock()
		return nil, wire.Errorf(wire.Stale, "%s is on node %s in generation %d, not %d", id, s.cfg.Node, r.block.Gen, gen)
	}
	block, path, vol, w := r.block, r.path(), r.vol, r.writer
	s.mu.Unlock()
	if w != nil {
		return w.openUnfinished(path)
	}
	f, err := vol.fs.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			s.quarantine(r, block, "the file is gone")
			return nil, wire.Errorf(wire.Corrupt, "%s: the file is gone from node %s", id, s.cfg.Node)
		}
		return nil, vol.blame(err)
	}
	return &Reader{Block: block, file: f}, nil
}

func (w *Writer) openUnfinished(path string) (*Reader, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return nil, wire.Errorf(wire.Unavailable, "%s is just being finished", w.r.block.ID)
	}
	f, err := w.r.vol.fs.Open(path)
	if err != nil {
		return nil, w.r.vol.blame(err)
	}
	b := w.r.block
	b.Len = w.n
	return &Reader{Block: b, file: f, crcs: slices.Clone(w.crcs)}, nil
}

// Table returns the checksums of the chunks that hold [from, to), as on the wire.
func (r *Reader) Table(from, to int64) ([]byte, error) {
	first, n := from/pipe.ChunkSize, pipe.Chunks(to-from)
	if r.crcs != nil {
		out := make([]byte, 0, 4*n)
		for _, c := range r.crcs[first : first+n] {
			out = binary.LittleEndian.AppendUint32(out, c)
		}
		return out, nil
	}
	out := make([]byte, 4*n)
	return out, readAt(r.file, out, headerSize+r.Block.Len+4*first)
}

func decodeTable(b []byte) []uint32 {
	out := make([]uint32, len(b)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out
}

// ReadAt reads data without verifying it: the reader at the other end does.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) { return r.file.ReadAt(p, headerSize+off) }

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

// Delete removes the replicas of this generation and older ones, and this generation from quarantine. A newer
// replica stays.
func (s *Store) Delete(b wire.Block) error {
	gone := s.take(b)
	for _, v := range s.volumes {
		if v.failure() == nil {
			_ = v.fs.Remove(badDir + "/" + fileName(b)) // usually it is not there
		}
	}
	if len(gone) == 0 {
		s.changes.deleted(b) // so that the name service stops asking
	}
	var err error
	for _, r := range gone {
		s.dispose(r)
		err = cmp.Or(err, r.vol.failure())
	}
	return err
}

// take takes the replicas of a block up to a generation out of the index.
func (s *Store) take(b wire.Block) (gone []*replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := s.replicas[b.ID]; r != nil; {
		old := r.old
		if r.block.Gen <= b.Gen && s.forget(r) {
			gone = append(gone, r)
		}
		r = old
	}
	return gone
}

// quarantine moves a bad replica aside and reports it. It stays there until the name service says that a good
// copy is safe.
func (s *Store) quarantine(r *replica, b wire.Block, why string) {
	s.mu.Lock()
	if r.block != b || r.state != finished || !s.forget(r) {
		s.mu.Unlock()
		return // it has changed meanwhile
	}
	s.mu.Unlock()
	if err := r.vol.fs.Rename(r.path(), badDir+"/"+fileName(b)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = r.vol.blame(err) // the volume remembers
	}
	s.changes.corrupt(wire.BadBlock{Block: b, Why: why})
}

// Verify reads a whole replica and quarantines it if it is damaged. It does nothing if the replica is
// unfinished or not here. report is as for CheckFile.
func (s *Store) Verify(id wire.BlockID, report func(n int)) error {
	s.mu.Lock()
	r := s.replicas[id].whole()
	if r == nil || r.vol.failure() != nil {
		s.mu.Unlock()
		return nil //nolint:nilerr // it is gone, or its volume is, which was reported
	}
	b, path := r.block, r.path()
	s.mu.Unlock()
	f, err := r.vol.fs.Open(path)
	if err == nil {
		err = CheckFile(f, b, report)
		_ = f.Close() // only read
	}
	switch {
	case err == nil:
		return nil
	case wire.KindOf(err) == wire.Corrupt || errors.Is(err, fs.ErrNotExist):
		s.quarantine(r, b, err.Error())
		return wire.Errorf(wire.Corrupt, "%s on node %s: %w", id, s.cfg.Node, err)
	}
	return r.vol.blame(err)
}

// Inspect describes the replica of a block.
func (s *Store) Inspect(id wire.BlockID) (wire.Replica, error) {
	s.mu.Lock()
	r := s.replicas[id]
	if r == nil {
		s.mu.Unlock()
		return wire.Replica{}, wire.Errorf(wire.NotFound, "%s is not on node %s", id, s.cfg.Node)
	}
	out, w := wire.Replica{Block: r.block, Finished: r.state == finished}, r.writer
	s.mu.Unlock()
	if w != nil {
		w.mu.Lock()
		out.Len = w.n
		w.mu.Unlock()
	}
	return out, nil
}

// Path returns the path of a finished replica, for a reader on the same machine.
func (s *Store) Path(id wire.BlockID, gen uint64) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.at(id, gen)
	if r == nil || r.block.Gen != gen || r.state != finished {
		return "", wire.Errorf(wire.NotFound, "%s generation %d is not on node %s", id, gen, s.cfg.Node)
	}
	for i, v := range s.volumes {
		if v == r.vol {
			return s.cfg.Dirs[i].Path + "/" + r.path(), nil
		}
	}
	return "", wire.Errorf(wire.Internal, "%s is on no volume", id)
}
