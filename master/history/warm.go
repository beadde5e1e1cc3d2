package history

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"github.com/millrace/millrace/internal/wire"
)

// maxWarm is how many summaries are kept in memory.
const maxWarm = 256

// warm keeps summaries of the jobs that were last written or asked for, so that a page about a job with hundreds of
// thousands of events does not read them all. Take mu only within guarded: a failing disk may block its holder for
// ever.
type warm struct {
	mu    sync.Mutex // guards the fields below, and is held while entries are written
	jobs  map[uint64]*warmJob
	order []uint64 // in which they came
}

type warmJob struct {
	*summary
	last []byte // key of the last event that is in it
}

func (w *warm) put(n uint64, j *warmJob) {
	if w.jobs == nil {
		w.jobs = map[uint64]*warmJob{}
	}
	if w.jobs[n] == nil {
		w.order = append(w.order, n)
	}
	w.jobs[n] = j
	for len(w.order) > maxWarm {
		delete(w.jobs, w.order[0])
		w.order = w.order[1:]
	}
}

// take updates the summaries with an entry that was written. A late entry, from the journal, is out of order: its job's
// summary is rebuilt when somebody asks for it.
func (w *warm) take(n uint64, key []byte, e *Entry) {
	if e.Kind == wire.PastSubmitted {
		w.put(n, &warmJob{summary: newSummary()})
	}
	j := w.jobs[n]
	if j == nil {
		return
	}
	if bytes.Compare(key, j.last) <= 0 {
		delete(w.jobs, n)
		w.order = slices.DeleteFunc(w.order, func(m uint64) bool { return m == n })
		return
	}
	ev := e.PastEvent
	ev.Counts = nil
	j.event(&ev)
	j.last = key
}

// summaryOf returns the summary of a job with all that is written.
func (s *Store) summaryOf(j *wire.PastJob) (*wire.PastSummary, error) {
	n := number(j.Job)
	w := &s.warm
	w.mu.Lock()
	defer w.mu.Unlock()
	found := w.jobs[n]
	if found == nil {
		found = &warmJob{summary: newSummary()}
		if err := s.read(n, found); err != nil { // mu keeps writers out: they could add an event before an older one was read
			return nil, err
		}
		w.put(n, found)
	}
	return found.finish(j), nil
}

// read adds all events of a job.
func (s *Store) read(n uint64, j *warmJob) error {
	return s.eachKey(eventsOf(n), eventsOf(n+1), func(key, value []byte) (bool, error) {
		e, err := parseEvent(value, true)
		if err == nil {
			j.event(&e)
			j.last = append(j.last[:0], key...)
		}
		return true, err
	})
}

// finish returns the summary as of now.
func (m *summary) finish(j *wire.PastJob) *wire.PastSummary {
	out := *m.out
	out.PastJob, out.Local = *j, maps.Clone(m.out.Local)
	out.Slowest, out.Failed = slices.Clone(m.out.Slowest), slices.Clone(m.out.Failed)
	out.Phases = m.phasesOf(j)
	out.Attempts = max(out.Attempts, m.tries)
	return &out
}
