package local_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// TestWhatIsToldOfARun: attempts and tries again, tasks and times of each stage, and at the end the name of the last job and its output.
func TestWhatIsToldOfARun(t *testing.T) {
	b := newBed(t)
	in := b.write("in", "a b c\na b\na\n")
	first := wordCount(in, "fold")
	first.SplitBytes, first.Reducers = 6, 3
	slow := func(line []byte, emit func([]byte, int64)) { time.Sleep(time.Millisecond); emit(line, 1) }
	second := mapreduce.Job{Name: "second", Fold: mapreduce.Sum, SplitBytes: 1 << 20, Map: mapreduce.LinesWith(func(task *mapreduce.Task) (func([]byte, func([]byte, int64)), error) {
		if task.Attempt == 0 {
			return nil, errors.New("not at once")
		}
		return slow, nil
	})}
	var r *local.Runner
	seen := map[local.Phase]local.Progress{}
	look := first.Map.New
	first.Map.New = func(task *mapreduce.Task) (mapreduce.Mapper, error) {
		p := r.Progress()
		seen[p.Phase] = p
		return look(task)
	}
	first.MaxAttempts = 1
	cfg := local.Config{Workers: 1, Scratch: b.tmp}
	var err error
	if r, err = local.New(cfg); err != nil {
		t.Fatal(err)
	}
	second.Output = b.out
	res, err := r.Run(t.Context(), first, second)
	if err != nil {
		t.Fatal(err)
	}
	maps, reads := res.Stages[0].Maps, res.Stages[1].Maps
	if res.Job != "second" || res.Output != b.out || len(res.Stages) != 2 || maps != 2 || res.Stages[0].Reduces != 3 || res.Stages[1].Reduces != 1 {
		t.Errorf("%+v", res)
	}
	if want := maps + 3 + 2*reads + 1; res.Attempts != want || res.Retries != reads {
		t.Errorf("%d attempts and %d tries again, want %d and %d", res.Attempts, res.Retries, want, reads)
	}
	for i, s := range res.Stages {
		if s.Plan <= 0 || s.Map <= 0 || s.Reduce <= 0 || s.Commit <= 0 || s.Plan+s.Map+s.Reduce+s.Commit > res.Elapsed {
			t.Errorf("stage %d: %+v of %s", i, s, res.Elapsed)
		}
	}
	if s := res.Stages[1]; s.Map < 3*time.Millisecond {
		t.Errorf("three lines that take a millisecond each took %s", s.Map)
	}
	if p := seen[local.Mapping]; p.Job != "words" || p.Stage != 1 || p.Stages != 2 || p.Total != 2 || p.TotalBytes != 12 || p.Elapsed <= 0 || p.Retries != 0 {
		t.Errorf("while it maps: %+v", p)
	}
	if p := r.Progress(); p.Phase != local.Finished || p.Stage != 2 || p.Retries != reads || p.Job != "second" || p.Fraction() != 1 {
		t.Errorf("at the end: %+v", p)
	}
	b.take()
	if res, err := local.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "no job given") || res.Job != "" {
		t.Errorf("%+v, %v", res, err)
	}
	cfg.Scratch = in
	if _, err := local.Run(t.Context(), cfg, first); err == nil || !strings.Contains(err.Error(), "make a scratch directory") {
		t.Errorf("scratch in a file: %v", err)
	}
}
