package journal

import (
	"errors"
	"io/fs"

	"github.com/millrace/millrace/internal/disk"
)

// Scan calls fn with the durable records from sequence number from to to, in order, even while the journal is being
// written. to must not be above Durable. first is the number of the first record found; it is above from if older
// ones have been dropped.
func (j *Journal) Scan(from, to uint64, fn func(seq uint64, payload []byte) error) (first uint64, err error) {
	j.mu.Lock()
	segs := append([]segment(nil), j.segs...)
	j.mu.Unlock()
	if len(segs) == 0 {
		return from, nil
	}
	first = max(from, segs[0].first)
	for i, seg := range segs {
		if endOf(segs, i) <= first || seg.first > to {
			continue
		}
		if err := scanSegment(j.fs, seg, first, min(to, endOf(segs, i)-1), fn); err != nil {
			return first, err
		}
	}
	return first, nil
}

func scanSegment(fsys disk.FS, seg segment, from, to uint64, fn func(uint64, []byte) error) error {
	data, err := readAll(fsys, seg.name)
	if err != nil {
		return err
	}
	// Behind to, a record may just be being written.
	_, _, err = walk(seg, data, to+1, func(r record) error {
		if r.seq < from {
			return nil
		}
		return fn(r.seq, r.payload)
	})
	return err
}

// Bytes returns the total size of the files.
func (j *Journal) Bytes() (total int64) {
	j.mu.Lock()
	segs := append([]segment(nil), j.segs...)
	j.mu.Unlock()
	for _, s := range segs {
		info, err := j.fs.Stat(s.name)
		switch {
		case err == nil:
			total += info.Size()
		case !errors.Is(err, fs.ErrNotExist): // otherwise it was dropped meanwhile
			return total
		}
	}
	return total
}
