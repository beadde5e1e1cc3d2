package master

import (
	"path/filepath"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/history"
	"github.com/millrace/millrace/master/tracker"
)

// openPast opens the history. The master works without one, and says so.
func (m *Master) openPast() {
	cfg := history.DefaultConfig()
	cfg.Dir, cfg.Log = filepath.Join(m.cfg.Dir, "history"), m.cfg.Log
	log := m.log.journal
	cfg.Durable, cfg.UserBytes = log.Durable, m.kept.of
	cfg.Scan = func(from, to uint64, fn func(uint64, []history.Entry) error) (uint64, error) {
		return log.Scan(from, to, func(seq uint64, payload []byte) error {
			r, err := decodeRecord(payload)
			if err != nil {
				return err
			}
			m.texts.take(r)
			return fn(seq, entriesOf(seq, r))
		})
	}
	if m.cfg.History != nil {
		m.cfg.History(&cfg)
	}
	past, err := openHistory(cfg)
	if err != nil {
		m.pastError = err
		m.cfg.Log.Error("the history cannot be opened; the master goes on without", "error", err)
		return
	}
	m.past = past
}

// openHistory opens the history in a directory that only the master can read: it has what programs of all users have
// printed.
func openHistory(cfg history.Config) (*history.Store, error) {
	if err := disk.OwnDir(cfg.Dir); err != nil {
		return nil, err
	}
	return history.Open(cfg)
}

// tellPast adds to the history what happened, once it is durable; first is the record before the first of these.
func (m *Master) tellPast(first uint64, out *tracker.Output) {
	if m.past == nil || len(out.Records)+len(out.Events) == 0 {
		return
	}
	entries := make([]history.Entry, 0, len(out.Records)+len(out.Events))
	for i := range out.Records {
		entries = append(entries, entriesOf(first+uint64(i)+1, &out.Records[i])...)
	}
	epoch := uint32(m.names.Epoch())
	for i := range out.Events {
		m.told++
		e := &out.Events[i]
		entries = append(entries, history.Entry{Job: e.ID.Job, Seq: m.last, Epoch: epoch, Count: m.told, PastEvent: e.PastEvent})
	}
	m.after(func() { m.past.Add(entries) })
}

// pastKinds maps the kinds of records that the history keeps; other records are no events.
var pastKinds = map[tracker.RecordKind]wire.PastKind{
	tracker.Submitted: wire.PastSubmitted, tracker.Planned: wire.PastPlanned, tracker.TaskDone: wire.PastDone, tracker.TaskLost: wire.PastOutputLost,
	tracker.Committed: wire.PastCommitting, tracker.StageDone: wire.PastStageDone, tracker.JobEnded: wire.PastEnded,
}

// entriesOf returns a record as the history keeps it.
func entriesOf(seq uint64, r *tracker.Record) []history.Entry {
	kind, ok := pastKinds[r.Kind]
	if !ok {
		return nil
	}
	e := history.Entry{Job: r.Job, Seq: seq, Spec: r.Spec, Wall: r.Wall, Tries: r.Tries}
	e.PastEvent = wire.PastEvent{At: int64(r.At), Kind: kind, Stage: r.Stage, Text: r.Text, Counts: r.Counts}
	switch {
	case r.Plan != nil:
		e.Maps, e.Reduces = int32(max(r.Plan.Parts, len(r.Plan.Splits))), r.Plan.Reducers
	case r.Kind == tracker.JobEnded:
		e.State = r.State.Public()
	case r.Task != nil:
		t := r.Task
		e.Task, e.Index, e.Try, e.Node, e.Counts = t.Kind, t.Index, t.Try, t.Node, t.Counts
		e.Millis, e.In, e.Out = t.Millis, t.In, t.Out
	}
	return []history.Entry{e}
}

// history returns the store, or the reason why there is none.
func (m *Master) history() (*history.Store, error) {
	if m.past == nil {
		return nil, wire.Errorf(wire.Internal, "there is no history: %w", m.pastError)
	}
	return m.past, nil
}

func (m *Master) routePast() {
	rpc.Handle(m.server, api.HistoryList, m.pastList)
	rpc.HandleFresh(m.server, api.HistoryJob, m.pastJob)
	rpc.HandleFresh(m.server, api.HistoryEvents, m.pastEvents)
	m.routeLogs()
}

// pastStatus describes a job that the master has forgotten. It returns missing if the history does not know the job
// either.
func (m *Master) pastStatus(id wire.JobID, missing error) (wire.JobStatus, error) {
	h, err := m.history()
	if err != nil {
		return wire.JobStatus{}, missing
	}
	j, err := h.Job(id)
	if err != nil {
		return wire.JobStatus{}, missing
	}
	ms := func(ns int64) int64 { return time.Duration(ns).Milliseconds() }
	s := wire.JobStatus{
		Job: j.Job, Name: j.Name, User: j.User, Queue: j.Queue, State: j.State, Error: j.Error, Output: j.Output,
		Submitted: ms(j.Submitted), Ended: ms(j.Ended), Stage: j.Stage, Stages: j.Stages, Attempts: j.Attempts, Counts: j.Counts,
		Maps: wire.TaskTotals{Total: j.Maps}, Reduces: wire.TaskTotals{Total: j.Reduces},
	}
	if j.State == wire.Succeeded {
		s.Maps.Done, s.Reduces.Done = j.Maps, j.Reduces
	}
	return s, nil
}
