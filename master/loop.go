package master

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
)

// A batch is a list of releases that wait for the journal: they run when everything up to seq is durable.
type batch struct {
	seq      uint64
	releases []func()
}

// durable returns how many records of this master are on disk.
func (m *Master) durable() int64 { return int64(m.log.journal.Durable()) - int64(m.firstSeq) }

// do runs fn in the loop. It returns false if the master is closing.
func (m *Master) do(fn func(now time.Duration)) bool {
	select {
	case m.calls <- fn:
		return true
	case <-m.ctx.Done():
		return false
	}
}

// later runs fn in the loop, soon. It never waits: what the loop waits for must not wait for the loop.
func (m *Master) later(fn func(now time.Duration)) {
	m.lateMu.Lock()
	m.late = append(m.late, fn)
	m.lateMu.Unlock()
	select {
	case m.poke <- struct{}{}:
	default: // the loop has been told
	}
}

// runLate runs the functions that later was given.
func (m *Master) runLate() {
	m.lateMu.Lock()
	list := m.late
	m.late = nil
	m.lateMu.Unlock()
	for _, fn := range list {
		fn(m.now())
	}
}

// after, called in the loop, runs fn in another goroutine once all changes so far are durable. fn must not wait.
func (m *Master) after(fn func()) { m.releases = append(m.releases, fn) }

// maxBatch bounds how many calls share one write to the journal.
const maxBatch = 256

// loop is the only goroutine that touches the tracker.
func (m *Master) loop() {
	defer close(m.commit)
	for {
		select {
		case <-m.ctx.Done():
			return
		case fn := <-m.calls:
			fn(m.now())
		case <-m.poke:
			m.runLate()
		}
		for n := 1; n < maxBatch; n++ {
			select {
			case fn := <-m.calls:
				fn(m.now())
				continue
			default:
			}
			break
		}
		if err := m.flush(); err != nil {
			m.cfg.Log.Error("the journal cannot be written; the master stops", "error", err)
			m.fail(err)
			return
		}
	}
}

// flush appends the tracker's new records to the journal and passes its answers on.
func (m *Master) flush() error {
	m.mendScript()
	out := m.jobs.Take()
	first := m.last
	m.tasks.follow(out.Records, time.Now())
	if err := m.keep(out.Records); err != nil {
		return err
	}
	m.tellPast(first, &out)
	m.maybeCompact()
	if out.Replanned {
		m.readers.set(m.jobs.Readers())
	}
	m.logBroken(out.Broken)
	for _, n := range out.Notes {
		m.cfg.Log.Warn("the cluster has changed, or a job waits", "note", n)
	}
	for _, n := range out.Wake {
		m.unpark(n, false)
		// The rest of the answer has to wait until its records are durable.
		m.after(func() { m.later(func(time.Duration) { m.unpark(n, false) }) })
	}
	for _, id := range out.Drivers {
		m.ring(m.drivers, id)
	}
	for _, id := range out.Changed {
		m.ring(m.watchers, id)
		m.show(id)
	}
	for _, left := range out.Clean {
		m.after(func() { m.clean(left) })
	}
	b := batch{m.last, m.releases}
	m.releases = nil
	select {
	case m.commit <- b:
	case <-m.ctx.Done():
	}
	return nil
}

func (m *Master) logRecord(r *tracker.Record) {
	switch r.Kind {
	case tracker.Submitted:
		m.cfg.Log.Info("job submitted", "job", r.Job, "name", r.Spec.Name, "user", r.Spec.User)
	case tracker.Planned:
		m.cfg.Log.Info("job planned", "job", r.Job, "stage", r.Stage, "maps", max(r.Plan.Parts, len(r.Plan.Splits)), "reduces", r.Plan.Reducers)
	case tracker.TaskLost:
		m.cfg.Log.Warn("result lost", "job", r.Job, "stage", r.Stage, "task", r.Task.Kind, "index", r.Task.Index, "why", r.Text)
	case tracker.JobEnded:
		m.cfg.Log.Info("job ended", "job", r.Job, "state", r.State.String(), "error", r.Text)
	}
}

// clean removes what a job has left in the block store, outside the loop.
func (m *Master) clean(left tracker.Leftover) {
	m.wg.Go(func() {
		remove := func() error {
			return m.names.Delete(wire.DeleteRequest{Path: left.Dir, User: left.User, Recursive: true})
		}
		err := remove()
		for wire.KindOf(err) == wire.Unavailable && m.ctx.Err() == nil { // safe mode, after a start
			select {
			case <-time.After(time.Second):
			case <-m.ctx.Done():
			}
			err = remove()
		}
		if m.ctx.Err() != nil {
			return // the next start removes it
		}
		if err != nil && wire.KindOf(err) != wire.NotFound {
			m.cfg.Log.Warn("cannot remove what a job left", "path", left.Dir, "error", err)
		}
	})
}

// ring wakes the callers that wait for news of a job, once its records are durable.
func (m *Master) ring(who map[wire.JobID][]chan struct{}, id wire.JobID) {
	list := who[id]
	delete(who, id)
	if len(list) == 0 {
		return
	}
	m.after(func() {
		for _, ch := range list {
			close(ch)
		}
	})
}

// committer waits for the journal and runs the releases.
func (m *Master) committer() {
	for b := range m.commit {
		if err := m.log.journal.Wait(b.seq); err != nil {
			m.cfg.Log.Error("the journal cannot be synced; the master stops", "error", err)
			m.fail(fmt.Errorf("journal: %w", err))
			return
		}
		for _, fn := range b.releases {
			fn()
		}
	}
}

// directoryLost returns an error if somebody has removed the master's directory.
func (m *Master) directoryLost() error {
	for _, d := range m.disks {
		if err := d.Lost(); err != nil {
			return err
		}
	}
	return nil
}

// ticker lets time pass in the loop.
func (m *Master) ticker() {
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-t.C:
		}
		m.do(func(now time.Duration) {
			m.pause(now)
			m.jobs.Tick(now)
			m.probe(now)
			m.showAll(now)
			m.sample(now)
		})
		if err := m.directoryLost(); err != nil {
			m.fail(err)
			return
		}
		if err := m.names.Tick(); err != nil {
			m.cfg.Log.Error("name service", "error", err)
			if wire.KindOf(err) == wire.Stale { // another master has taken the directory
				m.fail(fmt.Errorf("name service: %w", err))
				return
			}
		}
	}
}

// ask runs fn in the loop and returns its result once what it changed is durable.
func ask[T any](ctx context.Context, m *Master, fn func(now time.Duration) (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	ok := m.do(func(now time.Duration) {
		v, err := fn(now)
		m.after(func() { done <- result{v, err} })
	})
	var zero T
	if !ok {
		return zero, wire.Errorf(wire.Unavailable, "the master is stopping")
	}
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		return zero, ctx.Err()
	case <-m.ctx.Done():
		return zero, wire.Errorf(wire.Unavailable, "the master is stopping")
	}
}
