package attempt

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/task"
)

func (r *runner) runMap(ctx context.Context) (result, error) {
	info, err := r.info(ctx)
	if err != nil {
		return result{}, err
	}
	if r.l.Split == nil {
		return result{}, wire.Errorf(wire.Invalid, "%s: a map without a split", r.l.ID)
	}
	split := task.Split{Input: r.l.Split.Input, Hosts: r.l.Split.Hosts}
	for _, g := range r.l.Split.Ranges {
		split.Ranges = append(split.Ranges, task.Range(g))
	}
	plan := &task.Plan{Reducers: int(info.Reducers), Bounds: info.Bounds}
	var out *task.JobOutput
	if r.job.MapOnly {
		if out, err = task.JoinOutput(r.Store, r.job, info.Work, info.Spec.Overwrite); err != nil {
			return result{}, err
		}
	}
	var meter task.Meter
	defer r.watch(&meter, 0, func() float64 { return float64(meter.Bytes.Load()) / float64(max(1, split.Bytes())) })()
	res, err := task.RunMap(ctx, r.work(mapreduce.MapTask, plan, out, &meter), split)
	if err != nil {
		return result{}, err
	}
	done := result{counts: res.Counts, in: split.Bytes(), skipped: res.Skipped, output: res.Output}
	if res.Output != nil {
		done.sum = res.Output.Sum()
		for p := range res.Output.Partitions() {
			done.out += res.Output.Info(p).StoredBytes
		}
	}
	return done, nil
}

// watch reports an attempt's progress, from a fraction on, until stop is called. It is silent while nothing moves: a
// report is a sign of life.
func (r *runner) watch(m *task.Meter, from float64, fraction func() float64) (stop func()) {
	if r.Progress == nil {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(200 * time.Millisecond)
		defer t.Stop()
		last := int64(-1)
		for {
			select {
			case <-end:
				return
			case <-t.C:
				if now := m.Bytes.Load() + m.Records.Load(); now != last {
					last = now
					r.Progress(from + (1-from)*min(1, fraction()))
				}
			}
		}
	}()
	return func() { close(end); <-ended }
}

func (r *runner) runReduce(ctx context.Context) (result, error) {
	info, err := r.info(ctx)
	if err != nil {
		return result{}, err
	}
	out, err := task.JoinOutput(r.Store, r.job, info.Work, info.Spec.Overwrite)
	if err != nil {
		return result{}, err
	}
	in := newFetcher(r, int(info.Maps))
	defer in.close()
	plan := &task.Plan{Reducers: int(info.Reducers), Bounds: info.Bounds}
	var meter task.Meter
	defer r.watch(&meter, 0.5, func() float64 { return float64(meter.Bytes.Load()) / float64(max(1, in.rawBytes())) })()
	res, err := task.RunReduce(ctx, r.work(mapreduce.ReduceTask, plan, out, &meter), in)
	if err != nil {
		return result{}, err
	}
	res.Counts.Add(in.counts())
	return result{counts: res.Counts, in: in.bytes(), sum: in.sum(), out: res.Counts.Get(mapreduce.TaskGroup, mapreduce.OutputBytes)}, nil
}
