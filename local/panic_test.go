package local_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/task"
)

// explode is the frame that a stack must show: user code that ends in a way that is no return.
func explode() { explosion() }

var explosion = boom

func boom() { panic("boom") }

type brokenInput struct {
	mapreduce.InputFormat
	splittable, open bool
}

func (f brokenInput) Splittable(head []byte) bool {
	if f.splittable {
		explode()
	}
	return f.InputFormat.Splittable(head)
}

func (f brokenInput) Open(src mapreduce.Source) (mapreduce.RecordReader, error) {
	if f.open {
		explode()
	}
	return f.InputFormat.Open(src)
}

// brokenOutput panics in one of its three calls.
type brokenOutput struct{ when string }

func (brokenOutput) Name() string { return "broken" }

func (f brokenOutput) Open(io.Writer, mapreduce.Type, mapreduce.Type) (mapreduce.RecordWriter, error) {
	if f.when == "open" {
		explode()
	}
	return f, nil
}

func (f brokenOutput) Write([]byte, []byte) error {
	if f.when == "write" {
		explode()
	}
	return nil
}

func (f brokenOutput) Close() error {
	if f.when == "close" {
		explode()
	}
	return nil
}

// explodingMapper panics in Map or in Finish.
type explodingMapper struct{ inMap bool }

func (m explodingMapper) Map(mapreduce.Record, mapreduce.Emitter) error {
	if m.inMap {
		explode()
	}
	return nil
}

func (m explodingMapper) Finish(mapreduce.Emitter) error { explode(); return nil }

type explodingReducer struct{ inReduce bool }

func (r explodingReducer) Reduce([]byte, mapreduce.Values, mapreduce.Emitter) error {
	if r.inReduce {
		explode()
	}
	return nil
}

func (r explodingReducer) Finish(mapreduce.Emitter) error { explode(); return nil }

func reducer(r mapreduce.Reducer) mapreduce.Reduce {
	return mapreduce.Reduce{New: func(*mapreduce.Task) (mapreduce.Reducer, error) { return r, nil }}
}

func mapper(m mapreduce.Mapper) mapreduce.Map {
	return mapreduce.Map{Value: mapreduce.Int64, New: func(*mapreduce.Task) (mapreduce.Mapper, error) { return m, nil }}
}

// TestPanicsFailTheAttempt: wherever user code panics, the task is tried as often as
// the job says, the error has the place and the stack, the process lives, nothing is
// left behind, and the next job works.
func TestPanicsFailTheAttempt(t *testing.T) { explodeEverywhere(t, "boom") }

// TestGoexitFailsTheAttempt: user code that calls runtime.Goexit, as t.Fatal does, ends the goroutine it runs in. That is a
// failed attempt like any other: no record is lost, nothing hangs.
func TestGoexitFailsTheAttempt(t *testing.T) {
	explosion = runtime.Goexit
	defer func() { explosion = boom }()
	explodeEverywhere(t, "runtime.Goexit")
}

func explodeEverywhere(t *testing.T, word string) {
	const once, tried = 1, 4 // attempts of the task that panics
	for name, c := range map[string]struct {
		attempts int // of all tasks
		words    []string
		change   func(job *mapreduce.Job)
	}{
		"map": {tried, []string{"/in at offset 0"}, func(j *mapreduce.Job) { j.Map = mapper(explodingMapper{true}) }},
		"map only": {tried, []string{"/in at offset 0"}, func(j *mapreduce.Job) {
			j.Map, j.MapOnly, j.Reduce, j.Reducers = mapper(explodingMapper{true}), true, mapreduce.Reduce{}, 0
		}},
		"map set-up": {tried, []string{"set-up"}, func(j *mapreduce.Job) {
			j.Map.New = func(*mapreduce.Task) (mapreduce.Mapper, error) { explode(); return nil, nil }
		}},
		"map finish": {tried, nil, func(j *mapreduce.Job) { j.Map = mapper(explodingMapper{}) }},
		"combine":    {tried, nil, func(j *mapreduce.Job) { j.Combine = reducer(explodingReducer{true}) }},
		"combine set-up": {tried, nil, func(j *mapreduce.Job) {
			j.Combine.New = func(*mapreduce.Task) (mapreduce.Reducer, error) { explode(); return nil, nil }
		}},
		"partition": {tried, nil, func(j *mapreduce.Job) {
			j.Partition = mapreduce.PartitionFunc(func([]byte, []byte, int) int { explode(); return 0 })
		}},
		"sort order": {tried, nil, func(j *mapreduce.Job) {
			j.Sort, j.Partition = mapreduce.Compare(func(a, b []byte) int { explode(); return 0 }), mapreduce.HashPartition{}
		}},
		"fold": {tried, nil, func(j *mapreduce.Job) {
			j.Reduce = mapreduce.Reduce{}
			j.Fold = mapreduce.FoldOf("broken", func(a, b int64) int64 { explode(); return 0 })
		}},
		"input open":    {tried, nil, func(j *mapreduce.Job) { j.Map.Format = brokenInput{mapreduce.Text, false, true} }},
		"input plan":    {0, nil, func(j *mapreduce.Job) { j.Map.Format = brokenInput{mapreduce.Text, true, false} }},
		"reduce":        {once + tried, []string{`group "a"`}, func(j *mapreduce.Job) { j.Reduce = reducer(explodingReducer{true}) }},
		"reduce finish": {once + tried, nil, func(j *mapreduce.Job) { j.Reduce = reducer(explodingReducer{}) }},
		"reduce set-up": {once + tried, nil, func(j *mapreduce.Job) {
			j.Reduce.New = func(*mapreduce.Task) (mapreduce.Reducer, error) { explode(); return nil, nil }
		}},
		"group order": {once + tried, nil, func(j *mapreduce.Job) {
			j.Reduce, j.Group, j.Reducers = totalOfPairs, mapreduce.Compare(func(a, b []byte) int { explode(); return 0 }), 1
		}},
		"output open":  {once + tried, nil, func(j *mapreduce.Job) { j.Format = brokenOutput{"open"} }},
		"output write": {once + tried, nil, func(j *mapreduce.Job) { j.Reduce = mapreduce.Reduce{}; j.Format = brokenOutput{"write"} }},
		"output close": {once + tried, nil, func(j *mapreduce.Job) { j.Format = brokenOutput{"close"} }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			in := b.write("in", "a b a\nc\n")
			job := wordCount(in, "reduce")
			job.Reducers = 2
			if c.attempts > tried {
				job.Reducers = 1
			}
			if name == "input plan" {
				job.SplitBytes = 2 // ask the format whether it can be divided
			}
			c.change(&job)
			res, err := b.fails(local.Config{Workers: 1}, append(c.words, word, "local_test.explode"), job)
			if res.Attempts != c.attempts {
				t.Errorf("%d attempts, want %d", res.Attempts, c.attempts)
			}
			if _, ok := errors.AsType[*task.AttemptError](err); !ok {
				t.Errorf("the error is not an AttemptError: %v", err)
			}
			if got := b.ok(local.Config{}, wordCount(in, "reduce")); got != "a\t2\nb\t1\nc\t1\n" {
				t.Errorf("the next job wrote %q", got)
			}
		})
	}
}

// TestPanicNamesTheRecord: the second try goes record by record, so that the message
// has the offset of the very record, also where the mapper takes chunks.
func TestPanicNamesTheRecord(t *testing.T) {
	lines := slices.Repeat([]string{"good"}, 1000)
	lines[700] = "bad"
	b := newBed(t)
	in := b.write("in", strings.Join(lines, "\n")+"\n")
	job := mapreduce.Job{Name: "poison", Input: []string{in}, Map: mapper(chunkwise{}), MapOnly: true}
	res, _ := b.fails(local.Config{}, []string{"/in at offset 3500", "bad record", "failed 4 times"}, job)
	if res.Attempts != 4 || res.Retries != 3 {
		t.Errorf("%d attempts, %d retries; want 4 and 3", res.Attempts, res.Retries)
	}
}

// chunkwise is a mapper of chunks that copies lines and does not like "bad".
type chunkwise struct{}

var _ mapreduce.ChunkMapper = chunkwise{}

func (chunkwise) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	if strings.HasPrefix(string(r.Value), "bad") {
		return errors.New("a bad record")
	}
	out.Emit(r.Value, nil)
	return nil
}

func (c chunkwise) MapChunk(chunk []byte, offset int64, out mapreduce.Emitter) error {
	for line := range strings.Lines(string(chunk)) {
		r := mapreduce.Record{Value: []byte(strings.TrimSuffix(line, "\n")), Offset: offset}
		if err := c.Map(r, out); err != nil {
			return err
		}
	}
	return nil
}

// TestGoexitInTheBackground: a sort order that ends the goroutine, where spills are sorted in the background, and in sampling.
func TestGoexitInTheBackground(t *testing.T) {
	var calls atomic.Int64
	for name, c := range map[string]struct {
		after  int64 // calls of the sort order that go well
		change func(*mapreduce.Job)
	}{
		"spill":    {5000, func(j *mapreduce.Job) { j.Reducers = 2 }},
		"sampling": {0, func(j *mapreduce.Job) { j.Reducers, j.Partition = 2, mapreduce.TotalOrder{} }},
	} {
		t.Run(name, func(t *testing.T) {
			calls.Store(0)
			b := newBed(t)
			job := wordCount(b.write("in", strings.Repeat("some words in a line\n", 20_000)), "reduce")
			job.Partition = mapreduce.HashPartition{}
			job.Sort = mapreduce.Compare(func(a, b []byte) int {
				if calls.Add(1) > c.after {
					runtime.Goexit()
				}
				return strings.Compare(string(a), string(b))
			})
			c.change(&job)
			b.fails(local.Config{Workers: 1, Memory: local.MinMemory}, []string{"runtime.Goexit"}, job)
		})
	}
}

// TestUserCodeThatNeverReturns: a run that is cancelled ends, though a mapper does not.
func TestUserCodeThatNeverReturns(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	hang, in := make(chan struct{}), make(chan struct{})
	defer close(hang)
	var once sync.Once
	job := mapreduce.Job{Name: "stuck", Input: []string{b.write("in", "a\n")}, MapOnly: true, Map: mapreduce.Lines(func([]byte, func([]byte, int64)) {
		once.Do(func() { close(in) })
		<-hang
	})}
	job.Output = b.out
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-in
		cancel()
	}()
	begin := time.Now()
	_, err := local.Run(ctx, local.Config{Scratch: b.tmp}, job)
	if !errors.Is(err, context.Canceled) || time.Since(begin) > 20*time.Second {
		t.Errorf("after %s: %v", time.Since(begin), err)
	}
	b.noOutput()
}
