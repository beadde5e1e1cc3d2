package shuffle

import (
	"bytes"
	"context"
	"errors"
)

// checkEvery is how many records pass between looks at the context.
const checkEvery = 4096

// mergedRun is the merge of open streams.
type mergedRun struct {
	ctx     context.Context
	streams []*stream
	tree    *loserTree
	cur     *stream
	compare func(a, b []byte) int
	left    int // records until the next look at the context
	err     error
	leave   func() // gives back the turn of whole; nil without a turn
	held    int64  // the largest giant of this turn
	small   int    // records since the last giant of this turn
	onClose func() error
}

var (
	_ Run      = (*mergedRun)(nil)
	_ Recorder = (*mergedRun)(nil)
)

// newMergedRun merges streams, which it then owns, in the order of compare. onClose, if not nil, is called after
// they are closed, and again if the run is closed again.
func newMergedRun(ctx context.Context, streams []*stream, compare func(a, b []byte) int, onClose func() error) *mergedRun {
	for _, s := range streams {
		s.plain = compare == nil
	}
	return &mergedRun{ctx: ctx, streams: streams, compare: compare, onClose: onClose}
}

// Next moves to the next record of all streams.
func (m *mergedRun) Next() bool {
	if m.left--; m.left < 0 {
		if !m.check() {
			return false
		}
	}
	if m.tree == nil {
		return m.start()
	}
	s := m.cur
	prefix, kv, keyLen, fills, from := s.prefix, s.kv, s.keyLen, s.fills, s.from
	if !s.Next() && s.err != nil {
		return m.fail(s.err)
	}
	if s.prefix == prefix && s.fills == fills && s.plain && s.from == from && !s.done && bytes.Equal(s.kv[:s.keyLen], kv[:keyLen]) {
		return true // the same key of the same map again, so the same winner
	}
	if len(m.streams) > 1 {
		m.tree.replay()
		m.cur = m.streams[m.tree.winner.src]
	}
	if (m.cur.late != nil || m.leave != nil) && !m.whole() {
		return false
	}
	return !m.cur.done
}

// whole reads all of the next record into memory. Merges with giants take turns. A merge keeps its turn until it has
// met two records in a row that are not giants, or ends, because its folds and groups hold copies of the previous
// giant.
func (m *mergedRun) whole() bool {
	l := m.cur.late
	if l == nil {
		if m.small++; m.small == 2 || m.cur.done {
			m.pass()
		}
		return true
	}
	size := int64(frameHeader) + int64(l.frame.stored)
	if m.small = 0; m.leave == nil || size > m.held {
		m.pass()
		leave, err := l.r.mem.acct.pool.Giant(m.ctx, size)
		if err != nil {
			return m.fail(err)
		}
		m.leave, m.held = leave, size
	}
	if err := m.cur.whole(); err != nil {
		return m.fail(err)
	}
	return true
}

// pass passes the turn to others.
func (m *mergedRun) pass() {
	if m.leave != nil {
		m.leave()
		m.leave = nil
	}
}

// check checks the context now and then.
func (m *mergedRun) check() bool {
	m.left = checkEvery
	if m.err == nil {
		m.err = canceled(m.ctx)
	}
	return m.err == nil
}

// start moves all streams to their first record.
func (m *mergedRun) start() bool {
	if len(m.streams) == 0 {
		return false
	}
	for _, s := range m.streams {
		if !s.Next() && s.err != nil {
			return m.fail(s.err)
		}
	}
	m.tree = newLoserTree(m.streams, m.compare)
	m.cur = m.streams[m.tree.winner.src]
	return m.whole() && !m.cur.done
}

// fail ends the run for good.
func (m *mergedRun) fail(err error) bool {
	m.err = err
	m.left = 0
	return false
}

func (m *mergedRun) Key() []byte           { return m.cur.Key() }
func (m *mergedRun) Value() []byte         { return m.cur.Value() }
func (m *mergedRun) Record() ([]byte, int) { return m.cur.kv, m.cur.keyLen }
func (m *mergedRun) Err() error            { return m.err }

// Close closes all streams.
func (m *mergedRun) Close() error {
	errs := closeStreams(m.streams)
	m.streams, m.tree = nil, nil
	m.cur = nil
	m.pass()
	if m.onClose != nil {
		errs = append(errs, m.onClose())
	}
	return errors.Join(errs...)
}

func closeStreams(streams []*stream) []error {
	var errs []error
	for _, s := range streams {
		if err := s.Close(); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
