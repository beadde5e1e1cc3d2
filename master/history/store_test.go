package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"

	"github.com/millrace/millrace/internal/wire"
)

// TestCloseLeavesNothing stands first: a store whose disk has failed is left as it is, with what pebble has running.
func TestCloseLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	l := &log{}
	s, err := Open(configOf(l, vfs.NewMem()))
	if err != nil {
		t.Fatal(err)
	}
	s.Add(l.add(life(1, 1)...))
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A log stands for the journal: records by their number, from 1.
type log struct {
	mu      sync.Mutex
	records []Entry
	first   int // those before are dropped
}

func (l *log) add(entries ...Entry) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range entries {
		l.records = append(l.records, Entry{})
		entries[i].Seq = uint64(len(l.records))
		l.records[len(l.records)-1] = entries[i]
	}
	return entries
}

func (l *log) durable() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.records))
}

func (l *log) scan(from, to uint64, fn func(uint64, []Entry) error) (uint64, error) {
	l.mu.Lock()
	list := l.records[:to]
	first := max(from, uint64(l.first)+1)
	l.mu.Unlock()
	for i := first; i <= to; i++ {
		if err := fn(i, []Entry{list[i-1]}); err != nil {
			return first, err
		}
	}
	return first, nil
}

func configOf(l *log, fs vfs.FS) Config {
	cfg := DefaultConfig()
	cfg.Dir, cfg.FS, cfg.Durable, cfg.Scan = "history", fs, l.durable, l.scan
	cfg.MaxAge = 0 // the jobs of these tests are of 1970
	return cfg
}

func open(t *testing.T, cfg Config) *Store {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// life is all that is journalled about job n: submitted, planned, two maps, ended.
func life(n int, wall int64) []Entry {
	id := wire.JobID(fmt.Sprint("job-", n))
	task := func(i int32) Entry {
		return Entry{Job: id, PastEvent: wire.PastEvent{At: 40 + int64(i), Kind: wire.PastDone, Task: wire.MapTask, Index: i, Try: uint64(n*10) + uint64(i), Node: "w1"}}
	}
	return []Entry{
		{Job: id, Wall: wall, Spec: &wire.JobSpec{Name: "j", User: fmt.Sprint("user", n%2), Stages: 1}, PastEvent: wire.PastEvent{At: 10, Kind: wire.PastSubmitted}},
		{Job: id, PastEvent: wire.PastEvent{At: 30, Kind: wire.PastPlanned, Maps: 2}},
		task(0), task(1),
		{Job: id, Wall: wall, Tries: 3, PastEvent: wire.PastEvent{At: 60, Kind: wire.PastEnded, State: "SUCCEEDED", Counts: wire.Counts{"g": {"n": int64(n)}}}},
	}
}

func launched(n, i int, seq uint64, count uint32) Entry {
	return Entry{
		Job: wire.JobID(fmt.Sprint("job-", n)), Seq: seq, Epoch: 1, Count: count,
		PastEvent: wire.PastEvent{At: 35, Kind: wire.PastLaunched, Task: wire.MapTask, Index: int32(i), Try: uint64(n*10 + i), Node: "w1", Locality: "rack"},
	}
}

func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for begin := time.Now(); !done(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatal("waited half a minute: " + what)
		}
	}
}

func caughtUp(t *testing.T, s *Store, l *log) {
	t.Helper()
	wait(t, "the history catches up", func() bool { return s.Applied() == l.durable() })
}

// checkJobs: each of the jobs is there, once, with all its events.
func checkJobs(t *testing.T, s *Store, from, to int) {
	t.Helper()
	got, err := s.Jobs(wire.PastQuery{Limit: 1000})
	if err != nil || len(got.Jobs) != to-from+1 {
		t.Fatalf("%d jobs, want %d to %d: %v", len(got.Jobs), from, to, err)
	}
	for i, j := range got.Jobs {
		want := wire.JobID(fmt.Sprint("job-", to-i))
		sum, err := s.Summary(want)
		if err != nil || j.Job != want || j.State != "SUCCEEDED" || j.Maps != 2 || len(sum.Slowest) != 2 || sum.Counts["g"]["n"] != int64(to-i) {
			t.Fatalf("%s: %+v, %v", want, sum, err)
		}
	}
}

// TestCatchUp: what is in the journal gets into the history, whatever of it was added, twice, late or never.
func TestCatchUp(t *testing.T) {
	l, fs := &log{}, vfs.NewMem()
	for n := 1; n <= 20; n++ {
		l.add(life(n, 1)...)
	}
	s := open(t, configOf(l, fs))
	caughtUp(t, s, l)
	checkJobs(t, s, 1, 20)
	more := l.add(life(21, 1)...)
	s.Add(more)
	s.Add(more)
	s.Add([]Entry{launched(21, 0, more[4].Seq, 1), launched(21, 1, more[4].Seq, 2)})
	caughtUp(t, s, l)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l.add(life(22, 1)...) // nobody told
	s = open(t, configOf(l, fs))
	caughtUp(t, s, l)
	checkJobs(t, s, 1, 22)
	list, err := s.Attempts(wire.AttemptsRequest{Job: "job-21", Task: wire.MapTask, Index: 1})
	if err != nil || len(list) != 1 || list[0].Locality != "rack" || list[0].How != wire.PastDone || list[0].Begin != 35 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestBriefEvents: asked briefly, a job has the same events without what was counted.
func TestBriefEvents(t *testing.T) {
	l := &log{}
	l.add(life(1, 1)...)
	s := open(t, configOf(l, vfs.NewMem()))
	caughtUp(t, s, l)
	full, err := s.Events(wire.PastEventsRequest{Job: "job-1"})
	brief, err2 := s.Events(wire.PastEventsRequest{Job: "job-1", Brief: true})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	counted := false
	for i := range full.Events {
		counted = counted || full.Events[i].Counts != nil
		full.Events[i].Counts = nil
	}
	if !counted || !reflect.DeepEqual(full, brief) {
		t.Errorf("counted: %t\n%+v\n%+v", counted, full, brief)
	}
}

// TestSmallQueue: more than fits into the queue is read from the journal; what is not in it is counted as lost.
func TestSmallQueue(t *testing.T) {
	l := &log{}
	cfg := configOf(l, vfs.NewMem())
	cfg.Queue = 3
	s := open(t, cfg)
	for n := 1; n <= 50; n++ {
		s.Add(append(l.add(life(n, 1)...), launched(n, 0, l.durable(), uint32(n))))
	}
	caughtUp(t, s, l)
	checkJobs(t, s, 1, 50)
	s.mu.Lock()
	waiting := cap(s.queue)
	s.mu.Unlock()
	if waiting > 8 {
		t.Errorf("a queue of 3 has room for %d", waiting)
	}
}

// TestPowerCut: after a power cut at any moment nothing that the journal has is missing, and Keep never lets go of a record
// that the history could still need.
func TestPowerCut(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 3))
		fs := vfs.NewCrashableMem()
		l := &log{}
		s, err := Open(configOf(l, fs))
		if err != nil {
			t.Fatal(err)
		}
		jobs := 1 + rng.IntN(20)
		for n := 1; n <= jobs; n++ {
			entries := life(n, 1)
			if seed%3 == 0 { // enough for several files of the log
				entries[0].Text = strings.Repeat("x", 700<<10)
			}
			s.Add(l.add(entries...))
			if rng.IntN(4) == 0 {
				l.mu.Lock()
				l.first = max(l.first, int(s.keepFor(l))-1)
				l.mu.Unlock()
			}
		}
		disk := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again := open(t, configOf(l, disk))
		caughtUp(t, again, l)
		checkJobs(t, again, 1, jobs)
	}
}

// keepFor is Keep for a caller that holds the log's lock.
func (s *Store) keepFor(l *log) uint64 {
	l.mu.Unlock()
	defer l.mu.Lock()
	return s.Keep()
}

// TestFailedDisk: when the disk fails, at whatever operation, nobody hangs or dies: the history says so, and takes nothing more.
func TestFailedDisk(t *testing.T) {
	failed := 0
	for after := range int64(40) {
		var n int64
		var mu sync.Mutex
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
				return nil
			}
			if n++; n > 60+after {
				return errors.New("the disk is on fire")
			}
			return nil
		}))
		l := &log{}
		s, err := Open(configOf(l, fs))
		if err != nil {
			continue
		}
		for n := 1; n <= 200 && !s.failed(); n++ {
			s.Add(l.add(life(n, 1)...))
			s.Keep()
		}
		if !s.failed() {
			t.Errorf("after %d operations: the disk failed and nobody noticed", after)
		}
		failed++
		if _, err := s.Jobs(wire.PastQuery{}); err == nil || !strings.Contains(err.Error(), "failed") {
			t.Errorf("after %d operations: %v", after, err)
		}
		if keep := s.Keep(); keep != 1<<63 {
			t.Errorf("a history that has failed wants record %d", keep)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if failed == 0 {
		t.Error("no disk failed")
	}
}

// TestRowOfExpected: the row of a job keeps what the policies are told of it, in what is stored, too.
func TestRowOfExpected(t *testing.T) {
	want := wire.Expected{Maps: 3, Input: 1 << 40, Shuffle: 5, Output: 6, MapMillis: 7, ReduceMillis: 8}
	var row wire.PastJob
	apply(&row, &Entry{Spec: &wire.JobSpec{Slowstart: 0.5, ReduceCost: 2, Expect: want}, PastEvent: wire.PastEvent{Kind: wire.PastSubmitted}})
	b, err := appendJob(&row)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := parseJob(b); err != nil || got.Slowstart != 0.5 || got.ReduceCost != 2 || got.Expect == nil || *got.Expect != want {
		t.Errorf("%+v, %v", got, err)
	}
	if old, err := parseJob([]byte("\x01{\"job\":\"job-1\"}")); err != nil || old.Expect != nil {
		t.Errorf("of a row of an older master: %+v, %v", old, err)
	}
}

// TestHistoryThatIsNotUnderstood: a history of a later version, or with what is no number or no row in it, is refused when it is opened, and says why.
func TestHistoryThatIsNotUnderstood(t *testing.T) {
	later := binary.BigEndian.AppendUint64(nil, Version+1)
	for want, row := range map[string]struct {
		key, value []byte
		kind       wire.Kind
	}{
		"is of version 2; this program knows version 1": {formatKey, later, wire.Invalid},
		"a number of 3 bytes":                           {appliedKey, []byte("odd"), wire.Corrupt},
		"a number of 9 bytes":                           {formatKey, append(later, 0), wire.Corrupt},
		"":                                              {keyOfJob(1), []byte{Version, 'x'}, 0},
	} {
		l, fs := &log{}, vfs.NewMem()
		s, err := Open(configOf(l, fs))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.db.Set(row.key, row.value, nil), s.Close()); err != nil {
			t.Fatal(err)
		}
		s, err = Open(configOf(l, fs))
		if err == nil {
			t.Errorf("%q: it is opened", want)
			_ = s.Close()
			continue
		}
		if !strings.Contains(err.Error(), want) || row.kind != 0 && wire.KindOf(err) != row.kind {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestNobodysEvents: events of what is no job of this cluster are left out, and who asks for them is told that there is none.
func TestNobodysEvents(t *testing.T) {
	l := &log{}
	s := open(t, configOf(l, vfs.NewMem()))
	odd := life(1, 1)
	for i := range odd {
		odd[i].Job = "work-1"
	}
	s.Add(l.add(odd...))
	s.Add(l.add(life(2, 1)...))
	wait(t, "all is written", func() bool { return s.Applied() == l.durable() })
	list, err := s.Jobs(wire.PastQuery{})
	if err != nil || len(list.Jobs) != 1 || list.Jobs[0].Job != "job-2" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, id := range []wire.JobID{"work-1", "job-3", "job-", ""} {
		if j, err := s.Job(id); wire.KindOf(err) != wire.NotFound || err == nil {
			t.Errorf("%q: %+v, %v", id, j, err)
		}
		if sum, err := s.Summary(id); wire.KindOf(err) != wire.NotFound || err == nil {
			t.Errorf("%q: %+v, %v", id, sum, err)
		}
	}
	for _, n := range []int{1, 15, 17} {
		if _, err := s.Events(wire.PastEventsRequest{Job: "job-2", From: make([]byte, n)}); wire.KindOf(err) != wire.Invalid || err == nil {
			t.Errorf("a place of %d bytes: %v", n, err)
		}
	}
}
