package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/millrace/millrace/internal/wire"
)

// A Store is an open history.
type Store struct {
	cfg  Config
	db   *pebble.DB
	wake chan struct{}
	stop chan struct{}
	done chan struct{} // the writer has ended
	dead chan struct{} // closed when the disk has failed; why is the error

	mu      sync.Mutex // guards the fields below
	queue   []Entry
	behind  bool   // the queue lacks entries that must be read from the journal
	dropped int64  // entries that were lost for good
	applied uint64 // the last record of the journal that is in the store
	missing error  // what was missing at the start
	why     error
	closed  bool
	used    map[string]int64 // bytes of ended jobs, by user

	jobs  int              // in the store; used by the writer only
	texts map[string]*text // by their sums; used by the writer only
	hard  atomic.Bool      // syncs of the log must reach the disk
	warm  warm
}

// Open opens the history in a directory and begins to catch up with the journal.
func Open(cfg Config) (*Store, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Store{
		cfg: cfg, behind: true, used: map[string]int64{}, texts: map[string]*text{}, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}), dead: make(chan struct{}),
	}
	if err := s.guard(s.open); err != nil {
		return nil, fmt.Errorf("history %s: %w", cfg.Dir, err)
	}
	go s.writer()
	return s, nil
}

func (s *Store) open() (err error) {
	opts := &pebble.Options{
		FS: walFS{s.cfg.FS, &s.hard}, FormatMajorVersion: pebble.FormatNewest, CacheSize: 8 << 20, MemTableSize: 4 << 20, MaxOpenFiles: 200,
		Logger: logger{s},
		EventListener: &pebble.EventListener{BackgroundError: func(err error) {
			if !errors.Is(err, pebble.ErrCancelledCompaction) {
				s.cfg.Log.Warn("history", "error", err)
			}
		}},
	}
	if s.db, err = pebble.Open(s.cfg.Dir, opts); err != nil {
		return err
	}
	if err := s.load(); err != nil {
		return errors.Join(err, s.db.Close())
	}
	return nil
}

// load checks the format and reads how far the history has come.
func (s *Store) load() error {
	format, err := s.meta(formatKey)
	if err == nil && format == 0 {
		err = s.db.Set(formatKey, binary.BigEndian.AppendUint64(nil, Version), pebble.Sync)
	}
	if err != nil {
		return err
	}
	if format > Version {
		return wire.Errorf(wire.Invalid, "is of version %d; this program knows version %d", format, Version)
	}
	if s.applied, err = s.meta(appliedKey); err != nil {
		return err
	}
	err = s.eachKey([]byte{jobKey}, []byte{jobKey + 1}, func(key, value []byte) (bool, error) {
		s.jobs++
		j, err := parseJob(value)
		if err == nil {
			s.charge(j, 1)
			s.refer(binary.BigEndian.Uint64(key[1:]), j.Under)
		}
		return true, err
	})
	if err != nil {
		return err
	}
	if err := s.count(); err != nil {
		return err
	}
	return s.loadTexts()
}

// count compares the jobs that there are with how many the last batch left. A version before this one did not count.
func (s *Store) count() error {
	jobs, err := s.meta(jobsKey)
	if err != nil {
		return err
	}
	if missing := int64(jobs) - int64(s.jobs); missing > 0 {
		s.lose(wire.Errorf(wire.Corrupt, "%d of %d jobs are missing: files of the history were damaged or cut", missing, jobs))
	}
	return nil
}

// lose notes that something is gone for good.
func (s *Store) lose(what error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missing = errors.Join(s.missing, what)
	s.cfg.Log.Error("history", "lost", what)
}

// meta returns a stored number, or 0 if it is not there.
func (s *Store) meta(key []byte) (uint64, error) {
	v, err := s.get(key)
	if err != nil || v == nil {
		return 0, err
	}
	if len(v) != 8 {
		return 0, wire.Errorf(wire.Corrupt, "history: a number of %d bytes", len(v))
	}
	return binary.BigEndian.Uint64(v), nil
}

// get returns a copy of a value, or nil if there is none.
func (s *Store) get(key []byte) ([]byte, error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v = append([]byte{}, v...)
	return v, closer.Close()
}

// eachKey calls fn with the keys from start up to end until fn returns false. fn may use its arguments only during the
// call.
func (s *Store) eachKey(start, end []byte, fn func(key, value []byte) (bool, error)) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: end})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		more := false
		if err == nil {
			more, err = fn(it.Key(), value)
		}
		if err != nil || !more {
			return errors.Join(err, it.Close())
		}
	}
	return errors.Join(it.Error(), it.Close())
}

// guard runs fn and shields the master from what pebble does about a failed disk: it panics, or calls Fatalf while it
// holds its locks. After that the store is dead and nothing touches it again.
func (s *Store) guard(fn func() error) error {
	_, err := guarded(s, func() (struct{}, error) { return struct{}{}, fn() })
	return err
}

// guarded is guard for a function with a result. fn may still run when guarded has given up, so it shares nothing with
// its caller.
func guarded[T any](s *Store, fn func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	var zero T
	if s.failed() {
		return zero, s.Problem()
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				s.die(fmt.Errorf("%v", v))
			}
		}()
		v, err := fn()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-s.dead:
		return zero, s.Problem()
	}
}

// die marks the store as dead.
func (s *Store) die(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		s.why = wire.Errorf(wire.Internal, "the history has failed and is not written until the master is restarted: %w", err)
		s.queue = nil
		close(s.dead)
		s.cfg.Log.Error("the history has failed; the master goes on without", "error", err)
	}
}

// Problem returns an error that says why the history is no longer written, or what is missing from it.
func (s *Store) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != nil {
		return s.why
	}
	if s.dropped > 0 {
		return errors.Join(s.missing, fmt.Errorf("%d events of attempts are missing: there were more than could be written", s.dropped))
	}
	return s.missing
}

// failed reports whether the store is dead.
func (s *Store) failed() bool {
	select {
	case <-s.dead:
		return true
	default:
		return false
	}
}

// Close writes what waits in the queue and closes the store. It may be called twice.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		close(s.stop)
	}
	<-s.done
	if !first || s.failed() {
		return nil // what a failed disk left open stays open
	}
	return s.guard(s.db.Close)
}

// logger discards pebble's messages and stops pebble from ending the process.
type logger struct{ s *Store }

func (logger) Infof(string, ...any) {}

func (l logger) Errorf(format string, args ...any) {
	l.s.cfg.Log.Warn("history", "error", fmt.Sprintf(format, args...))
}

// Fatalf must not return: its caller would go on with a broken store.
func (l logger) Fatalf(format string, args ...any) {
	l.s.die(fmt.Errorf(format, args...))
	select {}
}
