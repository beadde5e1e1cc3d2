package journal

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
)

// The format; docs/formats/journal.md draws it.
const (
	magic     = "MILLJRNL"
	version   = 1
	headerLen = 32 // of a segment

	startMark = 0xA7
	endMark   = 0x5A
	recordLen = 21       // of a record beside its payload
	maxLength = 64 << 20 // of a payload, whatever the configuration
	maxBack   = 1<<24 - 1
	suffix    = ".journal"
)

// segmentName names the file that begins with record first.
func segmentName(first uint64) string { return fmt.Sprintf("%020d%s", first, suffix) }

// parseName is the inverse; ok is false for other files.
func parseName(name string) (first uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, err == nil
}

func newHeader(first uint64) []byte {
	b := []byte(magic)
	b = binary.LittleEndian.AppendUint32(b, version)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, first)
	b = binary.LittleEndian.AppendUint32(b, 0)
	return binary.LittleEndian.AppendUint32(b, codec.Sum(b))
}

// checkHeader returns what is wrong with the header of segment first.
func checkHeader(name string, b []byte, first uint64) error {
	if len(b) < headerLen || string(b[:8]) != magic {
		return wire.Errorf(wire.Corrupt, "journal %s: offset 0: this is not the header of a journal file", name)
	}
	if codec.Sum(b[:28]) != binary.LittleEndian.Uint32(b[28:]) {
		return wire.Errorf(wire.Corrupt, "journal %s: offset 0: the header's checksum is wrong", name)
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return wire.Errorf(wire.Invalid, "journal %s: is of version %d; this program knows version %d", name, v, version)
	}
	if got := binary.LittleEndian.Uint64(b[16:]); got != first {
		return wire.Errorf(wire.Corrupt, "journal %s: offset 16: begins with record %d", name, got)
	}
	return nil
}

// appendRecord encodes a record. back is how many records before it went to the disk in the same sync. Everything
// older was durable when this one was written.
func appendRecord(b []byte, seq uint64, back int, payload []byte) []byte {
	b = append(b, startMark, byte(back), byte(back>>8), byte(back>>16))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, seq)
	b = append(b, payload...)
	rec := b[len(b)-len(payload)-20:]
	binary.LittleEndian.PutUint32(rec[8:], finish(start(rec, seq), payload))
	return append(b, endMark)
}

// A record's checksum covers back, sequence, payload and, last, the payload's length, so that a changed length
// differs from an unfinished record.
func start(rec []byte, seq uint64) uint32 {
	var b [11]byte
	copy(b[:], rec[1:4])
	binary.LittleEndian.PutUint64(b[3:], seq)
	return codec.AddSum(0, b[:])
}

func finish(crc uint32, payload []byte) uint32 {
	return finishLen(codec.AddSum(crc, payload), len(payload))
}

func finishLen(crc uint32, n int) uint32 {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], uint32(n))
	return codec.AddSum(crc, b[:])
}

// A record as it is stored in a file.
type record struct {
	seq     uint64
	base    uint64 // first record of its batch
	payload []byte
	len     int // in the file
}

// parseRecord reads the record at the start of b; ok is false if there is no whole one.
func parseRecord(b []byte) (r record, ok bool) {
	if len(b) < recordLen || b[0] != startMark {
		return r, false
	}
	n := binary.LittleEndian.Uint32(b[4:])
	if n > maxLength || int(n) > len(b)-recordLen || b[20+n] != endMark {
		return r, false
	}
	r.seq = binary.LittleEndian.Uint64(b[12:])
	back := uint64(b[1]) | uint64(b[2])<<8 | uint64(b[3])<<16
	r.payload, r.len = b[20:20+n], recordLen+int(n)
	if back >= r.seq || finish(start(b, r.seq), r.payload) != binary.LittleEndian.Uint32(b[8:]) {
		return r, false
	}
	r.base = r.seq - back
	return r, true
}
