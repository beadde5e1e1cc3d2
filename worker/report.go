package worker

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/worker/roster"
)

func (w *Worker) nudge() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// reporter keeps one report waiting at the master and sends another when there is news.
func (w *Worker) reporter() {
	inFlight := make(chan struct{}, maxReports)
	for w.ctx.Err() == nil {
		inFlight <- struct{}{}
		done := make(chan outcome, 1)
		r := w.makeReport()
		w.wg.Go(func() {
			done <- w.send(r)
			<-inFlight
		})
		select {
		case how := <-done:
			w.pause(how)
		case <-w.news:
		case <-w.ctx.Done():
		}
	}
}

// maxReports is how many reports may be under way: one that waits and a few with news.
const maxReports = 3

// reportTimeout is longer than any master lets a report wait.
const reportTimeout = 10 * time.Second

func (w *Worker) makeReport() *wire.Report {
	lit := w.circuit() // without mu: it waits while another goroutine asks the master where a peer is
	w.mu.Lock()
	defer w.mu.Unlock()
	r, now := w.roster.Report(), time.Now()
	for i := range r.Running {
		p := &r.Running[i]
		if run, ok := w.runs[p.ID]; ok {
			p.Millis = now.Sub(run.began).Milliseconds()
		}
	}
	w.traffic.put(r, now, lit)
	return r
}

// An outcome is the result of a report.
type outcome uint8

const (
	answered outcome = iota
	repeated         // the master only repeats what is already being done: attempts take a while to stop
	unheard
)

func (w *Worker) send(r *wire.Report) outcome {
	ctx, cancel := context.WithTimeout(w.ctx, reportTimeout)
	defer cancel()
	r.Seen = w.store.Reign()
	ans, err := api.WorkerReport.Call(ctx, w.client, w.cfg.Master, *r)
	if err == nil && ans.Epoch > 0 { // else a newer report has overtaken this one
		err = w.store.Obey(wire.Reign{Epoch: ans.Epoch, Name: ans.Name})
	}
	if err != nil {
		w.refused(err)
		if w.ctx.Err() == nil {
			w.cfg.Log.Debug("the master does not answer", "error", err)
		}
		return unheard
	}
	w.takeIn.Do(func() { close(w.taken) })
	w.mu.Lock()
	w.traffic.heard(r)
	e := w.roster.Answer(&ans)
	w.mu.Unlock()
	w.carryOut(e)
	if len(ans.Kill) > 0 && len(e.Start)+len(e.Stop)+len(e.Drop)+len(ans.Ended) == 0 {
		return repeated
	}
	return answered
}

// refused ends a worker that the master will never accept. If another worker has its name, it ends only after
// NamePatience: the other may just have been killed, and its name becomes free after some silence.
func (w *Worker) refused(err error) {
	if wire.KindOf(err) == wire.Stale && w.refusal.Swap(err.Error()) != err.Error() {
		w.cfg.Log.Error("the master is not obeyed", "master", w.cfg.Master, "error", err)
	}
	select {
	case <-w.taken:
		return
	default:
	}
	switch kind := wire.KindOf(err); {
	case kind == wire.Invalid, kind == wire.Exists && time.Since(w.begin) > w.cfg.NamePatience:
		w.cfg.Log.Error("the master does not take the worker in", "error", err)
		w.fail(err)
	case kind == wire.Exists:
		w.asks.Do(func() {
			w.cfg.Log.Warn("another worker has the name: asking until it is seen whether that one still lives", "name", w.cfg.Node, "patience", w.cfg.NamePatience, "error", err)
		})
	case time.Since(w.begin) > untold && w.ctx.Err() == nil:
		w.waits.Do(func() { w.cfg.Log.Warn("still waiting for the master", "master", w.cfg.Master, "error", err) })
	}
}

// untold is how long a worker waits for its master before it logs why.
const untold = 5 * time.Second

// pause waits before the next report if the last one led to nothing, or the two would talk without end.
func (w *Worker) pause(how outcome) {
	news := w.news
	switch how {
	case answered:
		return
	case unheard:
		news = nil
	}
	t := time.NewTimer(w.cfg.Pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-news:
	case <-w.ctx.Done():
	}
}

// carryOut does what the roster has decided.
func (w *Worker) carryOut(e roster.Effects) {
	for _, k := range e.Stop {
		w.mu.Lock()
		r, ok := w.runs[k.ID]
		w.mu.Unlock()
		if ok {
			r.stop()
		}
	}
	for _, ref := range e.Drop {
		w.forget(ref)
	}
	for i := range e.Start {
		w.start(&e.Start[i])
	}
}

// forget removes everything of a stage.
func (w *Worker) forget(ref wire.StageRef) {
	w.mu.Lock()
	delete(w.stages, ref)
	w.mu.Unlock()
	w.logs.rest(ref.Job)
	if err := w.shipped.forget(ref.Job); err != nil {
		w.cfg.Log.Warn("links to side files cannot be removed", "job", ref.Job, "error", err)
	}
	if err := w.outputs.drop(ref); err != nil {
		w.cfg.Log.Warn("map output cannot be removed", "job", ref.Job, "stage", ref.Stage, "error", err)
	}
}
