package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/task"
)

// stage is one job of a chain while it runs.
type stage struct {
	r    *Runner
	job  *mapreduce.Job
	last bool
	env  task.Env
	plan *task.Plan
	out  *task.JobOutput
	maps []*shuffle.Output // by task; nil for a map-only job
	kept []bool            // whether the output was in memory when its map ended
	bad  int               // records skipped
	res  StageResult
}

func (s *stage) run(ctx context.Context) (err error) {
	began := time.Now()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, s.release())
		if err != nil {
			err = errors.Join(err, s.out.Abort())
		}
	}()
	s.res.Plan = time.Since(began)
	if err := s.timed(&s.res.Map, func() error { return s.mapPhase(ctx) }); err != nil {
		return err
	}
	if err := s.plan.CheckInput(s.env.Store, s.job); err != nil {
		return err
	}
	if s.plan.Reducers > 0 {
		if err := s.timed(&s.res.Reduce, func() error { return s.reducePhase(ctx) }); err != nil {
			return err
		}
		s.countMoved()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.r.gauge.enter(Committing, 1, 0)
	return s.timed(&s.res.Commit, s.out.Commit)
}

func (s *stage) timed(into *time.Duration, fn func() error) error {
	began := time.Now()
	err := fn()
	*into = time.Since(began)
	return err
}

func (s *stage) prepare(ctx context.Context) (err error) {
	s.env = s.r.env
	if s.env.Compression, err = compressionOf(s.job); err != nil {
		return err
	}
	if s.env.SideDir, err = s.sideFiles(); err != nil {
		return err
	}
	if s.out, err = task.PrepareOwnOutput(s.env.Store, s.job, s.last && s.r.cfg.Overwrite); err != nil {
		return err
	}
	if s.plan, err = task.MakePlan(ctx, &s.env, s.job, s.r.layout); err != nil {
		return errors.Join(failed(err, 1), s.out.Abort())
	}
	if err = s.out.CheckInput(s.env.Store, s.plan); err != nil {
		return errors.Join(err, s.out.Abort())
	}
	s.res.Maps, s.res.Reduces = len(s.plan.Splits), s.plan.Reducers
	return nil
}

// compressionOf returns the compression of a job. The default is none: on one machine spills go to the page cache,
// where compressing costs more than it saves.
func compressionOf(job *mapreduce.Job) (shuffle.Compression, error) {
	if job.Compression == "" {
		return shuffle.None, nil
	}
	return shuffle.ParseCompression(job.Compression)
}

// sideFiles links the job's side files into one directory.
func (s *stage) sideFiles() (string, error) {
	dir := filepath.Join(s.env.Scratch, fmt.Sprintf("side-%d", s.r.gauge.stage.Load()))
	for i, f := range s.job.SideFiles {
		if i == 0 {
			if err := os.Mkdir(dir, 0o755); err != nil {
				return "", fmt.Errorf("side files: %w", err)
			}
		}
		if slices.Contains(s.job.SideFiles[:i], f) {
			continue
		}
		abs, err := filepath.Abs(f)
		if err == nil {
			_, err = os.Stat(abs)
		}
		if err == nil {
			err = task.PlaceSide(abs, filepath.Join(dir, filepath.Base(f)))
		}
		if err != nil {
			return "", fmt.Errorf("side file %q: %w", f, err)
		}
	}
	return dir, nil
}

func (s *stage) mapPhase(ctx context.Context) error {
	s.maps = make([]*shuffle.Output, len(s.plan.Splits))
	s.kept = make([]bool, len(s.plan.Splits))
	s.r.gauge.enter(Mapping, len(s.plan.Splits), s.plan.Bytes)
	return s.each(ctx, len(s.plan.Splits), func(ctx context.Context, index, attempt int) error {
		w := s.work(mapreduce.MapTask, index, attempt)
		res, err := task.RunMap(ctx, w, s.plan.Splits[index])
		s.r.gauge.ended(w.Meter, err)
		if err != nil {
			return err
		}
		return s.took(index, res)
	})
}

func (s *stage) work(kind mapreduce.Kind, index, attempt int) *task.Work {
	id := task.ID{Kind: kind, Index: index, Attempt: attempt}
	return &task.Work{Env: &s.env, Job: s.job, Plan: s.plan, ID: id, Out: s.out, Meter: s.r.gauge.begins()}
}

// took records a finished map.
func (s *stage) took(index int, res task.MapResult) error {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.maps[index] = res.Output
	s.kept[index] = res.Output != nil && res.Output.Path() == ""
	if err := s.count(res.Counts); err != nil {
		return err
	}
	s.r.res.Skipped = append(s.r.res.Skipped, res.Skipped...)
	s.bad += len(res.Skipped)
	if n := s.bad; n > s.job.SkipBadRecords {
		bad := s.r.res.Skipped[len(s.r.res.Skipped)-1]
		return finalError{fmt.Errorf("%d bad records, more than the %d that may be skipped; the last: %s at offset %d: %s",
			n, s.job.SkipBadRecords, bad.File, bad.Offset, bad.Reason)}
	}
	return nil
}

func (s *stage) reducePhase(ctx context.Context) error {
	s.r.gauge.enter(Reducing, s.plan.Reducers, s.shuffleBytes())
	return s.each(ctx, s.plan.Reducers, func(ctx context.Context, index, attempt int) error {
		w := s.work(mapreduce.ReduceTask, index, attempt)
		res, err := task.RunReduce(ctx, w, task.Sources(s.sources(index)))
		s.r.gauge.ended(w.Meter, err)
		if err != nil {
			return err
		}
		s.r.mu.Lock()
		defer s.r.mu.Unlock()
		return s.count(res.Counts)
	})
}

// count adds the counters of a task. All stages together may have as many counters as on a cluster. The caller holds
// s.r.mu.
func (s *stage) count(c mapreduce.Counts) error {
	if err := s.r.all.CheckSum(c); err != nil {
		return finalError{fmt.Errorf("counters: %w", err)}
	}
	s.r.all.Add(c)
	s.res.Counts.Add(c)
	return nil
}

// countMoved counts map output that was first kept in memory and then went to disk when others needed the room. It
// is a spill like any other.
func (s *stage) countMoved() {
	moved := map[string]int64{}
	for i, m := range s.maps {
		if !s.kept[i] || m.Path() == "" {
			continue
		}
		moved[mapreduce.Spills]++
		for p := range s.plan.Reducers {
			moved[mapreduce.SpilledRecords] += m.Info(p).Records
			moved[mapreduce.SpilledBytes] += m.Info(p).StoredBytes
		}
	}
	if len(moved) > 0 {
		s.res.Counts.Add(mapreduce.Counts{mapreduce.TaskGroup: moved})
	}
}

// sources lists every map's output for one reduce.
func (s *stage) sources(partition int) []shuffle.Source {
	var out []shuffle.Source
	for _, m := range s.maps {
		if m.Info(partition).Records > 0 {
			out = append(out, m.Source(partition))
		}
	}
	return out
}

func (s *stage) shuffleBytes() (n int64) {
	for _, m := range s.maps {
		for p := range s.plan.Reducers {
			n += m.Info(p).RawBytes
		}
	}
	return n
}

// release frees all map output.
func (s *stage) release() error {
	var errs []error
	for _, m := range s.maps {
		if m != nil {
			errs = append(errs, m.Release())
		}
	}
	return errors.Join(errs...)
}
