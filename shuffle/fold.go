package shuffle

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/millrace/millrace/internal/pages"
)

// IntOp is an operation that folds integers.
type IntOp uint8

// The operations. OpBytes means Fold.Bytes.
const (
	OpBytes IntOp = iota
	SumInt        // wraps around on overflow
	MinInt
	MaxInt
)

// Fold is an associative, commutative aggregation of the values of a key: the result depends neither on their order
// nor on how they are grouped. Of keys that Compare calls equal, the least in bytes stands for all.
type Fold struct {
	// Op folds values that are integers as AddInt writes them. Zero is OpBytes.
	Op IntOp

	// Bytes, for OpBytes, returns acc folded with value. It may append to acc in place and must not keep either. The
	// first acc of a key is a copy of its first value.
	Bytes func(acc, value []byte) []byte
}

func (f *Fold) validate() error {
	if f.Op > MaxInt {
		return fmt.Errorf("unknown fold operation %d", f.Op)
	}
	if (f.Op == OpBytes) != (f.Bytes != nil) {
		return errors.New("a fold has either an integer operation or a Bytes function")
	}
	return nil
}

// apply folds two integers.
func (op IntOp) apply(acc, v int64) int64 {
	switch op {
	case MinInt:
		return min(acc, v)
	case MaxInt:
		return max(acc, v)
	default:
		return acc + v
	}
}

// foldRun gives one record for each key of a sorted run.
type foldRun struct {
	in      Run
	fold    *Fold
	compare func(a, b []byte) int
	stats   *Stats
	kv      []byte // key, then folded value
	keyLen  int
	acc     []byte
	started bool
	more    bool // in is at the first record of the next key
	err     error
}

var (
	_ Run      = (*foldRun)(nil)
	_ Recorder = (*foldRun)(nil)
)

func newFoldRun(in Run, fold *Fold, compare func(a, b []byte) int, stats *Stats) *foldRun {
	return &foldRun{in: in, fold: fold, compare: compare, stats: stats}
}

// Next folds the next key.
func (f *foldRun) Next() bool {
	if !f.started {
		f.started = true
		f.more = f.in.Next()
	}
	if !f.more || f.err != nil {
		pages.Drop(f.kv)
		f.kv, f.keyLen = nil, 0
		return false
	}
	key := f.in.Key()
	f.kv = append(pages.Spare(f.kv, len(key)), key...)
	f.keyLen = len(f.kv)
	if f.fold.Op == OpBytes {
		f.foldBytes()
	} else {
		f.foldInts()
	}
	f.stats.CombineOut++
	return f.err == nil && f.in.Err() == nil
}

// step moves to the next record and reports whether it has the same key.
func (f *foldRun) step() bool {
	f.stats.CombineIn++
	if f.more = f.in.Next(); !f.more {
		return false
	}
	key := f.in.Key()
	if f.compare == nil {
		return bytes.Equal(key, f.kv[:f.keyLen])
	}
	if f.compare(key, f.kv[:f.keyLen]) != 0 {
		return false
	}
	if bytes.Compare(key, f.kv[:f.keyLen]) < 0 {
		f.kv = append(f.kv[:0], key...)
		f.keyLen = len(f.kv)
	}
	return true
}

func (f *foldRun) foldInts() {
	acc, ok := decodeInt(f.in.Value())
	for ok && f.step() {
		var v int64
		v, ok = decodeInt(f.in.Value())
		acc = f.fold.Op.apply(acc, v)
	}
	if !ok {
		f.err = notAnInt(f.in.Key(), f.in.Value())
		return
	}
	f.kv = encodeInt(f.kv, acc)
}

func (f *foldRun) foldBytes() {
	f.acc = append(f.acc[:0], f.in.Value()...)
	for f.step() {
		f.acc = f.fold.Bytes(f.acc, f.in.Value())
	}
	f.kv = append(f.kv, f.acc...)
}

func notAnInt(key, value []byte) error {
	return fmt.Errorf("fold: value of key %.64q has %d bytes, an integer has 8", key, len(value))
}

func (f *foldRun) Key() []byte           { return f.kv[:f.keyLen:f.keyLen] }
func (f *foldRun) Value() []byte         { return f.kv[f.keyLen:] }
func (f *foldRun) Record() ([]byte, int) { return f.kv, f.keyLen }

func (f *foldRun) Err() error {
	if f.err != nil {
		return f.err
	}
	return f.in.Err()
}

func (f *foldRun) Close() error { return f.in.Close() }
