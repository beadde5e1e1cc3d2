package machines

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/worker/roster"
)

// A workerBox is a machine: the real state machine, a disk that outlives it, and attempts that
// only pretend to work.
type workerBox struct {
	w       *World
	name    wire.NodeName
	rack    string
	core    *roster.Roster
	alive   bool
	cut     bool
	life    int
	session string
	parked  bool // a report waits at the master for something to do
	disk    map[wire.AttemptID]bool
	stop    map[wire.AttemptID]bool // attempts told to stop
	over    map[wire.AttemptID]bool // attempts that have ended in this life
}

func (b *workerBox) start() {
	if b.alive {
		return
	}
	b.alive, b.parked = true, false
	b.life++
	b.session = fmt.Sprint(b.name, ".", b.life)
	held := make([]wire.AttemptID, 0, len(b.disk))
	for id := range b.disk {
		held = append(held, id)
	}
	slices.SortFunc(held, func(x, y wire.AttemptID) int { return int(int64(x.Try) - int64(y.Try)) })
	b.stop, b.over = map[wire.AttemptID]bool{}, map[wire.AttemptID]bool{}
	b.core = roster.New(roster.Config{
		Node: b.name, Session: b.session, Rack: b.rack, Addr: b.addr(),
		Capacity: wire.Capacity{Containers: 3}, Held: held,
	})
	b.w.trace("%s starts with %d outputs", b.name, len(held))
	b.reports(b.life)
}

// addr returns the worker's address, a different one in each life.
func (b *workerBox) addr() string { return fmt.Sprint(b.name, ":", b.life) }

func (b *workerBox) die(diskToo bool) {
	b.w.Deaths++
	b.alive = false
	if diskToo {
		b.disk = map[wire.AttemptID]bool{}
	}
	b.w.trace("%s dies, disk lost: %v", b.name, diskToo)
	if !b.w.chance(0.5) {
		return // its connection is not seen to break
	}
	session := b.session
	if m := b.w.master; m != nil {
		m.core.Loose(b.name, session)
	}
	b.w.after(500*time.Millisecond, func() {
		if m := b.w.master; m != nil {
			m.core.NodeGone(b.w.now, b.name, session, "its connection broke")
			m.flush(func() {})
		}
	})
}

// bounce kills the worker that has done the last map, if it is time for that.
func (w *World) bounce() {
	if w.cfg.BounceAt == 0 || w.bounced != nil || len(w.all) < w.cfg.BounceAt {
		return
	}
	w.bounced = map[string]int{}
	var last *workerBox
	for _, r := range w.all {
		if r.Kind != tracker.TaskDone || r.Task.Kind != wire.MapTask {
			continue
		}
		task := fmt.Sprint(r.Job, r.Stage, r.Task.Kind, r.Task.Index)
		w.bounced[task] = w.started[task]
		for _, b := range w.workers {
			if b.name == r.Task.Node {
				last = b
			}
		}
	}
	if last == nil || !last.alive {
		w.bounced = nil // at the next record
		return
	}
	last.die(false)
	w.after(w.cfg.Away, last.start)
}

// reports sends a report every half second.
func (b *workerBox) reports(life int) {
	if !b.alive || b.life != life {
		return
	}
	b.report()
	b.w.after(500*time.Millisecond, func() { b.reports(life) })
}

func (b *workerBox) report() {
	r := b.core.Report()
	b.parked = false
	b.w.call(b, func(m *masterBox) (func(), bool) {
		ans, err := m.core.Report(b.w.now, r, m.durable())
		if wire.KindOf(err) == wire.Exists && err != nil { // its earlier life was heard recently: it asks again
			return func() {}, true
		}
		if err != nil {
			b.w.fail("report of %s: %v", b.name, err)
		}
		return func() {
			b.parked = true
			b.answer(r.Session, ans)
		}, true
	})
}

func (b *workerBox) answer(session string, a wire.Answer) {
	if !b.alive || b.session != session || b.cut {
		return
	}
	b.do(b.core.Answer(&a))
}

func (b *workerBox) do(e roster.Effects) {
	for _, k := range e.Stop {
		b.stop[k.ID] = true
		b.w.stopped = append(b.w.stopped, k.ID.String())
		b.w.trace("%s is told to stop %s: %s", b.name, k.ID, k.Why)
		life := b.life
		b.w.after(10*time.Millisecond, func() { b.running(life, k.ID) })
	}
	for _, ref := range e.Drop {
		for id := range b.disk {
			if id.Job == ref.Job && id.Stage == ref.Stage {
				delete(b.disk, id)
			}
		}
	}
	for _, l := range e.Start {
		b.w.trace("%s starts %s", b.name, l.ID)
		b.w.started[fmt.Sprint(l.ID.Job, l.ID.Stage, l.ID.Kind, l.ID.Index)]++
		b.run(l)
	}
}

// end ends an attempt; the master hears of it soon.
func (b *workerBox) end(e wire.Ended) {
	b.over[e.ID] = true
	b.do(b.core.Ended(e))
	b.w.after(time.Millisecond, func() {
		if b.alive && b.core.News() {
			b.report()
		}
	})
}

// running reports whether an attempt still runs in this life, and ends it if it was told to stop.
func (b *workerBox) running(life int, id wire.AttemptID) bool {
	if !b.alive || b.life != life || b.over[id] {
		return false
	}
	if b.stop[id] {
		b.end(wire.Ended{ID: id, Error: "stopped"})
		return false
	}
	return true
}

func (b *workerBox) run(l wire.Launch) {
	a := &attempt{b: b, life: b.life, l: l, have: map[int32]uint64{}, node: map[int32]wire.NodeName{}, tried: map[int32]int{}}
	switch l.ID.Kind {
	case wire.DriverTask:
		b.w.after(b.w.between(time.Millisecond, 50*time.Millisecond), a.drive)
	case wire.MapTask:
		if l.Split == nil || l.Spec == nil {
			b.w.fail("%s was launched without a split or spec", l.ID)
		}
		b.w.after(a.length(), a.endMap)
	default:
		b.w.after(time.Millisecond, a.shuffle)
	}
}
