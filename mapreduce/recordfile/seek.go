package recordfile

import (
	"bytes"
	"encoding/binary"
)

// scanBytes is how much is read at a time in search of a sync marker.
const scanBytes = 64 << 10

// seek finds the first block that starts at off or later. The first block of the file needs no search: it is right
// behind the file header.
func (r *Reader) seek(off int64) error {
	if first := r.file.size(); off <= first {
		r.next = first
		return nil
	}
	at, err := r.scan(off)
	r.next = at
	return err
}

// scan returns the offset of the first block that starts in [from, r.end), or -1.
func (r *Reader) scan(from int64) (int64, error) {
	buf := make([]byte, max(0, min(scanBytes, r.end-from+markerBytes-1)))
	for from < r.end {
		p := buf[:min(int64(len(buf)), r.size-from, r.end-from+markerBytes-1)]
		if len(p) < markerBytes {
			break
		}
		if err := r.readAt(p, from); err != nil {
			return -1, err
		}
		at, err := r.markerIn(p, from)
		if at >= 0 || err != nil {
			return at, err
		}
		from += int64(len(p) - markerBytes + 1)
	}
	return -1, nil
}

// markerIn returns the offset of the first block whose marker is in p, which holds the bytes from offset from on, or
// -1 if there is none.
func (r *Reader) markerIn(p []byte, from int64) (int64, error) {
	for i := 0; ; i++ {
		j := bytes.Index(p[i:], r.file.marker[:])
		if j < 0 {
			return -1, nil
		}
		i += j
		own, err := r.ownBlock(from + int64(i))
		if own || err != nil {
			return from + int64(i), err
		}
	}
}

// ownBlock reports whether the marker at offset at starts a block, and is not among the records of one, by chance or
// as part of another record file. A block's header names its offset. The rest of the header is checked when it is
// read, so that damage to it is an error and not a skipped block.
func (r *Reader) ownBlock(at int64) (bool, error) {
	if at > r.size-blockHeaderBytes {
		return false, nil
	}
	if err := r.readAt(r.head[:], at); err != nil {
		return false, err
	}
	return binary.LittleEndian.Uint64(r.head[markerBytes:]) == uint64(at), nil
}
