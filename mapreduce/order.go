package mapreduce

import (
	"bytes"

	"github.com/zeebo/xxh3"
)

// An Order orders encoded keys, and says by that which are equal. [Compare] is one made of a function. Orders that
// also have a method
//
//	Hash(key []byte) uint64
//
// with one result for all keys that they call equal, tell [HashPartition] what to hash, so that equal keys meet in one
// reduce: [ByKey] and [Descending] do.
type Order interface {
	// Of is negative if a comes before b, and 0 if the two are equal. Several goroutines may call it at once.
	Of(a, b []byte) int
}

// hashed is an Order that brings its own hash.
type hashed interface{ Hash(key []byte) uint64 }

// CompareOf returns an order as a function, or nil for the order of bytes.
func CompareOf(o Order) Compare {
	switch o := o.(type) {
	case nil:
		return nil
	case Compare:
		return o
	}
	return o.Of
}

// Descending is the natural order reversed.
var Descending Order = descending{}

type descending struct{}

func (descending) Of(a, b []byte) int     { return bytes.Compare(b, a) }
func (descending) Hash(key []byte) uint64 { return xxh3.Hash(key) }

// ByKey orders keys by what part makes of them: ByKey(strings.ToLower) is blind to case, and
// ByKey(func(v visit) string { return v.User }) puts all visits of a user into one [Job.Group]. Parts are ordered as keys of
// their type are, and keys with equal parts go to one reduce.
func ByKey[K, P any](part func(key K) P) Order {
	return keyOrder[K, P]{CodecFor[K](), CodecFor[P](), part}
}

type keyOrder[K, P any] struct {
	key  Codec[K]
	to   Codec[P]
	part func(K) P
}

func (o keyOrder[K, P]) append(dst, key []byte) []byte {
	return o.to.Append(dst, o.part(mustDecode(o.key, key)))
}

func (o keyOrder[K, P]) Of(a, b []byte) int {
	var x, y [64]byte
	return bytes.Compare(o.append(x[:0], a), o.append(y[:0], b))
}

func (o keyOrder[K, P]) Hash(key []byte) uint64 {
	var x [64]byte
	return xxh3.Hash(o.append(x[:0], key))
}

// hashOrder distributes keys by the hash of their order.
type hashOrder struct{ hashed }

func (o hashOrder) Partition(key, _ []byte, n int) int { return int(o.Hash(key) % uint64(n)) }

// Equality returns the order that says which keys belong together, Group or else Sort, and the name of its field. Nil
// means those of equal bytes.
func (j *Job) Equality() (order Order, field string) {
	switch {
	case CompareOf(j.Group) != nil:
		return j.Group, "Group"
	case CompareOf(j.Sort) != nil:
		return j.Sort, "Sort"
	}
	return nil, ""
}

// defaultPartition is the Partitioner of a job that has none.
func (j *Job) defaultPartition() Partitioner {
	if o, _ := j.Equality(); o != nil {
		if h, ok := o.(hashed); ok {
			return hashOrder{h}
		}
	}
	return HashPartition{}
}

// validateOrder refuses an order that calls different bytes equal, for all that is known, where keys are divided by
// their bytes.
func (j *Job) validateOrder() error {
	o, field := j.Equality()
	if _, ok := o.(hashed); ok || o == nil || j.MapOnly || j.Partition != nil || j.Reducers == 1 {
		return nil
	}
	return &FieldError{field, "says which keys are equal, but not what they have in common, and without a Partition keys are divided by the hash of their bytes: " +
		"equal keys could go to different reduces. Use ByKey, or set Partition to HashBy with the part that is compared " +
		"(or to HashPartition{}, if only keys of equal bytes are equal), or Reducers to 1"}
}
