package attempt

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A source can be slow and not silent: a bad cable, a disk that dies. It would hold all reduces up for as long as it takes
// to get everything through; the maps are done again elsewhere in less. A source is slow if it is so in itself, and far
// slower than others are to this reduce: where all are slow it is not the source's fault.
const (
	slowAfter  = 5 * time.Second // of waiting for bytes of one answer, before which nobody is judged
	slowPace   = 1 << 20         // bytes a second above which no source is slow
	slowFactor = 10              // how much slower it is than the middle one of the others
	paceBytes  = 64 << 10        // that must have come before a pace is known
	paceOthers = 2               // sources that must be known beside it
)

// timed notes how fast a source was.
func (f *fetcher) timed(s *stall, h *host) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if pace, ok := f.paceOf(s, h); ok {
		f.pace[h.addr] = pace
	}
}

// paceOf is how fast a source is, in bytes a second; false if that cannot be said, or says nothing about others.
func (f *fetcher) paceOf(s *stall, h *host) (float64, bool) {
	if s.waited <= 0 || s.got < paceBytes || h.node == f.r.Node {
		return 0, false
	}
	return float64(s.got) / s.waited.Seconds(), true
}

// judge complains about what has still to come from a source that is slow. It is waited for all the same.
func (f *fetcher) judge(s *stall, h *host) {
	f.mu.Lock()
	defer f.mu.Unlock()
	pace, ok := f.paceOf(s, h)
	if !ok || pace >= slowPace || pace*slowFactor >= f.usual(h.addr) {
		return
	}
	id := f.r.l.ID
	for _, o := range f.want {
		if o.Addr != h.addr || f.in(o.Map) || f.slow[o.Map] == o.Try {
			continue
		}
		f.slow[o.Map] = o.Try
		f.r.BadFetch(wire.BadFetch{
			Map: wire.AttemptID{Job: id.Job, Stage: id.Stage, Kind: wire.MapTask, Index: o.Map, Try: o.Try},
			By:  id, Why: fmt.Sprintf("node %s is slow: %.0f KB/s, others %.0f", o.Node, pace/1e3, f.usual(h.addr)/1e3), Addr: o.Addr, Slow: true,
		})
	}
}

// usual is the pace of the middle one of the other sources; 0 if too few are known.
func (f *fetcher) usual(but string) float64 {
	var all []float64
	for addr, p := range f.pace {
		if addr != but {
			all = append(all, p)
		}
	}
	if len(all) < paceOthers {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}
