package task

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/storage"
)

// A Plan is what is decided about a job before its first task runs. It is plain data, the same for every attempt.
type Plan struct {
	Splits   []Split  `json:"splits"`
	Reducers int      `json:"reducers"` // 0 for a map-only job
	Bounds   [][]byte `json:"bounds,omitempty"`
	Bytes    int64    `json:"bytes"` // of input

	files    []storage.Entry   // as they were found
	versions map[string]string // of those that have one, by path: what is read is this or an error
}

// MaxTasks bounds the map tasks of one job.
const MaxTasks = 10_000_000

// A Layout says how an engine wants the input divided. It is called when the size of the input is known.
type Layout func(job *mapreduce.Job, inputBytes int64) (splitBytes int64, reducers int)

// MakePlan finds the input, divides it, and samples partition bounds if the job wants a total order.
func MakePlan(ctx context.Context, env *Env, job *mapreduce.Job, layout Layout) (*Plan, error) {
	a := newAttempt(ctx, &Work{Env: env, Job: job, Plan: &Plan{}, ID: ID{Kind: mapreduce.MapTask}})
	a.place.stage = "the planning of splits and partitions"
	return alone(a, func() (*Plan, error) { return makePlan(ctx, env, job, layout) })
}

func makePlan(ctx context.Context, env *Env, job *mapreduce.Job, layout Layout) (*Plan, error) {
	files := make([][]storage.Entry, len(job.AllInputs()))
	plan := &Plan{versions: map[string]string{}}
	for i, in := range job.AllInputs() {
		found, err := env.Store.Expand(in.Paths)
		if err != nil {
			return nil, err
		}
		if err := eachOnce(found); err != nil {
			return nil, err
		}
		for _, f := range found {
			plan.Bytes += f.Size
			if f.Version != "" {
				plan.versions[f.Path] = f.Version
			}
		}
		plan.files = append(plan.files, found...)
		files[i] = found
	}
	target, reducers := layout(job, plan.Bytes)
	if err := plan.divide(env, job, files, max(1, target)); err != nil {
		return nil, err
	}
	if job.MapOnly {
		return plan, nil
	}
	plan.Reducers = max(1, reducers)
	return plan, plan.sample(ctx, env, job)
}

// eachOnce refuses a file that several paths of an input lead to: its records would count twice.
func eachOnce(found []storage.Entry) error {
	seen := make(map[string]bool, len(found))
	for _, f := range found {
		if seen[f.Path] {
			return fmt.Errorf("input %q is given twice, and would be counted twice: give it once, or read a copy", f.Path)
		}
		seen[f.Path] = true
	}
	return nil
}

// CheckInput returns an error if the input has changed since the plan was made: what was read of it is neither the
// old nor the new. A plan that came over the wire cannot tell.
func (p *Plan) CheckInput(store storage.Mux, job *mapreduce.Job) error {
	now := map[string]storage.Entry{}
	for _, in := range job.AllInputs() {
		found, err := store.Expand(in.Paths) // a directory at a time: there may be many files
		if err != nil {
			return fmt.Errorf("input is not there any more: %w", err)
		}
		for _, f := range found {
			now[f.Path] = f
		}
	}
	for _, f := range p.files {
		switch n, found := now[f.Path]; {
		case !found:
			return fmt.Errorf("input %q is not there any more", f.Path)
		case f.Mod.IsZero():
		case n.Size != f.Size || !n.Mod.Equal(f.Mod) || n.Version != f.Version:
			return fmt.Errorf("input %q changed while it was read (%d bytes, of %s; at first %d, of %s): run it again when nobody writes to it, or on a copy",
				f.Path, n.Size, stamp(n.Mod), f.Size, stamp(f.Mod))
		}
	}
	return nil
}

func stamp(t time.Time) string { return t.Format("15:04:05.000") }

func (p *Plan) divide(env *Env, job *mapreduce.Job, files [][]storage.Entry, target int64) error {
	if p.Bytes/target > MaxTasks {
		return fmt.Errorf("%d bytes in splits of %d are more than %d map tasks: raise the split size (SplitBytes, on the command line --split-bytes)", p.Bytes, target, MaxTasks)
	}
	_, ordered := job.Partitioner().(mapreduce.TotalOrder) // the sampler reads only the first range of a split
	for i, in := range job.AllInputs() {
		s := splitter{store: env.Store, input: i, format: formatOf(in.Map), target: target, gather: !job.Fold.IsZero() && !ordered}
		for _, f := range files[i] {
			if err := s.add(f); err != nil {
				return err
			}
		}
		s.flush()
		p.Splits = append(p.Splits, s.out...)
	}
	return nil
}

// Partition returns the partition function of the job under this plan, or nil if there is only one partition.
func (p *Plan) Partition(job *mapreduce.Job) func(key, value []byte) int {
	if p.Reducers <= 1 {
		return nil
	}
	part, n, folds := job.Partitioner(), p.Reducers, !job.Fold.IsZero()
	if _, ok := part.(mapreduce.TotalOrder); ok {
		find := mapreduce.RangePartition{Bounds: p.Bounds, Compare: mapreduce.CompareOf(job.Sort), Group: mapreduce.CompareOf(job.Group)}.Finder()
		return func(key, _ []byte) int { return find(key) }
	}
	return func(key, value []byte) int {
		if folds {
			value = nil // the value is not complete yet
		}
		return part.Partition(key, value, n)
	}
}

const (
	minSamples       = 10_000
	samplesPerReduce = 5_000
	maxSamples       = 100_000
	sampleSpots      = 128
	sampleBytes      = 128 << 10
	// sampleKey is how many bytes of a key are kept. In byte order, the beginning of a key divides as well as the
	// whole. A job's own order may need all of it.
	sampleKey = 1 << 10
)

// sample reads keys at places spread over the input by running the job's own map on them, and derives the bounds
// from these.
func (p *Plan) sample(ctx context.Context, env *Env, job *mapreduce.Job) error {
	order, ok := job.Partitioner().(mapreduce.TotalOrder)
	if !ok || p.Reducers <= 1 {
		return nil
	}
	want := order.Samples
	if want <= 0 {
		want = min(max(minSamples, samplesPerReduce*p.Reducers), maxSamples)
	}
	spots, err := p.spots(env, job)
	if err != nil {
		return err
	}
	keys := &keySampler{longest: math.MaxInt}
	if order, _ := job.Equality(); order == nil {
		keys.longest = sampleKey
	}
	for i, s := range spots {
		keys.stop = want * (i + 1) / len(spots)
		if err := p.sampleSpot(ctx, env, job, s, keys); err != nil {
			return fmt.Errorf("sample keys: %w", err)
		}
	}
	p.Bounds = mapreduce.BoundsOf(keys.keys, p.Reducers, mapreduce.CompareOf(job.Sort))
	return nil
}

// spots picks places evenly over all splits. A file that can only be read from its beginning, such as a compressed
// one, is one spot.
func (p *Plan) spots(env *Env, job *mapreduce.Job) (out []Split, err error) {
	perSplit := max(1, sampleSpots/max(1, len(p.Splits)))
	step := max(1, len(p.Splits)/sampleSpots)
	for i := 0; i < len(p.Splits); i += step {
		s := p.Splits[i]
		r := s.Ranges[0]
		if r.Offset == 0 && perSplit > 1 {
			files := splitter{store: env.Store, format: formatOf(job.AllInputs()[s.Input].Map)}
			if may, err := files.splittable(r.Path, p.versions[r.Path]); err != nil {
				return nil, err
			} else if !may {
				out = append(out, Split{Input: s.Input, Ranges: s.Ranges[:1]})
				continue
			}
		}
		for k := range perSplit {
			off := r.Offset + r.Length/int64(perSplit)*int64(k)
			length := min(sampleBytes, r.Offset+r.Length-off, max(1, r.Length/int64(perSplit)))
			out = append(out, Split{Input: s.Input, Ranges: []Range{{r.Path, off, length}}})
		}
	}
	return out, nil
}

// errEnough ends the reading of a spot.
var errEnough = errors.New("enough samples")

func (p *Plan) sampleSpot(ctx context.Context, env *Env, job *mapreduce.Job, s Split, keys *keySampler) error {
	a := newAttempt(ctx, &Work{Env: env, Job: job, Plan: p, ID: ID{Kind: mapreduce.MapTask}})
	m := &mapAttempt{attempt: a, split: s, out: keys, exact: true, maySkip: job.SkipBadRecords}
	_, err := alone(a, func() (struct{}, error) { return struct{}{}, m.readSplit() })
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// keySampler collects keys up to a given number.
type keySampler struct {
	keys    [][]byte
	arena   []byte // holds the last keys
	longest int    // how many bytes of a key are kept
	stop    int
	err     error
}

func (k *keySampler) Emit(key, _ []byte) {
	if len(k.keys) < k.stop {
		key = key[:min(len(key), k.longest)]
		if cap(k.arena)-len(k.arena) < len(key) {
			k.arena = make([]byte, 0, max(64<<10, len(key)))
		}
		from := len(k.arena)
		k.arena = append(k.arena, key...)
		k.keys = append(k.keys, k.arena[from:len(k.arena):len(k.arena)])
	}
	if len(k.keys) >= k.stop {
		k.err = errEnough
	}
}

func (*keySampler) end() {}

func (k *keySampler) EmitInt(key []byte, _ int64) { k.Emit(key, nil) }

func (k *keySampler) Failure() error {
	err := k.err
	k.err = nil
	return err
}
