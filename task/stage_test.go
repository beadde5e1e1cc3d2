package task

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

// A stage is a job that a test runs task by task, over the files of a directory.
type stage struct {
	dir    string
	env    *Env
	job    *mapreduce.Job
	plan   *Plan
	out    *JobOutput
	try    int // number of the attempts
	ran    bool
	counts mapreduce.Counts
}

func newStage(t testing.TB, job mapreduce.Job, splitBytes int64, reducers int, files ...string) *stage {
	t.Helper()
	s := &stage{dir: t.TempDir(), job: &job, counts: mapreduce.Counts{}}
	for i, text := range files {
		name := filepath.Join(s.dir, fmt.Sprintf("in-%d", i))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		job.Input = append(job.Input, name)
	}
	job.Name, job.Output = "j", s.dir+"/out"
	s.env = &Env{Scratch: t.TempDir(), Pool: shuffle.NewPool(1 << 20), MaxRecord: 1 << 16}
	var err error
	if s.plan, err = MakePlan(t.Context(), s.env, s.job, func(*mapreduce.Job, int64) (int64, int) { return splitBytes, reducers }); err != nil {
		t.Fatal(err)
	}
	if s.out, err = prepare(s.env.Store, s.job, "test", false); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) work(kind mapreduce.Kind, index int) *Work {
	return &Work{Env: s.env, Job: s.job, Plan: s.plan, ID: ID{Kind: kind, Index: index, Attempt: s.try}, Out: s.out}
}

func (s *stage) runMap(ctx context.Context, index int) (MapResult, error) {
	return RunMap(ctx, s.work(mapreduce.MapTask, index), s.plan.Splits[index])
}

// run runs every task, one after the other, and returns the parts.
func (s *stage) run(ctx context.Context) (parts []string, err error) {
	var outputs []*shuffle.Output
	defer func() {
		for _, o := range outputs {
			_ = o.Release()
		}
	}()
	for i := range s.plan.Splits {
		res, err := s.runMap(ctx, i)
		if err != nil {
			return nil, err
		}
		if res.Output != nil {
			outputs = append(outputs, res.Output)
		}
		s.counts.Add(res.Counts)
	}
	for p := range s.plan.Reducers {
		var from Sources
		for _, o := range outputs {
			from = append(from, o.Source(p))
		}
		res, err := RunReduce(ctx, s.work(mapreduce.ReduceTask, p), from)
		if err != nil {
			return nil, err
		}
		s.counts.Add(res.Counts)
	}
	s.ran = true
	if err := s.commit(); err != nil {
		return nil, err
	}
	return s.parts()
}

func (s *stage) commit() error {
	if !s.out.shared {
		return s.out.Commit()
	}
	kind, winners := mapreduce.ReduceTask, s.plan.Reducers
	if s.job.MapOnly {
		kind, winners = mapreduce.MapTask, len(s.plan.Splits)
	}
	if err := s.out.Publish(kind, make([]uint64, winners)); err != nil {
		return err
	}
	return s.out.CommitOnce("job-1", 0)
}

func (s *stage) parts() (parts []string, err error) {
	names, err := filepath.Glob(s.job.Output + "/part-*")
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		parts = append(parts, string(b))
	}
	return parts, err
}

func (s *stage) count(name string) int64 { return s.counts.Get(mapreduce.TaskGroup, name) }

// words makes a pair of each word of a line, by record and by chunk.
type words struct{}

func (words) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	for w := range bytes.FieldsSeq(r.Value) {
		out.EmitInt(w, 1)
	}
	return nil
}

func (w words) MapChunk(chunk []byte, offset int64, out mapreduce.Emitter) error {
	return w.Map(mapreduce.Record{Value: chunk, Offset: offset}, out)
}

func mapOf(m mapreduce.Mapper) mapreduce.Map {
	return mapreduce.Map{Value: mapreduce.Int64, New: func(*mapreduce.Task) (mapreduce.Mapper, error) { return m, nil }}
}

func reduceOf(r mapreduce.Reducer) mapreduce.Reduce {
	return mapreduce.Reduce{Value: mapreduce.Int64, New: func(*mapreduce.Task) (mapreduce.Reducer, error) { return r, nil }}
}

// add adds the numbers of a group up.
var add = mapreduce.ReducerFunc(func(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
	var sum int64
	for values.Next() {
		n, err := mapreduce.Int64.Decode(values.Value())
		if err != nil {
			return err
		}
		sum += n
	}
	out.EmitInt(key, sum)
	return nil
})

// TestWaysToCount: however a job adds up, in however many tasks and on whichever try, each word is counted once, in one part, and the counters say what went on.
func TestWaysToCount(t *testing.T) {
	vocabulary := []string{"a", "b", "bee", "c", "ünder", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9"}
	rapid.Check(t, func(rt *rapid.T) {
		line := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 6), func(w []string) string { return strings.Join(w, " ") + "\n" })
		text := rapid.Map(rapid.SliceOfN(line, 0, 40), func(l []string) string { return strings.Join(l, "") })
		files := []string{"a\n" + text.Draw(rt, "first"), text.Draw(rt, "second")}
		job := rapid.SampledFrom([]mapreduce.Job{
			{Fold: mapreduce.Sum}, {Reduce: reduceOf(add)}, {Reduce: reduceOf(add), Combine: reduceOf(add)}, {Fold: mapreduce.Count},
		}).Draw(rt, "job")
		job.Map = mapOf(words{})
		s := newStage(t, job, rapid.Int64Range(20, 400).Draw(rt, "split"), rapid.IntRange(1, 4).Draw(rt, "reduces"), files...)
		s.try = rapid.IntRange(0, 1).Draw(rt, "try")
		parts, err := s.run(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		want, all := map[string]int{}, strings.Join(files, "")
		for w := range strings.FieldsSeq(all) {
			want[w]++
		}
		checkCounted(rt, s, parts, want)
		for name, n := range map[string]int{
			mapreduce.MapInputRecords: strings.Count(all, "\n"), mapreduce.MapInputBytes: len(all), mapreduce.MapOutputRecords: len(strings.Fields(all)),
			mapreduce.ReduceInputGroups: len(want), mapreduce.ReduceOutputRecords: len(want), mapreduce.OutputRecords: len(want), mapreduce.OutputBytes: len(strings.Join(parts, "")), mapreduce.MapSkippedRecords: 0,
		} {
			if got := s.count(name); got != int64(n) {
				rt.Errorf("%s is %d, want %d", name, got, n)
			}
		}
		if in, out := s.count(mapreduce.ReduceInputRecords), s.count(mapreduce.ShuffleRecords); in > out || in < int64(len(want)) {
			rt.Errorf("maps hand over %d records, and reduces take %d", out, in)
		}
	})
}

// checkCounted compares parts with what was to be counted.
func checkCounted(rt *rapid.T, s *stage, parts []string, want map[string]int) {
	got := map[string]int{}
	for _, part := range parts {
		last := ""
		for line := range strings.Lines(part) {
			word, number, _ := strings.Cut(strings.TrimSpace(line), "\t")
			n, err := strconv.Atoi(number)
			if _, twice := got[word]; twice || err != nil || word <= last {
				rt.Fatalf("%q, twice %t, after %q: %v", line, twice, last, err)
			}
			got[word], last = n, word
		}
	}
	if len(parts) != s.plan.Reducers || len(got) != len(want) {
		rt.Fatalf("%d parts of %d, %d words of %d", len(parts), s.plan.Reducers, len(got), len(want))
	}
	for w, n := range want {
		if got[w] != n {
			rt.Errorf("%q %d times, want %d", w, got[w], n)
		}
	}
}

// TestOrders: what a job says about order holds: all parts of a total order, one after the other, are sorted; with a hash no part has all; and an order of
// the job's own is the order of its parts.
func TestOrders(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var text strings.Builder
	for range 4000 {
		fmt.Fprintf(&text, "%06d\n", random.IntN(1_000_000))
	}
	down := mapreduce.Compare(func(a, b []byte) int { return bytes.Compare(b, a) })
	for what, job := range map[string]mapreduce.Job{
		"hash": {}, "total": {Partition: mapreduce.TotalOrder{}}, "down": {Partition: mapreduce.TotalOrder{}, Sort: down},
	} {
		job.Map, job.Reduce = mapOf(words{}), reduceOf(add)
		s := newStage(t, job, 5000, 4, text.String())
		parts, err := s.run(t.Context())
		if err != nil || len(parts) != 4 {
			t.Fatal(what, len(parts), err)
		}
		for i, part := range parts {
			if n := strings.Count(part, "\n"); n < 500 || n > 1500 {
				t.Errorf("%s: part %d has %d lines", what, i, n)
			}
		}
		all := strings.Split(strings.TrimSpace(strings.Join(parts, "")), "\n")
		if what == "down" {
			slices.Reverse(all)
		}
		if sorted := slices.IsSorted(all); sorted != (what != "hash") {
			t.Errorf("%s: sorted %t", what, sorted)
		}
	}
	if find := (&Plan{Reducers: 1}).Partition(&mapreduce.Job{}); find != nil {
		t.Error("one partition is looked for")
	}
}

// told counts how its records come.
type told struct {
	words
	chunks, records int
}

func (c *told) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	c.records++
	return c.words.Map(r, out)
}

func (c *told) MapChunk(chunk []byte, offset int64, out mapreduce.Emitter) error {
	c.chunks++
	return c.words.MapChunk(chunk, offset, out)
}

// TestHowRecordsCome: the first try of a map takes chunks, a second one records, so that it can name one; and a meter tells of both, and of a reduce, what they
// have read.
func TestHowRecordsCome(t *testing.T) {
	for try := range 2 {
		code := &told{}
		s := newStage(t, mapreduce.Job{Map: mapOf(code)}, 1000, 1, "b a\nb\nccc\n")
		s.try = try
		w := s.work(mapreduce.MapTask, 0)
		w.Meter = &Meter{}
		res, err := RunMap(t.Context(), w, s.plan.Splits[0])
		if err != nil {
			t.Fatal(err)
		}
		if records := 3 * try; code.records != records || (code.chunks == 0) != (try == 1) {
			t.Errorf("try %d: %d records and %d chunks", try, code.records, code.chunks)
		}
		if b, r := w.Meter.Bytes.Load(), w.Meter.Records.Load(); b != 10 || r != 3 {
			t.Errorf("try %d: %d bytes and %d records are read", try, b, r)
		}
		w = s.work(mapreduce.ReduceTask, 0)
		w.Meter = &Meter{}
		reduced, err := RunReduce(t.Context(), w, Sources{res.Output.Source(0)})
		if err != nil {
			t.Fatal(err)
		}
		bytes := reduced.Counts.Get(mapreduce.TaskGroup, mapreduce.ReduceInputBytes)
		if b, r := w.Meter.Bytes.Load(), w.Meter.Records.Load(); b != bytes || b != 4*8+6 || r != 4 {
			t.Errorf("try %d: %d bytes of %d and %d records are reduced", try, b, bytes, r)
		}
		if err := res.Output.Release(); err != nil {
			t.Error(err)
		}
	}
}

// TestMapOnly: without reduces, maps write the parts, in the order of the input.
func TestMapOnly(t *testing.T) {
	s := newStage(t, mapreduce.Job{Map: mapOf(words{}), MapOnly: true}, 1000, 0, "b a\n", "c\n")
	s.plan.Reducers = 0
	parts, err := s.run(t.Context())
	if got := strings.Join(parts, ""); err != nil || got != "b\t1\na\t1\nc\t1\n" {
		t.Errorf("%q, %v", got, err)
	}
	if m, o, b := s.count(mapreduce.MapOutputRecords), s.count(mapreduce.OutputRecords), s.count(mapreduce.OutputBytes); m != 3 || o != 3 || b != 12 {
		t.Errorf("%d records from maps, %d put out, %d bytes", m, o, b)
	}
}

// TestPassedOn: without a reduce, pairs are the output, sorted, each one.
func TestPassedOn(t *testing.T) {
	s := newStage(t, mapreduce.Job{Map: mapOf(words{})}, 1000, 1, "b a b\n")
	parts, err := s.run(t.Context())
	if got := strings.Join(parts, ""); err != nil || got != "a\t1\nb\t1\nb\t1\n" {
		t.Errorf("%q, %v", got, err)
	}
}
