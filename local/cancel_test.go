package local_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// cancelling is a word count that cancels its own run at the n-th call of user code.
func cancelling(in, how string, n int64, cancel func()) mapreduce.Job {
	var calls atomic.Int64
	tick := func() {
		if calls.Add(1) == n {
			cancel()
		}
	}
	job := wordCount(in, how)
	newMapper := job.Map.New
	job.Map.New = func(t *mapreduce.Task) (mapreduce.Mapper, error) {
		m, err := newMapper(t)
		return mapreduce.MapperFunc(func(r mapreduce.Record, out mapreduce.Emitter) error {
			tick()
			return m.Map(r, out)
		}), err
	}
	job.Reduce = mapreduce.Reduce{Key: mapreduce.Bytes, Value: mapreduce.Int64, New: func(*mapreduce.Task) (mapreduce.Reducer, error) {
		return mapreduce.ReducerFunc(func(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
			tick()
			for values.Next() {
				out.Emit(key, values.Value())
			}
			return nil
		}), nil
	}}
	job.SplitBytes, job.Reducers = 8000, 5
	return job
}

// TestCancelAtAnyMoment: the run ends at once, says so, and leaves nothing.
func TestCancelAtAnyMoment(t *testing.T) {
	const lines, vocabulary = 4000, 3000
	b := newBed(t)
	in := b.write("in", text(9*lines, vocabulary, 5))
	rng := rand.New(rand.NewPCG(7, 7))
	for range 20 {
		n := 1 + rng.Int64N(lines+vocabulary/2)
		for _, how := range []string{"fold", "reduce"} {
			ctx, cancel := context.WithCancel(t.Context())
			var cancelled time.Time
			job := cancelling(in, how, n, func() { cancelled = time.Now(); cancel() })
			job.Output = b.out
			_, err := local.Run(ctx, local.Config{Sort: 1 << 20, Workers: 3, Scratch: b.tmp}, job)
			cancel()
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%s, cancelled at call %d: %v", how, n, err)
			}
			if d := time.Since(cancelled); d > 2*time.Second {
				t.Errorf("%s, cancelled at call %d: ended only after %s", how, n, d)
			}
			b.noOutput()
			b.checkClean()
		}
	}
}

// TestCancelBeforeTheStart leaves nothing either.
func TestCancelBeforeTheStart(t *testing.T) {
	b := newBed(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	job := wordCount(b.write("in", "a\n"), "fold")
	job.Output = b.out
	if _, err := local.Run(ctx, local.Config{Scratch: b.tmp}, job); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	b.noOutput()
}

// TestNothingLeaks over many jobs that succeed, fail and are cancelled.
func TestNothingLeaks(t *testing.T) {
	good, bad := 100, 20
	if require.Stressed() {
		good, bad = 1000, 100
	}
	b := newBed(t)
	in := b.write("in", text(500, 50, 1))
	round := func(n int64) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		job := cancelling(in, "reduce", n, cancel)
		job.Output = b.out
		_, err := local.Run(ctx, local.Config{Sort: 1 << 20, Scratch: b.tmp, Overwrite: true}, job)
		if (err != nil) != (n > 0) {
			t.Fatalf("cancelled at call %d: %v", n, err)
		}
	}
	round(0)
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	for range good {
		round(0)
	}
	for i := range bad {
		round(int64(1 + i%50))
		b.failing(in)
	}
	if n := openFiles(t); n > files+5 {
		t.Errorf("%d files open, %d before", n, files)
	}
	if n := runtime.NumGoroutine(); n > goroutines+5 {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
}

func (b *bed) failing(in string) {
	job := wordCount(in, "fold")
	job.Map, job.Output = mapper(explodingMapper{true}), b.out+"-failed"
	if _, err := local.Run(b.t.Context(), local.Config{Scratch: b.tmp}, job); err == nil {
		b.t.Error("a job that panics succeeded")
	}
}

func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("no list of open files: %v", err)
	}
	return len(entries)
}
