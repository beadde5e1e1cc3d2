package task

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

var errBad = errors.New("bad record")

// eachLine makes a map of what a test does with a line. Before it does that, it emits the line.
func eachLine(do func(line string) error) mapreduce.Map {
	return mapOf(mapreduce.MapperFunc(func(r mapreduce.Record, out mapreduce.Emitter) error {
		out.EmitInt(r.Value, 1)
		return do(string(r.Value))
	}))
}

// TestBadRecordsAreSkipped: from the second try on, as many records as the job allows are left out, with all that they had emitted, and told with their places.
func TestBadRecordsAreSkipped(t *testing.T) {
	for _, x := range []struct {
		try, may int
		ok       bool
	}{{0, 2, false}, {1, 2, true}, {1, 3, true}, {1, 1, false}, {1, 0, false}} {
		m := eachLine(func(line string) error {
			switch line {
			case "bad":
				return errBad
			case "worse":
				panic(errBad)
			}
			return nil
		})
		s := newStage(t, mapreduce.Job{Map: m, SkipBadRecords: x.may}, 1000, 1, "a\nbad\nc\nworse\ne\n")
		s.try = x.try
		res, err := s.runMap(t.Context(), 0)
		if (err == nil) != x.ok || !x.ok && !errors.Is(err, errBad) {
			t.Errorf("%+v: %v", x, err)
		}
		if left := list(t, s.env.Scratch); !x.ok && left != "" {
			t.Errorf("%+v: left in scratch: %s", x, left)
		}
		if x.ok {
			checkSkipped(t, s, res)
		}
	}
}

func checkSkipped(t *testing.T, s *stage, res MapResult) {
	t.Helper()
	name := s.job.Input[0]
	want := []mapreduce.BadRecord{{File: name, Offset: 2, Reason: "bad record"}, {File: name, Offset: 8, Reason: "panic: bad record"}}
	if !slices.Equal(res.Skipped, want) || res.Counts.Get(mapreduce.TaskGroup, mapreduce.MapSkippedRecords) != 2 {
		t.Errorf("skipped %+v", res.Skipped)
	}
	if n := res.Counts.Get(mapreduce.TaskGroup, mapreduce.MapOutputRecords); n != 3 || res.Output.Info(0).Records != 3 || res.Counts.Get(mapreduce.TaskGroup, mapreduce.MapInputRecords) != 5 {
		t.Errorf("%d records put out, %d of them kept", n, res.Output.Info(0).Records)
	}
	if err := res.Output.Release(); err != nil {
		t.Error(err)
	}
}

// fails is a mistake of user code.
func fails(how string) error {
	switch how {
	case "panic":
		panic(errBad)
	case "text":
		panic("of words")
	case "exit":
		runtime.Goexit()
	}
	return errBad
}

// failing are jobs whose code fails, by the place that their errors must name.
func failing(how string) map[string]mapreduce.Job {
	fine := eachLine(func(string) error { return nil })
	reduce := reduceOf(mapreduce.ReducerFunc(func([]byte, mapreduce.Values, mapreduce.Emitter) error { return fails(how) }))
	second := eachLine(func(line string) error {
		if line == "b" {
			return fails(how)
		}
		return nil
	})
	return map[string]mapreduce.Job{
		"in-0 at offset 2":    {Map: second},
		"set-up":              {Map: mapreduce.Map{New: func(*mapreduce.Task) (mapreduce.Mapper, error) { return nil, fails(how) }}},
		`group "a"`:           {Map: fine, Reduce: reduce},
		"merge of map output": {Map: fine, Reduce: mapreduce.Reduce{New: func(*mapreduce.Task) (mapreduce.Reducer, error) { return nil, fails(how) }}},
		"in-0 at offset 4":    {Map: fine, Combine: reduce}, // the last record: combiners run when all are there
	}
}

// TestFailuresSayWhere: wherever user code fails, the error has the task, the place and the cause, nothing is put out, and scratch is empty.
func TestFailuresSayWhere(t *testing.T) {
	for _, how := range []string{"error", "panic", "text", "exit"} {
		for where, job := range failing(how) {
			s := newStage(t, job, 1000, 1, "a\nb\na\n")
			_, err := s.run(t.Context())
			e, ok := errors.AsType[*AttemptError](err)
			if !ok || !strings.HasSuffix(e.Where, where) || (e.Stack == "") != (how == "error") || !strings.Contains(err.Error(), e.Task+" failed in user code at ") {
				t.Errorf("%s, %s: %+v, %v", where, how, e, err)
				continue
			}
			if cause := map[string]error{"error": errBad, "panic": errBad, "exit": errGoexit}[how]; cause != nil && !errors.Is(err, cause) {
				t.Errorf("%s, %s: the cause is lost in %v", where, how, err)
			}
			if left := list(t, s.env.Scratch) + list(t, s.out.work); strings.Contains(left, "part") || strings.Contains(left, "map-") {
				t.Errorf("%s, %s: left: %s", where, how, left)
			}
		}
	}
}

// A closing mapper and reducer notes how it ends.
type closing struct {
	log                  []string
	work, finish, closed error
}

func (c *closing) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	c.log = append(c.log, "map "+string(r.Value))
	return c.work
}

func (c *closing) Reduce(key []byte, _ mapreduce.Values, out mapreduce.Emitter) error {
	c.log = append(c.log, "reduce "+string(key))
	return c.work
}

func (c *closing) Finish(out mapreduce.Emitter) error {
	c.log = append(c.log, "finish")
	out.EmitInt([]byte("z"), 9)
	return c.finish
}

func (c *closing) Close() error {
	c.log = append(c.log, "close")
	return c.closed
}

// TestEndsOfUserCode: Finish comes after the last record of an attempt that goes well and its pairs count; Close comes last, however it went; and an attempt
// of which either fails has failed.
func TestEndsOfUserCode(t *testing.T) {
	for what, x := range map[string]struct {
		code closing
		log  string
		ok   bool
	}{
		"well":             {closing{}, "%s x finish close", true},
		"work fails":       {closing{work: errBad}, "%s x close", false},
		"finish fails":     {closing{finish: errBad}, "%s x finish close", false},
		"close fails":      {closing{closed: errBad}, "%s x finish close", false},
		"work, then close": {closing{work: errBad, closed: fs.ErrClosed}, "%s x close", false},
	} {
		for kind, of := range map[string]func(c *closing) mapreduce.Job{
			"map": func(c *closing) mapreduce.Job { return mapreduce.Job{Map: mapOf(c)} },
			"reduce": func(c *closing) mapreduce.Job {
				return mapreduce.Job{Map: mapOf(words{}), Reduce: reduceOf(c)}
			},
		} {
			code := x.code
			s := newStage(t, of(&code), 1000, 1, "x\n")
			parts, err := s.run(t.Context())
			if got, want := strings.Join(code.log, " "), fmt.Sprintf(x.log, kind); got != want {
				t.Errorf("%s, %s: %s, want %s", kind, what, got, want)
			}
			if x.ok && (err != nil || strings.Join(parts, "") != "z\t9\n") || !x.ok && !errors.Is(err, errBad) {
				t.Errorf("%s, %s: %q, %v", kind, what, parts, err)
			}
		}
	}
}

// TestGiantPairs: a pair over the limit fails the attempt for good, and is not put out.
func TestGiantPairs(t *testing.T) {
	giant := mapOf(mapreduce.MapperFunc(func(_ mapreduce.Record, out mapreduce.Emitter) error {
		out.Emit(make([]byte, 2000), nil)
		return nil
	}))
	s := newStage(t, mapreduce.Job{Map: giant, MaxRecordBytes: 1000}, 1000, 1, "x\n")
	if _, err := s.runMap(t.Context(), 0); !errors.Is(err, shuffle.ErrRecordTooLarge) || !Final(err) {
		t.Errorf("%v", err)
	}
	s = newStage(t, mapreduce.Job{Map: mapOf(words{}), MaxRecordBytes: 1000}, 100_000, 1, strings.Repeat("x", 2000)+"\n")
	if _, err := s.runMap(t.Context(), 0); !errors.Is(err, mapreduce.ErrRecordTooLarge) || !Final(err) {
		t.Errorf("%v", err)
	}
}

// TestSignsOfLife: a record that may be skipped lives as long as it emits, and so does a combiner that takes one group after the other.
func TestSignsOfLife(t *testing.T) {
	slow := mapreduce.MapperFunc(func(_ mapreduce.Record, out mapreduce.Emitter) error {
		for i := range 60 {
			time.Sleep(10 * time.Millisecond)
			out.EmitInt([]byte{byte(i)}, 1)
		}
		return nil
	})
	quick := mapreduce.MapperFunc(func(_ mapreduce.Record, out mapreduce.Emitter) error {
		for i := range 60 {
			out.EmitInt([]byte{byte(i)}, 1)
		}
		return nil
	})
	sleepy := mapreduce.ReducerFunc(func(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
		time.Sleep(10 * time.Millisecond)
		return add(key, values, out)
	})
	for name, job := range map[string]mapreduce.Job{
		"skipping":  {Map: mapOf(slow), SkipBadRecords: 1},
		"combining": {Map: mapOf(quick), Combine: reduceOf(sleepy)},
	} {
		s := newStage(t, job, 1<<20, 1, "line\n")
		s.try, s.env.Silence = 1, 400*time.Millisecond
		res, err := s.runMap(t.Context(), 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = res.Output.Release()
	}
}
