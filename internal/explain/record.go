package explain

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"github.com/millrace/millrace/mapreduce"
)

// Limits of what a page shows. More would be neither read nor drawn.
const (
	MaxRecords = 300  // of input, in all stages
	MaxPairs   = 3000 // of a stage
	maxText    = 200  // bytes of a key, a value or a record
	splits     = 3    // maps of a job without SplitBytes
	reduces    = 2    // of a job without Reducers
	roomFor    = 6    // pairs that a map of the page holds before it spills
)

// A pair is a key and a value, as bytes.
type pair struct{ key, value []byte }

// A call is what user code received and what it made of that.
type call struct {
	record pair   // of a map
	key    []byte // of a group
	in     []pair
	out    []pair
}

// attempt is what a task did.
type attempt struct {
	input string
	calls []call
	last  []pair // emitted at its end
}

// stage is what a job did.
type stage struct {
	job               *mapreduce.Job
	maps, red         map[int]*attempt
	reduceKey, reduce mapreduce.Type // of what reduces emit
}

// A Recording is what a chain of jobs did.
type Recording struct {
	mu      sync.Mutex // guards the fields below
	stages  []*stage
	records int
	pairs   int
}

// Watch returns the jobs with recording added. Jobs that do not specify their splits and reduces get a few of each,
// so that there is something to see.
func Watch(stages []mapreduce.Job, inputBytes int64) ([]mapreduce.Job, *Recording) {
	r := &Recording{}
	out := slices.Clone(stages)
	for i := range out {
		job := &out[i]
		original := *job
		s := &stage{job: &original, maps: map[int]*attempt{}, red: map[int]*attempt{}}
		r.stages = append(r.stages, s)
		if job.SplitBytes == 0 && i == 0 {
			job.SplitBytes = max(1, (inputBytes+splits-1)/splits)
		}
		if job.Reducers == 0 && !job.MapOnly {
			job.Reducers = reduces
		}
		job.MaxAttempts = 1 // a failure is shown once
		job.Map = r.watchMap(s, job.Map)
		job.Inputs = slices.Clone(job.Inputs)
		for k := range job.Inputs {
			job.Inputs[k].Map = r.watchMap(s, job.Inputs[k].Map)
		}
		if !job.MapOnly {
			job.Reduce = r.watchReduce(s, s.lastReduce())
		}
	}
	return out, r
}

// lastReduce returns the job's reduce, or one that passes everything on, with its types.
func (s *stage) lastReduce() mapreduce.Reduce {
	r := s.job.Reduce
	if r.IsZero() {
		r = mapreduce.Reduce{Key: s.mapOf().Key, Value: s.mapOf().Value, New: func(*mapreduce.Task) (mapreduce.Reducer, error) {
			return mapreduce.ReducerFunc(func(_ []byte, values mapreduce.Values, out mapreduce.Emitter) error {
				for values.Next() {
					out.Emit(values.Key(), values.Value())
				}
				return nil
			}), nil
		}}
		if !s.job.Fold.IsZero() {
			if plan, err := s.job.Fold.Plan(s.mapOf().Value); err == nil {
				r.Value = plan.Value
			}
		}
	}
	s.reduceKey, s.reduce = r.Key, r.Value
	return r
}

func (s *stage) mapOf() mapreduce.Map { return s.job.AllInputs()[0].Map }

// note adds a call to what is recorded of a task.
func (r *Recording) note(of map[int]*attempt, t *mapreduce.Task, c *call) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pairs += len(c.out); r.pairs > MaxPairs {
		return fmt.Errorf("explain shows up to %d pairs, and this input makes more: take less of it", MaxPairs)
	}
	a := of[t.Index]
	if a == nil {
		a = &attempt{input: filepath.Base(t.Input())}
		of[t.Index] = a
	}
	a.calls = append(a.calls, *c)
	return nil
}

// finish records what user code emits at the end of a task.
func (r *Recording) finish(user any, of map[int]*attempt, t *mapreduce.Task, out mapreduce.Emitter) error {
	f, ok := user.(mapreduce.Finisher)
	if !ok {
		return nil
	}
	var last []pair
	err := f.Finish(&tee{out, &last})
	r.mu.Lock()
	of[t.Index].last = last
	r.mu.Unlock()
	return err
}

func (r *Recording) watchMap(s *stage, m mapreduce.Map) mapreduce.Map {
	if m.IsZero() {
		return m
	}
	make := m.New
	m.New = func(t *mapreduce.Task) (mapreduce.Mapper, error) {
		inner, err := make(t)
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		s.maps[t.Index] = &attempt{} // drops an earlier attempt that failed
		r.mu.Unlock()
		return &mapper{r, s, t, inner}, nil
	}
	return m
}

// mapper records each record. It takes no chunks.
type mapper struct {
	r     *Recording
	s     *stage
	t     *mapreduce.Task
	inner mapreduce.Mapper
}

func (m *mapper) Map(rec mapreduce.Record, out mapreduce.Emitter) error {
	m.r.mu.Lock()
	m.r.records++
	n := m.r.records
	m.s.maps[m.t.Index].input = filepath.Base(m.t.Input())
	m.r.mu.Unlock()
	if n > MaxRecords {
		return fmt.Errorf("explain shows up to %d records, and the input has more: take less of it (head -n 50)", MaxRecords)
	}
	c := call{record: pair{slices.Clone(rec.Key), slices.Clone(rec.Value)}}
	err := m.inner.Map(rec, &tee{out, &c.out})
	if err != nil {
		return err
	}
	return m.r.note(m.s.maps, m.t, &c)
}

func (m *mapper) Finish(out mapreduce.Emitter) error {
	return m.r.finish(m.inner, m.s.maps, m.t, out)
}

func (m *mapper) Close() error { return closeOf(m.inner) }

func closeOf(x any) error {
	if c, ok := x.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (r *Recording) watchReduce(s *stage, red mapreduce.Reduce) mapreduce.Reduce {
	make := red.New
	red.New = func(t *mapreduce.Task) (mapreduce.Reducer, error) {
		inner, err := make(t)
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		s.red[t.Index] = &attempt{}
		r.mu.Unlock()
		return &reducer{r, s, t, inner}, nil
	}
	return red
}

// reducer records each group.
type reducer struct {
	r     *Recording
	s     *stage
	t     *mapreduce.Task
	inner mapreduce.Reducer
}

func (d *reducer) Reduce(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
	c := call{key: slices.Clone(key)}
	if err := d.inner.Reduce(key, &seen{values, &c.in}, &tee{out, &c.out}); err != nil {
		return err
	}
	return d.r.note(d.s.red, d.t, &c)
}

func (d *reducer) Finish(out mapreduce.Emitter) error {
	return d.r.finish(d.inner, d.s.red, d.t, out)
}

func (d *reducer) Close() error { return closeOf(d.inner) }

// tee records what is emitted.
type tee struct {
	to   mapreduce.Emitter
	note *[]pair
}

func (t *tee) Emit(key, value []byte) {
	*t.note = append(*t.note, pair{slices.Clone(key), slices.Clone(value)})
	t.to.Emit(key, value)
}

func (t *tee) EmitInt(key []byte, value int64) {
	*t.note = append(*t.note, pair{slices.Clone(key), mapreduce.Int64.Append(nil, value)})
	t.to.EmitInt(key, value)
}

// seen records what is read.
type seen struct {
	mapreduce.Values
	note *[]pair
}

func (s *seen) Next() bool {
	if !s.Values.Next() {
		return false
	}
	*s.note = append(*s.note, pair{slices.Clone(s.Key()), slices.Clone(s.Value())})
	return true
}
