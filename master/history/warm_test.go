package history

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/millrace/millrace/internal/wire"
)

// attempts is the launches and ends of so many maps of job n, some of which fail. told counts the events that are in no journal.
func attempts(l *log, n, maps int, rng *rand.Rand, told *uint32) (out []Entry) {
	id := wire.JobID(fmt.Sprint("job-", n))
	for i := range maps {
		e := life(n, 1)[2]
		e.Index, e.Try, e.At = int32(i), uint64(1000+i), int64(40+rng.IntN(1e9))
		e.Counts = wire.Counts{"task": {"input-records": 1000, "input-bytes": 1 << 26, "output-records": 9}}
		*told++
		start := launched(n, i, l.durable(), *told)
		start.Job, start.Try = id, e.Try
		out = append(out, start)
		if rng.IntN(10) == 0 {
			*told++
			e.Kind, e.Seq, e.Epoch, e.Count = wire.PastFailed, l.durable(), 1, *told
			out = append(out, e)
			continue
		}
		out = append(out, l.add(e)...)
	}
	return out
}

// written counts the events of a job that are in the store, and lost those that never will be.
func written(t *testing.T, s *Store, n uint64) (count int) {
	t.Helper()
	err := s.eachKey(eventsOf(n), eventsOf(n+1), func(_, _ []byte) (bool, error) { count++; return true, nil })
	if err != nil {
		t.Fatal(err)
	}
	return count
}

func (s *Store) lost() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// TestWarmSummaries: a summary that was kept up to date, one that is read from the disk, and one of which half came late from the
// journal, because the queue was full, are the same.
func TestWarmSummaries(t *testing.T) {
	for _, queue := range []int{1 << 16, 20} {
		rng := rand.New(rand.NewPCG(1, 2))
		l, fs := &log{}, vfs.NewMem()
		cfg := configOf(l, fs)
		cfg.Queue = queue
		s, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s.Add(l.add(life(1, 1)[:2]...))
		var told uint32
		for range 20 {
			s.Add(attempts(l, 1, 50, rng, &told))
			if _, err := s.Summary("job-1"); err != nil && wire.KindOf(err) != wire.NotFound {
				t.Fatal(err)
			}
		}
		wait(t, "all is written", func() bool { return written(t, s, 1) == int(l.durable())+int(told)-int(s.lost()) })
		kept, err := s.Summary("job-1")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		fresh, err := open(t, cfg).Summary("job-1")
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(kept, fresh) {
			t.Errorf("queue of %d: kept %d attempts, %d failed, %v; read %d, %d, %v", queue, kept.Attempts, kept.Failures, kept.Phases, fresh.Attempts, fresh.Failures, fresh.Phases)
		}
		if queue > 20 && (kept.Attempts != 50*20 || kept.Failures == 0 || len(kept.Slowest) != slowest) {
			t.Errorf("%d attempts, %d failed, slowest %v", kept.Attempts, kept.Failures, kept.Slowest)
		}
	}
}

// TestManyWarmJobs: only so many summaries are kept; the others are read.
func TestManyWarmJobs(t *testing.T) {
	l := &log{}
	s := open(t, configOf(l, vfs.NewMem()))
	for n := 1; n <= maxWarm+20; n++ {
		s.Add(l.add(life(n, 1)...))
		if n == 1 {
			caughtUp(t, s, l) // what is written while it starts may come twice
		}
	}
	caughtUp(t, s, l)
	if s.warm.jobs[maxWarm+20] == nil {
		t.Error("the summary of a job that was just written is not at hand")
	}
	for _, n := range []int{1, maxWarm + 20} {
		got, err := s.Summary(wire.JobID(fmt.Sprint("job-", n)))
		if err != nil || len(got.Slowest) != 2 {
			t.Errorf("job %d: %+v, %v", n, got, err)
		}
	}
	if len(s.warm.jobs) > maxWarm || len(s.warm.order) > maxWarm {
		t.Errorf("%d summaries of %d are kept", len(s.warm.jobs), len(s.warm.order))
	}
}

// BenchmarkSummary is what a page asks of a job with 100,000 attempts: when it was just written, and after a restart.
func BenchmarkSummary(b *testing.B) {
	l, fs := &log{}, vfs.NewMem()
	s, err := Open(configOf(l, fs))
	if err != nil {
		b.Fatal(err)
	}
	s.Add(l.add(life(1, 1)[:2]...))
	for s.Applied() < l.durable() {
		time.Sleep(time.Millisecond)
	}
	rng, told := rand.New(rand.NewPCG(1, 2)), uint32(0)
	for range 100 {
		s.Add(attempts(l, 1, 1000, rng, &told))
		for s.Applied()+10_000 < l.durable() {
			time.Sleep(time.Millisecond)
		}
	}
	for s.Applied() < l.durable() {
		time.Sleep(time.Millisecond)
	}
	ask := func(b *testing.B) {
		if _, err := s.Summary("job-1"); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			ask(b)
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			s.warm.mu.Lock()
			s.warm.jobs, s.warm.order = nil, nil
			s.warm.mu.Unlock()
			ask(b)
		}
	})
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
