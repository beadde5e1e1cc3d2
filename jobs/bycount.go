package jobs

import (
	"encoding/binary"

	"github.com/millrace/millrace/mapreduce"
)

// byCount returns the second stage of jobs that count. It reads what emitCount has written and writes "count TAB
// string", most frequent first, equal counts in order of the strings. With k > 0 it writes only the first k.
func byCount(base mapreduce.Job, k int) mapreduce.Job {
	return mapreduce.Job{
		Name: base.Name + ", by count", Output: base.Output, Format: base.Format,
		User: base.User, Queue: base.Queue, Pool: base.Pool, Priority: base.Priority,
		Map: mapreduce.Map{
			Format: mapreduce.JoinedRecords,
			New: func(*mapreduce.Task) (mapreduce.Mapper, error) {
				return mapreduce.MapperFunc(func(r mapreduce.Record, out mapreduce.Emitter) error {
					out.Emit(r.Key, nil)
					return nil
				}), nil
			},
		},
		Reduce: mapreduce.Reduce{
			Key: mapreduce.Int64, Value: mapreduce.Bytes,
			New: func(*mapreduce.Task) (mapreduce.Reducer, error) { return &firstK{most: k}, nil },
		},
		Reducers: 1,
	}
}

// emitCount writes a string and its count for the second stage: the count, as bytes that sort by falling count, and
// the string. Together they are a key that sorts by falling count, then by rising string. The string, which may be
// large, is not copied.
func emitCount(out mapreduce.Emitter, s []byte, n int64) {
	var count [8]byte
	binary.BigEndian.PutUint64(count[:], ^mapreduce.EncodeInt(n))
	out.Emit(count[:], s)
}

// counts is the reduce of a first stage that passes on every string.
var counts = mapreduce.Reduce{
	Key: mapreduce.Bytes, Value: mapreduce.Bytes,
	New: func(*mapreduce.Task) (mapreduce.Reducer, error) {
		return mapreduce.ReducerFunc(func(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
			n, err := sum(values)
			if err == nil {
				emitCount(out, key, n)
			}
			return err
		}), nil
	},
}

// sum adds up the counts of a string.
func sum(values mapreduce.Values) (n int64, err error) {
	for values.Next() {
		v, err := mapreduce.Int64.Decode(values.Value())
		if err != nil {
			return 0, err
		}
		n += v
	}
	return n, nil
}

func passKey(key []byte, _ mapreduce.Values, out mapreduce.Emitter) error {
	out.Emit(key, nil)
	return nil
}

// firstK splits inverted keys again: the first most of them, or all if most is 0.
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
