package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/storage"
)

// TestNotWanted: an attempt that is not wanted any more ends at its next look, and leaves nothing.
func TestNotWanted(t *testing.T) {
	for _, try := range []int{0, 1} {
		ctx, cancel := context.WithCancel(t.Context())
		read := 0
		m := eachLine(func(string) error {
			if read++; read == 300 {
				cancel()
			}
			return nil
		})
		s := newStage(t, mapreduce.Job{Map: m, SkipBadRecords: 5}, 1<<20, 1, strings.Repeat("x\n", 5000))
		s.try = try
		if _, err := s.runMap(ctx, 0); !errors.Is(err, context.Canceled) || read > 300+recordsPerCheck {
			t.Errorf("try %d: %v after %d records", try, err, read)
		}
		if left := list(t, s.env.Scratch); left != "" {
			t.Errorf("try %d: left: %s", try, left)
		}
	}
	s := newStage(t, mapreduce.Job{Map: mapOf(words{})}, 1<<20, 1, strings.Repeat("x\n", 5000))
	res, err := s.runMap(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	taken := 0
	s.job.Reduce = reduceOf(mapreduce.ReducerFunc(func(_ []byte, values mapreduce.Values, _ mapreduce.Emitter) error {
		for values.Next() {
			if taken++; taken == 1500 {
				cancel()
			}
		}
		return nil
	}))
	if _, err := RunReduce(ctx, s.work(mapreduce.ReduceTask, 0), Sources{res.Output.Source(0)}); !errors.Is(err, context.Canceled) || taken > 1500+1024 {
		t.Errorf("a reduce that is not wanted: %v after %d records", err, taken)
	}
	if left := list(t, s.out.work); strings.Contains(left, "part") {
		t.Errorf("left: %s", left)
	}
	if err := res.Output.Release(); err != nil {
		t.Error(err)
	}
}

// ending ends its attempt when it has seen a chunk.
type ending struct {
	told
	cancel context.CancelFunc
}

func (e *ending) MapChunk(chunk []byte, offset int64, out mapreduce.Emitter) error {
	e.cancel()
	return e.told.MapChunk(chunk, offset, out)
}

// TestNotWantedByChunks: a map that takes chunks looks after each of them, and the part that it was writing is not taken for a whole one.
func TestNotWantedByChunks(t *testing.T) {
	for _, mapOnly := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		code := &ending{cancel: cancel}
		s := newStage(t, mapreduce.Job{Map: mapOf(code), MapOnly: mapOnly}, 1<<20, 1, strings.Repeat("x\n", 1<<17))
		if _, err := s.runMap(ctx, 0); !errors.Is(err, context.Canceled) || code.chunks != 1 {
			t.Errorf("map only %t: %v after %d chunks", mapOnly, err, code.chunks)
		}
		if left := list(t, s.out.work) + list(t, s.out.work+"/"+attemptDir) + list(t, s.env.Scratch); left != attemptDir {
			t.Errorf("map only %t: left: %s", mapOnly, left)
		}
	}
}

// TestSilence: user code that shows no sign of life for the time that it has is cancelled, and named with its input; one that shows some goes on; and what
// does not hear is left behind, for good.
func TestSilence(t *testing.T) {
	deaf := make(chan struct{})
	for what, x := range map[string]struct {
		do        func(ctx context.Context, task *mapreduce.Task)
		silent    bool
		leftAfter time.Duration
	}{
		"works on":      {func(context.Context, *mapreduce.Task) { time.Sleep(50 * time.Second) }, false, 0},
		"silent":        {func(ctx context.Context, _ *mapreduce.Task) { <-ctx.Done() }, true, 0},
		"shows life":    {func(_ context.Context, k *mapreduce.Task) { often(k.Alive) }, false, 0},
		"counts":        {func(_ context.Context, k *mapreduce.Task) { often(func() { k.Counter("g", "n").Add(1) }) }, false, 0},
		"does not hear": {func(context.Context, *mapreduce.Task) { <-deaf }, true, patience},
	} {
		synctest.Test(t, func(t *testing.T) {
			deaf = make(chan struct{})
			m := mapreduce.Map{Value: mapreduce.Int64, New: func(k *mapreduce.Task) (mapreduce.Mapper, error) {
				return mapreduce.MapperFunc(func(mapreduce.Record, mapreduce.Emitter) error { x.do(k.Context(), k); return nil }), nil
			}}
			s := newStage(t, mapreduce.Job{Map: m, MapOnly: true}, 1000, 0, "x\n")
			s.env.Silence = time.Minute
			begin := time.Now()
			_, err := s.runMap(t.Context(), 0)
			took := time.Since(begin)
			if errors.Is(err, ErrSilent) != x.silent || !x.silent && err != nil || x.silent && !strings.Contains(err.Error(), s.job.Input[0]) {
				t.Errorf("%s: %v", what, err)
			}
			if x.silent && (took < time.Minute+x.leftAfter || took > 70*time.Second+x.leftAfter || Final(err) != (x.leftAfter > 0)) {
				t.Errorf("%s: after %s, final %t", what, took, Final(err))
			}
			close(deaf)
			synctest.Wait()
		})
	}
}

// partless writes pairs, and values in parts if it is asked to.
type partless struct{}

func (partless) Write(_, _ []byte) error            { return nil }
func (partless) Close() error                       { return nil }
func (partless) WriteParts([]byte, ...[]byte) error { return nil }

// TestPairsAreSignsOfLife: whoever emits a pair is alive, wherever it goes and in whatever form it is.
func TestPairsAreSignsOfLife(t *testing.T) {
	task := mapreduce.NewTask(t.Context(), mapreduce.TaskInfo{}, &mapreduce.CounterSet{})
	collect, hold := &collectEmitter{task: task, err: errBad}, &holdEmitter{task: task}
	write := &writeEmitter{to: partless{}, task: task}
	for what, emit := range map[string]func(){
		"a pair":                     func() { collect.Emit(nil, nil) },
		"an integer":                 func() { collect.EmitInt(nil, 1) },
		"a pair that is written":     func() { write.Emit(nil, nil) },
		"an integer that is written": func() { write.EmitInt(nil, 1) },
		"parts that are written":     func() { write.EmitParts(nil, nil, nil) },
		"a pair that waits":          func() { hold.Emit(nil, nil) },
		"an integer that waits":      func() { hold.EmitInt(nil, 1) },
	} {
		task.AskAlive()
		if emit(); !task.AskAlive() {
			t.Errorf("%s is no sign of life", what)
		}
	}
	if write.records != 3 || write.Failure() != nil || !errors.Is(collect.Failure(), errBad) || len(hold.pairs) != 2 {
		t.Errorf("%d are written, %v, %v; %d wait", write.records, write.Failure(), collect.Failure(), len(hold.pairs))
	}
}

// often does something every 50 s for five minutes.
func often(do func()) {
	for range 6 {
		do()
		time.Sleep(50 * time.Second)
	}
}

// TestFinal: trying again helps unless the input, the output or the code itself is in the way, or somebody who knows says otherwise.
func TestFinal(t *testing.T) {
	for err, want := range map[error]bool{
		errBad: false, context.Canceled: false, mapreduce.ErrRecordTooLarge: true, mapreduce.ErrCompression: true, shuffle.ErrRecordTooLarge: true,
		fs.ErrNotExist: true, fs.ErrPermission: true, ErrOutputExists: true, &leftBehind{errBad}: true, says(false): false, says(true): true,
	} {
		if got := Final(fmt.Errorf("map 1: %w", err)); got != want {
			t.Errorf("%v is final: %t", err, got)
		}
	}
}

type says bool

func (s says) Error() string        { return "user code knows" }
func (s says) Final() bool          { return bool(s) }
func (s says) Is(target error) bool { return target == fs.ErrNotExist }

// TestLink: each stage of a chain reads what the one before wrote, in a form that it can read, and the stages that were given stay as they are.
func TestLink(t *testing.T) {
	m := mapOf(words{})
	records := m
	records.Format = mapreduce.RecordFile
	stages := []mapreduce.Job{{Name: "a", Input: []string{"in"}, Map: m}, {Name: "b", Map: records}, {Name: "c", Map: m, Output: "out"}}
	got, err := Link(stages, "tmp")
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Input[0] != "in" || got[2].Output != "out" || stages[0].Output != "" || stages[1].Input != nil || stages[0].Format != nil {
		t.Errorf("%+v of %+v", got, stages)
	}
	if got[0].Output != "tmp/stage-0" || got[1].Input[0] != "tmp/stage-0" || got[1].Output != "tmp/stage-1" || got[2].Input[0] != "tmp/stage-1" {
		t.Errorf("%s to %s, %s to %s", got[0].Output, got[1].Input, got[1].Output, got[2].Input)
	}
	if got[0].Format != mapreduce.RecordOutput || got[1].Format != nil {
		t.Errorf("formats %v, %v", got[0].Format, got[1].Format)
	}
}

// TestLinkRefuses: what is wrong with a later stage is said before the first one runs, with the stage.
func TestLinkRefuses(t *testing.T) {
	m := mapOf(words{})
	first := mapreduce.Job{Input: []string{"in"}, Map: m}
	for want, stages := range map[string][]mapreduce.Job{
		"job b: it reads what the stage before it writes: give it Map, not Inputs": {first, {Name: "b", Inputs: []mapreduce.Input{{Paths: []string{"x"}, Map: m}}, Output: "out"}},
		"stage 2: it reads what the stage before it writes: give it Map":           {first, {Inputs: []mapreduce.Input{{Map: m}}, Output: "out"}},
		"stage 2: input 0 has no map":                                              {first, {}, {Map: m, Output: "out"}},
		"job b: its Input [\"x\"] would not be read":                               {first, {Name: "b", Input: []string{"x"}, Map: m, Output: "out"}},
		"job a: its Output \"o\" would not be made":                                {{Name: "a", Input: []string{"in"}, Map: m, Output: "o"}, {Map: m, Output: "out"}},
		"job c: no output directory given":                                         {first, {Map: m}, {Name: "c", Map: m}},
	} {
		if _, err := Link(stages, "tmp"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestChangedInput: input that is not what it was when the plan was made is found, by size, by time, or gone.
func TestChangedInput(t *testing.T) {
	for what, x := range map[string]struct {
		change func(name string) error
		says   string
	}{
		"as it was": {func(string) error { return nil }, ""},
		"longer":    {func(name string) error { return os.WriteFile(name, []byte("x\ny\n"), 0o600) }, "changed while it was read (4 bytes"},
		"newer":     {func(name string) error { return os.Chtimes(name, time.Time{}, time.Unix(1, 0)) }, "changed while it was read (2 bytes"},
		"gone":      {os.Remove, "not there any more"},
	} {
		s := newStage(t, mapreduce.Job{Map: mapOf(words{})}, 1000, 1, "x\n", "y\n")
		if err := x.change(s.job.Input[0]); err != nil {
			t.Fatal(err)
		}
		err := s.plan.CheckInput(storage.Mux{}, s.job)
		if (err == nil) != (x.says == "") || err != nil && (!strings.Contains(err.Error(), x.says) || !strings.Contains(err.Error(), "in-0")) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
