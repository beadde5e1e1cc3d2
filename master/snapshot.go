package master

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
)

// The format of a snapshot; docs/formats/jobs.md draws it.
const (
	snapshotName    = "snapshot"
	snapshotMagic   = "MILLSNAP"
	snapshotVersion = 1
	snapshotHead    = 24
	snapshotEnd     = 0xFFFFFFFF // in the place of a length
	maxSnapshotRec  = 64 << 20
)

// writeSnapshot writes records that replace everything up to record seq of the journal. It writes a new file and
// renames it over the old snapshot: at any moment one of the two is there, whole.
func writeSnapshot(fsys disk.FS, seq uint64, records []tracker.Record) (size int64, err error) {
	const tmp = snapshotName + ".new"
	if err := fsys.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	f, err := fsys.Create(tmp)
	if err != nil {
		return 0, err
	}
	size, err = encodeSnapshot(f, seq, records)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, errors.Join(err, fsys.Remove(tmp))
	}
	if err := fsys.Rename(tmp, snapshotName); err != nil {
		return 0, err
	}
	return size, fsys.SyncDir(".")
}

func encodeSnapshot(w io.Writer, seq uint64, records []tracker.Record) (size int64, err error) {
	out := bufio.NewWriterSize(w, 1<<20)
	head := append(make([]byte, 0, snapshotHead), snapshotMagic...)
	head = binary.LittleEndian.AppendUint32(head, snapshotVersion)
	head = binary.LittleEndian.AppendUint64(head, seq)
	head = binary.LittleEndian.AppendUint32(head, codec.Sum(head))
	_, err = out.Write(head)
	size = int64(len(head))
	for i := range records {
		payload, jerr := json.Marshal(stored(&records[i]))
		if err = errors.Join(err, jerr); err != nil {
			return 0, err
		}
		var h [8]byte
		binary.LittleEndian.PutUint32(h[:], uint32(len(payload)))
		binary.LittleEndian.PutUint32(h[4:], codec.Sum(payload))
		// A bufio.Writer remembers its first error until Flush.
		_, _ = out.Write(h[:])
		_, _ = out.Write(payload)
		size += 8 + int64(len(payload))
	}
	var end [12]byte
	binary.LittleEndian.PutUint32(end[:], snapshotEnd)
	binary.LittleEndian.PutUint32(end[4:], uint32(len(records)))
	binary.LittleEndian.PutUint32(end[8:], codec.Sum(end[:8]))
	_, _ = out.Write(end[:])
	return size + int64(len(end)), out.Flush()
}

// readSnapshot calls fn with the records of the snapshot and returns the last record of the journal that they replace;
// 0 if there is no snapshot. It refuses a damaged snapshot and never skips a part.
func readSnapshot(fsys disk.FS, fn func(r *tracker.Record)) (seq uint64, size int64, err error) {
	f, err := fsys.Open(snapshotName)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	if size, err = f.Size(); err != nil {
		return 0, 0, err
	}
	seq, err = decodeSnapshot(io.NewSectionReader(f, 0, size), fn)
	return seq, size, err
}

func decodeSnapshot(r io.Reader, fn func(r *tracker.Record)) (seq uint64, err error) {
	in := bufio.NewReaderSize(r, 1<<20)
	at := int64(0)
	bad := func(why string) error {
		return wire.Errorf(wire.Corrupt, "snapshot of the jobs: offset %d: %s", at, why)
	}
	var head [snapshotHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil || string(head[:8]) != snapshotMagic {
		return 0, bad("this is not the header of a snapshot")
	}
	if codec.Sum(head[:20]) != binary.LittleEndian.Uint32(head[20:]) {
		return 0, bad("the header's checksum is wrong")
	}
	if v := binary.LittleEndian.Uint32(head[8:]); v != snapshotVersion {
		return 0, wire.Errorf(wire.Invalid, "snapshot of the jobs: is of version %d; this program knows version %d", v, snapshotVersion)
	}
	seq = binary.LittleEndian.Uint64(head[12:])
	at = snapshotHead
	var buf []byte
	for n := uint32(0); ; n++ {
		var h [8]byte
		if _, err := io.ReadFull(in, h[:]); err != nil {
			return 0, bad("the file is cut short")
		}
		length, sum := binary.LittleEndian.Uint32(h[:]), binary.LittleEndian.Uint32(h[4:])
		if length == snapshotEnd {
			return seq, checkEnd(in, h, sum, n, bad)
		}
		if length > maxSnapshotRec {
			return 0, bad("a record is too long")
		}
		if buf, err = codec.ReadN(in, buf, int(length)); err != nil {
			return 0, bad("the file is cut short")
		}
		if codec.Sum(buf) != sum {
			return 0, bad("a record's checksum is wrong")
		}
		var rec tracker.Record
		if err := json.Unmarshal(buf, &rec); err != nil {
			return 0, bad(err.Error())
		}
		fn(&rec)
		at += 8 + int64(length)
	}
}

// checkEnd reads the rest of the last entry: how many records there must have been.
func checkEnd(in io.Reader, h [8]byte, want, got uint32, bad func(string) error) error {
	var sum [4]byte
	if _, err := io.ReadFull(in, sum[:]); err != nil {
		return bad("the file is cut short")
	}
	if codec.Sum(h[:]) != binary.LittleEndian.Uint32(sum[:]) || want != got {
		return bad("the end does not fit the records")
	}
	return nil
}
