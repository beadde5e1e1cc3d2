package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/trace"
)

// exportJobs writes jobs as a history file. It leaves out running jobs, because nobody knows how long they take.
func exportJobs(cmd *cobra.Command, cl *client.Client, name string, jobs []wire.PastJob) (err error) {
	h := &trace.History{Origin: trace.Origin{Source: "cluster"}}
	slices.SortFunc(jobs, func(a, b wire.PastJob) int { return cmp.Compare(a.Submitted, b.Submitted) })
	if err := describe(cmd, cl, &h.Origin, jobs); err != nil {
		return err
	}
	for i := range jobs {
		if jobs[i].Over() {
			if err := exportJob(cmd, cl, h, &jobs[i], jobs[0].Submitted); err != nil {
				return err
			}
		}
	}
	if len(h.Jobs) == 0 {
		return errors.New("there is no job with a plan that has ended: nothing is exported")
	}
	if err := writeHistoryFile(name, h); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s and %s are in %s\n", human.Many(int64(len(h.Jobs)), "job"), human.Many(int64(len(h.Attempts)), "attempt"), human.Printable(name))
	return nil
}

func writeHistoryFile(name string, h *trace.History) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(trace.WriteHistory(f, h), f.Close())
}

// exportJob adds the stages of a job: for the policies each is a job of its own.
func exportJob(cmd *cobra.Command, cl *client.Client, h *trace.History, j *wire.PastJob, start int64) error {
	x := &exporter{job: j, start: start, began: map[uint64]*wire.PastEvent{}}
	if err := cl.Events(cmd.Context(), j.Job, x.event); err != nil {
		return err
	}
	for n, st := range x.stages {
		if st != nil && st.Maps+st.Reduces > 0 {
			st.Expect = x.told(n, st)
			h.Jobs = append(h.Jobs, *st)
		}
	}
	h.Attempts = append(h.Attempts, x.attempts...)
	return nil
}

// An exporter builds a job from its events.
type exporter struct {
	job      *wire.PastJob
	start    int64 // of the history
	stages   []*trace.PastJob
	began    map[uint64]*wire.PastEvent
	attempts []trace.PastAttempt
}

func (x *exporter) at(ns int64) time.Duration { return time.Duration(max(0, ns-x.start)) }

// stage returns the job that stands for a stage; the first is submitted with the whole job.
func (x *exporter) stage(n int, at int64) *trace.PastJob {
	for len(x.stages) <= n {
		x.stages = append(x.stages, nil)
	}
	if x.stages[n] != nil {
		return x.stages[n]
	}
	j := x.job
	p := &trace.PastJob{ID: string(j.Job), Name: j.Name, User: j.User, Queue: j.Queue, Pool: j.Pool, Priority: int(j.Priority), Weight: j.Weight, Recurring: j.Recurring, Slowstart: j.Slowstart, ReduceCost: j.ReduceCost, Submit: x.at(at)}
	if n == 0 {
		p.Submit = x.at(j.Submitted)
	}
	if j.Stages > 1 {
		p.ID, p.Name = fmt.Sprintf("%s/%d", j.Job, n), fmt.Sprintf("%s/%d", j.Name, n)
	}
	if j.Deadline > 0 {
		p.Deadline = x.at(j.Submitted) + time.Duration(j.Deadline)*time.Millisecond
	}
	x.stages[n] = p
	return p
}

func (x *exporter) event(e *wire.PastEvent) {
	switch e.Kind {
	case wire.PastAdmitted:
		x.stage(e.Stage, e.At).Admitted = x.at(e.At)
	case wire.PastPlanned:
		st := x.stage(e.Stage, e.At)
		st.Maps, st.Reduces = e.Maps, e.Reduces
	case wire.PastLaunched:
		if x.began[e.Try] == nil { // a restarted master reports running attempts again
			x.began[e.Try] = e
		}
	case wire.PastDone, wire.PastFailed, wire.PastLost, wire.PastStopped:
		x.attempt(e)
	case wire.PastStageDone:
		st := x.stage(e.Stage, e.At)
		st.End, st.State = x.at(e.At), trace.JobDone
		if e.Stage+1 < x.job.Stages {
			x.stage(e.Stage+1, e.At)
		}
	case wire.PastEnded:
		for _, st := range x.stages {
			if st != nil && st.State == "" {
				st.End, st.State = x.at(e.At), trace.JobFailed
			}
		}
	}
}

// told returns what the policies were told of a stage with a plan, by the rules of the master's tracker: of a later
// stage of a chain only times, and of a stored input its size. What was forecast for the stages of a recurring chain is
// recorded nowhere.
func (x *exporter) told(n int, st *trace.PastJob) *trace.Expected {
	e := x.job.Expect
	if e == nil || x.job.Recurring && x.job.Stages > 1 {
		return nil
	}
	t := &trace.Expected{InputBytes: e.Input, MapTime: time.Duration(e.MapMillis) * time.Millisecond, ReduceTime: time.Duration(e.ReduceMillis) * time.Millisecond}
	if n == 0 {
		t.ShuffleBytes, t.OutputBytes = e.Shuffle, e.Output
	}
	if slices.ContainsFunc(x.attempts, func(a trace.PastAttempt) bool { return a.Job == st.ID && a.Locality != "" }) {
		t.InputBytes = st.InputBytes
	}
	return t
}

// attempt adds a try that has ended. If its launch is missing, attempt infers when it began.
func (x *exporter) attempt(e *wire.PastEvent) {
	if e.Task == wire.DriverTask {
		return
	}
	st := x.stage(e.Stage, e.At)
	a := trace.PastAttempt{
		Job: st.ID, Kind: string(e.Task), Index: e.Index, Node: string(e.Node), Start: x.at(e.At - e.Millis*1e6), End: x.at(e.At), Lost: e.Kind != wire.PastDone,
	}
	if l := x.began[e.Try]; l != nil {
		delete(x.began, e.Try)
		if a.Start = min(x.at(l.At), a.End); e.Task == wire.MapTask {
			a.Locality = l.Locality
		}
	}
	if st.Start == 0 || a.Start < st.Start {
		st.Start = a.Start
	}
	if !a.Lost && e.Task == wire.MapTask {
		st.InputBytes, st.ShuffleBytes = st.InputBytes+e.In, st.ShuffleBytes+e.Out
	} else if !a.Lost {
		st.OutputBytes += e.Out
	}
	x.attempts = append(x.attempts, a)
}
