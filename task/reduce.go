package task

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

// A ReduceResult is the result of a successful reduce attempt, beside its committed part.
type ReduceResult struct {
	Counts mapreduce.Counts
}

// An Intake is the source of a reduce's input. Merge is called once. It may wait for maps that still run, and
// returns everything they have for this reduce as one sorted run.
type Intake interface {
	Merge(ctx context.Context, cfg shuffle.MergeConfig) (shuffle.Run, error)
}

// Sources is input that exists already.
type Sources []shuffle.Source

// Merge merges the sources.
func (s Sources) Merge(ctx context.Context, cfg shuffle.MergeConfig) (shuffle.Run, error) {
	return shuffle.Merge(ctx, cfg, s)
}

// RunReduce runs one attempt of reduce task w.ID.Index over its share of every map's
// output and commits one part of w.Out.
func RunReduce(ctx context.Context, w *Work, sources Intake) (ReduceResult, error) {
	r := &reduceAttempt{attempt: newAttempt(ctx, w)}
	return alone(r.attempt, func() (ReduceResult, error) { return r.runToPart(sources, w.Out) })
}

func (r *reduceAttempt) runToPart(sources Intake, out *JobOutput) (ReduceResult, error) {
	part, err := out.create(mapreduce.ReduceTask, r.id)
	if err != nil {
		return ReduceResult{}, err
	}
	defer part.Discard()
	if r.out, err = part.open(r.job, 0, r.task); err != nil {
		return ReduceResult{}, err
	}
	if err := r.run(sources); err != nil {
		return ReduceResult{}, err
	}
	r.out.end()
	if err := part.Commit(); err != nil {
		return ReduceResult{}, fmt.Errorf("%s: %w", r.task, err)
	}
	r.count(mapreduce.ReduceInputGroups, r.groups)
	r.count(mapreduce.ReduceInputRecords, r.records)
	r.count(mapreduce.ReduceInputBytes, r.bytes)
	r.count(mapreduce.ReduceOutputRecords, r.out.records)
	r.count(mapreduce.OutputRecords, r.out.records)
	r.count(mapreduce.OutputBytes, part.bytes)
	return ReduceResult{Counts: r.counters.Snapshot()}, nil
}

type reduceAttempt struct {
	*attempt
	out *writeEmitter

	groups, records, bytes int64
	reported               int64 // bytes already reported to the meter
}

func (r *reduceAttempt) run(sources Intake) (err error) {
	merged, err := r.merge(sources)
	defer func() { err = errors.Join(err, r.release(r.combine)) }()
	if err != nil {
		return err
	}
	defer merged.Close()
	r.place.stage = "the merge of map output"
	in := &countedRun{Run: merged, r: r}
	take := r.reduceGroups
	if r.job.Reduce.IsZero() {
		take = r.passOn
	}
	if err = r.computing(func() error { return take(in) }); err != nil {
		return err
	}
	if err := merged.Err(); err != nil {
		return fmt.Errorf("%s: merge: %w", r.task, err)
	}
	return r.checkpoint()
}

// merge opens the sorted stream of everything that belongs to this reduce. With a fold it has each key once.
func (r *reduceAttempt) merge(sources Intake) (shuffle.Run, error) {
	fold, plan, err := foldOf(r.job, r.job.AllInputs()[0].Map.Value)
	if err != nil {
		return nil, err
	}
	combine, err := r.combiner()
	if err != nil {
		return nil, err
	}
	run, err := sources.Merge(r.ctx, shuffle.MergeConfig{
		Dir:         r.env.Scratch,
		Name:        fmt.Sprintf("reduce-%05d-%s", r.id.Index, r.id.unique()),
		Pool:        r.env.Pool,
		Compare:     mapreduce.CompareOf(r.job.Sort),
		Combine:     combine,
		Fold:        fold,
		Compression: r.env.Compression,
		MergeFactor: r.env.MergeFactor,
		MaxRecord:   r.env.maxRecord(r.job),
	})
	if err != nil {
		return nil, fmt.Errorf("%s: merge: %w", r.task, err)
	}
	if plan.Settle != nil {
		run = &settledRun{Run: run, settle: plan.Settle}
	}
	return run, nil
}

// settledRun turns the accumulators of a fold into its results.
type settledRun struct {
	shuffle.Run
	settle func(dst, acc []byte) []byte
	value  []byte
}

func (s *settledRun) Next() bool {
	if !s.Run.Next() {
		return false
	}
	s.value = s.settle(s.value[:0], s.Run.Value())
	return true
}

func (s *settledRun) Value() []byte { return s.value }

// countedRun counts what the reduce reads and checks from time to time whether the attempt is still wanted.
type countedRun struct {
	shuffle.Run
	r   *reduceAttempt
	err error
}

func (c *countedRun) Next() bool {
	if c.err != nil || !c.Run.Next() {
		return false
	}
	c.r.records++
	c.r.task.Alive()
	c.r.bytes += int64(len(c.Key()) + len(c.Value()))
	if c.r.records%1024 == 0 || c.r.bytes-c.r.reported > 1<<20 {
		c.err = c.r.checkpoint()
		return c.err == nil
	}
	return true
}

func (r *reduceAttempt) checkpoint() error {
	r.meter.Bytes.Add(r.bytes - r.reported)
	r.reported = r.bytes
	r.meter.Records.Store(r.records)
	if err := r.out.Failure(); err != nil {
		return fmt.Errorf("%s: %w", r.task, err)
	}
	r.pause(leastPause)
	return r.ctx.Err()
}

// passOn is the reduce of a job without one: the sorted pairs are the output.
func (r *reduceAttempt) passOn(in *countedRun) error {
	for in.Next() {
		r.out.Emit(in.Key(), in.Value())
	}
	if !r.job.Fold.IsZero() {
		r.groups = r.records
	}
	return in.err
}

// reduceGroups calls the user's reducer for each group.
func (r *reduceAttempt) reduceGroups(in *countedRun) (err error) {
	var reducer mapreduce.Reducer
	err = r.userCode(func() (err error) {
		reducer, err = r.job.Reduce.New(r.task)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.release(reducer)) }()
	g := newGrouped(in, r.job, r.plan.Reducers)
	err = r.runUser(func() error {
		for g.nextGroup() {
			r.groups++
			r.place.group = g.first
			if err := reducer.Reduce(g.first, g, r.out); err != nil {
				return r.blame(err)
			}
		}
		if g.err != nil {
			return fmt.Errorf("%s: %w", r.task, g.err)
		}
		if err := in.Err(); err != nil && in.err == nil {
			return fmt.Errorf("%s: merge: %w", r.task, err)
		}
		return in.err
	})
	if f, ok := reducer.(mapreduce.Finisher); ok && err == nil {
		return r.userCode(func() error { return f.Finish(r.out) })
	}
	return err
}
