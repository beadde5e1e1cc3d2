package jobs

import (
	"encoding/binary"
	"math/bits"

	"github.com/millrace/millrace/mapreduce"
)

var wordCount = Builtin{
	Name:    "wordcount",
	Summary: "count the words of text, divided at ASCII white space",
	Example: "wordcount --input books/ --output counts",
	define: none(func(base mapreduce.Job) mapreduce.Job {
		base.Map = wordMap
		base.Fold = mapreduce.Sum
		return base
	}),
}

// wordMap emits each word with 1.
var wordMap = mapreduce.Map{
	Key: mapreduce.Bytes, Value: mapreduce.Int64,
	New: func(*mapreduce.Task) (mapreduce.Mapper, error) { return wordMapper{}, nil },
}

// wordMapper takes whole chunks of lines, since a newline is white space like any other.
type wordMapper struct{}

var _ mapreduce.ChunkMapper = wordMapper{}

func (wordMapper) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	emitWords(r.Value, out)
	return nil
}

func (wordMapper) MapChunk(chunk []byte, _ int64, out mapreduce.Emitter) error {
	emitWords(chunk, out)
	return nil
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// spaces sets the high bit of every byte of w that is ASCII white space (space, \t,
// \n, \v, \f, \r), exactly. Bytes of 0x80 and above are never white space.
func spaces(w uint64) uint64 {
	low := w &^ highBits
	isSpace := ((low ^ 0x20*lowBits) + 0x7f*lowBits) ^ highBits // high bit: the byte is 0x20
	atLeast9 := low + (0x80-0x09)*lowBits                       // high bit: 0x09 or more
	atLeastE := low + (0x80-0x0e)*lowBits                       // high bit: 0x0e or more
	return (isSpace | atLeast9&^atLeastE) &^ w & highBits
}

// emitWords emits every maximal run of bytes that are not white space, with 1. It
// looks at eight bytes at a time.
func emitWords(b []byte, out mapreduce.Emitter) {
	start := 0 // of the current word; an empty word is none
	i := 0
	for ; i+8 <= len(b); i += 8 {
		for m := spaces(binary.LittleEndian.Uint64(b[i:])); m != 0; m &= m - 1 {
			s := i + bits.TrailingZeros64(m)>>3
			if start < s {
				out.EmitInt(b[start:s:s], 1)
			}
			start = s + 1
		}
	}
	for ; i < len(b); i++ {
		if isSpace(b[i]) {
			if start < i {
				out.EmitInt(b[start:i:i], 1)
			}
			start = i + 1
		}
	}
	if start < len(b) {
		out.EmitInt(b[start:], 1)
	}
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
