package local_test

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/task"
)

// stuck is a job whose user code waits for release at one place.
func stuck(in, where string, release chan struct{}) mapreduce.Job {
	job := mapreduce.Job{Name: "stuck", Input: []string{in}, Reducers: 2, Map: mapreduce.Lines(func(line []byte, emit func(string, int64)) {
		if where == "map" {
			<-release
		}
		emit(string(line), 1)
	})}
	job.Reduce = mapreduce.Groups(func(key string, _ iter.Seq[int64], emit func(string, int64)) {
		if where == "reduce" {
			<-release
		}
		emit(key, 1)
	})
	if where == "sampling" {
		job.Partition = mapreduce.TotalOrder{}
		job.Map = mapreduce.Lines(func([]byte, func(string, int64)) { <-release })
	}
	return job
}

// TestSilentUserCode: user code that never returns fails its task after the timeout, and the run with it.
func TestSilentUserCode(t *testing.T) {
	for _, where := range []string{"map", "reduce", "sampling"} {
		t.Run(where, func(t *testing.T) {
			b := newBed(t)
			in := b.write("in", "a\nb\n")
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				job := stuck(in, where, release)
				job.Output = b.out
				began := time.Now()
				_, err := local.Run(t.Context(), local.Config{Scratch: b.tmp, Workers: 2, TaskTimeout: time.Hour}, job)
				close(release)
				if took := time.Since(began); !errors.Is(err, task.ErrSilent) || took < time.Hour || took > 90*time.Minute {
					t.Errorf("after %s: %v", took, err)
				}
				if where == "map" && (err == nil || !strings.Contains(err.Error(), in)) {
					t.Errorf("%v does not name %s", err, in)
				}
			})
			b.noOutput()
		})
	}
}

// TestSlowUserCode: user code that shows signs of life may take as long as it wants.
func TestSlowUserCode(t *testing.T) {
	for name, sign := range map[string]func(*mapreduce.Task, mapreduce.Emitter){
		"emits":  func(_ *mapreduce.Task, out mapreduce.Emitter) { out.EmitInt([]byte("k"), 1) },
		"counts": func(t *mapreduce.Task, _ mapreduce.Emitter) { t.Counter("my", "steps").Add(1) },
		"status": func(t *mapreduce.Task, _ mapreduce.Emitter) { t.SetStatus("slow") },
		"says":   func(t *mapreduce.Task, _ mapreduce.Emitter) { t.Alive() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			in := b.write("in", "a\n")
			synctest.Test(t, func(t *testing.T) {
				job := mapreduce.Job{Input: []string{in}, Output: b.out, Fold: mapreduce.Sum, Map: mapreduce.Map{
					Key: mapreduce.Bytes, Value: mapreduce.Int64,
					New: func(task *mapreduce.Task) (mapreduce.Mapper, error) {
						return mapreduce.MapperFunc(func(_ mapreduce.Record, out mapreduce.Emitter) error {
							for range 20 {
								time.Sleep(30 * time.Minute)
								sign(task, out)
							}
							return nil
						}), nil
					},
				}}
				if _, err := local.Run(t.Context(), local.Config{Scratch: b.tmp, TaskTimeout: time.Hour}, job); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestNamedIntegersSort: keys of a type made of an integer come out in order of numbers.
func TestNamedIntegersSort(t *testing.T) {
	type userID uint16
	type key struct {
		User userID
		Day  int8
	}
	b := newBed(t)
	job := mapreduce.Job{Input: []string{b.write("in", "x\n")}, Reducers: 1, Map: mapreduce.Lines(func(_ []byte, emit func(key, int64)) {
		for _, k := range []key{{10, 1}, {9, 3}, {9, -3}, {100, 0}} {
			emit(k, 1)
		}
	}), Fold: mapreduce.Sum}
	want := "{\"User\":9,\"Day\":-3}\t1\n{\"User\":9,\"Day\":3}\t1\n{\"User\":10,\"Day\":1}\t1\n{\"User\":100,\"Day\":0}\t1\n"
	if got := b.ok(local.Config{}, job); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestShuffledIsCountedAfterCombining: what maps hand over, not what they emitted.
func TestShuffledIsCountedAfterCombining(t *testing.T) {
	b := newBed(t)
	in := b.write("in", strings.Repeat("a b\n", 10_000))
	for _, compress := range []string{"none", "s2"} {
		job := wordCount(in, "fold")
		job.Reducers, job.Compression = 3, compress
		res, err := b.run(local.Config{}, job)
		if err != nil {
			t.Fatal(err)
		}
		b.take()
		emitted, records := res.Counts.Get(mapreduce.TaskGroup, mapreduce.MapOutputRecords), res.Counts.Get(mapreduce.TaskGroup, mapreduce.ShuffleRecords)
		bytes := res.Counts.Get(mapreduce.TaskGroup, mapreduce.ShuffleBytes)
		if most := int64(2 * res.Stages[0].Maps); emitted != 20_000 || records < 2 || records > most || bytes < 10 || bytes > 100*most {
			t.Errorf("%s: %d emitted, %d shuffled in %d bytes", compress, emitted, records, bytes)
		}
	}
}
