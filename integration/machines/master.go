package machines

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
)

// A masterBox is one life of the master: the real state machine and a journal that syncs late.
type masterBox struct {
	w        *World
	core     *tracker.Tracker
	dead     bool
	unsynced []tracker.Record
	waiting  []func() // answers held back until the next sync
	syncing  bool
	before   int // records of earlier lives
}

func (w *World) startMaster() {
	w.epoch++
	cfg := tracker.DefaultConfig()
	cfg.Epoch, cfg.Silence, cfg.Grace = w.epoch, 5*time.Second, 2*time.Second
	cfg.SecondAttempts.Off = !w.cfg.SecondAttempts
	cfg.Return = cmp.Or(w.cfg.Return, cfg.Return)
	c, err := tracker.New(cfg, w.cfg.Policy(), nil)
	if err != nil {
		w.fail("master: %v", err)
		return
	}
	m := &masterBox{w: w, core: c, before: len(w.all)}
	replay(c, w.journal)
	c.Resume(w.now)
	w.compare(c, cfg)
	w.master = m
	m.flush(func() {})
	w.trace("master of epoch %d, %d records", w.epoch, len(w.journal))
	m.tick()
}

func (w *World) killMaster() {
	// Records that were written but not synced may be on disk up to some point.
	w.masterDies(w.rng.IntN(len(w.master.unsynced)+1), w.between(100*time.Millisecond, 8*time.Second))
}

// masterDies ends the master; keep of its unsynced records are on disk all the same.
func (w *World) masterDies(keep int, away time.Duration) {
	w.MasterDeaths++
	m := w.master
	m.dead = true
	w.keep(m.unsynced[:keep])
	w.master = nil
	w.trace("master dies, %d of %d unsynced records survive", keep, len(m.unsynced))
	w.after(away, w.startMaster)
}

// dueToDie reports whether the master must die here, and how many of its unsynced records survive.
func (m *masterBox) dueToDie() (keep int, due bool) {
	w := m.w
	if w.cfg.KillAt == 0 || w.MasterDeaths > 0 || len(w.all)+len(m.unsynced) < w.cfg.KillAt {
		return 0, false
	}
	keep = w.cfg.KillAt - len(w.all)
	if w.cfg.KillLoses {
		keep--
	}
	return keep, true
}

// durable returns how many of this life's records are on disk.
func (m *masterBox) durable() int64 { return int64(len(m.w.all) - m.before) }

func (m *masterBox) tick() {
	if m.dead {
		return
	}
	m.core.Tick(m.w.now)
	m.flush(func() {})
	m.w.after(200*time.Millisecond, m.tick)
}

// flush takes what the tracker wants written and calls release when it is on disk.
func (m *masterBox) flush(release func()) {
	out := m.core.Take()
	m.check(out.Records)
	m.unsynced = append(m.unsynced, out.Records...)
	for _, n := range out.Wake {
		m.push(n)
	}
	m.waiting = append(m.waiting, release)
	if m.syncing {
		return
	}
	m.syncing = true
	m.w.after(m.w.between(50*time.Microsecond, 3*time.Millisecond), m.sync)
}

func (m *masterBox) sync() {
	m.syncing = false
	if m.dead {
		return
	}
	if keep, due := m.dueToDie(); due {
		m.w.masterDies(keep, 200*time.Millisecond)
		return
	}
	m.w.keep(m.unsynced)
	m.w.bounce()
	if m.w.snaps.Float64() < 0.02 {
		m.w.snapshot(m.core)
	}
	release := m.waiting
	m.unsynced, m.waiting = nil, nil
	for _, fn := range release {
		fn()
	}
}

// check checks the records against each other: a task is done once, unless it was lost.
func (m *masterBox) check(records []tracker.Record) {
	for _, r := range records {
		if r.Kind == tracker.TaskDone {
			m.w.trace("%s/%d %s %d is done by %d on %s", r.Job, r.Stage, r.Task.Kind, r.Task.Index, r.Task.Try, r.Task.Node)
		} else {
			m.w.trace("%s %s/%d %s %s", r.Kind, r.Job, r.Stage, r.State, r.Text)
		}
	}
}

// push sends a worker an answer without a new request, as a parked call does.
func (m *masterBox) push(name wire.NodeName) {
	w := m.w
	i := slices.IndexFunc(w.workers, func(b *workerBox) bool { return b.name == name })
	b := w.workers[i]
	w.after(time.Millisecond, func() {
		if m.dead || !b.parked {
			return
		}
		b.parked = false
		m.flush(func() {})
		b.answer(b.session, m.core.AnswerTo(name, m.durable()))
	})
}

// call is a call of a worker or driver to the current master. The answer goes out when what the call changed is on
// disk, or at once. There is none if the call or the answer is lost.
func (w *World) call(from *workerBox, ask func(m *masterBox) (answer func(), atOnce bool)) {
	life := from.life
	w.deliver(from.cut, func() {
		m := w.master
		if m == nil {
			return
		}
		answer, atOnce := ask(m)
		release := func(fn func()) {
			m.flush(func() {})
			fn()
		}
		if !atOnce {
			release = m.flush
		}
		release(func() {
			w.deliver(from.cut, func() {
				if from.alive && from.life == life {
					answer()
				}
			})
		})
	})
}
