package blocks

import (
	"sync/atomic"
	"time"
)

// foreground tracks the reads and writes of users here. Copies for repair give way to them.
type foreground struct {
	begin time.Time
	under atomic.Int32
	ended atomic.Int64 // when the last one did, since begin
}

// quietAfter is how long after the last transfer a node counts as idle.
const quietAfter = 100 * time.Millisecond

// enter notes a transfer, which lasts until the returned function is called.
func (f *foreground) enter() (leave func()) {
	f.under.Add(1)
	return func() {
		f.ended.Store(int64(time.Since(f.begin)))
		f.under.Add(-1)
	}
}

func (f *foreground) busy() bool {
	if f.under.Load() > 0 {
		return true
	}
	ended := f.ended.Load()
	return ended > 0 && time.Since(f.begin)-time.Duration(ended) < quietAfter
}

// weight returns what n bytes of a copy count against CopyRate.
func (s *Service) weight(n int) int {
	if s.foreground.busy() {
		n *= s.cfg.CopyYield
	}
	return max(n, 1)
}
