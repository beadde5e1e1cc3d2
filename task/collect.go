package task

import (
	"fmt"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

// collector opens the shuffle's map side and sets m.out to feed it.
func (m *mapAttempt) collector() (*shuffle.Collector, error) {
	fold, plan, err := foldOf(m.job, m.job.AllInputs()[m.split.Input].Map.Value)
	if err != nil {
		return nil, err
	}
	combine, err := m.combiner()
	if err != nil {
		return nil, err
	}
	c, err := shuffle.NewCollector(m.ctx, shuffle.Config{
		Dir:          m.env.Scratch,
		Name:         fmt.Sprintf("map-%05d-%s", m.id.Index, m.id.unique()),
		Pool:         m.env.Pool,
		Partitions:   m.plan.Reducers,
		Partition:    m.plan.Partition(m.job),
		Together:     together(m.job),
		Compare:      mapreduce.CompareOf(m.job.Sort),
		Combine:      combine,
		Fold:         fold,
		Compression:  m.env.Compression,
		KeepInMemory: m.env.KeepInMemory,
		MergeFactor:  m.env.MergeFactor,
		MaxRecord:    m.env.maxRecord(m.job),
		FS:           m.env.ScratchFS,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.task, err)
	}
	to := collectEmitter{to: c, task: m.task}
	m.out = &to
	if plan.Lift != nil {
		m.out = &liftEmitter{collectEmitter: to, lift: plan.Lift}
	}
	return c, nil
}

// together returns which keys must go to one reduce, if the job has a partitioner of its own that might divide them, or
// nil.
func together(job *mapreduce.Job) func(a, b []byte) bool {
	order, _ := job.Equality()
	if _, ranges := job.Partition.(mapreduce.TotalOrder); order == nil || ranges || job.Partition == nil {
		return nil
	}
	return func(a, b []byte) bool { return order.Of(a, b) == 0 }
}

// foldOf translates the job's fold for package shuffle. Both results are zero without one.
func foldOf(job *mapreduce.Job, value mapreduce.Type) (*shuffle.Fold, mapreduce.FoldPlan, error) {
	if job.Fold.IsZero() {
		return nil, mapreduce.FoldPlan{}, nil
	}
	p, err := job.Fold.Plan(value)
	if err != nil {
		return nil, p, err
	}
	f := &shuffle.Fold{Op: shuffle.OpBytes, Bytes: p.Merge}
	switch p.Int {
	case mapreduce.SumInt:
		f = &shuffle.Fold{Op: shuffle.SumInt}
	case mapreduce.MinInt:
		f = &shuffle.Fold{Op: shuffle.MinInt}
	case mapreduce.MaxInt:
		f = &shuffle.Fold{Op: shuffle.MaxInt}
	}
	return f, p, nil
}

// combiner wraps the job's Combine. Each attempt has its own reducer for it.
func (a *attempt) combiner() (shuffle.Combiner, error) {
	if a.job.Combine.IsZero() {
		return nil, nil
	}
	err := a.userCode(func() (err error) {
		a.combine, err = a.job.Combine.New(a.task)
		return err
	})
	if err != nil {
		return nil, err
	}
	return func(key []byte, values shuffle.Run, emit func(key, value []byte) error) error {
		a.task.Alive()
		out := &funcEmitter{to: emit}
		in := &combineValues{Run: values}
		err := a.userCode(func() error { return a.combine.Reduce(key, in, out) })
		if err != nil {
			return err
		}
		return out.err
	}, nil
}

// combineValues presents a group as a reducer expects it, with Next before the first value. The shuffle passes a
// group that is already at that value.
type combineValues struct {
	shuffle.Run
	begun bool
}

var _ mapreduce.Values = (*combineValues)(nil)

func (v *combineValues) Next() bool {
	if !v.begun {
		v.begun = true
		return true
	}
	return v.Run.Next()
}

func (m *mapAttempt) countShuffle(s shuffle.Stats) {
	m.count(mapreduce.MapOutputRecords, s.Records)
	m.count(mapreduce.MapOutputBytes, s.Bytes)
	m.count(mapreduce.CombineInputRecords, s.CombineIn)
	m.count(mapreduce.CombineOutputRecords, s.CombineOut)
	m.count(mapreduce.Spills, s.Spills)
	m.count(mapreduce.SpilledRecords, s.SpilledRecords)
	m.count(mapreduce.SpilledBytes, s.SpilledBytes)
}
