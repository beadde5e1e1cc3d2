package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

// A jobTable lists jobs that have not ended.
type jobTable []jobRow

type jobRow struct {
	wire.JobStatus
	Age string
}

func tableOf(list []wire.JobStatus, now int64) (t jobTable) {
	for _, j := range list {
		t = append(t, jobRow{j, age(now, j.Submitted)})
	}
	return t
}

// age returns how long ago a time was, rounded so that it rarely changes.
func age(now, then int64) string {
	d := time.Duration(max(now-then, 0)) * time.Millisecond
	if d < time.Minute {
		return d.Truncate(time.Second).String()
	}
	return d.Truncate(10 * time.Second).String()
}

// maxActive is how many jobs that have not ended a page lists.
const maxActive = 500

// jobsData is the page of all jobs: what runs, and what has ended, page by page.
type jobsData struct {
	Active   jobTable
	More     bool // there are older jobs that have not ended
	Past     []pastRow
	Query    wire.PastQuery
	Older    wire.JobID // where the next page begins
	Problem  string
	Searched bool
}

func (s *site) jobs(ctx context.Context, r *http.Request) (view, error) {
	q := r.URL.Query()
	d := &jobsData{Query: wire.PastQuery{User: q.Get("user"), State: wire.JobState(q.Get("state")), Before: wire.JobID(q.Get("before")), Limit: 100}}
	d.Searched = d.Query.User+string(d.Query.State)+string(d.Query.Before) != ""
	load, err := ask(ctx, s, api.ClusterLoad, none{})
	if err != nil {
		return view{}, err
	}
	if !d.Searched {
		active, err := ask(ctx, s, api.JobList, wire.JobsRequest{Active: true, Limit: maxActive + 1})
		if err != nil {
			return view{}, err
		}
		if d.More = len(active) > maxActive; d.More {
			active = active[:maxActive]
		}
		slices.SortFunc(active, func(a, b wire.JobStatus) int { return cmp.Compare(a.Submitted, b.Submitted) })
		d.Active = tableOf(active, load.Now)
	}
	past, err := ask(ctx, s, api.HistoryList, d.Query)
	if err != nil {
		d.Problem = err.Error()
	}
	d.Problem = cmp.Or(d.Problem, past.Problem)
	if past.More {
		d.Older = past.Jobs[len(past.Jobs)-1].Job
	}
	for _, j := range past.Jobs {
		if j.Over() {
			d.Past = append(d.Past, pastRow{j, human.Duration(time.Duration(j.Ended - j.Submitted))})
		}
	}
	return view{Page: "jobs", Title: "Jobs", Data: d, Still: d.Query.Before != ""}, nil
}

// A pastRow is a job that has ended.
type pastRow struct {
	wire.PastJob
	Took string
}

// States returns those that a job can end in.
func (d *jobsData) States() []wire.JobState { return wire.JobStates[2:] }

// OlderURL returns the address of the next page.
func (d *jobsData) OlderURL() string {
	return "/jobs?" + url.Values{"user": {d.Query.User}, "state": {string(d.Query.State)}, "before": {string(d.Older)}}.Encode()
}
