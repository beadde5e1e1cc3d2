package mapreduce

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// Lines maps each line of text input. The line has no newline; a carriage return
// before it is kept.
func Lines[K, V any](fn func(line []byte, emit func(key K, value V))) Map {
	return LinesWith(func(*Task) (func([]byte, func(K, V)), error) { return fn, nil })
}

// LinesWith is [Lines] with set-up: each attempt calls setup once and owns the returned function, which may
// therefore keep state.
func LinesWith[K, V any](setup func(*Task) (func(line []byte, emit func(key K, value V)), error)) Map {
	return typedMap[K, V](Text, func(t *Task, emit func(K, V)) (func(Record), error) {
		fn, err := setup(t)
		if err != nil {
			return nil, err
		}
		return func(r Record) { fn(r.Value, emit) }, nil
	})
}

// KeyValues maps each line of text input divided at its first tab. A line without
// a tab is all key.
func KeyValues[K, V any](fn func(key, value []byte, emit func(key K, value V))) Map {
	return typedMap[K, V](KeyTabValue, func(_ *Task, emit func(K, V)) (func(Record), error) {
		return func(r Record) { fn(r.Key, r.Value, emit) }, nil
	})
}

// Fixed maps each record of size bytes.
func Fixed[K, V any](size int, fn func(record []byte, emit func(key K, value V))) Map {
	return typedMap[K, V](FixedSize(size), func(_ *Task, emit func(K, V)) (func(Record), error) {
		return func(r Record) { fn(r.Value, emit) }, nil
	})
}

// Files maps each input file as one record.
func Files[K, V any](fn func(name string, content []byte, emit func(key K, value V))) Map {
	return typedMap[K, V](WholeFile, func(_ *Task, emit func(K, V)) (func(Record), error) {
		return func(r Record) { fn(string(r.Key), r.Value, emit) }, nil
	})
}

// Records maps the pairs of native record files, for example those that an earlier job wrote with [RecordOutput].
func Records[KI, VI, K, V any](fn func(key KI, value VI, emit func(key K, value V))) Map {
	kc, vc := CodecFor[KI](), CodecFor[VI]()
	m := typedMap[K, V](RecordFile, func(_ *Task, emit func(K, V)) (func(Record), error) {
		return func(r Record) {
			fn(mustDecode(kc, r.Key), mustDecode(vc, r.Value), emit)
		}, nil
	})
	m.InKey, m.InValue = kc, vc
	return m
}

// Numbers maps the numbers 0..n-1, for jobs that generate their own data. Use it with the input [CountInput](n).
func Numbers[K, V any](fn func(i uint64, emit func(key K, value V))) Map {
	return typedMap[K, V](FixedSize(8), func(_ *Task, emit func(K, V)) (func(Record), error) {
		return func(r Record) { fn(binary.BigEndian.Uint64(r.Value), emit) }, nil
	})
}

// CountInput is the input path of n numbers, 8 bytes each: see [Numbers].
func CountInput(n int64) string { return countPrefix + strconv.FormatInt(n, 10) }

const countPrefix = "count:/"

// typedMap builds the Map shared by all typed constructors.
func typedMap[K, V any](format InputFormat, setup func(*Task, func(K, V)) (func(Record), error)) Map {
	kc, vc := CodecFor[K](), CodecFor[V]()
	return Map{
		Format: format, Key: kc, Value: vc,
		New: func(t *Task) (Mapper, error) {
			out := newTypedEmitter(t, kc, vc)
			fn, err := setup(t, out.emit)
			if err != nil {
				return nil, err
			}
			return MapperFunc(func(r Record, to Emitter) error {
				out.to = to
				fn(r)
				out.to = out.late
				return nil
			}), nil
		},
	}
}

// typedEmitter encodes typed pairs into scratch space that it reuses.
type typedEmitter[K, V any] struct {
	to         Emitter // late between the calls of user code
	late       Emitter
	emit       func(K, V)
	key, value []byte
}

func newTypedEmitter[K, V any](t *Task, kc Codec[K], vc Codec[V]) *typedEmitter[K, V] {
	late := &lateEmitter{t}
	e := &typedEmitter[K, V]{to: late, late: late}
	e.emit = func(k K, v V) {
		e.key = kc.Append(e.key[:0], k)
		e.value = vc.Append(e.value[:0], v)
		e.to.Emit(e.key, e.value)
	}
	// The pairs of counting jobs need no conversion.
	var direct any
	switch any(e.emit).(type) {
	case func([]byte, int64):
		direct = func(k []byte, v int64) { e.to.EmitInt(k, v) }
	case func([]byte, []byte):
		direct = func(k, v []byte) { e.to.Emit(k, v) }
	case func(string, int64):
		direct = func(k string, v int64) {
			e.key = append(e.key[:0], k...)
			e.to.EmitInt(e.key, v)
		}
	default:
		return e
	}
	e.emit = direct.(func(K, V))
	return e
}

// lateEmitter takes no pairs.
type lateEmitter struct{ task *Task }

func (l *lateEmitter) Emit([]byte, []byte)   { panic(TooLate(l.task)) }
func (l *lateEmitter) EmitInt([]byte, int64) { panic(TooLate(l.task)) }

// TooLate is for engines. It is the panic of an emit that no longer has an effect.
func TooLate(t *Task) string {
	return fmt.Sprintf("mapreduce: %s emits a pair after the function that was given emit has returned: emit before, and wait for goroutines", t)
}

// mustDecode panics on bytes that the codec cannot decode. The attempt then fails with the place and the stack, as
// for any panic in user code.
func mustDecode[T any](c Codec[T], src []byte) T {
	v, err := c.Decode(src)
	if err != nil {
		panic("mapreduce: " + err.Error() + " (was it written with another type?)")
	}
	return v
}
