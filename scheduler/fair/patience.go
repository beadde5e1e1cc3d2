package fair

import (
	"errors"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// LivePatience is the patience of a live cluster. Offers come as often as nodes have news, so on four nodes 135 of them
// take nine seconds, for every map whose node is busy. Published for clusters are 5 s, for tasks that take a minute;
// ours take a second.
var LivePatience = map[string]string{"by": "time", "wait": "500ms"}

// Patience says how long a holder passes up nodes without its data.
type Patience struct {
	// ByTime counts in time (Wait, RackWait) instead of offers (Skips,
	// RackSkips). Published: offers in simulations, time on real clusters.
	ByTime bool
	// Skips and Wait are the patience for a node-local map; 0 never waits.
	// Larger: more local maps, later starts. Published 135 and 5 s.
	Skips int
	Wait  time.Duration
	// RackSkips and RackWait are the further patience during which a rack-local
	// map will do; 0 (published) takes any map at once.
	RackSkips int
	RackWait  time.Duration
	// ResetAny restores patience after any launch of a map; published is after a
	// node-local one (spec/nas 6.5).
	ResetAny bool
}

// DefaultPatience returns the published values.
func DefaultPatience() Patience { return Patience{Skips: 135, Wait: 5 * time.Second} }

// Validate refuses negative values.
func (p *Patience) Validate() error {
	if p.Skips < 0 || p.RackSkips < 0 || p.Wait < 0 || p.RackWait < 0 {
		return errors.New("skips and waits must not be negative")
	}
	return nil
}

// Over reports whether a holder need no longer wait. It tests for at least the limit, not exactly: reports may come
// together (spec/nas 6.7).
func (p *Patience) Over(now time.Duration, w Waited) bool { return p.worst(now, w) == scheduler.Remote }

// Progress returns how much of all its patience a holder has used, in skips or in time.
func (p *Patience) Progress(now time.Duration, w Waited) (used, all int64, byTime bool) {
	if p.ByTime {
		return int64(now - w.since), int64(p.Wait + p.RackWait), true
	}
	return int64(w.Skips), int64(p.Skips + p.RackSkips), false
}

// Waited is how long a holder has been passed over.
type Waited struct {
	Skips int
	since time.Duration // of the first skip; meaningful if Skips > 0
}

// Skip counts an offer that was passed up; fresh is false if the node was already offered since its last heartbeat.
func (w *Waited) Skip(now time.Duration, fresh bool) {
	if w.Skips == 0 {
		w.since = now
	}
	if fresh || w.Skips == 0 {
		w.Skips++
	}
}

// Waits is a table of Waited by slot of the holder.
type Waits []Waited

// At returns the entry of a holder.
func (t *Waits) At(slot int) *Waited {
	for len(*t) <= slot {
		*t = append(*t, Waited{})
	}
	return &(*t)[slot]
}

// worst returns the farthest locality that w has earned.
func (p *Patience) worst(now time.Duration, w Waited) scheduler.Locality {
	node, rack, passed := int64(p.Skips), int64(p.RackSkips), int64(w.Skips)
	if p.ByTime {
		node, rack, passed = int64(p.Wait), int64(p.RackWait), 0
		if w.Skips > 0 {
			passed = int64(now - w.since)
		}
	}
	switch {
	case passed < node:
		return scheduler.NodeLocal
	case passed < node+rack:
		return scheduler.RackLocal
	}
	return scheduler.Remote
}
