package console

import (
	"context"
	"errors"
	"syscall"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// ReportOf makes the JSON report of a run, which ended with err or successfully.
func ReportOf(stages []mapreduce.Job, res local.Result, err error) Report {
	r := Report{
		Job: stages[0].Name, State: wire.Succeeded, Elapsed: res.Elapsed.Seconds(),
		Counters: Flatten(res.Counts), Output: res.Output, Stages: stagesOf(res),
	}
	if f, ok := errors.AsType[interface {
		error
		Result() map[string]any
	}](err); ok {
		r.Result = f.Result() // it failed because of what it found
	}
	if err != nil {
		r.State, r.Error = wire.Failed, Failure(err)
		if errors.Is(err, context.Canceled) {
			r.State, r.Error = wire.Cancelled, "interrupted"
		}
	}
	return r
}

// Failure returns the sentence that a command prints about a failed run.
func Failure(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted: nothing was left behind"
	}
	return human.ErrorText(err) + remedy(err)
}

// remedy returns what to do if the machine, not the job, has too little of something.
func remedy(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC) && errors.Is(err, local.ErrScratch):
		return "\nThe disk for spills is full: free some space, or give --scratch a directory on another disk."
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "\nThe disk is full: free some space, or choose an output on another disk."
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "\nToo few files may be open at once: raise the limit (ulimit -n), or give fewer --workers."
	}
	return ""
}
