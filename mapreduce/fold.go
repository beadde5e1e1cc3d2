package mapreduce

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A Fold is an associative, commutative way to make one value of two. A [Job] with a Fold aggregates map output in a
// hash table before any sort, and again at every merge, so it needs no reduce. The zero Fold means none.
type Fold struct {
	name    string
	resolve func(value Type) (FoldPlan, error)
}

// IsZero reports whether the fold is absent.
func (f Fold) IsZero() bool { return f.resolve == nil }

// String returns the fold's name.
func (f Fold) String() string { return f.name }

// Plan says how the fold works on values of the given type.
func (f Fold) Plan(value Type) (FoldPlan, error) {
	if value == nil {
		value = Bytes
	}
	p, err := f.resolve(value)
	if err != nil {
		return FoldPlan{}, fmt.Errorf("fold %s: %w", f.name, err)
	}
	return p, nil
}

// IntOp is a fold of integers that engines do without calling user code.
type IntOp uint8

// Integer folds; NoIntOp means [FoldPlan.Merge] does the work.
const (
	NoIntOp IntOp = iota
	SumInt
	MinInt
	MaxInt
)

// A FoldPlan is a fold bound to a value type, for engines.
type FoldPlan struct {
	// Int is set for folds of 8-byte integers ([Int64] encoding).
	Int IntOp
	// Lift turns an emitted value into an accumulator. Nil means that it already is one.
	Lift func(dst, value []byte) []byte
	// Merge folds value (an accumulator) into acc and returns it; it may reuse
	// acc's memory. Set exactly when Int is NoIntOp.
	Merge func(acc, value []byte) []byte
	// Settle turns the accumulator of all values into the result. Nil means that it already is one.
	Settle func(dst, acc []byte) []byte
	// Value is the type of results.
	Value Type
}

// The folds of numbers. They work on integers other than uint and uint64, on floats, and on types made of them. A sum
// of floats is exact and rounded once, at the end, so it is the same in any order. Count works on any type and yields
// int64.
var (
	Sum   = Fold{"sum", numeric(SumInt, FoldPlan{Lift: liftFloat, Merge: addExact, Settle: roundSum})}
	Min   = Fold{"min", numeric(MinInt, chosen(func(a, b float64) float64 { return min(a, b) }))}
	Max   = Fold{"max", numeric(MaxInt, chosen(func(a, b float64) float64 { return max(a, b) }))}
	Count = Fold{"count", func(Type) (FoldPlan, error) {
		one := Int64.Append(nil, 1)
		return FoldPlan{
			Int: SumInt, Value: Int64,
			Lift: func(dst, _ []byte) []byte { return append(dst, one...) },
		}, nil
	}}
)

// FoldOf makes a fold from user code. fn must be associative and commutative. Floats that fn adds are not quite: the
// last digits of their sum depend on how many maps and spills there are. [Sum] has no such digits.
func FoldOf[V any](name string, fn func(acc, value V) V) Fold {
	c := CodecFor[V]()
	return Fold{name, func(value Type) (FoldPlan, error) {
		if !fits(encodingOf(value), encodingOf(c)) {
			return FoldPlan{}, &typeError{fmt.Sprintf("values are %s, it takes %s: use one type for both", value.TypeName(), c.TypeName())}
		}
		return FoldPlan{Value: c, Merge: func(acc, value []byte) []byte {
			v := fn(mustDecode(c, acc), mustDecode(c, value))
			return c.Append(acc[:0], v)
		}}, nil
	}}
}

// TopK keeps the k largest values of each key, largest first. Values must be of a
// type that [Sum] works on.
func TopK(k int) Fold {
	return Fold{fmt.Sprintf("top-%d", k), func(value Type) (FoldPlan, error) {
		if k < 1 {
			return FoldPlan{}, fmt.Errorf("k is %d, must be at least 1", k)
		}
		if !isInteger(value) && !isFloat(value) {
			return FoldPlan{}, fmt.Errorf("values are %s, must be numbers other than uint and uint64", value.TypeName())
		}
		return FoldPlan{
			Value: listType{value},
			Merge: func(acc, more []byte) []byte { return mergeTop(acc, more, 8*k) },
		}, nil
	}}
}

func numeric(op IntOp, floats FoldPlan) func(Type) (FoldPlan, error) {
	return func(value Type) (FoldPlan, error) {
		switch {
		case isInteger(value):
			return FoldPlan{Int: op, Value: value}, nil
		case isFloat(value):
			p := floats
			p.Value = value
			return p, nil
		}
		return FoldPlan{}, fmt.Errorf("values are %s, must be numbers other than uint and uint64", value.TypeName())
	}
}

// chosen folds floats by a function that returns one of two.
func chosen(one func(a, b float64) float64) FoldPlan {
	return FoldPlan{Merge: func(acc, v []byte) []byte {
		return Float64.Append(acc[:0], one(mustDecode(Float64, acc), mustDecode(Float64, v)))
	}}
}

// isInteger reports whether values have the encoding of [Int64].
func isInteger(t Type) bool {
	_, ok := plainType(t).(interface{ int64s() })
	return ok
}

// isFloat reports whether values have the encoding of [Float64].
func isFloat(t Type) bool {
	_, ok := plainType(t).(interface{ float64s() })
	return ok
}

// plainType returns the built-in type of which a type is made.
func plainType(t Type) Type {
	if n, ok := t.(interface{ plain() Type }); ok {
		return n.plain()
	}
	return t
}

// mergeTop merges two descending lists of 8-byte numbers and keeps limit bytes.
func mergeTop(acc, more []byte, limit int) []byte {
	for len(more) >= 8 {
		v := binary.BigEndian.Uint64(more)
		more = more[8:]
		at := 0
		for at < len(acc) && binary.BigEndian.Uint64(acc[at:]) >= v {
			at += 8
		}
		if at >= limit {
			return acc // the rest of more is smaller still
		}
		acc = slices.Insert(acc, at, binary.BigEndian.AppendUint64(nil, v)...)
		acc = acc[:min(len(acc), limit)]
	}
	return acc
}

// listType prints a list of 8-byte values, separated by spaces.
type listType struct{ of Type }

func (t listType) TypeName() string { return "list(" + t.of.TypeName() + ")" }

func (t listType) AppendText(dst, encoded []byte) []byte {
	for i := 0; i+8 <= len(encoded); i += 8 {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = t.of.AppendText(dst, encoded[i:i+8])
	}
	return dst
}
