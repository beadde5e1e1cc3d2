package journal

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// A Journal is an open log. Its methods may be called concurrently.
type Journal struct {
	fs      disk.FS
	dir     string
	cfg     Config
	durable atomic.Uint64 // the last record that is certainly on the disk

	mu      sync.Mutex // guards what follows; changed is its condition
	changed *sync.Cond
	buf     []byte // records that wait for the disk; Invariant: they are base..next-1
	spare   []byte
	base    uint64
	next    uint64 // sequence number of the next record
	leading bool   // a goroutine writes and syncs for all; only it uses file and size
	err     error  // why the journal refuses everything
	closed  bool
	low     bool   // the reserve is missing
	cut     string // what opening cut off; "" for nothing
	segs    []segment
	file    disk.File
	size    int64
}

// Append adds a record to the journal. It is durable only when Wait says so. A record that is refused, with kind
// TooLarge, NoSpace or Unavailable, is not in the journal.
func (j *Journal) Append(payload []byte) (seq uint64, err error) {
	return j.append(payload, false)
}

// AppendAnyway is Append for records that follow from others. On a full disk they may use the room of the reserve
// while it lasts. Callers check Room before they begin something new.
func (j *Journal) AppendAnyway(payload []byte) (seq uint64, err error) {
	return j.append(payload, true)
}

func (j *Journal) append(payload []byte, anyway bool) (seq uint64, err error) {
	if len(payload) > j.cfg.MaxRecord {
		return 0, wire.Errorf(wire.TooLarge, "journal %s: a record of %d bytes; the limit is %d", j.dir, len(payload), j.cfg.MaxRecord)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.err == nil && (len(j.buf) > j.cfg.MaxBatch || len(j.buf) > 0 && j.next-j.base >= maxBack) {
		j.lead()
	}
	if j.err != nil {
		return 0, j.err
	}
	if j.low && !j.refill() && !anyway {
		return 0, j.full()
	}
	if len(j.buf) == 0 {
		j.base = j.next
	}
	seq = j.next
	j.buf = appendRecord(j.buf, seq, int(seq-j.base), payload)
	j.next++
	return seq, nil
}

// Durable returns the sequence number up to which all records are on the disk.
func (j *Journal) Durable() uint64 { return j.durable.Load() }

// Wait returns when the record seq and all before it are durable. The first caller writes for all that wait. Callers
// that come meanwhile share the next write.
func (j *Journal) Wait(seq uint64) error {
	if j.durable.Load() >= seq {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.durable.Load() < seq {
		if j.err != nil {
			return j.err
		}
		if seq >= j.next {
			return wire.Errorf(wire.Invalid, "journal %s: nobody appended record %d", j.dir, seq)
		}
		j.lead()
	}
	return nil
}

// Commit is Append and Wait.
func (j *Journal) Commit(payload []byte) (uint64, error) {
	seq, err := j.Append(payload)
	if err != nil {
		return 0, err
	}
	return seq, j.Wait(seq)
}

// lead writes and syncs what waits, or waits while another goroutine does. The caller holds the lock, which is
// released meanwhile.
func (j *Journal) lead() {
	if j.leading {
		j.changed.Wait()
		return
	}
	j.leading = true
	j.mu.Unlock()
	runtime.Gosched() // those that the last write woke up may append first and share this one
	j.mu.Lock()
	batch, last := j.buf, j.next-1
	j.buf, j.spare = j.spare[:0], nil
	j.mu.Unlock()
	spent, err := j.write(batch)
	j.mu.Lock()
	j.leading = false
	j.low = j.low || spent
	if cap(batch) <= 2*j.cfg.MaxBatch {
		j.spare = batch
	}
	if err != nil {
		j.fail(err)
	} else {
		j.durable.Store(last)
	}
	j.changed.Broadcast()
}

// fail stops the journal for good, since nobody knows what the disk holds.
func (j *Journal) fail(err error) {
	if j.err != nil {
		return
	}
	kind := wire.Unavailable
	if wire.KindOf(err) == wire.Stale {
		kind = wire.Stale
	}
	j.err = wire.Errorf(kind, "journal %s: failed and must be opened again: %w", j.dir, err)
}

// fenced returns why this process may no longer write here, or nil.
func (j *Journal) fenced() error {
	if j.cfg.Fence == nil {
		return nil
	}
	return j.cfg.Fence()
}

// write writes and syncs a batch. spent reports that the reserve was used up.
func (j *Journal) write(batch []byte) (spent bool, err error) {
	if err := j.fenced(); err != nil {
		return false, err
	}
	if j.size >= j.cfg.SegmentBytes {
		if err := j.rotate(); err != nil && !errors.Is(err, syscall.ENOSPC) {
			return false, err
		}
	}
	_, err = j.file.WriteAt(batch, j.size)
	if errors.Is(err, syscall.ENOSPC) {
		spent = true
		if err = j.fs.Remove(j.reserveName()); err == nil {
			_, err = j.file.WriteAt(batch, j.size)
		}
	}
	if err != nil {
		return spent, fmt.Errorf("write: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return spent, fmt.Errorf("sync: %w", err)
	}
	j.size += int64(len(batch))
	return spent, j.fenced() // this process may have been stopped and replaced since
}

// rotate begins a new segment. The old one is complete and synced.
func (j *Journal) rotate() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	old := j.file
	first := j.durable.Load() + 1
	if err := j.addSegment(first); err != nil {
		return err
	}
	return old.Close()
}

// newSegment begins the first segment.
func (j *Journal) newSegment() error { return j.addSegment(j.next) }

// takeOver leaves the file that an older process may still have open. It begins another one, which replaces the last
// if that is empty. On a full disk it keeps using the old one.
func (j *Journal) takeOver() error {
	old, size, segs := j.file, j.size, j.segs
	if last := segs[len(segs)-1]; last.first == j.next {
		j.segs = segs[:len(segs)-1]
	}
	err := j.addSegment(j.next)
	if errors.Is(err, syscall.ENOSPC) {
		j.file, j.size, j.segs = old, size, segs
		return nil
	}
	return errors.Join(err, old.Close())
}

// addSegment creates a segment under another name, so that a segment with its right name always has a whole header.
func (j *Journal) addSegment(first uint64) error {
	name := path.Join(j.dir, segmentName(first))
	f, err := writeFile(j.fs, name+".new", newHeader(first))
	if err != nil {
		return err
	}
	if err := j.fs.Rename(name+".new", name); err != nil {
		f.Close()
		return errors.Join(err, j.fs.Remove(name+".new"))
	}
	if err := j.fs.SyncDir(j.dir); err != nil {
		f.Close()
		return wire.Errorf(wire.Internal, "sync of the directory: %w", err) // never mistaken for a full disk
	}
	j.segs = append(j.segs, segment{name, first})
	j.file, j.size = f, headerLen
	return nil
}

// writeFile creates a synced file. If that fails, it removes the file.
func writeFile(fsys disk.FS, name string, data []byte) (disk.File, error) {
	f, err := fsys.Create(name)
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err != nil {
		f.Close()
		return nil, errors.Join(err, fsys.Remove(name))
	}
	return f, nil
}

// DropBefore removes the segments that hold only records below seq.
func (j *Journal) DropBefore(seq uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	dropped := false
	for len(j.segs) > 1 && j.segs[1].first <= seq {
		if err := j.fs.Remove(j.segs[0].name); err != nil {
			return err
		}
		j.segs = j.segs[1:]
		dropped = true
	}
	if !dropped {
		return nil
	}
	return j.fs.SyncDir(j.dir)
}

// Cut says what was cut off when the journal was opened, because it ended in the middle of a record; "" if nothing was.
func (j *Journal) Cut() string { return j.cut }

// Segments returns how many files there are.
func (j *Journal) Segments() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.segs)
}

// Close makes everything durable that was appended, and closes the files. It may be called twice.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.err == nil && (len(j.buf) > 0 || j.leading) {
		j.lead()
	}
	for j.leading {
		j.changed.Wait()
	}
	if j.closed {
		return nil
	}
	j.closed = true
	j.closeFile()
	err := j.err
	if j.err == nil {
		j.err = wire.Errorf(wire.Unavailable, "journal %s: is closed", j.dir)
	}
	return err
}

func (j *Journal) closeFile() {
	if j.file != nil {
		j.file.Close()
		j.file = nil
	}
}
