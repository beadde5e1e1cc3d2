package history

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/millrace/millrace/internal/wire"
)

// The limits of one answer.
const (
	maxJobs   = 1000
	maxEvents = 5000
)

// Job returns what is known of a job as a whole.
func (s *Store) Job(id wire.JobID) (*wire.PastJob, error) {
	return guarded(s, func() (*wire.PastJob, error) {
		v, err := s.get(keyOfJob(number(id)))
		if err == nil && v == nil {
			err = wire.Errorf(wire.NotFound, "there is no job %s, and the history does not know it", id)
		}
		if err != nil {
			return nil, err
		}
		return (&reader{s: s}).job(v)
	})
}

// Jobs returns jobs, newest first.
func (s *Store) Jobs(q wire.PastQuery) (out wire.PastJobs, err error) {
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	limit = min(limit, maxJobs)
	end := []byte{jobKey + 1}
	if q.Before != "" {
		end = keyOfJob(number(q.Before))
	}
	out, err = guarded(s, func() (wire.PastJobs, error) {
		out := wire.PastJobs{Jobs: []wire.PastJob{}}
		it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{jobKey}, UpperBound: end})
		if err != nil {
			return out, err
		}
		rows := reader{s: s}
		for ok := it.Last(); ok && !out.More; ok = it.Prev() {
			j, err := rows.job(it.Value())
			if err != nil {
				return out, errors.Join(err, it.Close())
			}
			switch {
			case q.User != "" && j.User != q.User, q.State != "" && j.State != q.State, j.SubmittedWall < q.Since:
			case len(out.Jobs) == limit:
				out.More = true
			default:
				j.Counts = nil
				out.Jobs = append(out.Jobs, *j)
			}
		}
		return out, errors.Join(it.Error(), it.Close())
	})
	if p := s.Problem(); p != nil {
		out.Problem = p.Error()
	}
	return out, err
}

// Events returns the events of a job, a page at a time.
func (s *Store) Events(r wire.PastEventsRequest) (wire.PastEvents, error) {
	n := number(r.Job)
	start, end := eventsOf(n), eventsOf(n+1)
	if len(r.From) > 0 {
		if len(r.From) != 16 {
			return wire.PastEvents{}, wire.Errorf(wire.Invalid, "a place of %d bytes in the events of %s", len(r.From), r.Job)
		}
		start = append(start, r.From...)
	}
	limit := maxEvents
	if r.Limit > 0 {
		limit = min(r.Limit, maxEvents)
	}
	return guarded(s, func() (wire.PastEvents, error) {
		out := wire.PastEvents{Events: []wire.PastEvent{}}
		err := s.eachKey(start, end, func(key, value []byte) (bool, error) {
			if len(out.Events) == limit {
				out.Next = append([]byte{}, key[9:]...)
				return false, nil
			}
			e, err := parseEvent(value, r.Brief)
			out.Events = append(out.Events, e)
			return true, err
		})
		return out, err
	})
}

// each calls fn with every event of a job.
func (s *Store) each(id wire.JobID, fn func(e *wire.PastEvent)) error {
	n := number(id)
	return s.eachKey(eventsOf(n), eventsOf(n+1), func(_, value []byte) (bool, error) {
		e, err := parseEvent(value, true) // of attempts and their ends only
		if err == nil {
			fn(&e)
		}
		return true, err
	})
}

// maxAttempts bounds the attempts of one answer.
const maxAttempts = 200

// Attempts returns the attempts of a task, oldest first. Without a task it returns drivers and the attempts that failed
// or were lost.
func (s *Store) Attempts(r wire.AttemptsRequest) ([]wire.PastAttempt, error) {
	return guarded(s, func() ([]wire.PastAttempt, error) {
		out, at := []wire.PastAttempt{}, map[uint64]int{}
		err := s.each(r.Job, func(e *wire.PastEvent) {
			want := e.Task == r.Task && e.Index == r.Index && e.Stage == r.Stage
			if r.Task == "" {
				want = e.Task == wire.DriverTask || e.Kind == wire.PastFailed || e.Kind == wire.PastLost
			}
			if !want || e.Try == 0 || e.Kind == wire.PastOutputLost {
				return
			}
			i, ok := at[e.Try]
			if !ok && len(out) == maxAttempts {
				return
			}
			if !ok {
				i = len(out)
				at[e.Try] = i
				out = append(out, begun(e))
			}
			note(&out[i], e)
		})
		return out, err
	})
}

// begun returns an attempt of which only this event is known.
func begun(e *wire.PastEvent) wire.PastAttempt {
	return wire.PastAttempt{
		Stage: e.Stage, Task: e.Task, Index: e.Index, Try: e.Try, Number: e.Number, Node: e.Node,
		Begin: max(0, e.At-e.Millis*1e6),
	}
}

// note adds to an attempt what an event says about it.
func note(a *wire.PastAttempt, e *wire.PastEvent) {
	switch e.Kind {
	case wire.PastLaunched:
		// A restarted master reports running attempts again: the earlier begin is the true one.
		a.Begin, a.Node, a.Locality, a.Second = min(a.Begin, e.At), e.Node, e.Locality, e.Second
	case wire.PastDone, wire.PastFailed, wire.PastLost, wire.PastStopped:
		if a.How != wire.PastDone {
			a.End, a.How, a.Text = e.At, e.Kind, e.Text
		}
		if a.Node == "" {
			a.Node = e.Node
		}
	}
}
