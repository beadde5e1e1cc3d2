package mapreduce

import (
	"fmt"
	"iter"
)

// Groups reduces the values of each key. The sequence can be iterated only once, and until fn returns. For a job with
// [Job.Group], whose groups have several keys, there is [Pairs].
func Groups[K, V, KO, VO any](fn func(key K, values iter.Seq[V], emit func(key KO, value VO))) Reduce {
	return GroupsWith(func(*Task) (func(K, iter.Seq[V], func(KO, VO)), error) { return fn, nil })
}

// GroupsWith is [Groups] with set-up: each attempt calls setup once and owns the returned function, which may
// therefore keep state and count.
func GroupsWith[K, V, KO, VO any](setup func(*Task) (func(key K, values iter.Seq[V], emit func(key KO, value VO)), error)) Reduce {
	kc, vc := CodecFor[K](), CodecFor[V]()
	r := typedReduce(kc, vc, func(t *Task) (func(*turn, []byte, func(KO, VO)), error) {
		fn, err := setup(t)
		return func(now *turn, key []byte, emit func(KO, VO)) {
			fn(mustDecode(kc, key), values(now, vc), emit)
		}, err
	})
	r.oneKey = true
	return r
}

// Pairs reduces the pairs of each group, in the order of [Job.Sort], with the key of each: under [Job.Group] it
// changes from pair to pair. The sequence can be iterated only once, and until fn returns.
func Pairs[K, V, KO, VO any](fn func(pairs iter.Seq2[K, V], emit func(key KO, value VO))) Reduce {
	return PairsWith(func(*Task) (func(iter.Seq2[K, V], func(KO, VO)), error) { return fn, nil })
}

// PairsWith is [Pairs] with set-up: each attempt calls setup once and owns the returned function, which may therefore
// keep state and count.
func PairsWith[K, V, KO, VO any](setup func(*Task) (func(pairs iter.Seq2[K, V], emit func(key KO, value VO)), error)) Reduce {
	kc, vc := CodecFor[K](), CodecFor[V]()
	return typedReduce(kc, vc, func(t *Task) (func(*turn, []byte, func(KO, VO)), error) {
		fn, err := setup(t)
		return func(now *turn, _ []byte, emit func(KO, VO)) {
			fn(pairs(now, kc, vc), emit)
		}, err
	})
}

// typedReduce builds the Reduce shared by all typed constructors.
func typedReduce[K, V, KO, VO any](kc Codec[K], vc Codec[V], setup func(*Task) (func(now *turn, key []byte, emit func(KO, VO)), error)) Reduce {
	ko, vo := CodecFor[KO](), CodecFor[VO]()
	return Reduce{
		Key: ko, Value: vo, InKey: kc, InValue: vc,
		New: func(t *Task) (Reducer, error) {
			fn, err := setup(t)
			if err != nil {
				return nil, err
			}
			out, now := newTypedEmitter(t, ko, vo), &turn{task: t}
			return ReducerFunc(func(key []byte, values Values, to Emitter) error {
				out.to, now.in = to, values
				fn(now, key, out.emit)
				out.to = out.late
				now.n++
				return nil
			}), nil
		},
	}
}

// turn is the group that user code now has. Sequences of earlier groups know a smaller number.
type turn struct {
	task *Task
	in   Values
	n    int
}

// next moves to the next pair of group n.
func (now *turn) next(n int) bool {
	if now.n != n {
		panic(fmt.Sprintf("mapreduce: %s reads values of an earlier group: they are there until the reducer returns; keep them, not the sequence", now.task))
	}
	return now.in.Next()
}

func values[V any](now *turn, c Codec[V]) iter.Seq[V] {
	n := now.n
	return func(yield func(V) bool) {
		for now.next(n) && yield(mustDecode(c, now.in.Value())) {
			continue
		}
	}
}

func pairs[K, V any](now *turn, kc Codec[K], vc Codec[V]) iter.Seq2[K, V] {
	n := now.n
	return func(yield func(K, V) bool) {
		for now.next(n) && yield(mustDecode(kc, now.in.Key()), mustDecode(vc, now.in.Value())) {
			continue
		}
	}
}
