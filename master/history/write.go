package history

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/millrace/millrace/internal/wire"
)

// Add queues entries, in order. It never blocks and keeps at most Config.Queue entries: those of the journal that do
// not fit are read from it later, others are lost and counted.
func (s *Store) Add(entries []Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != nil || s.closed {
		return // the journal has what matters
	}
	for i := range entries {
		e := &entries[i]
		switch {
		case len(s.queue) >= s.cfg.Queue && e.inJournal():
			s.behind = true
		case len(s.queue) >= s.cfg.Queue:
			s.dropped++
		case s.behind && e.inJournal():
			// It will be read from the journal with those before it.
		default:
			s.queue = append(s.queue, *e)
		}
	}
	s.nudge()
}

func (s *Store) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Applied returns the last record of the journal that is in the store.
func (s *Store) Applied() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.applied
}

// sweepEvery is how often the limits are checked if no job ends.
const sweepEvery = 10 * time.Minute

// writer is the only goroutine that writes.
func (s *Store) writer() {
	defer close(s.done)
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	s.nudge()
	for {
		sweep, last := false, false
		select {
		case <-s.wake:
		case <-t.C:
			sweep = true
		case <-s.dead:
			return
		case <-s.stop:
			last = true
		}
		ended, err := s.writeAll()
		if err == nil && (sweep || ended) && !last {
			err = s.guard(s.retain)
		}
		if errors.Is(err, errStopped) {
			return // the next start goes on from here
		}
		if err != nil && !s.failed() {
			s.die(err)
		}
		if last || s.failed() {
			return
		}
	}
}

// writeAll writes what waits. It reads from the journal what the queue lacks.
func (s *Store) writeAll() (ended bool, err error) {
	for {
		s.mu.Lock()
		behind, batch := s.behind, s.queue
		s.queue = nil
		// From here on the queue has no gap: what is durable now is read from the journal, and what comes later is
		// queued.
		s.behind = false
		s.mu.Unlock()
		if !behind && len(batch) == 0 {
			return ended, nil
		}
		if behind {
			// Every earlier record is durable by now or will be added: entries are added once they are durable.
			if err := s.catchUp(s.cfg.Durable()); err != nil {
				return ended, err
			}
			ended = true // some job may have
		}
		for chunk := range slices.Chunk(batch, batchSize) {
			e, err := s.write(chunk, 0)
			if err != nil {
				return ended, err
			}
			ended = ended || e
		}
	}
}

// catchUp reads the journal up to the record to.
func (s *Store) catchUp(to uint64) error {
	from := s.Applied() + 1
	if to+1 < from {
		s.lose(wire.Errorf(wire.Corrupt, "the jobs' journal ends at record %d, the history has been written up to %d: the journal was cut", to, from-1))
		s.mu.Lock()
		s.applied = to // records of these numbers will come again
		s.mu.Unlock()
	}
	if to < from {
		return nil
	}
	var batch []Entry
	first, err := s.cfg.Scan(from, to, func(seq uint64, entries []Entry) error {
		if batch = append(batch, entries...); len(batch) < batchSize {
			return nil
		}
		select {
		case <-s.stop:
			return errStopped
		default:
		}
		_, err := s.write(batch, seq)
		batch = batch[:0]
		return err
	})
	if err != nil {
		return err
	}
	if first > from {
		s.lose(wire.Errorf(wire.Corrupt, "records %d to %d of the jobs' journal are in neither journal nor history", from, first-1))
	}
	_, err = s.write(batch, to)
	return err
}

// batchSize is about how many entries are written in one step.
const batchSize = 2048

var errStopped = wire.Errorf(wire.Canceled, "the history is being closed")

// write puts entries into the store in one batch, together with how far the journal has been read: to, or the last
// record among them.
func (s *Store) write(entries []Entry, to uint64) (ended bool, err error) {
	from := s.Applied()
	for i := range entries {
		if entries[i].inJournal() {
			to = max(to, entries[i].Seq)
		}
		ended = ended || entries[i].Kind == wire.PastEnded
	}
	entries = slices.Clone(entries) // the next batch may overwrite them while a failing disk hangs
	if err := s.guard(func() error { return s.put(entries, from, max(from, to)) }); err != nil {
		return false, err
	}
	s.mu.Lock()
	s.applied = max(s.applied, to)
	s.mu.Unlock()
	return ended, nil
}

// put writes entries; from is the last record that is already in the store.
func (s *Store) put(entries []Entry, from, to uint64) error {
	b := s.db.NewBatch()
	rows := map[uint64]*wire.PastJob{}
	written, sizes := make([]*Entry, 0, len(entries)), map[uint64]int64{}
	for i := range entries {
		e := &entries[i]
		n := number(e.Job)
		if n == 0 || e.inJournal() && e.Seq <= from {
			continue
		}
		key, value := keyOfEvent(n, e), encodeEvent(&e.PastEvent)
		if err := b.Set(key, value, nil); err != nil {
			return err
		}
		sizes[n] += int64(len(key) + len(value))
		if err := s.summarise(rows, n, e); err != nil {
			return err
		}
		written = append(written, e)
	}
	if err := s.measure(rows, sizes); err != nil {
		return err
	}
	s.warm.mu.Lock()
	defer s.warm.mu.Unlock()
	if err := s.commit(b, rows, to); err != nil {
		return err
	}
	for _, e := range written {
		n := number(e.Job)
		s.warm.take(n, keyOfEvent(n, e), e)
	}
	return nil
}

func (s *Store) commit(b *pebble.Batch, rows map[uint64]*wire.PastJob, applied uint64) error {
	for n, j := range rows {
		if err := s.putJob(b, n, j); err != nil {
			return err
		}
	}
	if err := s.putJobs(b, s.jobs); err != nil {
		return err
	}
	if err := b.Set(appliedKey, binary.BigEndian.AppendUint64(nil, applied), nil); err != nil {
		return err
	}
	return b.Commit(pebble.Sync) // walFS decides whether this reaches the disk
}

// putJobs notes how many jobs there are, in the newest batch: what is lost of older ones shows in that.
func (s *Store) putJobs(b *pebble.Batch, n int) error {
	return b.Set(jobsKey, binary.BigEndian.AppendUint64(nil, uint64(n)), nil)
}

// Keep makes what is written durable and returns the record of the journal below which the store needs nothing. A store
// that has failed needs nothing at all.
func (s *Store) Keep() uint64 {
	applied := s.Applied()
	s.hard.Store(true)
	defer s.hard.Store(false)
	if err := s.guard(func() error { return s.db.LogData(nil, pebble.Sync) }); err != nil {
		return 1 << 63
	}
	return applied + 1
}
