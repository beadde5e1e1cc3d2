package journal

import (
	"encoding/binary"

	"github.com/millrace/millrace/internal/codec"
)

// sector is the unit in which a disk writes or loses bytes.
const sector = 512

// damaged judges the bytes of the last segment from at on, where record want should be whole and is not. A power cut
// leaves a record that is cut short or lacks whole sectors, and nothing written after it was durable. Such a tail is
// cut off. Anything else is damage, and why says which.
func damaged(data []byte, at int, want uint64) (why string, bad bool) {
	next, later := findLater(data, at+1, want)
	if later && next.rec.base > want {
		return "a record that was durable is damaged: later ones are whole", true
	}
	if changedHeader(data[at:], want) && !hole(data, at, at+20) {
		return "the header of a whole record is changed", true
	}
	var end int
	if later {
		end = next.at
	} else if n, ours := claims(data[at:], want); ours && n <= len(data)-at {
		end = at + n
	} else {
		return "", false
	}
	if hole(data, at, end) {
		return "", false
	}
	return "the record's checksum is wrong and no part of it is missing", true
}

// A found is a whole record and its offset.
type found struct {
	at  int
	rec record
}

// findLater looks for a whole record behind record want.
func findLater(data []byte, at int, want uint64) (found, bool) {
	for ; at <= len(data)-recordLen; at++ {
		if data[at] != startMark {
			continue
		}
		if seq := binary.LittleEndian.Uint64(data[at+12:]); seq <= want || seq-want > uint64(len(data)) {
			continue
		}
		if r, ok := parseRecord(data[at:]); ok {
			return found{at, r}, true
		}
	}
	return found{}, false
}

// claims returns the length of what seems to be record want.
func claims(b []byte, want uint64) (n int, ours bool) {
	if len(b) < recordLen || b[0] != startMark || binary.LittleEndian.Uint64(b[12:]) != want {
		return 0, false
	}
	length := binary.LittleEndian.Uint32(b[4:])
	return recordLen + int(min(length, maxLength)), true
}

// changedHeader reports whether b would be record want with another mark, sequence or length. Then the record was
// written whole and changed later.
func changedHeader(b []byte, want uint64) bool {
	if len(b) < recordLen {
		return false
	}
	sum, crc, done := binary.LittleEndian.Uint32(b[8:]), start(b, want), 20
	for at := 20; at < len(b) && at-20 <= maxLength; at++ {
		if b[at] != endMark {
			continue
		}
		crc, done = codec.AddSum(crc, b[done:at]), at
		if finishLen(crc, at-20) == sum {
			return true
		}
	}
	return false
}

// hole reports whether a sector's share of data[at:end] is all zeros, so that it was never written. Records begin
// and end with marks that are not zero. So only a payload with a sector of zeros could look the same.
func hole(data []byte, at, end int) bool {
	for at < end {
		next := min((at/sector+1)*sector, end)
		if allZero(data[at:next]) {
			return true
		}
		at = next
	}
	return false
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
