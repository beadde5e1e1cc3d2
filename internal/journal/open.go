package journal

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strings"
	"sync"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// A segment is one file of the journal.
type segment struct {
	name  string // with its directory
	first uint64
}

// Open opens the journal in a directory, which it makes if needed. It calls fn with every record from sequence
// number from on, in order. These are durable. fn may use the payload only during the call. A journal that begins
// after from is refused.
func Open(fsys disk.FS, dir string, cfg Config, from uint64, fn func(seq uint64, payload []byte) error) (*Journal, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := makeDir(fsys, dir); err != nil {
		return nil, err
	}
	j := &Journal{fs: fsys, dir: dir, cfg: cfg, next: max(from, 1)}
	j.changed = sync.NewCond(&j.mu)
	if j.segs, err = segments(fsys, dir); err != nil {
		return nil, err
	}
	if err := j.load(max(from, 1), fn); err != nil {
		j.closeFile()
		return nil, err
	}
	j.durable.Store(j.next - 1)
	j.low = !j.fillReserve()
	return j, nil
}

// makeDir makes the directory durably and cleans it.
func makeDir(fsys disk.FS, dir string) error {
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	if err := fsys.SyncDir(path.Dir(dir)); err != nil {
		return err
	}
	return sweep(fsys, dir)
}

// segments lists the files of a journal, oldest first.
func segments(fsys disk.FS, dir string) ([]segment, error) {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var segs []segment
	for _, name := range names {
		if first, ok := parseName(name); ok {
			segs = append(segs, segment{path.Join(dir, name), first})
		}
	}
	return segs, nil
}

// First returns the number of the first record that a journal has, or would have; 0 if there is no journal.
func First(fsys disk.FS, dir string) (uint64, error) {
	segs, err := segments(fsys, dir)
	if err != nil || len(segs) == 0 {
		return 0, err
	}
	return segs[0].first, nil
}

// sweep removes files that were being created when the power failed.
func sweep(fsys disk.FS, dir string) error {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".new") {
			if err := fsys.Remove(path.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// load replays the records and leaves the last segment open for appending.
func (j *Journal) load(from uint64, fn func(uint64, []byte) error) error {
	if len(j.segs) > 0 && j.segs[0].first > from {
		return wire.Errorf(wire.Corrupt, "journal %s: offset 0: records %d to %d are missing", j.segs[0].name, from, j.segs[0].first-1)
	}
	for i, seg := range j.segs {
		end := endOf(j.segs, i)
		if end <= from {
			continue // a checkpoint includes all of it
		}
		next, err := j.loadSegment(seg, end, from, fn)
		if err != nil {
			return err
		}
		if end != noEnd && next != end {
			return wire.Errorf(wire.Corrupt, "journal %s: offset 0: records %d to %d are missing", j.segs[i+1].name, next, j.segs[i+1].first-1)
		}
		j.next = next
	}
	if len(j.segs) == 0 || j.next < from {
		return j.restart(from)
	}
	if j.cfg.Fence != nil {
		return j.takeOver()
	}
	return nil
}

// noEnd is the end of the segment that is still being written.
const noEnd = math.MaxUint64

// endOf returns the number of the record behind a segment's last. A process that had been replaced wrote what is
// behind that in its file, which was never acknowledged.
func endOf(segs []segment, i int) uint64 {
	if i == len(segs)-1 {
		return noEnd
	}
	return segs[i+1].first
}

// restart starts over at from: there is nothing, or everything is older.
func (j *Journal) restart(from uint64) error {
	j.closeFile()
	j.next = from
	for _, seg := range j.segs {
		if err := j.fs.Remove(seg.name); err != nil {
			return err
		}
	}
	j.segs = nil
	return j.newSegment()
}

// loadSegment replays one segment and returns the sequence number behind its last record. It cuts the unfinished
// tail of the last segment.
func (j *Journal) loadSegment(seg segment, end, from uint64, fn func(uint64, []byte) error) (uint64, error) {
	last := end == noEnd
	f, data, err := readSegment(j.fs, seg.name)
	if err != nil {
		return 0, err
	}
	if last {
		j.file = f
	} else {
		defer f.Close()
	}
	at, next, err := walk(seg, data, end, func(r record) error {
		if r.seq < from {
			return nil
		}
		return fn(r.seq, r.payload)
	})
	if err != nil {
		return 0, err
	}
	if at < len(data) && next < end {
		if why, bad := damaged(data, at, next); bad || !last {
			return 0, corrupt(seg.name, at, next, why)
		}
		if err := f.Truncate(int64(at)); err != nil {
			return 0, err
		}
		j.cut = fmt.Sprintf("journal %s ended in the middle of record %d: its last %d bytes are cut off. A crash leaves that, and nothing that was acknowledged; without a crash, the file was damaged or cut", seg.name, next, len(data)-at)
	}
	if last {
		j.size = int64(at)
		// What was found may never have been synced.
		if err := f.Sync(); err != nil {
			return 0, fmt.Errorf("journal %s: %w", seg.name, err)
		}
	}
	return next, nil
}

func corrupt(name string, at int, seq uint64, why string) error {
	if why == "" {
		why = "the file ends in the middle of it, but is not the last"
	}
	return wire.Errorf(wire.Corrupt, "journal %s: offset %d: record %d: %s", name, at, seq, why)
}

// readSegment opens a segment and reads all of it.
func readSegment(fsys disk.FS, name string) (disk.File, []byte, error) {
	f, err := fsys.Edit(name)
	if err != nil {
		return nil, nil, err
	}
	size, err := f.Size()
	if err == nil && size > 0 {
		data := make([]byte, size)
		if _, err = f.ReadAt(data, 0); err == nil || errors.Is(err, io.EOF) {
			return f, data, nil
		}
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("journal %s: %w", name, err)
	}
	return f, nil, nil
}

// walk calls fn for each whole record before end. It returns where the first other one begins, and its number.
func walk(seg segment, data []byte, end uint64, fn func(record) error) (at int, next uint64, err error) {
	if err := checkHeader(seg.name, data, seg.first); err != nil {
		return 0, seg.first, err
	}
	at, next = headerLen, seg.first
	for {
		r, ok := parseRecord(data[at:])
		if !ok || r.seq != next || next == end {
			return at, next, nil
		}
		if err := fn(r); err != nil {
			return at, next, fmt.Errorf("journal %s: offset %d: record %d: %w", seg.name, at, next, err)
		}
		at += r.len
		next++
	}
}
