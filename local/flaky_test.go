package local_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// unlucky decides whether an attempt is to fail, and after how many calls: the same
// for the same seed, whatever the order in which attempts run.
func unlucky(t *mapreduce.Task, seed uint64, chance float64) (after int) {
	h := fnv.New64a()
	fmt.Fprint(h, t)
	rng := rand.New(rand.NewPCG(seed, h.Sum64()))
	if rng.Float64() >= chance {
		return -1
	}
	return rng.IntN(200)
}

// crash panics when the count-down ends; -1 never does.
func crash(left *int) {
	switch {
	case *left > 0:
		*left--
	case *left == 0:
		panic("an unlucky attempt")
	}
}

// flakyJob is a word count whose attempts fail three times in ten, anywhere.
func flakyJob(in, how string, seed uint64) mapreduce.Job {
	job := wordCount(in, how)
	newMapper := job.Map.New
	job.Map.New = func(t *mapreduce.Task) (mapreduce.Mapper, error) {
		m, err := newMapper(t)
		left := unlucky(t, seed, 0.3)
		t.Counter("test", "attempts that count").Add(1)
		return mapreduce.MapperFunc(func(r mapreduce.Record, out mapreduce.Emitter) error {
			err := m.Map(r, out)
			crash(&left)
			return err
		}), err
	}
	if job.Reduce.IsZero() {
		return job
	}
	newReducer := job.Reduce.New
	job.Reduce.New = func(t *mapreduce.Task) (mapreduce.Reducer, error) {
		r, err := newReducer(t)
		left := unlucky(t, seed, 0.3)
		return mapreduce.ReducerFunc(func(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
			crash(&left)
			return r.Reduce(key, values, out)
		}), err
	}
	return job
}

// TestFlakyUserCode: the output and the counters are those of a clean run.
func TestFlakyUserCode(t *testing.T) {
	runs := uint64(4)
	if require.Stressed() {
		runs = 50
	}
	b := newBed(t)
	in := b.write("in", text(40_000, 2000, 9))
	for _, how := range []string{"fold", "combine", "reduce"} {
		clean := wordCount(in, how)
		clean.SplitBytes, clean.Reducers = 8000, 5
		clean.Map.New = quiet(clean.Map.New)
		res, err := b.run(local.Config{Sort: 1 << 20}, clean)
		if err != nil {
			t.Fatal(err)
		}
		want := b.take()
		for seed := range runs {
			job := flakyJob(in, how, seed)
			job.SplitBytes, job.Reducers, job.MaxAttempts = 8000, 5, 20
			flaky, err := b.run(local.Config{Sort: 1 << 20, Workers: 3}, job)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", how, seed, err)
			}
			if flaky.Retries == 0 {
				t.Errorf("%s, seed %d: nothing failed, so nothing was tested", how, seed)
			}
			if got := b.take(); got != want {
				t.Errorf("%s, seed %d: another output than the clean run", how, seed)
			}
			if diff := gocmp.Diff(steady(res.Counts), steady(flaky.Counts)); diff != "" {
				t.Errorf("%s, seed %d: other counters than the clean run:\n%s", how, seed, diff)
			}
		}
	}
}

// quiet counts attempts as the flaky job does, and never fails.
func quiet(inner func(*mapreduce.Task) (mapreduce.Mapper, error)) func(*mapreduce.Task) (mapreduce.Mapper, error) {
	return func(t *mapreduce.Task) (mapreduce.Mapper, error) {
		t.Counter("test", "attempts that count").Add(1)
		return inner(t)
	}
}

// steady leaves out the counters that depend on memory at the moment: spills and
// what they combined.
func steady(c mapreduce.Counts) mapreduce.Counts {
	out := mapreduce.Counts{}
	c.Each(func(group, name string, n int64) {
		if strings.HasPrefix(name, "spill") || strings.HasPrefix(name, "combine") || strings.HasPrefix(name, "reduce_input_") {
			return
		}
		out.Add(mapreduce.Counts{group: {name: n}})
	})
	return out
}

// TestSkipBadRecords: so many records may be left out, and they are listed.
func TestSkipBadRecords(t *testing.T) {
	lines := 20_000
	if require.Stressed() {
		lines = 1_000_000
	}
	var in strings.Builder
	var bad []int64
	for i := range lines {
		if i == 17 || i == lines/2 || i == lines-1 {
			bad = append(bad, int64(in.Len()))
			in.WriteString("bad one\n")
		}
		fmt.Fprintf(&in, "good %d\n", i%10)
	}
	b := newBed(t)
	path := b.write("in", in.String())
	counting := mapreduce.Job{
		Name: "skip", Input: []string{path}, Map: mapper(chunkwise{}), Fold: mapreduce.Count, SplitBytes: int64(in.Len() / 7),
		SkipBadRecords: 3,
	}
	order := mapreduce.Job{ // a second stage that may skip nothing
		Name: "order", Map: mapreduce.Records(func(word string, n int64, emit func(string, int64)) { emit(word, n) }),
	}

	res, err := b.run(local.Config{}, counting, order)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.take(), fmt.Sprintf("good 0\t%d\ngood 1\t%[1]d\n", lines/10); !strings.HasPrefix(got, want) {
		t.Errorf("output starts %.40q, want %q", got, want)
	}
	if n := res.Counts.Get(mapreduce.TaskGroup, mapreduce.MapSkippedRecords); n != 3 {
		t.Errorf("counted %d skipped records, want 3", n)
	}
	if diff := gocmp.Diff(bad, offsets(res.Skipped)); diff != "" {
		t.Errorf("offsets of skipped records, want, got:\n%s", diff)
	}

	counting.SkipBadRecords = 2
	b.fails(local.Config{Workers: 1}, []string{"bad records", "2", "a bad record"}, counting)
	counting.SkipBadRecords = 0
	b.fails(local.Config{Workers: 1}, []string{"a bad record", fmt.Sprint("offset ", bad[0])}, counting)
}

func offsets(bad []local.BadRecord) (out []int64) {
	for _, r := range bad {
		out = append(out, r.Offset)
	}
	return out
}

// TestSkipBadRecordsInATotalOrder: the bad record lies where keys are sampled, too.
func TestSkipBadRecordsInATotalOrder(t *testing.T) {
	b := newBed(t)
	m := mapper(chunkwise{})
	m.Value = nil
	res, err := b.run(local.Config{}, mapreduce.Job{
		Name: "order", Input: []string{b.write("in", "c\nbad\na\n")}, Map: m,
		Partition: mapreduce.TotalOrder{}, Reducers: 2, SkipBadRecords: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.take(); got != "a\t\nc\t\n" || len(res.Skipped) != 1 {
		t.Errorf("wrote %q, skipped %v", got, res.Skipped)
	}
}

// closing counts how often it is opened and closed.
type closing struct {
	open  *atomic.Int64
	fails bool
}

func (c closing) Map(_ mapreduce.Record, out mapreduce.Emitter) error {
	out.Emit([]byte("k"), nil)
	if c.fails {
		return errors.New("map fails")
	}
	return nil
}

func (c closing) Reduce([]byte, mapreduce.Values, mapreduce.Emitter) error {
	if c.fails {
		panic("reduce fails")
	}
	return nil
}

func (c closing) Close() error { c.open.Add(-1); return nil }

var _ io.Closer = closing{}

// TestUserCodeIsClosed however its attempt ends.
func TestUserCodeIsClosed(t *testing.T) {
	for _, fails := range []string{"nothing", "map", "combine", "reduce"} {
		t.Run(fails, func(t *testing.T) {
			b := newBed(t)
			var open atomic.Int64
			reduce := func(fail bool) mapreduce.Reduce {
				return mapreduce.Reduce{New: func(*mapreduce.Task) (mapreduce.Reducer, error) {
					open.Add(1)
					return closing{&open, fail}, nil
				}}
			}
			job := mapreduce.Job{
				Name: "close", Input: []string{b.write("in", "1\n2\n")}, SplitBytes: 2,
				Map: mapreduce.Map{New: func(*mapreduce.Task) (mapreduce.Mapper, error) {
					open.Add(1)
					return closing{&open, fails == "map"}, nil
				}},
				Combine: reduce(fails == "combine"), Reduce: reduce(fails == "reduce"),
			}
			if fails == "nothing" || fails == "reduce" {
				job.Combine = mapreduce.Reduce{} // closing emits nothing, so the reduce would have nothing to do
			}
			if _, err := b.run(local.Config{}, job); (err != nil) != (fails != "nothing") {
				t.Errorf("the run ended with %v", err)
			}
			if n := open.Load(); n != 0 {
				t.Errorf("%d were not closed", n)
			}
		})
	}
}
