package integration

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master"
)

// The seven tests that MIT's course 6.5840 asks of a MapReduce, in our own words: word count,
// indexer, parallel maps, parallel reduces, as many calls as tasks, no early exit, crashes.

// countWords is a word count whose map and reduce call the hooks.
func countWords(in, out string, onMap, onReduce func(t *mapreduce.Task) error) []mapreduce.Job {
	return []mapreduce.Job{{
		Name: "words", Input: []string{in}, Output: out, SplitBytes: 50_000, Reducers: 4,
		Map: mapreduce.Map{Format: mapreduce.Text, Key: mapreduce.Bytes, Value: mapreduce.Bytes, New: func(t *mapreduce.Task) (mapreduce.Mapper, error) {
			if err := onMap(t); err != nil {
				return nil, err
			}
			return mapreduce.MapperFunc(func(r mapreduce.Record, out mapreduce.Emitter) error {
				for w := range strings.FieldsSeq(string(r.Value)) {
					out.Emit([]byte(w), []byte("1"))
				}
				return nil
			}), nil
		}},
		Reduce: mapreduce.Reduce{Key: mapreduce.Bytes, Value: mapreduce.Bytes, New: func(t *mapreduce.Task) (mapreduce.Reducer, error) {
			if err := onReduce(t); err != nil {
				return nil, err
			}
			return mapreduce.ReducerFunc(func(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
				n := 0
				for values.Next() {
					n++
				}
				out.Emit(key, fmt.Append(nil, n))
				return nil
			}), nil
		}},
	}}
}

func nothing(*mapreduce.Task) error { return nil }

// hooked starts a cluster on which "words IN OUT" runs with these hooks.
func hooked(t *testing.T, workers int, onMap, onReduce func(t *mapreduce.Task) error) *testcluster.Cluster {
	t.Helper()
	steady := func(c *master.Config) { c.Jobs.SecondAttempts.Off = true } // a busy machine makes stragglers
	return testcluster.Start(t, testcluster.Config{Workers: workers, Racks: 2, Master: steady, Build: func(p *wire.Program) ([]mapreduce.Job, error) {
		if p.Builtin != "words" {
			return jobs.Parse(p.Builtin, p.Args)
		}
		return countWords(p.Args[0], p.Args[1], onMap, onReduce), nil
	}})
}

func succeed(t *testing.T, c *testcluster.Cluster, words ...string) wire.JobStatus {
	t.Helper()
	s := c.Finish(c.Submit(wire.JobSpec{}, words...))
	if s.State != "SUCCEEDED" {
		t.Fatalf("%v: %+v", words, s)
	}
	return s
}

func TestMITWordCountAndIndexer(t *testing.T) {
	t.Parallel()
	c := hooked(t, 3, nothing, nothing)
	data := text(t, 300_000)
	dfsPut(t, c, "/in", data)
	succeed(t, c, "words", "dfs:/in", "dfs:/wc")
	if got := lines(dfsOutput(t, c, "/wc")); !slices.Equal(got, reference(t, data, "wordcount")) {
		t.Error("word count: another output than the sequential one")
	}
	succeed(t, c, "inverted-index", "--input", "dfs:/in", "--output", "dfs:/index")
	got, want := lines(dfsOutput(t, c, "/index")), reference(t, data, "inverted-index")
	if len(got) == 0 || len(got) != len(want) {
		t.Errorf("indexer: %d lines, want %d", len(got), len(want))
	}
}

// together counts how many are inside at once, and waits a while for company.
type together struct{ now, most atomic.Int32 }

func (p *together) enter(*mapreduce.Task) error {
	p.now.Add(1)
	defer p.now.Add(-1)
	for begin := time.Now(); p.most.Load() < 2 && time.Since(begin) < 10*time.Second; time.Sleep(time.Millisecond) {
		if n := p.now.Load(); n > p.most.Load() {
			p.most.Store(n)
		}
	}
	return nil
}

func TestMITParallelism(t *testing.T) {
	t.Parallel()
	var maps, reduces together
	c := hooked(t, 2, maps.enter, reduces.enter)
	dfsPut(t, c, "/in", text(t, 200_000))
	succeed(t, c, "words", "dfs:/in", "dfs:/out")
	if maps.most.Load() < 2 || reduces.most.Load() < 2 {
		t.Errorf("at most %d maps and %d reduces ran at once", maps.most.Load(), reduces.most.Load())
	}
}

// TestMITJobCount: nothing runs twice when nothing fails.
func TestMITJobCount(t *testing.T) {
	t.Parallel()
	var maps, reduces atomic.Int32
	c := hooked(t, 3, func(*mapreduce.Task) error { maps.Add(1); return nil }, func(*mapreduce.Task) error { reduces.Add(1); return nil })
	dfsPut(t, c, "/in", text(t, 500_000))
	s := succeed(t, c, "words", "dfs:/in", "dfs:/out")
	if int(maps.Load()) != s.Maps.Total || int(reduces.Load()) != s.Reduces.Total || s.Maps.Total != 10 || s.Reduces.Total != 4 {
		t.Errorf("%d maps for %d tasks, %d reduces for %d", maps.Load(), s.Maps.Total, reduces.Load(), s.Reduces.Total)
	}
}

// TestMITEarlyExit: when the job is said to be done, all of its output is there, also that of the
// slowest reduce.
func TestMITEarlyExit(t *testing.T) {
	t.Parallel()
	var late atomic.Bool
	c := hooked(t, 3, nothing, func(t *mapreduce.Task) error {
		if t.Index == 3 {
			time.Sleep(700 * time.Millisecond)
			late.Store(true)
		}
		return nil
	})
	data := text(t, 200_000)
	dfsPut(t, c, "/in", data)
	succeed(t, c, "words", "dfs:/in", "dfs:/out")
	if !late.Load() {
		t.Error("the job ended before its last reduce")
	}
	if got := lines(dfsOutput(t, c, "/out")); !slices.Equal(got, reference(t, data, "wordcount")) {
		t.Error("another output than the sequential one")
	}
}

// TestMITCrash is FAULTS row 10: attempts panic, fail and dawdle at random, and the output is right.
func TestMITCrash(t *testing.T) {
	t.Parallel()
	runs := 3
	if require.Stressed() {
		runs = 50
	}
	unlucky := func(t *mapreduce.Task) error {
		h := fnv.New64a()
		fmt.Fprint(h, t, t.Attempt)
		rng := rand.New(rand.NewPCG(h.Sum64(), uint64(time.Now().UnixNano())))
		switch p := rng.Float64(); {
		case p < 0.15:
			panic("an unlucky attempt")
		case p < 0.3:
			return errors.New("an unlucky attempt")
		case p < 0.6:
			time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
		}
		return nil
	}
	c := hooked(t, 3, unlucky, unlucky)
	data := text(t, 300_000)
	dfsPut(t, c, "/in", data)
	want := reference(t, data, "wordcount")
	retries := 0
	for i := range runs {
		out := fmt.Sprint("/out", i)
		s := c.Finish(c.Submit(wire.JobSpec{Attempts: 20}, "words", "dfs:/in", "dfs:"+out))
		if s.State != "SUCCEEDED" {
			t.Fatalf("run %d: %+v", i, s)
		}
		retries += s.Attempts - s.Maps.Total - s.Reduces.Total - 1
		if got := lines(dfsOutput(t, c, out)); !slices.Equal(got, want) {
			t.Errorf("run %d: another output than the sequential one", i)
		}
	}
	if retries == 0 {
		t.Error("nothing failed, so nothing was tested")
	}
}
