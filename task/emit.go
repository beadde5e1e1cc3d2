package task

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

// failer is an emitter that remembers its first failure. Once ended it takes no pairs any more: an emit panics, since
// nobody would miss the pair.
type failer interface {
	mapreduce.Emitter
	Failure() error
	end()
}

// errEnded is the failure of an emitter that was ended.
var errEnded = errors.New("the attempt has ended")

// mustLive panics if an emitter was ended.
func mustLive(err error, t *mapreduce.Task) {
	if err == errEnded { //nolint:errorlint // it is never wrapped
		panic(mapreduce.TooLate(t))
	}
}

// collectEmitter feeds the shuffle.
type collectEmitter struct {
	to   *shuffle.Collector
	task *mapreduce.Task // the task, which is alive as long as it emits
	err  error
}

func (e *collectEmitter) Emit(key, value []byte) {
	e.task.Alive()
	if e.err == nil {
		e.err = e.to.Add(key, value)
		return
	}
	mustLive(e.err, e.task)
}

func (e *collectEmitter) EmitInt(key []byte, value int64) {
	e.task.Alive()
	if e.err == nil {
		e.err = e.to.AddInt(key, value)
		return
	}
	mustLive(e.err, e.task)
}

func (e *collectEmitter) Failure() error { return e.err }
func (e *collectEmitter) end()           { e.err = errEnded }

// liftEmitter turns emitted values into a fold's accumulators first.
type liftEmitter struct {
	collectEmitter
	lift     func(dst, value []byte) []byte
	acc, raw []byte
}

func (e *liftEmitter) Emit(key, value []byte) {
	e.acc = e.lift(e.acc[:0], value)
	e.collectEmitter.Emit(key, e.acc)
}

func (e *liftEmitter) EmitInt(key []byte, value int64) {
	e.raw = binary.BigEndian.AppendUint64(e.raw[:0], mapreduce.EncodeInt(value))
	e.Emit(key, e.raw)
}

// writeEmitter writes output records.
type writeEmitter struct {
	to      mapreduce.RecordWriter
	task    *mapreduce.Task
	records int64
	err     error
	raw     [8]byte
}

func (e *writeEmitter) Emit(key, value []byte) {
	e.task.Alive()
	if e.err == nil {
		e.err = e.to.Write(key, value)
		e.records++
		return
	}
	mustLive(e.err, e.task)
}

// EmitParts emits a pair whose value is given in parts. It does not join them if the output is text.
func (e *writeEmitter) EmitParts(key []byte, parts ...[]byte) {
	w, ok := e.to.(interface {
		WriteParts(key []byte, parts ...[]byte) error
	})
	if !ok {
		e.Emit(key, bytes.Join(parts, nil))
		return
	}
	e.task.Alive()
	if e.err == nil {
		e.err = w.WriteParts(key, parts...)
		e.records++
		return
	}
	mustLive(e.err, e.task)
}

func (e *writeEmitter) EmitInt(key []byte, value int64) {
	binary.BigEndian.PutUint64(e.raw[:], mapreduce.EncodeInt(value))
	e.Emit(key, e.raw[:])
}

func (e *writeEmitter) Failure() error { return e.err }
func (e *writeEmitter) end()           { e.err = errEnded }

// holdEmitter keeps the pairs of one record until user code has succeeded with it, so that a skipped record leaves
// nothing behind.
type holdEmitter struct {
	task  *mapreduce.Task
	pairs [][2][]byte
}

func (h *holdEmitter) Emit(key, value []byte) {
	h.task.Alive()
	h.pairs = append(h.pairs, [2][]byte{bytes.Clone(key), bytes.Clone(value)})
}

func (h *holdEmitter) EmitInt(key []byte, value int64) {
	h.Emit(key, binary.BigEndian.AppendUint64(nil, mapreduce.EncodeInt(value)))
}

func (h *holdEmitter) release(to mapreduce.Emitter) {
	for _, p := range h.pairs {
		to.Emit(p[0], p[1])
	}
	h.pairs = h.pairs[:0]
}

var (
	_ failer            = (*liftEmitter)(nil)
	_ failer            = (*writeEmitter)(nil)
	_ mapreduce.Emitter = (*holdEmitter)(nil)
)

// funcEmitter calls a function for each pair.
type funcEmitter struct {
	to  func(key, value []byte) error
	err error
	raw [8]byte
}

func (e *funcEmitter) Emit(key, value []byte) {
	if e.err == nil {
		e.err = e.to(key, value)
	}
}

func (e *funcEmitter) EmitInt(key []byte, value int64) {
	binary.BigEndian.PutUint64(e.raw[:], mapreduce.EncodeInt(value))
	e.Emit(key, e.raw[:])
}
