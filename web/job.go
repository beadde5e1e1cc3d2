package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

// jobData is the page of one job.
type jobData struct {
	wire.JobStatus
	Age      string
	Over     bool
	Why      string // why it is not getting more
	Goal     []tile
	Past     *wire.PastSummary
	Counters []counter
	Gantt    chart.Chart
	Cut      bool // the chart shows the beginning only
	Problem  string
	From, To float64
	Phases   []phase
}

// A counter is one number that a job has counted.
type counter struct {
	Group, Name string
	Value       int64
}

// A phase is a part of a job's time, in seconds since its submission.
type phase struct {
	wire.Phase
	From, To float64
}

func (s *site) job(ctx context.Context, r *http.Request) (view, error) {
	id := wire.JobID(r.PathValue("job"))
	q := &questions{site: s}
	status, load := get(ctx, q, api.JobStatus, wire.JobRequest{Job: id}), get(ctx, q, api.ClusterLoad, none{})
	if q.err != nil {
		return view{}, q.err
	}
	var err error
	d := &jobData{JobStatus: status, Over: status.Ended > 0, Goal: goalTiles(&status, load.Now), Counters: countersOf(status.Counts)}
	d.Age = age(load.Now, status.Submitted)
	if d.Over {
		d.Age = millis(status.Ended - status.Submitted)
	}
	d.From, d.To = seconds(r, "from"), seconds(r, "to")
	if !d.Over {
		if why, err := ask(ctx, s, api.JobWhy, wire.JobRequest{Job: id}); err == nil {
			d.Why = why.Text
		}
	}
	if d.Past, err = ask(ctx, s, api.HistoryJob, wire.JobRequest{Job: id}); err != nil || d.Past == nil {
		d.Past, d.Problem = nil, "there is no history of this job"
		if err != nil {
			d.Problem = err.Error()
		}
		return view{Page: "job", Title: string(id), Data: d, Still: d.Over}, nil
	}
	for _, p := range d.Past.Phases {
		end := cmp.Or(p.End, load.Now*1e6)
		d.Phases = append(d.Phases, phase{p, float64(p.Begin-d.Past.Submitted) / 1e9, float64(end-d.Past.Submitted) / 1e9})
	}
	if d.Gantt, d.Cut, err = s.gantt(ctx, d, load.Now); err != nil {
		d.Problem = err.Error()
	}
	return view{Page: "job", Title: string(id), Data: d, Still: d.Over}, nil
}

// seconds parses a time in a page's address; an invalid number counts as none.
func seconds(r *http.Request, name string) float64 {
	f, err := strconv.ParseFloat(r.URL.Query().Get(name), 64)
	if err != nil || f < 0 || f > 1e9 {
		return 0
	}
	return f
}

func countersOf(c wire.Counts) (out []counter) {
	for g, names := range c {
		for n, v := range names {
			out = append(out, counter{g, n, v})
		}
	}
	slices.SortFunc(out, func(a, b counter) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name)) })
	return out
}

// logData is what an attempt has printed.
type logData struct {
	Job  wire.JobID
	ID   wire.AttemptID
	Text string
	Node string
	Open bool
}

// logTail is how much of the end of a log is shown.
const logTail = 64 << 10

func (s *site) log(ctx context.Context, r *http.Request) (view, error) {
	q := r.URL.Query()
	id := wire.AttemptID{Job: wire.JobID(r.PathValue("job")), Kind: wire.TaskKind(q.Get("task"))}
	stage, err1 := strconv.Atoi(q.Get("stage"))
	index, err2 := strconv.ParseInt(q.Get("index"), 10, 32)
	try, err3 := strconv.ParseUint(q.Get("try"), 10, 64)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return view{}, wire.Errorf(wire.Invalid, "the address of a log names stage, task, index and try: %w", err)
	}
	id.Stage, id.Index, id.Try = stage, int32(index), try
	l, err := ask(ctx, s, api.JobLog, wire.LogRequest{ID: id, Tail: logTail})
	if err != nil {
		return view{}, err
	}
	return view{Page: "log", Title: "Log", Data: logData{id.Job, id, string(l.Text), l.Node, l.Open}, Still: !l.Open}, nil
}

// Took returns how long an attempt took, or has taken so far.
func (d *jobData) Took(a wire.PastAttempt) string {
	if a.End == 0 {
		return "runs"
	}
	return human.Duration(time.Duration(a.End - a.Begin))
}
