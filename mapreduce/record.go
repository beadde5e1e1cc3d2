package mapreduce

// A Record is one unit of input as an [InputFormat] delivers it.
// The slices are valid until the mapper returns.
type Record struct {
	Key    []byte // empty for formats without keys, such as text lines
	Value  []byte
	Offset int64 // of the record's first byte in its (decompressed) file
}

// An Emitter takes the output of a mapper, combiner or reducer. It copies its arguments before it returns. It is not
// safe for concurrent use.
type Emitter interface {
	Emit(key, value []byte)
	// EmitInt is Emit with the value encoded as [Int64] does. Folds of integers
	// take it without encoding anything.
	EmitInt(key []byte, value int64)
}

// Values is the stream of one group of a reduce: call Next before each value.
// Key is the key of the current value; under a [Job.Group] order it changes from
// value to value. Both slices are valid until the following Next.
type Values interface {
	Next() bool
	Key() []byte
	Value() []byte
}

// A Mapper handles one record after another. Only one goroutine calls it.
//
// It may also implement [ChunkMapper], [Finisher] and io.Closer.
type Mapper interface {
	Map(r Record, out Emitter) error
}

// A ChunkMapper takes many whole records at once if the input format can provide them (text lines, fixed-size
// records). That is a tight loop over memory in place of a call per record. The chunk holds whole records only;
// offset is the place of its first byte. It must emit what calling Map for each record would emit.
type ChunkMapper interface {
	Mapper
	MapChunk(chunk []byte, offset int64, out Emitter) error
}

// A Finisher is called once after the last record or group of an attempt and may still emit: the place to emit what
// was collected on the way. Combiners are never finished, as they run on any part of the pairs. What must be
// released however the attempt ends belongs in a Close method (io.Closer), which is called last. An attempt whose
// Close fails has failed.
type Finisher interface {
	Finish(out Emitter) error
}

// A Reducer handles one group after another, in key order. It may leave values unread. Only one goroutine calls it.
// It may also implement [Finisher] and io.Closer.
type Reducer interface {
	Reduce(key []byte, values Values, out Emitter) error
}

// MapperFunc is a stateless [Mapper].
type MapperFunc func(r Record, out Emitter) error

// Map calls f.
func (f MapperFunc) Map(r Record, out Emitter) error { return f(r, out) }

// ReducerFunc is a stateless [Reducer].
type ReducerFunc func(key []byte, values Values, out Emitter) error

// Reduce calls f.
func (f ReducerFunc) Reduce(key []byte, values Values, out Emitter) error {
	return f(key, values, out)
}

// A Map says how records become key-value pairs. The generic constructors build
// it; write the literal to use the bytes core.
type Map struct {
	// New makes the mapper of one attempt. It is the place for set-up.
	New func(*Task) (Mapper, error)
	// Format reads the input. Nil means [Text].
	Format InputFormat
	// Key and Value say how emitted bytes read as text, how folds add them, and what may take them. Nil means plain
	// bytes.
	Key, Value Type
	// InKey and InValue are the types of the pairs that it takes from record files. Nil takes any bytes.
	InKey, InValue Type
}

// IsZero reports whether the map is absent.
func (m Map) IsZero() bool { return m.New == nil }

// A Reduce says what happens to each group of values. A combiner has the same form. The zero Reduce passes every
// pair on unchanged.
type Reduce struct {
	// New makes the reducer of one attempt. It is the place for set-up.
	New func(*Task) (Reducer, error)
	// Key and Value are the types of what it emits. Nil means plain bytes; of a combiner, the types of the map.
	Key, Value Type
	// InKey and InValue are the types of the pairs that it takes. Nil takes any bytes.
	InKey, InValue Type

	oneKey bool // it sees only the first key of a group
}

// IsZero reports whether the reduce is absent.
func (r Reduce) IsZero() bool { return r.New == nil }
