package history

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/millrace/millrace/internal/wire"
)

// TestDamageIsTold: who asks for what is damaged is told so, and hears of the rest.
func TestDamageIsTold(t *testing.T) {
	l, fs := &log{}, vfs.NewMem()
	s, err := Open(configOf(l, fs))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ {
		s.Add(l.add(scripted(n, fmt.Sprint("# of ", n))...))
	}
	caughtUp(t, s, l)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, configOf(l, fs)) // no summary is at hand
	caughtUp(t, s, l)
	spoil := func(key, value []byte) {
		t.Helper()
		if err := s.db.Set(key, value, pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	spoil(keyOfEvent(1, &Entry{Seq: 3}), []byte{Version, 0xff})
	spoil(keyOfText(wire.SumOf("# of 2")), nil)
	spoil(keyOfJob(3), []byte{Version + 8})
	for what, ask := range map[string]func(id wire.JobID) error{
		"1 events":   func(id wire.JobID) error { _, err := s.Events(wire.PastEventsRequest{Job: id}); return err },
		"1 attempts": func(id wire.JobID) error { _, err := s.Attempts(wire.AttemptsRequest{Job: id}); return err },
		"1 summary":  func(id wire.JobID) error { _, err := s.Summary(id); return err },
		"2 job":      func(id wire.JobID) error { _, err := s.Job(id); return err },
		"3 job":      func(id wire.JobID) error { _, err := s.Job(id); return err },
		"3 summary":  func(id wire.JobID) error { _, err := s.Summary(id); return err },
		"2 jobs":     func(wire.JobID) error { _, err := s.Jobs(wire.PastQuery{Before: "job-3"}); return err },
		"3 jobs":     func(wire.JobID) error { _, err := s.Jobs(wire.PastQuery{}); return err },
	} {
		n, _, _ := strings.Cut(what, " ")
		if err := ask(wire.JobID("job-" + n)); err == nil || !strings.Contains(err.Error(), "history: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if j, err := s.Job("job-1"); err != nil || j.Under.Policy.Params[wire.CodeParam] != "# of 1" {
		t.Errorf("the others: %+v, %v", j, err)
	}
	if e, err := s.Events(wire.PastEventsRequest{Job: "job-2"}); err != nil || len(e.Events) != 5 {
		t.Errorf("the others: %d events, %v", len(e.Events), err)
	}
	if p := s.Problem(); p != nil {
		t.Errorf("reading what is damaged ends the history: %v", p)
	}
}

// TestWhatEndsAHistory: a history that cannot read what it has to change, or write what it is given, takes nothing more and says why; what is
// not written does not count as written.
func TestWhatEndsAHistory(t *testing.T) {
	odd := func(entries []Entry) []Entry { entries[0].Spec.Weight = math.NaN(); return entries }
	for what, x := range map[string]struct {
		key  []byte // of a row that is damaged
		told []Entry
		kept uint64 // records
		max  func(c *Config)
	}{
		"a damaged row of a job that goes on":                   {keyOfJob(1), life(1, 1)[4:], 5, nil},
		"a damaged row, and limits are looked at":               {keyOfJob(1), life(2, 1), 10, nil},
		"a damaged row, and the limits of users are looked at":  {keyOfJob(1), life(2, 1), 10, func(c *Config) { c.MaxJobs, c.MaxBytes = 0, 0 }},
		"a job that cannot be written":                          {nil, odd(life(2, 1)), 5, nil},
		"a journal that cannot be read":                         {nil, nil, 5, nil},
		"a journal that cannot be read, and much of it is left": {nil, life(2, 1), 5, nil},
	} {
		t.Run(what, func(t *testing.T) {
			l := &log{}
			cfg := configOf(l, vfs.NewMem())
			var looked atomic.Bool
			cfg.UserBytes = func(string) int64 { looked.Store(true); return 1 << 40 }
			fails := strings.Contains(what, "cannot be read")
			cfg.Scan = func(from, to uint64, fn func(uint64, []Entry) error) (uint64, error) {
				if fails && from > 1 {
					return from, errors.New("the journal is torn")
				}
				return l.scan(from, to, fn)
			}
			if x.max != nil {
				x.max(&cfg)
			}
			s := open(t, cfg)
			s.Add(l.add(life(1, 1)...))
			caughtUp(t, s, l)
			wait(t, "the limits were looked at after the first job", looked.Load)
			if x.key != nil {
				if err := s.db.Set(x.key, []byte{Version, 'x'}, pebble.Sync); err != nil {
					t.Fatal(err)
				}
			}
			told := l.add(x.told...)
			if fails {
				l.add(life(3, 1)...)
				s.mu.Lock()
				s.behind = true
				s.mu.Unlock()
			}
			s.Add(told)
			wait(t, "the history ends", func() bool { return s.failed() })
			if err := s.Problem(); wire.KindOf(err) != wire.Internal || !strings.Contains(err.Error(), "is not written until the master is restarted") {
				t.Errorf("%v", err)
			}
			if got := s.Applied(); got != x.kept {
				t.Errorf("%d records are in it, want %d", got, x.kept)
			}
			s.Add(l.add(life(4, 1)...))
			if len(s.queue) != 0 {
				t.Errorf("%d entries wait for nobody", len(s.queue))
			}
			if list, err := s.Jobs(wire.PastQuery{}); err == nil || list.Problem != err.Error() {
				t.Errorf("a list says %q, and the error %v", list.Problem, err)
			}
			if keep := s.Keep(); keep != 1<<63 {
				t.Errorf("it wants record %d", keep)
			}
		})
	}
}

// TestCloseWaits: a history that is closed writes what waits first, however often it is closed, and takes nothing after.
func TestCloseWaits(t *testing.T) {
	l, held, free := &log{}, make(chan struct{}), make(chan struct{})
	fs := vfs.NewMem()
	cfg := configOf(l, fs)
	first := true
	cfg.Durable = func() uint64 { // the writer's only
		if first {
			first = false
			close(held)
			<-free
		}
		return l.durable()
	}
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	<-held
	s.Add([]Entry{launched(1, 0, 0, 1)})
	closed := make(chan error, 2)
	for range 2 {
		go func() { closed <- s.Close() }()
	}
	wait(t, "it is being closed", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.closed })
	s.Add([]Entry{launched(1, 1, 0, 2)})
	select {
	case err := <-closed:
		t.Errorf("it is closed while it writes: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(free)
	for range 2 {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
	s.Add([]Entry{launched(1, 2, 0, 3)})
	if len(s.queue) != 0 {
		t.Errorf("%d entries wait for a history that is closed", len(s.queue))
	}
	if n := written(t, open(t, configOf(l, fs)), 1); n != 1 {
		t.Errorf("%d events are there, want that which came before", n)
	}
}

// TestLogOfTheStore: a file of the log goes to the disk when that is meant for good, and when it is closed; other files do when they are asked to. What
// the disk says of it is passed on.
func TestLogOfTheStore(t *testing.T) {
	fire := errors.New("the disk is on fire")
	burns := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if k := op.Kind; k == errorfs.OpFileSync || k == errorfs.OpFileSyncData || k == errorfs.OpFileSyncTo {
			return fire
		}
		return nil
	}))
	for what, sync := range map[string]func(f vfs.File) error{
		"sync": vfs.File.Sync, "sync of data": vfs.File.SyncData, "sync to": func(f vfs.File) error { _, err := f.SyncTo(3); return err }, "close": vfs.File.Close,
	} {
		for _, hard := range []bool{false, true} {
			for name, want := range map[string]bool{"1.log": hard || what == "close", "1.sst": what != "close"} {
				fs := walFS{FS: burns, hard: new(atomic.Bool)}
				fs.hard.Store(hard)
				f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
				if err != nil {
					t.Fatal(err)
				}
				if err := sync(f); errors.Is(err, fire) != want || !want && err != nil {
					t.Errorf("%s of %s, for good %t: %v", what, name, hard, err)
				}
			}
		}
	}
	bad := walFS{FS: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite {
			return errors.New("no room")
		}
		return nil
	}))}
	if f, err := bad.Create("1.log", vfs.WriteCategoryUnspecified); err == nil || f != nil {
		t.Errorf("%v, %v", f, err)
	}
	if f, err := bad.ReuseForWrite("1.log", "2.log", vfs.WriteCategoryUnspecified); err == nil || f != nil {
		t.Errorf("%v, %v", f, err)
	}
}

// TestBytesOfUsers: what the ended jobs of a user take is what is written of their events, came they at once or one by one; of jobs that run nothing is.
func TestBytesOfUsers(t *testing.T) {
	l := &log{}
	s := open(t, configOf(l, vfs.NewMem()))
	s.Add(l.add(life(1, 1)...)) // at once
	for _, e := range life(3, 1) {
		s.Add(l.add(e))
		caughtUp(t, s, l)
	}
	s.Add(l.add(life(5, 1)[:4]...)) // it runs
	caughtUp(t, s, l)
	want := int64(0)
	for _, n := range []uint64{1, 3} {
		if err := s.eachKey(eventsOf(n), eventsOf(n+1), func(key, value []byte) (bool, error) {
			want += int64(len(key) + len(value))
			return true, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.UserBytes("user1"); got != want || want == 0 || s.UserBytes("user0") != 0 {
		t.Errorf("%d bytes count as %d; another has %d", want, got, s.UserBytes("user0"))
	}
	last := life(3, 1)[4] // a restart may tell it twice
	s.Add(l.add(last))
	caughtUp(t, s, l)
	if got := s.UserBytes("user1"); got <= want || got > want+200 {
		t.Errorf("an end that is told twice: %d bytes count as %d", want, got)
	}
}

// TestNodeOfAnAttempt: the node of an attempt is the one that the first event with one names.
func TestNodeOfAnAttempt(t *testing.T) {
	for what, x := range map[string]struct{ nodes [2]wire.NodeName }{"from its launch": {[2]wire.NodeName{"w1", ""}}, "from its end": {[2]wire.NodeName{"", "w1"}}, "once": {[2]wire.NodeName{"w1", "w2"}}} {
		var a wire.PastAttempt
		for i, kind := range []wire.PastKind{wire.PastStopped, wire.PastFailed} {
			note(&a, &wire.PastEvent{Kind: kind, Node: x.nodes[i]})
		}
		if a.Node != "w1" {
			t.Errorf("%s: %q", what, a.Node)
		}
	}
}

// TestLostJobsAreTold: the list of the store's files is cut at any place, so that some of them and their jobs are gone.
// The history is refused, or it opens with the rest and says how much is missing.
func TestLostJobsAreTold(t *testing.T) {
	l, fs := &log{}, vfs.NewCrashableMem()
	const jobs = 8
	s := open(t, configOf(l, fs))
	for n := 1; n <= jobs; n++ { // every second one fills the store's memory, so that it writes a file
		events := life(n, 1)
		events[2].Text = strings.Repeat("long ", 400_000)
		s.Add(l.add(events...))
		caughtUp(t, s, l)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	l.first = int(l.durable()) // what the history has, a snapshot replaces
	name, list := manifest(t, fs)
	told := 0
	for at := 0; at < len(list); at += 1 + len(list)/12 {
		if err := replace(fs, name, list[:at]); err != nil {
			t.Fatal(err)
		}
		s, err := Open(configOf(l, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})))
		if err != nil {
			continue // it is refused by name
		}
		caughtUp(t, s, l)
		got, err := s.Jobs(wire.PastQuery{})
		if len(got.Jobs) < jobs {
			told++
		}
		if err != nil || len(got.Jobs) < jobs && !strings.Contains(got.Problem, "missing") && !strings.Contains(got.Problem, "in neither journal nor history") {
			t.Errorf("cut at %d of %d: %d of %d jobs, %q, %v", at, len(list), len(got.Jobs), jobs, got.Problem, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if told == 0 {
		t.Error("no cut loses a job without being refused")
	}
}

// manifest returns the newest list of the store's files.
func manifest(t *testing.T, fs *vfs.MemFS) (name string, data []byte) {
	t.Helper()
	names, err := fs.List("history")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasPrefix(n, "MANIFEST-") {
			name = max(name, fs.PathJoin("history", n))
		}
	}
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, err = io.ReadAll(f); err != nil {
		t.Fatal(err)
	}
	return name, data
}

func replace(fs *vfs.MemFS, name string, data []byte) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
