package examine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

const (
	heartbeatEvery = time.Second
	readyAfter     = 2 * time.Second
	awayFor        = 20 * time.Second
)

// world is a deterministic cluster in which tasks only take time.
type world struct {
	plan     *Situation
	promises Promises
	make     func() scheduler.Policy
	g        *scheduler.Engine
	books    *shadow
	agenda   agenda
	r        *rand.Rand
	now      time.Duration
	tries    map[scheduler.TaskID]int
	// entered counts jobs that arrived or vanished before; left counts those
	// that ended.
	entered, left int
	log           []string
	swapped       bool
	troubles      int
	nextTick      time.Duration
	err           error
}

func newWorld(p *Situation, make_ func() scheduler.Policy, a scheduler.Admission, promises Promises) (*world, error) {
	topo, err := topology.Uniform(p.Racks, p.PerRack, topology.Gbps(1), topology.Gbps(1))
	if err != nil {
		return nil, err
	}
	cfg := scheduler.DefaultConfig()
	state, err := scheduler.NewState(topo, cfg)
	if err != nil {
		return nil, err
	}
	w := &world{
		plan: p, promises: promises, make: make_, g: scheduler.NewEngine(state, make_(), a), books: newShadow(p, cfg),
		r: rand.New(rand.NewPCG(p.Seed, 2)), tries: make(map[scheduler.TaskID]int),
	}
	for n := range topology.NodeID(topo.NumNodes()) {
		w.feed(scheduler.NodeUp(n, p.Node))
		w.agenda.add(happening{at: time.Duration(w.r.Int64N(int64(heartbeatEvery))), what: nextHeartbeat, node: n})
	}
	for _, user := range limited {
		w.feed(scheduler.UserLimit(user, p.Limit))
	}
	for _, s := range p.Jobs {
		w.agenda.add(happening{at: s.Submit, what: nextSubmit, job: s.ID})
	}
	return w, nil
}

// tick does what is due and makes sure that the next due time comes.
func (w *world) tick() {
	if next, ok := w.g.Tick(w.now); ok && next != w.nextTick {
		w.nextTick = next
		w.agenda.add(happening{at: next, what: nextTick})
	}
}

// run goes on until every job has ended, something breaks, or no job ends within the promised time.
func (w *world) run() error {
	limit := w.deadline()
	for w.err == nil && w.left < len(w.plan.Jobs) {
		h := w.agenda.next()
		w.now = h.at
		if w.now > limit {
			return w.starved()
		}
		w.step(h)
	}
	return w.err
}

// deadline returns when even one slot and all the patience would have been enough.
func (w *world) deadline() time.Duration {
	total := w.promises.patience()
	for _, s := range w.plan.Jobs {
		total = max(total, s.Submit+w.promises.patience())
		total += time.Duration(s.Maps+s.Reduces+2) * (21*time.Second + w.promises.PerTask)
	}
	return 4 * total
}

func (w *world) starved() error {
	for j := range w.g.View().Jobs().All() {
		why := w.g.Explain(w.now, j.ID())
		return broken(Ends, "at %v %v (%v) has not ended: %d+%d maps and %d+%d reduces pending+running: %s", w.now, j.ID(), j.Phase(),
			j.Pending(scheduler.Map), j.Running(scheduler.Map), j.Pending(scheduler.Reduce), j.Running(scheduler.Reduce), why.Text(w.g.View()))
	}
	return errors.New("no job is left, but not all have ended")
}

func (w *world) fail(err error) {
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("at %v: %w", w.now, err)
	}
}

// feed passes an event that must be right.
func (w *world) feed(e scheduler.Event) { w.fail(w.g.Feed(w.now, e)) }

// whisper passes an event that may be late: it must be taken or refused as
// stale, never break anything.
func (w *world) whisper(e scheduler.Event) {
	if err := w.g.Feed(w.now, e); err != nil && !errors.Is(err, scheduler.ErrStale) {
		w.fail(err)
	}
}

func (w *world) chance(p float64) bool { return p > 0 && w.r.Float64() < p }

func (w *world) step(h happening) {
	switch h.what {
	case nextSubmit:
		w.submit(h.job)
	case nextReady:
		w.ready(h)
	case nextEnd:
		w.end(h)
	case nextHeartbeat:
		w.heartbeat(h.node)
		w.agenda.add(happening{at: w.now + heartbeatEvery, what: nextHeartbeat, node: h.node})
	case nextReturn:
		w.back(h.node)
	}
	w.tick()
	w.admit()
	w.kill()
	w.unlock()
	w.swap()
	if w.promises.Limits != nil && w.err == nil {
		if err := w.promises.Limits(w.g.View()); err != nil {
			w.fail(broken(Limited, "%w", err))
		}
	}
}

// swap replaces the policy by a fresh one when half the jobs are in.
func (w *world) swap() {
	if w.plan.Replace && !w.swapped && w.entered > len(w.plan.Jobs)/2 {
		w.swapped = true
		w.g.SetPolicy(w.now, w.make())
	}
}
