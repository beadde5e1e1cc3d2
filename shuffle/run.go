package shuffle

// Run is a sorted stream of records. Only one goroutine may use it. Key and Value are valid after a Next that
// returned true and until the following Next or Close; the caller must not change them. After the end, Err says
// whether the stream was complete. Close may be called twice and at any time.
type Run interface {
	Next() bool
	Key() []byte
	Value() []byte
	Err() error
	Close() error
}

// Recorder is implemented by the runs of this package. It returns key and value in one slice, valid while Key is.
type Recorder interface {
	Record() (kv []byte, keyLen int)
}

// Source is something sorted that a merge can open, once or several times.
type Source interface {
	Open() (Run, error)
}

// stream is one input of a merge: a feeder of stored records, a range of a sorted
// index, or any Run.
type stream struct {
	prefix uint64 // of the current key; 0 with a Compare function
	from   uint32 // the map of the current record
	marked bool   // stored keys begin with the number of their map
	kv     []byte // current record
	keyLen int
	done   bool
	late   *late // the current record while most of it is on disk; kv is not set then
	lost   error // why late could not be read
	fills  int   // how often memory of earlier records was released
	plain  bool  // keys are in byte order, so prefixes count
	err    error

	buf  []byte // stored records to come
	feed feeder

	idx   *index // sorted entries in memory, with their arena
	arena *arena
	i, hi int
	ahead *[lookahead][]byte // where the next records of the index are
	recs  [][]byte           // the part of it in use
	at    int                // next of recs

	ext     Run
	onClose func() error
}

var (
	_ Run      = (*stream)(nil)
	_ Recorder = (*stream)(nil)
)

// Next moves to the next record.
func (s *stream) Next() bool {
	if len(s.buf) > 0 {
		return s.parse()
	}
	if s.idx != nil && s.i < s.hi {
		s.fromIndex()
		return true
	}
	return s.refill()
}

// fromIndex takes the next record of the index, after prefetching later ones.
func (s *stream) fromIndex() {
	if s.at == len(s.recs) {
		s.recs = s.ahead[:min(lookahead, s.hi-s.i)]
		s.arena.lookup(s.idx, s.i, s.recs)
		s.at = 0
	}
	b := s.recs[s.at]
	s.prefix = s.idx.at(s.i).prefix
	s.at++
	s.i++
	k, v, h, _ := parseHeader(b)
	s.kv, s.keyLen = b[h:h+k+v:h+k+v], k
}

// parse takes the next record from buf.
func (s *stream) parse() bool {
	k, v, h, ok := parseHeader(s.buf)
	if !ok {
		return s.fail(corruptf("segment", 0, int64(len(s.buf)), "record crosses the end of its frame"))
	}
	end := h + k + v
	s.kv, s.keyLen = s.buf[h:end:end], k
	s.buf = s.buf[end:]
	if s.marked && !s.unmark() {
		return false
	}
	if s.plain {
		s.prefix = prefixOf(s.kv[:s.keyLen])
	}
	return true
}

// refill is Next when no record is ready.
func (s *stream) refill() bool {
	switch {
	case s.done:
		return false
	case s.ext != nil:
		return s.nextExternal()
	case s.feed == nil:
		return s.fail(nil)
	}
	s.fills++
	s.late = nil
	b, err := s.feed.more()
	if err != nil || len(b) == 0 {
		return s.fail(err)
	}
	if r, ok := s.feed.(*frameReader); ok && r.late != nil {
		return s.enterLate(r.late)
	}
	s.buf = b
	return s.parse()
}

func (s *stream) nextExternal() bool {
	if !s.ext.Next() {
		return s.fail(s.ext.Err())
	}
	key := s.ext.Key()
	s.fills++
	s.kv = append(append(s.kv[:0], key...), s.ext.Value()...)
	s.keyLen = len(key)
	if s.plain {
		s.prefix = prefixOf(key)
	}
	return true
}

// fail ends the stream.
func (s *stream) fail(err error) bool {
	s.done, s.err, s.buf, s.kv, s.keyLen = true, err, nil, nil, 0
	return false
}

// Key returns the current key.
func (s *stream) Key() []byte { return s.kv[:s.keyLen:s.keyLen] }

// Value returns the current value.
func (s *stream) Value() []byte { return s.kv[s.keyLen:] }

// Record returns key and value in one slice.
func (s *stream) Record() ([]byte, int) { return s.kv, s.keyLen }

// Err returns what ended the stream early.
func (s *stream) Err() error { return s.err }

// Close releases what the stream holds.
func (s *stream) Close() error {
	s.done, s.buf, s.idx = true, nil, nil
	var err error
	if s.feed != nil {
		err = s.feed.close()
		s.feed = nil
	}
	if s.ext != nil {
		err = s.ext.Close()
		s.ext = nil
	}
	if s.onClose != nil {
		done := s.onClose
		s.onClose = nil
		if derr := done(); err == nil {
			err = derr
		}
	}
	return err
}
