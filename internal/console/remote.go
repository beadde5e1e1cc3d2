package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// A Remote is the progress of a job on a cluster, in the form of one on this machine.
type Remote struct {
	Begin time.Time

	mu   sync.Mutex // guards the fields below
	last wire.JobStatus
	away time.Duration // since when the master has not answered; 0: it answers
}

// Note records the status of the job.
func (r *Remote) Note(s wire.JobStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.away = s, 0
}

// Away records since when the master has not answered.
func (r *Remote) Away(since time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = since
}

// awayAfter is how long a master may be silent before users are told.
const awayAfter = 2 * time.Second

// Progress returns the progress for Watch.
func (r *Remote) Progress() local.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.last
	p := local.Progress{
		Job: s.Name, Stage: max(1, s.Stage), Stages: max(1, s.Stages), Phase: local.Planning, Elapsed: time.Since(r.Begin), Retries: s.Retries,
	}
	switch {
	case r.away > awayAfter:
		p.Phase = local.Waiting
	case s.State == wire.Queued:
		p.Phase = local.Queued
	case s.Maps.Total == 0 && s.Reduces.Total == 0:
	case s.Committing:
		p.Phase, p.Total = local.Committing, 1
	case s.Maps.Done < s.Maps.Total:
		p.Phase, p.Done, p.Total = local.Mapping, s.Maps.Done, s.Maps.Total
	default:
		p.Phase, p.Done, p.Total = local.Reducing, s.Reduces.Done, s.Reduces.Total
	}
	return p
}

// Detached prints which job continues by itself: its id alone on out, for scripts, and what to do next on hint.
func Detached(out, hint io.Writer, asJSON bool, id wire.JobID) error {
	if asJSON {
		return json.NewEncoder(out).Encode(map[string]wire.JobID{"job": id})
	}
	_, err := fmt.Fprintln(out, id)
	fmt.Fprintf(hint, "%s goes on by itself (millrace job watch %s, millrace job kill %s)\n", id, id, id)
	return err
}

// ResultOf converts a job's end to the result of a run on this machine, and an error if the job did not succeed.
func ResultOf(s wire.JobStatus) (local.Result, error) {
	res := local.Result{
		Job: s.Name, Counts: mapreduce.Counts(s.Counts), Attempts: s.Attempts, Retries: s.Retries,
		Elapsed: time.Duration(s.Ended-s.Submitted) * time.Millisecond,
		Stages:  []local.StageResult{{Job: s.Name, Maps: s.Maps.Total, Reduces: s.Reduces.Total, Counts: mapreduce.Counts(s.Counts)}},
	}
	res.Skipped = slices.SortedFunc(slices.Values(s.Bad), local.BadRecord.Compare)
	if s.State != wire.Succeeded {
		if s.State == wire.Cancelled {
			return res, fmt.Errorf("%s was cancelled: %s", s.Job, human.Printable(s.Error))
		}
		return res, errors.New(string(s.Job) + " failed: " + s.Error)
	}
	res.Output = s.Output
	return res, nil
}

// historyWait is how long to wait for the counters of stages: the history is written after the job's end.
const historyWait = 10 * time.Second

// AddStages divides the counters of a chain on a cluster among its stages, using its history, so that what goes from
// one stage to the next does not count as output. Without the history only the sums remain.
func AddStages(ctx context.Context, res *local.Result, stages []mapreduce.Job, events func(note func(*wire.PastEvent)) error) {
	if len(stages) < 2 || res.Output == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, historyWait)
	defer cancel()
	for ctx.Err() == nil {
		c := newChain(stages)
		if events(c.note) != nil {
			return
		}
		if c.ended {
			res.Stages, res.Counts = c.stages, local.ChainCounts(c.stages, len(c.stages))
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// chain adds up the history of a job, stage by stage.
type chain struct {
	stages []local.StageResult
	seen   map[counted]bool
	ended  bool
}

// counted is a task whose counters are in the sums.
type counted struct {
	stage int
	kind  wire.TaskKind
	index int32
}

func newChain(stages []mapreduce.Job) *chain {
	c := &chain{seen: map[counted]bool{}}
	for _, j := range stages {
		c.stages = append(c.stages, local.StageResult{Job: j.Name, Counts: mapreduce.Counts{}})
	}
	return c
}

func (c *chain) note(e *wire.PastEvent) {
	c.ended = c.ended || e.Kind == wire.PastEnded
	if e.Stage < 0 || e.Stage >= len(c.stages) {
		return
	}
	s, task := &c.stages[e.Stage], counted{e.Stage, e.Task, e.Index}
	switch {
	case e.Kind == wire.PastPlanned:
		s.Maps, s.Reduces = int(e.Maps), int(e.Reduces)
	case e.Kind == wire.PastDone && !c.seen[task]: // a map that ran again counts what it counted before
		c.seen[task] = true
		s.Counts.Add(mapreduce.Counts(e.Counts))
	}
}
