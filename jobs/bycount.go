package jobs

import (
	"encoding/binary"

	"github.com/millrace/millrace/mapreduce"
)

// byCount is the second stage of jobs that count: it reads (string, count) pairs and
// writes "count TAB string", most frequent first, equal counts in order of the
// strings. With k > 0 only the first k come out.
func byCount(base mapreduce.Job, k int) mapreduce.Job {
	return mapreduce.Job{
		Name: base.Name + ", by count", Output: base.Output, Format: base.Format,
		User: base.User, Queue: base.Queue, Pool: base.Pool, Priority: base.Priority,
		Map: mapreduce.Map{
			Format: mapreduce.RecordFile,
			New: func(*mapreduce.Task) (mapreduce.Mapper, error) {
				return mapreduce.MapperFunc(invert), nil
			},
		},
		Reduce: mapreduce.Reduce{
			Key: mapreduce.Int64, Value: mapreduce.Bytes,
			New: func(*mapreduce.Task) (mapreduce.Reducer, error) { return &firstK{most: k}, nil },
		},
		Reducers: 1,
	}
}

// invert makes a key that sorts by falling count, then by rising string.
func invert(r mapreduce.Record, out mapreduce.Emitter) error {
	count, err := mapreduce.Int64.Decode(r.Value)
	if err != nil {
		return err
	}
	key := binary.BigEndian.AppendUint64(nil, ^mapreduce.EncodeInt(count))
	out.Emit(append(key, r.Key...), nil)
	return nil
}

func passKey(key []byte, _ mapreduce.Values, out mapreduce.Emitter) error {
	out.Emit(key, nil)
	return nil
}

// firstK takes inverted keys apart again, the first most of them, or all when most
// is 0.
type firstK struct {
	most, seen int
	count      []byte
}

func (f *firstK) Reduce(key []byte, _ mapreduce.Values, out mapreduce.Emitter) error {
	if f.most > 0 && f.seen >= f.most {
		return nil
	}
	f.seen++
	f.count = binary.BigEndian.AppendUint64(f.count[:0], ^binary.BigEndian.Uint64(key))
	out.Emit(f.count, key[8:])
	return nil
}
