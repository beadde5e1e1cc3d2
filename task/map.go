package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

// A MapResult is the result of a successful map attempt.
type MapResult struct {
	// Output is sorted and partitioned; nil for a map-only job. Whoever receives the result releases it.
	Output  *shuffle.Output
	Counts  mapreduce.Counts
	Skipped []mapreduce.BadRecord
}

// RunMap runs one attempt of map task w.ID.Index over its split. In a map-only job it writes to a part of w.Out,
// which it commits; otherwise it does not use w.Out. Of the plan it needs only the partitions, not the splits.
func RunMap(ctx context.Context, w *Work, split Split) (MapResult, error) {
	m := &mapAttempt{
		attempt: newAttempt(ctx, w),
		split:   split,
		// A second try maps record by record, so that it can name the bad record and skip it.
		exact: w.ID.Attempt > 0,
	}
	if m.exact {
		m.maySkip = w.Job.SkipBadRecords
	}
	return alone(m.attempt, func() (res MapResult, err error) {
		err = m.computing(func() (err error) {
			res, err = m.run(w.Out)
			return err
		})
		return res, err
	})
}

func (m *mapAttempt) run(out *JobOutput) (MapResult, error) {
	if m.job.MapOnly {
		return m.runToPart(out)
	}
	return m.runToShuffle()
}

type mapAttempt struct {
	*attempt
	split   Split
	out     failer
	exact   bool // one call per record, even if chunks are available
	maySkip int
	skipped []mapreduce.BadRecord

	mapper mapreduce.Mapper
	chunks mapreduce.ChunkMapper // nil if records are mapped one by one
	read   int64                 // records
	giant  bool                  // a record was so large that its buffer matters
}

func (m *mapAttempt) runToShuffle() (MapResult, error) {
	c, err := m.collector()
	if err != nil {
		return MapResult{}, err
	}
	defer c.Discard() // no-op after Finish
	output, err := m.collect(c)
	if err = errors.Join(err, m.release(m.combine)); err != nil {
		if output != nil {
			err = errors.Join(err, output.Release())
		}
		return MapResult{}, err
	}
	m.countShuffle(c.Stats())
	for p := range m.plan.Reducers {
		m.count(mapreduce.ShuffleRecords, output.Info(p).Records)
		m.count(mapreduce.ShuffleBytes, output.Info(p).StoredBytes)
	}
	return m.result(output), nil
}

// collect runs the mapper into c and returns what it collected.
func (m *mapAttempt) collect(c *shuffle.Collector) (*shuffle.Output, error) {
	if err := m.readSplit(); err != nil {
		return nil, err
	}
	m.out.end()
	if m.giant {
		runtime.GC() // the reader's buffer is garbage now, and Finish may need as much
	}
	output, err := c.Finish()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.task, err)
	}
	return output, nil
}

func (m *mapAttempt) runToPart(out *JobOutput) (MapResult, error) {
	part, err := out.create(mapreduce.MapTask, m.id)
	if err != nil {
		return MapResult{}, err
	}
	defer part.Discard()
	w, err := part.open(m.job, m.split.Input, m.task)
	if err != nil {
		return MapResult{}, err
	}
	m.out = w
	if err := m.readSplit(); err != nil {
		return MapResult{}, err
	}
	m.out.end()
	if err := part.Commit(); err != nil {
		return MapResult{}, fmt.Errorf("%s: %w", m.task, err)
	}
	m.count(mapreduce.MapOutputRecords, w.records)
	m.count(mapreduce.OutputRecords, w.records)
	m.count(mapreduce.OutputBytes, part.bytes)
	return m.result(nil), nil
}

func (m *mapAttempt) result(output *shuffle.Output) MapResult {
	m.count(mapreduce.MapInputRecords, m.read)
	m.count(mapreduce.MapInputBytes, m.split.Bytes())
	m.count(mapreduce.MapSkippedRecords, int64(len(m.skipped)))
	return MapResult{Output: output, Counts: m.counters.Snapshot(), Skipped: m.skipped}
}

// readSplit runs the mapper over the whole split.
func (m *mapAttempt) readSplit() (err error) {
	in := m.job.AllInputs()[m.split.Input]
	err = m.userCode(func() (err error) {
		m.mapper, err = in.Map.New(m.task)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.release(m.mapper)) }()
	if c, ok := m.mapper.(mapreduce.ChunkMapper); ok && !m.exact {
		m.chunks = c
	}
	for _, r := range m.split.Ranges {
		if err := m.readRange(r, in.Map); err != nil {
			return err
		}
	}
	return m.finish()
}

func (m *mapAttempt) finish() error {
	f, ok := m.mapper.(mapreduce.Finisher)
	if !ok {
		return nil
	}
	err := m.userCode(func() error { return f.Finish(m.out) })
	return cmp.Or(m.out.Failure(), err) // user code may fail of it
}

func (m *mapAttempt) readRange(r Range, in mapreduce.Map) error {
	f, err := openInput(m.env.Store, r.Path, m.plan.versions[r.Path])
	if err != nil {
		return err
	}
	defer f.Close()
	m.task.SetInput(r.Path)
	m.place = place{file: r.Path, offset: r.Offset}
	reader, err := formatOf(in).Open(mapreduce.Source{
		Name: r.Path, R: f, Size: f.Size(), Offset: r.Offset, Length: r.Length,
		MaxRecord: m.env.maxRecord(m.job), Giant: m.giants(), Plain: r.Offset > 0, InKey: in.InKey, InValue: in.InValue,
	})
	if err != nil {
		return err
	}
	defer reader.Close()
	if cr, ok := reader.(mapreduce.ChunkReader); ok && m.chunks != nil {
		err = m.eachChunk(cr)
	} else {
		err = m.eachRecord(reader)
	}
	return errors.Join(err, reader.Err())
}

func (m *mapAttempt) eachChunk(r mapreduce.ChunkReader) error {
	return m.runUser(func() error {
		for {
			chunk, offset, ok := r.NextChunk()
			if !ok {
				return nil
			}
			m.place.offset = offset
			if err := m.chunks.MapChunk(chunk, offset, m.out); err != nil {
				return m.blame(err)
			}
			m.read += r.RecordsIn(chunk)
			m.giant = m.giant || len(chunk) >= giantRecord
			if err := m.checkpoint(int64(len(chunk))); err != nil {
				return err
			}
		}
	})
}

// giantRecord is far above the usual buffers of readers.
const giantRecord = 1 << 20

// recordsPerCheck is after how many records an attempt checks whether it is still wanted.
const recordsPerCheck = 256

func (m *mapAttempt) eachRecord(r mapreduce.RecordReader) error {
	if m.maySkip > 0 {
		return m.eachRecordSkipping(r)
	}
	return m.runUser(func() error {
		var bytes int64
		for n := 1; r.Next(); n++ {
			rec := r.Record()
			m.place.offset = rec.Offset
			if err := m.mapper.Map(rec, m.out); err != nil {
				return m.blame(err)
			}
			m.read++
			m.task.Alive()
			bytes += int64(len(rec.Key) + len(rec.Value) + 1)
			if n%recordsPerCheck == 0 || bytes > 1<<20 {
				m.giant = m.giant || bytes >= giantRecord
				if err := m.checkpoint(bytes); err != nil {
					return err
				}
				bytes = 0
			}
		}
		return m.checkpoint(bytes)
	})
}

// checkpoint reports progress and ends the attempt if it failed or is not wanted.
func (m *mapAttempt) checkpoint(bytes int64) error {
	m.task.Alive()
	m.meter.Bytes.Add(bytes)
	m.meter.Records.Store(m.read)
	if err := m.out.Failure(); err != nil {
		return m.outputError(err)
	}
	m.pause(leastPause)
	return m.ctx.Err()
}

func (m *mapAttempt) outputError(err error) error {
	if errors.Is(err, errEnough) {
		return err
	}
	return fmt.Errorf("%s: output of the record before %s: %w", m.task, m.place, err)
}

// eachRecordSkipping guards each record by itself, and holds its output until it is known to be good.
func (m *mapAttempt) eachRecordSkipping(r mapreduce.RecordReader) error {
	hold := holdEmitter{task: m.task}
	for r.Next() {
		rec := r.Record()
		m.place.offset = rec.Offset
		err := m.userCode(func() error { return m.mapper.Map(rec, &hold) })
		m.read++
		if err != nil {
			if len(m.skipped) >= m.maySkip {
				return fmt.Errorf("more than %d bad records: %w", m.maySkip, err)
			}
			hold.pairs = hold.pairs[:0]
			m.skipped = append(m.skipped, mapreduce.BadRecord{File: m.place.file, Offset: rec.Offset, Reason: errors.Unwrap(err).Error()})
			continue
		}
		hold.release(m.out)
		if err := m.checkpoint(int64(len(rec.Key) + len(rec.Value) + 1)); err != nil {
			return err
		}
	}
	return nil
}
