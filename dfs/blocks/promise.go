package blocks

import (
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// promiseStep is how many bytes of a volume's room are promised to a writer at a time. Larger: the disk is
// asked less often. Smaller: many writers that write nothing take less room from others.
const promiseStep = 4 << 20

// use takes n bytes of the promise, and enlarges it first if it is too small. The lock must be held.
func (w *Writer) use(n int64) error {
	if w.promised < n {
		more := max(n, min(promiseStep, w.size-w.n))
		if _, free := w.r.vol.room(); free < more {
			return wire.Errorf(wire.NoSpace, "%s: volume %s has %d bytes free beyond its reserve and what is promised to others", w.r.block.ID, w.r.vol.id, free)
		}
		w.promise(more)
	}
	w.promise(-n)
	return nil
}

// promise adds n bytes to the writer's promise. The lock must be held.
func (w *Writer) promise(n int64) {
	w.promised += n
	w.r.vol.pending.Add(n)
}

// Leave notes that the client has disconnected from the writer, and frees the space that was promised to it. A
// client that resumes the block gets a new promise.
func (w *Writer) Leave(now time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.left {
		return
	}
	w.left, w.leftAt = true, now
	w.promise(-w.promised)
}

// abandoned reports whether no client is connected to the writer.
func (w *Writer) abandoned() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left && !w.over
}

// writers returns the writers of unfinished replicas.
func (s *Store) writers() (out []*Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.replicas {
		if r.writer != nil {
			out = append(out, r.writer)
		}
	}
	return out
}

// sweep removes unfinished replicas to which no client has been connected since then.
func (s *Store) sweep(since time.Duration) {
	for _, w := range s.writers() {
		w.mu.Lock()
		stale := w.left && w.leftAt < since && !w.over
		w.mu.Unlock()
		if stale {
			w.Discard()
		}
	}
}
