package jobs

import (
	"bytes"
	"iter"

	"github.com/millrace/millrace/mapreduce"
)

// eachLine yields the lines of a chunk. The last one may lack its newline.
func eachLine(chunk []byte) iter.Seq[[]byte] {
	return func(yield func(line []byte) bool) {
		for len(chunk) > 0 {
			i := bytes.IndexByte(chunk, '\n')
			if i < 0 {
				yield(chunk)
				return
			}
			if !yield(chunk[:i:i]) {
				return
			}
			chunk = chunk[i+1:]
		}
	}
}

// lineMapper emits each line as a key.
type lineMapper struct{}

var _ mapreduce.ChunkMapper = lineMapper{}

func (lineMapper) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	out.Emit(r.Value, nil)
	return nil
}

func (lineMapper) MapChunk(chunk []byte, _ int64, out mapreduce.Emitter) error {
	for line := range eachLine(chunk) {
		out.Emit(line, nil)
	}
	return nil
}

// countedLines emits each line with 1.
var countedLines = mapreduce.Map{
	Key: mapreduce.Bytes, Value: mapreduce.Int64,
	New: func(*mapreduce.Task) (mapreduce.Mapper, error) { return countMapper{}, nil },
}

type countMapper struct{}

var _ mapreduce.ChunkMapper = countMapper{}

func (countMapper) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	out.EmitInt(r.Value, 1)
	return nil
}

func (countMapper) MapChunk(chunk []byte, _ int64, out mapreduce.Emitter) error {
	for line := range eachLine(chunk) {
		out.EmitInt(line, 1)
	}
	return nil
}
