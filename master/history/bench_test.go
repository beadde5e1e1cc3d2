package history

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/millrace/millrace/internal/wire"
)

// BenchmarkAttempt is what an attempt costs: its launch and its end, from Add until both are in the store.
func BenchmarkAttempt(b *testing.B) {
	l := &log{}
	cfg := configOf(l, vfs.Default)
	cfg.Dir = b.TempDir()
	s, err := Open(cfg)
	if err != nil {
		b.Fatal(err)
	}
	counts := wire.Counts{"task": {"input-records": 1000, "input-bytes": 1 << 26, "output-records": 9, "output-bytes": 77}}
	n := 0
	for b.Loop() {
		n++
		done := life(1, 1)[2]
		done.Counts, done.Index, done.Try = counts, int32(n), uint64(n)
		recs := l.add(done)
		s.Add(append(recs, launched(1, n, recs[0].Seq, uint32(n))))
		for n%1000 == 0 && s.Applied()+30_000 < uint64(n) {
			time.Sleep(time.Millisecond) // the queue must not overflow: that would be cheaper
		}
	}
	for s.Applied() < uint64(n) {
		time.Sleep(time.Millisecond)
	}
	if s.dropped > 0 {
		b.Errorf("%d events were lost", s.dropped)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
