package attempt

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/shuffle"
)

// A reduce asks a worker for its share of many maps at once: GET /shuffle/JOB/STAGE?p=PARTITION&m=MAP.TRY&m=...,
// with c=1 if they were released together and are worth a circuit. For each map, in order, the answer has a length
// and a CRC32C of what follows, u32 little endian each, that many bytes of JSON (a [SegmentHead]), and the stored
// bytes of the share, with their own checksums. Without the head's, a flipped bit could empty a share.

// SegmentHead precedes the bytes of one map's share.
type SegmentHead struct {
	Map   int32                 `json:"map"`
	Try   uint64                `json:"try"`
	Name  string                `json:"name,omitempty"`
	Info  shuffle.PartitionInfo `json:"info"`
	Error string                `json:"error,omitempty"` // if set, there are no bytes
}

// FetchPattern is the route that workers serve.
const FetchPattern = "GET /shuffle/{job}/{stage}"

// CircuitField in a request says that the answer is part of something worth an optical circuit.
const CircuitField = "c"

// MaxBatch is the maximum number of maps in one request.
const MaxBatch = 64

// maxHead bounds a segment's head.
const maxHead = 16 << 10

// AppendHead encodes a head.
func AppendHead(buf []byte, h *SegmentHead) []byte {
	b, err := json.Marshal(h)
	if err != nil {
		b = []byte(`{"error":"cannot be encoded"}`)
	}
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(b)))
	buf = binary.LittleEndian.AppendUint32(buf, codec.Sum(b))
	return append(buf, b...)
}

func readHead(r io.Reader) (h SegmentHead, err error) {
	var n [8]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return h, err
	}
	size := binary.LittleEndian.Uint32(n[:4])
	if size > maxHead {
		return h, wire.Errorf(wire.Corrupt, "the head of a segment has %d bytes", size)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return h, err
	}
	if codec.Sum(b) != binary.LittleEndian.Uint32(n[4:]) {
		return h, wire.Errorf(wire.Corrupt, "the head of a segment is damaged")
	}
	if err := json.Unmarshal(b, &h); err != nil {
		return h, wire.Errorf(wire.Corrupt, "the head of a segment: %w", err)
	}
	return h, nil
}

// ParseMaps parses the list of maps of a request.
func ParseMaps(list []string) ([]wire.MapOutput, error) {
	if len(list) == 0 || len(list) > MaxBatch {
		return nil, wire.Errorf(wire.Invalid, "%d maps asked for: must be 1 to %d", len(list), MaxBatch)
	}
	out := make([]wire.MapOutput, len(list))
	for i, s := range list {
		m, try, ok := strings.Cut(s, ".")
		n, err1 := strconv.ParseInt(m, 10, 32)
		t, err2 := strconv.ParseUint(try, 10, 64)
		if !ok || err1 != nil || err2 != nil || n < 0 {
			return nil, wire.Errorf(wire.Invalid, "map %q: must look like 12.3", s)
		}
		out[i] = wire.MapOutput{Map: int32(n), Try: t}
	}
	return out, nil
}
