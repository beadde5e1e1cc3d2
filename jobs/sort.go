package jobs

import (
	"bytes"

	"github.com/millrace/millrace/mapreduce"
)

var sortLines = Builtin{
	Name:    "sort",
	Summary: "sort lines by their bytes; the parts one after the other are what LC_ALL=C sort prints",
	Example: "sort --input words.txt --output sorted",
	define: none(func(base mapreduce.Job) mapreduce.Job {
		base.Map = mapreduce.Map{
			Key: mapreduce.Bytes, Value: mapreduce.CodecFor[mapreduce.None](),
			New: func(*mapreduce.Task) (mapreduce.Mapper, error) { return lineMapper{}, nil },
		}
		base.Partition = mapreduce.TotalOrder{}
		return base
	}),
}

// lineMapper emits each line as a key.
type lineMapper struct{}

var _ mapreduce.ChunkMapper = lineMapper{}

func (lineMapper) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	out.Emit(r.Value, nil)
	return nil
}

func (lineMapper) MapChunk(chunk []byte, _ int64, out mapreduce.Emitter) error {
	for len(chunk) > 0 {
		i := bytes.IndexByte(chunk, '\n')
		if i < 0 {
			out.Emit(chunk, nil)
			return nil
		}
		out.Emit(chunk[:i:i], nil)
		chunk = chunk[i+1:]
	}
	return nil
}

var distinct = Builtin{
	Name:    "distinct",
	Summary: "each line once; the parts one after the other are what LC_ALL=C sort -u prints",
	Example: "distinct --input visitors.txt --output unique",
	define: none(func(base mapreduce.Job) mapreduce.Job {
		base.Map = mapreduce.Lines(func(line []byte, emit func(line []byte, seen int64)) { emit(line, 1) })
		base.Fold = mapreduce.Max
		base.Partition = mapreduce.TotalOrder{}
		base.Reduce = mapreduce.Reduce{
			Key: mapreduce.Bytes, Value: mapreduce.CodecFor[mapreduce.None](),
			New: func(*mapreduce.Task) (mapreduce.Reducer, error) { return mapreduce.ReducerFunc(passKey), nil },
		}
		return base
	}),
}
