package console

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// A Remote is the progress of a job on a cluster, in the words of one on this machine.
type Remote struct {
	Begin time.Time

	mu   sync.Mutex // guards last
	last wire.JobStatus
}

// Note takes in how the job stands.
func (r *Remote) Note(s wire.JobStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = s
}

// Progress is for Watch.
func (r *Remote) Progress() local.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.last
	p := local.Progress{
		Job: s.Name, Stage: max(1, s.Stage), Stages: max(1, s.Stages), Phase: local.Planning, Elapsed: time.Since(r.Begin),
		Retries: max(0, s.Attempts-s.Maps.Total-s.Reduces.Total-1),
	}
	switch {
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

// ResultOf is a job's end in the words of a run on this machine, and the error if it did not
// succeed.
func ResultOf(s wire.JobStatus) (local.Result, error) {
	res := local.Result{
		Job: s.Name, Counts: mapreduce.Counts(s.Counts), Attempts: s.Attempts,
		Elapsed: time.Duration(s.Ended-s.Submitted) * time.Millisecond,
		Stages:  []local.StageResult{{Job: s.Name, Maps: s.Maps.Total, Reduces: s.Reduces.Total, Counts: mapreduce.Counts(s.Counts)}},
	}
	if s.State != "SUCCEEDED" {
		if s.State == "CANCELLED" {
			return res, fmt.Errorf("%s was cancelled: %s", s.Job, Printable(s.Error))
		}
		return res, errors.New(string(s.Job) + " failed: " + s.Error)
	}
	res.Output = s.Output
	return res, nil
}
