package history

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"github.com/millrace/millrace/internal/wire"
)

// summarise updates the row of a job if the event says something about it.
func (s *Store) summarise(rows map[uint64]*wire.PastJob, n uint64, e *Entry) error {
	switch e.Kind {
	case wire.PastSubmitted, wire.PastAdmitted, wire.PastPlanned, wire.PastEnded:
	default:
		return nil
	}
	j := rows[n]
	if j == nil {
		v, err := s.get(keyOfJob(n))
		if err != nil {
			return err
		}
		if v == nil {
			s.jobs++
			j = &wire.PastJob{Job: e.Job, Stages: 1, State: wire.Queued}
		} else if j, err = parseJob(v); err != nil {
			return err
		}
		rows[n] = j
	}
	apply(j, e)
	return nil
}

// apply updates a row by an event. Applying an event twice changes nothing more.
func apply(j *wire.PastJob, e *Entry) {
	switch e.Kind {
	case wire.PastSubmitted:
		j.Submitted, j.SubmittedWall = e.At, e.Wall
		if sp := e.Spec; sp != nil {
			j.Name, j.User, j.Queue, j.Output, j.Stages, j.Deadline = sp.Name, sp.User, sp.Queue, sp.Output, sp.Stages, sp.Deadline
			j.Pool, j.Priority, j.Weight, j.Recurring, j.Under = sp.Pool, sp.Priority, sp.Weight, sp.Recurring, sp.Under
			j.Slowstart, j.ReduceCost, j.Expect = sp.Slowstart, sp.ReduceCost, new(sp.Expect)
			if j.Program = sp.Program.Builtin; j.Program == "" {
				j.Program = sp.Program.Hash
			}
		}
	case wire.PastAdmitted:
		if e.Stage == 0 && j.Admitted == 0 {
			j.Admitted = e.At
		}
	case wire.PastPlanned:
		if e.Stage < j.Stage {
			return
		}
		if j.Stage = e.Stage + 1; e.Stage == 0 {
			j.Planned = e.At
		}
		j.State = wire.Running
		j.Maps, j.Reduces = j.Maps+int(e.Maps), j.Reduces+int(e.Reduces)
	case wire.PastEnded:
		j.State, j.Error, j.Ended, j.EndedWall, j.Counts, j.Attempts = e.State, e.Text, e.At, e.Wall, e.Counts, e.Tries
	}
}

// retain removes the oldest ended jobs until the history is within its limits.
func (s *Store) retain() error {
	used := int64(s.db.Metrics().DiskSpaceUsage())
	now := s.cfg.Wall()
	var gone []uint64
	err := s.eachKey([]byte{jobKey}, []byte{jobKey + 1}, func(key, value []byte) (bool, error) {
		j, err := parseJob(value)
		if err != nil {
			return false, err
		}
		old := s.cfg.MaxAge > 0 && now.UnixMilli()-j.EndedWall > s.cfg.MaxAge.Milliseconds()
		many := s.cfg.MaxJobs > 0 && s.jobs-len(gone) > s.cfg.MaxJobs
		large := s.cfg.MaxBytes > 0 && used > s.cfg.MaxBytes
		if !many && !large && !old {
			return !j.Over(), nil // the jobs after the first that stays are younger
		}
		if !j.Over() {
			return true, nil
		}
		n := binary.BigEndian.Uint64(key[1:])
		size, err := s.db.EstimateDiskUsage(eventsOf(n), eventsOf(n+1))
		used -= int64(size)
		gone = append(gone, n)
		return len(gone) < maxGone, err
	})
	if err == nil && len(gone) > 0 {
		err = s.remove(gone)
	}
	if err != nil {
		return err
	}
	return s.retainUsers()
}

// maxGone is how many jobs are removed at a time.
const maxGone = 10_000

// remove deletes jobs and frees their disk space.
func (s *Store) remove(jobs []uint64) error {
	b := s.db.NewBatch()
	for _, n := range jobs {
		if v, err := s.get(keyOfJob(n)); err == nil && v != nil {
			if j, err := parseJob(v); err == nil {
				s.charge(j, -1)
				if err := s.forget(b, n, j); err != nil {
					return err
				}
			}
		}
		if err := b.Delete(keyOfJob(n), nil); err != nil {
			return err
		}
		if err := b.DeleteRange(eventsOf(n), eventsOf(n+1), nil); err != nil {
			return err
		}
	}
	if err := s.putJobs(b, s.jobs-len(jobs)); err != nil {
		return err
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return err
	}
	s.jobs -= len(jobs)
	s.cfg.Log.Info("history: old jobs are forgotten", "jobs", len(jobs))
	return nil
}
