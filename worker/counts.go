package worker

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/emulate"
	"github.com/millrace/millrace/internal/metrics"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// traffic counts what this node sends: the process itself and the children it starts. The worker's mutex guards
// it.
type traffic struct {
	meters   []*rpc.Meter
	children map[rpc.Peer]int64                    // of ended children
	live     map[wire.AttemptID]map[rpc.Peer]int64 // of running children
	told     map[rpc.Peer]int64                    // what the master has taken in
	next     time.Time                             // when to count again
	idle     func() (percent float64, ok bool)     // as Config.Idle
}

// countEvery is how often counts are gathered for a report.
const countEvery = 500 * time.Millisecond

func newTraffic(idle func() (float64, bool), meters ...*rpc.Meter) *traffic {
	if idle == nil {
		idle = new(processor).idle
	}
	return &traffic{
		idle: idle, meters: meters, children: map[rpc.Peer]int64{}, live: map[wire.AttemptID]map[rpc.Peer]int64{}, told: map[rpc.Peer]int64{},
	}
}

// child records what an attempt in a process of its own has sent so far.
func (t *traffic) child(id wire.AttemptID, counts []wire.NetBytes) {
	of := make(map[rpc.Peer]int64, min(len(counts), maxChildPeers))
	for _, b := range counts[:min(len(counts), maxChildPeers)] {
		if len(b.Peer) > wire.MaxName || len(b.What) > wire.MaxName {
			continue
		}
		of[rpc.Peer{Name: string(b.Peer), What: rpc.Traffic(b.What)}] = b.Sent
	}
	t.live[id] = of
}

// maxChildPeers bounds what is accepted from a child, which runs users' code.
const maxChildPeers = 4096

func (w *Worker) childSent(id wire.AttemptID, counts []wire.NetBytes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.traffic.child(id, counts)
}

func (w *Worker) childGone(id wire.AttemptID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.traffic.childEnded(id)
}

// childEnded keeps what a child has sent.
func (t *traffic) childEnded(id wire.AttemptID) {
	add(t.children, t.live[id])
	delete(t.live, id)
}

func add(to, from map[rpc.Peer]int64) {
	for p, n := range from {
		if _, known := to[p]; known || len(to) < maxChildPeers {
			to[p] += max(n, 0)
		}
	}
}

// put adds to a report what has changed since the master was told, and the circuit, at most every countEvery.
func (t *traffic) put(r *wire.Report, now time.Time, lit *wire.Circuit) {
	if now.Before(t.next) {
		return
	}
	t.next = now.Add(countEvery)
	total := maps.Clone(t.children)
	for _, of := range t.live {
		add(total, of)
	}
	for _, m := range t.meters {
		for p, b := range m.Read() {
			total[p] += b.Sent
		}
	}
	for p, n := range total {
		if n != t.told[p] {
			r.Net = append(r.Net, wire.NetBytes{Peer: wire.NodeName(p.Name), What: string(p.What), Sent: n})
		}
	}
	slices.SortFunc(r.Net, func(a, b wire.NetBytes) int { return cmp.Or(cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.What, b.What)) })
	r.CPUMillis = metrics.ProcessTime().Milliseconds()
	if idle, ok := t.idle(); ok {
		r.Idle = idle
	}
	r.Circuit = lit
}

// heard notes that the master has taken in a report.
func (t *traffic) heard(r *wire.Report) {
	for _, b := range r.Net {
		p := rpc.Peer{Name: string(b.Peer), What: rpc.Traffic(b.What)}
		t.told[p] = max(t.told[p], b.Sent)
	}
}

// emulate slows down this process's links if the configuration says so.
func (w *Worker) emulate(cc *rpc.ClientConfig, sc *rpc.ServerConfig) error {
	if w.cfg.Emulate == nil {
		return nil
	}
	here := emulate.Place{Node: string(w.cfg.Node), Rack: w.cfg.Rack}
	s, err := w.cfg.Emulate.Start(here, emulate.Nodes(func() *rpc.Client { return w.client }, w.cfg.Master))
	if err != nil {
		return err
	}
	cc.Shaper, sc.Shaper, w.links, w.shaper = s, s, s.Links, s
	return nil
}

// circuit returns what the emulated switch does for this node's rack.
func (w *Worker) circuit() *wire.Circuit {
	if w.shaper == nil {
		return nil
	}
	to, next, ok := w.shaper.Lit()
	if !ok {
		return nil
	}
	return &wire.Circuit{To: to, NextMillis: next.Milliseconds()}
}

// processor reads how busy the machine is.
type processor struct{ rest, all int64 }

// idle returns how idle the processors were since the last call, in percent, like id of vmstat: waiting for a disk
// is not idle.
func (p *processor) idle() (float64, bool) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	return p.since(string(b))
}

// since compares the kernel's statistics with those of the last call.
func (p *processor) since(stat string) (float64, bool) {
	rest, all, ok := parseStat(stat)
	if !ok {
		return 0, false
	}
	was := *p
	p.rest, p.all = rest, all
	if was.all == 0 || all <= was.all {
		return 0, false
	}
	return 100 * min(max(float64(rest-was.rest)/float64(all-was.all), 0), 1), true
}

// parseStat parses the first line of the kernel's statistics, in ticks: user, nice, system, idle, iowait and so
// on.
func parseStat(stat string) (rest, all int64, ok bool) {
	line, _, _ := strings.Cut(stat, "\n")
	f := strings.Fields(line)
	if len(f) < 6 || f[0] != "cpu" {
		return 0, 0, false
	}
	for i, s := range f[1:min(len(f), 9)] { // user includes guests' time
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 {
			return 0, 0, false
		}
		all += n
		if i == 3 {
			rest = n
		}
	}
	return rest, all, true
}
