package attempt

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A source can be slow without being silent: a bad cable, a dying disk. It would hold up all reduces until
// everything got through, while the maps can run again elsewhere in less time. A source is slow if its pace is
// low and far below that of other sources to this reduce. If all are slow, it is not the source's fault.
const (
	slowAfter  = 5 * time.Second // of waiting for bytes of one answer, before a source is judged
	slowPace   = 1 << 20         // bytes a second; no source above it is slow
	slowFactor = 10              // how much slower than the median of the others
	paceBytes  = 64 << 10        // that must have arrived before a pace is known
	paceOthers = 2               // other sources that must be known
)

// timed records how fast a source was.
func (f *fetcher) timed(s *stall, h *host) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if pace, ok := f.paceOf(s, h); ok {
		f.pace[h.addr] = pace
	}
}

// paceOf returns how fast a source is, in bytes a second, or false if that is unknown, or the source is this node.
func (f *fetcher) paceOf(s *stall, h *host) (float64, bool) {
	if s.waited <= 0 || s.got < paceBytes || h.node == f.r.Node {
		return 0, false
	}
	return float64(s.got) / s.waited.Seconds(), true
}

// judge reports the outputs still to come from a source that is slow. The fetch goes on.
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

// usual returns the median pace of the other sources, or 0 if too few are known.
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
