package blocks

import (
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// A Writer writes one replica. It ends with Finish or Discard. If its client leaves, it stays for a while for
// one that resumes the block.
type Writer struct {
	store *Store
	r     *replica

	mu       sync.Mutex // guards the fields below and the file
	file     disk.File
	crcs     []uint32
	n        int64 // Invariant: all but the last of crcs stand for whole chunks.
	size     int64 // the largest size that the block may reach
	promised int64 // of the volume's room, beyond what is written
	left     bool  // no client is connected to it any more
	leftAt   time.Duration
	over     bool // finished, discarded, or resumed by another Writer
}

var _ pipe.Replica = (*Writer)(nil)

// Begin starts a new replica. The block may grow to size bytes. The volume must have that much free, and
// promises it to the writer step by step. A replica of an older generation serves readers until this one is
// finished.
func (s *Store) Begin(b wire.Block, size int64) (*Writer, error) {
	vol, err := s.pick(fileSize(size))
	if err != nil {
		return nil, err
	}
	b.Len = 0
	r := &replica{block: b, vol: vol, state: writing}
	w := &Writer{store: s, r: r, size: size, promised: min(fileSize(size), promiseStep)}
	r.writer = w
	vol.pending.Add(w.promised)
	if err := w.create(); err != nil {
		w.Discard()
		return nil, vol.blame(err)
	}
	return w, nil
}

// create adds the replica to the index and creates its file. Whoever finds the writer there waits for that.
func (w *Writer) create() (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.store.replace(w.r); err != nil {
		return err
	}
	if w.file, err = w.r.vol.fs.Create(w.r.path()); err == nil {
		_, err = w.file.Write(encodeHeader(w.r.block.ID))
	}
	return err
}

// replace puts a new replica into the index in place of an older generation.
func (s *Store) replace(r *replica) error {
	s.mu.Lock()
	old := s.replicas[r.block.ID]
	if old != nil && old.block.Gen >= r.block.Gen {
		w := old.writer
		s.mu.Unlock()
		if old.block.Gen == r.block.Gen {
			if w != nil && w.abandoned() && w.Discard() {
				return s.replace(r) // an unfinished replica without a client gives way to a complete copy
			}
			return wire.Errorf(wire.Exists, "%s generation %d is here already", r.block.ID, r.block.Gen)
		}
		return wire.Errorf(wire.Stale, "%s is here in generation %d, newer than %d", r.block.ID, old.block.Gen, r.block.Gen)
	}
	var half *replica // an unfinished replica gives way at once: nobody was promised it
	if r.old = old.whole(); old != nil && r.old != old {
		half, old.old = old, nil
	}
	s.replicas[r.block.ID] = r
	s.mu.Unlock()
	if half != nil {
		s.dispose(half)
	}
	return nil
}

// dispose removes the file of a replica that is no longer in the index.
func (s *Store) dispose(r *replica) {
	for {
		s.mu.Lock()
		w, path, b := r.writer, r.path(), r.block
		s.mu.Unlock()
		if w != nil {
			if w.Discard() {
				return
			}
			continue // it was just finished, or handed to another writer
		}
		if err := r.vol.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			_ = r.vol.blame(err) // the volume remembers
		}
		s.changes.deleted(b)
		return
	}
}

// Append adds a chunk. Only the last chunk may be shorter than the others.
func (w *Writer) Append(chunk []byte, crc uint32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return w.stale()
	}
	if w.n%pipe.ChunkSize != 0 || len(chunk) > pipe.ChunkSize || len(chunk) == 0 || w.n+int64(len(chunk)) > w.size {
		return wire.Errorf(wire.Invalid, "%s: chunk of %d bytes after %d of %d", w.r.block.ID, len(chunk), w.n, w.size)
	}
	if err := w.use(int64(len(chunk))); err != nil {
		return err
	}
	if _, err := w.file.Write(chunk); err != nil {
		return w.r.vol.blame(err)
	}
	w.crcs = append(w.crcs, crc)
	if w.n += int64(len(chunk)); w.n%writebackStep == 0 {
		startWriteback(w.file, headerSize+w.n-writebackStep, writebackStep)
	}
	return nil
}

// writebackStep is how many bytes collect before the disk is asked to start writing them. Smaller: more calls;
// larger: a longer sync at the end of the block.
const writebackStep = 4 << 20

func (w *Writer) stale() error {
	return wire.Errorf(wire.Stale, "%s: this writer was replaced by a newer generation", w.r.block.ID)
}

// Finish makes the replica durable and gives it its final name.
func (w *Writer) Finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return w.stale()
	}
	b := w.r.block
	b.Len = w.n
	if err := w.seal(b); err != nil {
		return w.r.vol.blame(err)
	}
	w.end()
	w.store.mu.Lock()
	old := w.r.old
	w.r.block, w.r.state, w.r.writer, w.r.old = b, finished, nil, nil
	w.store.mu.Unlock()
	if old != nil { // only now that the new name is durable
		w.store.dispose(old)
		_ = old.vol.blame(old.vol.fs.SyncDir(dirOf(old.block))) // the volume remembers; an old file that comes back gives way again
	}
	w.store.changes.received(b)
	return nil
}

func (w *Writer) seal(b wire.Block) error {
	fsys := w.r.vol.fs
	if _, err := w.file.Write(encodeTail(b, w.crcs)); err != nil {
		return err
	}
	if err := w.file.Sync(); err != nil {
		return err
	}
	if err := w.r.vol.place(dirOf(b)); err != nil {
		return err
	}
	if err := fsys.Rename(w.r.path(), dirOf(b)+"/"+fileName(b)); err != nil {
		return err
	}
	if err := fsys.SyncDir(dirOf(b)); err != nil {
		return err
	}
	return w.file.Close()
}

// end releases what the writer held. The lock must be held.
func (w *Writer) end() {
	w.over = true
	w.promise(-w.promised)
	w.file = nil
}

// letGo closes the file and leaves it for the next start to delete.
func (w *Writer) letGo() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.file == nil {
		return nil
	}
	file := w.file
	w.end()
	return file.Close()
}

// Discard removes the replica as if it had never been begun. If the writer has ended before, Discard does
// nothing and reports false.
func (w *Writer) Discard() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return false
	}
	if w.file != nil {
		_ = w.file.Close() // the content is unwanted
		_ = w.r.vol.fs.Remove(w.r.path())
	}
	w.end()
	w.store.mu.Lock()
	w.store.forget(w.r)
	w.store.mu.Unlock()
	return true
}

// Resume continues a block whose pipeline broke. It cuts the replica here to length bytes, gives it generation
// gen, and lets it grow to size. An earlier Writer of the replica cannot write to it any more.
func (s *Store) Resume(id wire.BlockID, gen uint64, length, size int64) (*Writer, error) {
	s.mu.Lock()
	r := s.replicas[id]
	if r == nil {
		s.mu.Unlock()
		return nil, wire.Errorf(wire.NotFound, "%s is not on node %s", id, s.cfg.Node)
	}
	if r.block.Gen >= gen {
		s.mu.Unlock()
		return nil, wire.Errorf(wire.Stale, "%s is here in generation %d, not older than %d", id, r.block.Gen, gen)
	}
	old := r.writer
	s.mu.Unlock()
	if old != nil {
		old.mu.Lock() // waits for a chunk or sync in progress
		defer old.mu.Unlock()
		if !old.over {
			return s.takeOver(r, old, gen, length, size)
		}
	}
	return s.reopen(r, gen, length, size)
}

// settle brings the replica of an abandoned block to its final length and generation.
func (s *Store) settle(b wire.Block) error {
	w, err := s.Resume(b.ID, b.Gen, b.Len, b.Len)
	if err != nil {
		return err
	}
	return w.Finish()
}

// cut checks a length and returns how many checksums stand for it.
func cut(b wire.Block, have, length int64) (int64, error) {
	if length > have || length%pipe.ChunkSize != 0 && length != have {
		return 0, wire.Errorf(wire.Invalid, "%s has %d bytes here and cannot go on at %d", b.ID, have, length)
	}
	return pipe.Chunks(length), nil
}

// takeOver resumes a replica that is being written. The caller holds the old writer's lock.
func (s *Store) takeOver(r *replica, old *Writer, gen uint64, length, size int64) (*Writer, error) {
	keep, err := cut(r.block, old.n, length)
	if err != nil {
		return nil, err
	}
	if err := old.file.Truncate(headerSize + length); err != nil {
		return nil, r.vol.blame(err)
	}
	return s.regenerate(r, &Writer{store: s, r: r, file: old.file, crcs: old.crcs[:keep], n: length, size: size}, gen, func() {
		old.promise(-old.promised)
		old.over, old.file = true, nil
	})
}

// reopen resumes a replica that was finished here while another one failed.
func (s *Store) reopen(r *replica, gen uint64, length, size int64) (*Writer, error) {
	keep, err := cut(r.block, r.block.Len, length)
	if err != nil {
		return nil, err
	}
	f, err := r.vol.fs.Edit(r.path())
	if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile, or is found to be gone by the next reader
		return nil, wire.Errorf(wire.NotFound, "%s is gone from node %s", r.block.ID, s.cfg.Node)
	}
	if err != nil {
		return nil, r.vol.blame(err)
	}
	table := make([]byte, 4*keep)
	if err = readAt(f, table, headerSize+r.block.Len); err == nil {
		err = f.Truncate(headerSize + length)
	}
	if err != nil {
		_ = f.Close() // the error above matters
		return nil, r.vol.blame(err)
	}
	old := r.block
	w, err := s.regenerate(r, &Writer{store: s, r: r, file: f, crcs: decodeTable(table), n: length, size: size}, gen, func() {})
	if err == nil {
		s.changes.deleted(old)
	}
	return w, err
}

// regenerate renames a replica to its new generation and hands it to w.
func (s *Store) regenerate(r *replica, w *Writer, gen uint64, ok func()) (*Writer, error) {
	b := r.block
	b.Gen, b.Len = gen, 0
	if err := r.vol.fs.Rename(r.path(), tmpDir+"/"+fileName(b)); err != nil {
		return nil, r.vol.blame(err)
	}
	ok()
	s.mu.Lock()
	r.block, r.state, r.writer = b, writing, w
	s.mu.Unlock()
	return w, nil
}
