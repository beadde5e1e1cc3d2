package tracker

import (
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// Map output lies on the disk of the worker that made it, and outlives that worker's process. When a worker dies,
// nobody knows yet whether it will come back with its output, as a worker does that a supervisor restarts within a
// second. Giving output up too early does work twice; giving it up too late makes reduces wait. As long as other maps
// of the job wait for room, running lost ones again gains nothing, so the output is kept while the worker could still
// be back; else only for a moment. Output that was given up counts again if it comes back before another attempt has
// replaced it.

// A stretch is a part of a worker's map output, in the order of wire.HeldPlace.
type stretch struct {
	begun    bool
	from, to *wire.HeldPlace
}

func samePlace(a, b *wire.HeldPlace) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// more reports whether the node still has to report the rest.
func (s *stretch) more() bool { return s.begun && s.to != nil }

// takeHeld handles a report of the map output on a node, or of a stretch of it.
func (c *Tracker) takeHeld(now time.Duration, n *node, r *wire.Report) {
	switch {
	case r.HeldFrom == nil || n.told.begun && samePlace(r.HeldFrom, n.told.to):
		n.told = stretch{true, r.HeldFrom, r.HeldTo}
	case n.told.begun && samePlace(r.HeldFrom, n.told.from): // again
	default:
		n.full, n.told = true, stretch{} // another master heard what comes before it
		return
	}
	if n.full = false; !c.checkHeld(now, n, r) {
		n.full = true
		return
	}
	if n.moved && !n.told.more() {
		n.moved = false
		c.announce(now, n)
	}
}

// checkHeld finds map output that should be on a node but is not, and output there that was given up. It returns false
// if it does not understand the report.
func (c *Tracker) checkHeld(now time.Duration, n *node, r *wire.Report) bool {
	has := make(map[*stage][]bool, len(r.Held))
	var back []wire.AttemptID
	for i := range r.Held {
		h := &r.Held[i]
		st := c.stageOf(wire.AttemptID{Job: h.Job, Stage: h.Stage})
		if st == nil {
			continue
		}
		if has[st] == nil {
			has[st] = make([]bool, len(st.maps))
		}
		err := h.Each(func(id wire.AttemptID) {
			if int(id.Index) >= len(st.maps) {
				return
			}
			switch t := &st.maps[id.Index]; {
			case t.try == id.Try && t.node == n.id:
				has[st][id.Index] = true
			case t.try == 0 && st.away[id.Index] == id.Try:
				back = append(back, id)
			}
		})
		if err != nil {
			return false
		}
	}
	for _, st := range c.liveStages() {
		if !st.needsOutput() {
			continue
		}
		for i := range st.maps {
			if t := &st.maps[i]; t.try == 0 || t.node != n.id || has[st] != nil && has[st][i] {
				continue
			}
			place := wire.HeldPlace{StageRef: wire.StageRef{Job: st.job.id, Stage: st.n}, Index: int32(i)}
			if place.Between(r.HeldFrom, r.HeldTo) {
				c.loseOutput(now, st, int32(i), "node "+string(n.name)+" no longer has it")
			}
		}
	}
	for _, id := range back {
		c.restore(now, n, id)
	}
	return true
}

// restore makes a result that was given up with its node count again. Its counters are already in the job's.
func (c *Tracker) restore(now time.Duration, n *node, id wire.AttemptID) {
	st := c.stageOf(id)
	if st == nil || st.maps[id.Index].try != 0 {
		return
	}
	t := &st.maps[id.Index]
	c.taskDone(now, n, st, nil, &wire.Ended{ID: id, OK: true, Millis: int64(t.millis), InBytes: t.in, OutBytes: t.out, Sum: t.sum})
}

// announce tells those who wait for map output of a restarted node where it is now.
func (c *Tracker) announce(now time.Duration, n *node) {
	for _, st := range c.liveStages() {
		if st.needsOutput() && st.hasOutputOn(n) {
			c.note(Record{At: now, Kind: Moved, Job: st.job.id, Stage: st.n, Task: &TaskRecord{Kind: wire.MapTask, Node: n.name, Rack: n.rack}})
			c.changed(st.job)
		}
	}
}

// applyMoved lists the outputs of a node once more.
func (c *Tracker) applyMoved(st *stage, t *TaskRecord) {
	n := c.nodeNamed(t.Node, t.Rack, "")
	if n == nil {
		return
	}
	for i := range st.maps {
		if m := &st.maps[i]; m.try != 0 && m.node == n.id {
			st.changes = append(st.changes, change{index: int32(i), try: m.try})
		}
	}
}

func (st *stage) hasOutputOn(n *node) bool {
	for i := range st.maps {
		if st.maps[i].try != 0 && st.maps[i].node == n.id {
			return true
		}
	}
	return false
}

// giveUp runs maps again whose output lies on dead nodes: after the time in which a silent node is taken for dead, or
// soon if no other map of the job waits for room. The round at the end of the Tick offers them.
func (c *Tracker) giveUp(now time.Duration) {
	for _, n := range c.nodes {
		if n.up || len(n.keeps) == 0 {
			continue
		}
		over := now-n.heard >= c.cfg.Silence
		if !over && now-n.downAt < c.cfg.Return {
			continue
		}
		for _, st := range c.liveStages() {
			if n.keeps[st] && (over || !c.mapsWait(st)) {
				delete(n.keeps, st)
				c.giveUpOn(now, st, n, "is gone")
			}
		}
		if over {
			n.keeps = nil // those left are stages that have ended
		}
	}
}

// mapsWait reports whether maps of a stage wait for room.
func (c *Tracker) mapsWait(st *stage) bool {
	j := c.engine.View().Job(st.sid)
	return j != nil && j.Pending(scheduler.Map) > 0
}

// giveUpOn gives up a stage's map output on a node. restore takes it back if the node returns with it.
func (c *Tracker) giveUpOn(now time.Duration, st *stage, n *node, why string) {
	if !st.needsOutput() {
		return
	}
	for i := range st.maps {
		t := &st.maps[i]
		if t.try == 0 || t.node != n.id {
			continue
		}
		try := t.try
		c.loseOutput(now, st, int32(i), "node "+string(n.name)+" "+why)
		if st.away == nil {
			st.away = map[int32]uint64{}
		}
		st.away[int32(i)] = try
	}
}
