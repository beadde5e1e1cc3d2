package master

import (
	"encoding/json"
	"time"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
)

// jobsSegment is the size of the journal's files: small, so that those that a snapshot replaces can soon be deleted.
const jobsSegment = 1 << 20

// A jobLog is the jobs' journal and the snapshot that replaces its beginning. Only the loop uses it, except for what
// compact does in another goroutine.
type jobLog struct {
	fs       disk.FS
	journal  *journal.Journal
	snapshot int64 // bytes of the last snapshot
	since    int64 // bytes of the records after it
	busy     bool  // a snapshot is being written
	retry    time.Duration
}

// openJobLog replays the records of an earlier master: those of the snapshot, then those after it.
func (m *Master) openJobLog(fsys disk.FS, cfg journal.Config) (err error) {
	m.log.fs = fsys
	born := int64(0) // the latest birth that a record implies: a clock that was behind for a while adds no time
	replay := func(r *tracker.Record) {
		m.texts.take(r)
		m.base = max(m.base, r.At)
		if r.Wall > 0 {
			born = max(born, r.Wall-r.At.Milliseconds())
		}
		m.jobs.Replay(r)
	}
	seq, size, err := readSnapshot(fsys, replay)
	if err != nil {
		return err
	}
	m.log.snapshot = size
	m.log.journal, err = journal.Open(fsys, "journal", cfg, seq+1, func(_ uint64, payload []byte) error {
		r, err := decodeRecord(payload)
		if err != nil {
			return err
		}
		m.log.since += int64(len(payload))
		replay(r)
		return nil
	})
	if err != nil {
		return err
	}
	if born > 0 { // the time without a master counts, if the clock is right
		m.base = max(m.base, time.Since(time.UnixMilli(born))-time.Since(m.begin))
	}
	m.firstSeq = m.log.journal.Durable()
	m.last = m.firstSeq
	return nil
}

func decodeRecord(payload []byte) (*tracker.Record, error) {
	r := &tracker.Record{}
	if err := json.Unmarshal(payload, r); err != nil {
		return nil, wire.Errorf(wire.Corrupt, "a record of the jobs: %w", err)
	}
	return r, nil
}

// keep appends records. It adds the time of day where users will want to know it.
func (m *Master) keep(records []tracker.Record) error {
	for i := range records {
		r := &records[i]
		if r.Kind == tracker.Submitted || r.Kind == tracker.JobEnded {
			r.Wall = time.Now().UnixMilli()
		}
		m.texts.take(r)
		payload, err := json.Marshal(stored(r))
		if err != nil {
			return err
		}
		if len(payload) > journalRecord {
			m.cfg.Log.Error("a record of a job is too large and is kept without its details", "job", r.Job, "kind", r.Kind, "bytes", len(payload))
			if payload, err = json.Marshal(bare(*r)); err != nil {
				return err
			}
		}
		if m.last, err = m.log.journal.AppendAnyway(payload); err != nil {
			return err
		}
		m.log.since += int64(len(payload))
		m.logRecord(r)
	}
	return nil
}

// journalRecord is the size of the largest record that the jobs' journal takes. The limits on requests are far below. A
// record that is larger all the same must not stop the master.
const journalRecord = 8 << 20

// bare returns a record without the texts of users, programs and workers.
func bare(r tracker.Record) tracker.Record {
	r.Text, r.Counts, r.Bad = wire.Clip(r.Text, wire.MaxReason), nil, nil
	if r.Task != nil {
		t := *r.Task
		t.Counts, t.Bad = nil, nil
		r.Task = &t
	}
	return r
}

// compactFrom is the size below which a journal is not compacted.
const compactFrom = 4 << 20

// maybeCompact, called in the loop, starts a goroutine that writes a snapshot when the records after the last one have
// outgrown it. Journal and snapshot together are then never far above twice the live state.
func (m *Master) maybeCompact() {
	if m.log.busy || m.log.since < max(m.log.snapshot, m.cfg.compactFrom()) || m.now() < m.log.retry {
		return
	}
	m.log.busy = true
	records, seq, upTo := m.snapshot(), m.last, m.log.since
	m.wg.Go(func() {
		size, err := m.compact(seq, records)
		m.do(func(now time.Duration) {
			m.log.busy = false
			if err != nil {
				m.log.retry = now + time.Minute
				m.cfg.Log.Warn("the jobs' journal cannot be made shorter", "error", err)
				return
			}
			m.log.snapshot, m.log.since = size, m.log.since-upTo
		})
	})
}

// snapshot returns all that the tracker knows. Its first record has the time of now, and so says when the cluster
// began.
func (m *Master) snapshot() []tracker.Record {
	records := m.jobs.Snapshot(m.now())
	records[0].Wall = time.Now().UnixMilli()
	return records
}

// compact writes a snapshot and drops the records that it replaces. A crash at any point leaves a snapshot and all
// records after it: compact writes the snapshot once its records are durable, and drops them after that.
func (m *Master) compact(seq uint64, records []tracker.Record) (int64, error) {
	if err := m.log.journal.Wait(seq); err != nil {
		return 0, err
	}
	size, err := writeSnapshot(m.log.fs, seq, records)
	if err != nil {
		return 0, err
	}
	keep := seq + 1
	if m.past != nil {
		keep = min(keep, m.past.Keep()) // the history may still have to read them
	}
	return size, m.log.journal.DropBefore(keep)
}

func (c *Config) compactFrom() int64 {
	if c.CompactFrom > 0 {
		return c.CompactFrom
	}
	return compactFrom
}

// maxSpec bounds a submission, in bytes. It is far below the limit of a record and far above what a job needs.
const maxSpec = 1 << 20

// checkSize refuses a submission that is too large for the journal.
func checkSize(spec *wire.JobSpec) error {
	b, err := json.Marshal(spec)
	if err == nil && len(b) > maxSpec {
		err = wire.Errorf(wire.TooLarge, "the job's description takes %d bytes, at most %d: put long lists into a side file", len(b), maxSpec)
	}
	return err
}
