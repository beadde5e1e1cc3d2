package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
)

// sesame is in the input of ann's jobs, in their words, and in what they say of it.
const sesame = "open-sesame"

// A question is about what is ann's. Whatever it is, bob's answer has no sesame in it.
type question struct {
	ask   any    // the request of a method; a page's address
	gets  error  // what bob gets: an error of a kind; nil is an answer
	hides string // ann's answer holds it, and bob's does not; "": both may know what is answered
}

// A page is the address of one.
type page string

// stumblers builds a job that stumbles over a record and says so, beside the built-in ones.
func stumblers(p *wire.Program) ([]mapreduce.Job, error) {
	if p.Builtin != "stumble" {
		return jobs.Parse(p.Builtin, p.Args)
	}
	skip := 0
	if _, err := fmt.Sscan(p.Args[2], &skip); err != nil {
		return nil, err
	}
	return []mapreduce.Job{{
		Name: "stumble", Input: p.Args[:1], Output: p.Args[1], SkipBadRecords: skip, Fold: mapreduce.Sum,
		Map: mapreduce.Lines(func(line []byte, emit func(word []byte, n int64)) {
			if bytes.HasPrefix(line, []byte("bad")) {
				panic("what is this: " + string(line))
			}
			emit([]byte("good"), 1)
		}),
	}}, nil
}

// annsJobs are one that failed, one that skipped a record and one that runs; what the history has of the first is there.
type annsJobs struct {
	fails, skips, runs wire.JobID
	failed             wire.PastAttempt
	block              wire.LocatedBlock
}

func startAnns(t *testing.T) (c *testcluster.Cluster, ann, bob person, of annsJobs) {
	t.Helper()
	c = testcluster.Start(t, testcluster.Config{Workers: 1, Key: newKey(t), Master: pages, Build: stumblers})
	ann, bob = newPerson(t, c, secure.User, "ann"), newPerson(t, c, secure.User, "bob")
	ann.put(t, "/in", "good\nbad "+sesame+"\n")
	ann.chmod(t, "/in", 0o600)
	of.skips = c.Submit(wire.JobSpec{Name: "skips", Bad: 1}, "stumble", "dfs:/in", "dfs:/out1", "1", sesame)
	if s := c.Finish(of.skips); s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	of.fails = c.Submit(wire.JobSpec{Name: "fails"}, "stumble", "dfs:/in", "dfs:/out2", "0", sesame)
	if s := c.Finish(of.fails); s.State != "FAILED" {
		t.Fatalf("%+v", s)
	}
	of.runs = sleeper(t, c, ann, "ann/runs")
	c.Wait("the history has the failure", func() bool {
		list, _ := api.JobAttempts.Call(t.Context(), ann.Client, c.Addr, wire.AttemptsRequest{Job: of.fails, Task: wire.MapTask})
		for _, a := range list {
			if a.How == wire.PastFailed {
				of.failed = a
			}
		}
		return of.failed.How != ""
	})
	spec := wire.JobSpec{Name: "soon", Recurring: true, Stages: 1, Output: "dfs:/out3", Program: wire.Program{Builtin: "stumble", Args: []string{"dfs:/in", "dfs:/out3", "0", sesame}}}
	_, err := api.SchedulerPlan.Call(t.Context(), ann.Client, c.Addr, wire.PlanRequest{Jobs: []wire.JobSpec{spec}})
	loc, err2 := ann.dfs.Locate(t.Context(), "/in", 0, -1)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	of.block = loc.Blocks[0]
	return c, ann, bob, of
}

// questions says for every route that users may call, but those of the name service, what bob gets of what is ann's.
func (j annsJobs) questions(bob *secure.Renewal) map[string][]question {
	log := wire.AttemptID{Job: j.fails, Kind: wire.MapTask, Index: j.failed.Index, Try: j.failed.Try}
	block := wire.BlockRequest{Block: j.block.Block}
	all := []question{{ask: struct{}{}}} // an answer for everybody
	return map[string][]question{
		"job.submit":   {{ask: j.claimed()}}, // is bob's, whatever it claims
		"job.status":   {{wire.JobRequest{Job: j.fails}, nil, sesame}, {wire.JobRequest{Job: j.skips}, nil, sesame}, {ask: wire.JobRequest{Job: j.runs}}},
		"job.list":     {{wire.JobsRequest{}, nil, sesame}},
		"job.kill":     {{wire.JobRequest{Job: j.runs}, wire.Denied, ""}},
		"job.why":      {{ask: wire.JobRequest{Job: j.runs}}, {ask: wire.JobRequest{Job: j.fails}}},
		"job.attempts": {{wire.AttemptsRequest{Job: j.fails}, wire.Denied, ""}, {wire.AttemptsRequest{Job: j.runs}, wire.Denied, ""}},
		"job.log":      {{wire.LogRequest{ID: log}, wire.Denied, ""}},

		"history.list":   {{wire.PastQuery{}, nil, sesame}, {wire.PastQuery{User: "ann"}, nil, sesame}},
		"history.job":    {{wire.JobRequest{Job: j.fails}, nil, sesame}, {ask: wire.JobRequest{Job: j.skips}}},
		"history.events": {{wire.PastEventsRequest{Job: j.fails}, nil, sesame}, {ask: wire.PastEventsRequest{Job: j.runs}}},

		"scheduler.get": all, "scheduler.status": all,
		"scheduler.log": {{ask: wire.DecisionsRequest{}}}, "scheduler.lines": {{ask: wire.DecisionsRequest{}}},
		"scheduler.forecast": {{ask: wire.ForecastRequest{Name: "skips", User: "ann"}}},
		"scheduler.plan": {
			{ask: wire.PlanRequest{}},
			{wire.PlanRequest{Again: true}, wire.Denied, ""},
			{wire.PlanRequest{Drop: "soon"}, wire.NotFound, ""}, // bob has announced none
		},

		"health": all, "node.list": all, "queue.list": all, "net.status": all, "cluster.load": all,
		"user.list":  {{struct{}{}, nil, `"user":"ann"`}},
		"cert.renew": {{ask: bob.Request()}}, // is bob's

		"block.local": {{block, wire.Denied, ""}}, "block.suspect": {{block, wire.Denied, ""}},
		"GET /blocks/{id}":        {{page(fmt.Sprintf("/blocks/%d?gen=%d&off=0&len=1", uint64(j.block.ID), j.block.Gen)), wire.Denied, ""}},
		"/rpc/stream/block.write": nil, // TestBlocksOfOthers
		"GET /healthz":            {{ask: page("/healthz")}},
		"GET /metrics":            {{ask: page("/metrics")}},
		"GET /":                   j.pages(log),
	}
}

// claimed is a submission that says it is ann's.
func (j annsJobs) claimed() wire.JobSpec {
	words := []string{"--maps", "1", "--map-time", "1h", "--output", "dfs:/user/bob/claimed"}
	return wire.JobSpec{Name: "claimed", User: "ann", Stages: 1, Output: "dfs:/user/bob/claimed", Program: wire.Program{Builtin: "sleep", Args: words}}
}

func (j annsJobs) pages(log wire.AttemptID) []question {
	out := []question{
		{page("/jobs/" + string(j.fails)), nil, sesame},
		{page(fmt.Sprintf("/jobs/%s/log?stage=0&task=map&index=%d&try=%d", log.Job, log.Index, log.Try)), wire.Denied, ""},
		{page("/files/in"), wire.Denied, ""},
	}
	for _, p := range []page{"/", "/jobs", "/jobs/" + page(j.skips), "/jobs/" + page(j.runs), "/nodes", "/queues", "/network"} {
		out = append(out, question{ask: p})
	}
	return out
}

// TestRoutesOfOtherUsers walks all routes that users may call. Those about jobs, the history, the scheduler and the cluster, and the pages,
// are asked by bob about what is ann's: he is refused, or answered without what her programs have said. Those that hide something show
// it to ann. A route for which the table does not say what another user gets fails; TestEveryCallIsChecked has that of the name service.
func TestRoutesOfOtherUsers(t *testing.T) {
	t.Parallel()
	c, ann, bob, anns := startAnns(t)
	renewal, err := secure.NewRenewal()
	if err != nil {
		t.Fatal(err)
	}
	table := anns.questions(renewal)
	asked := 0
	for addr, list := range map[string][]rpc.Route{c.Addr: c.Master.Routes(), c.Workers[0].Worker.Addr(): c.Workers[0].Worker.Routes()} {
		for _, r := range list {
			name := strings.TrimPrefix(r.Path, rpc.Prefix)
			if r.Rule.Check(rpc.Caller{User: "bob"}) != nil || strings.HasPrefix(name, "dfs.") {
				continue // its rule refuses bob (TestRoutes); files
			}
			questions, known := table[name]
			if !known {
				t.Errorf("%s is in no table: what does it tell a user about another's?", name)
			}
			for _, q := range questions {
				asked++
				q.put(t, addr, name, ann, bob)
			}
		}
	}
	if asked < 40 {
		t.Errorf("only %d questions were asked", asked)
	}
	anns.unharmed(t, c, ann)
}

// put asks the question, first bob: what he breaks ann would see.
func (q question) put(t *testing.T, addr, name string, ann, bob person) {
	t.Helper()
	got, err := q.asked(t, addr, name, bob)
	if !errors.Is(err, q.gets) || (err == nil) != (q.gets == nil) {
		t.Errorf("%s %+v: bob gets the error %v, want %v", name, q.ask, err, q.gets)
	}
	if strings.Contains(got, sesame) || err != nil && strings.Contains(err.Error(), sesame) {
		t.Errorf("%s %+v tells bob what ann's job has said: %s %v", name, q.ask, got, err)
	}
	if q.hides == "" {
		return
	}
	if strings.Contains(got, q.hides) {
		t.Errorf("%s %+v tells bob %s: %s", name, q.ask, q.hides, got)
	}
	if own, err := q.asked(t, addr, name, ann); err != nil || !strings.Contains(own, q.hides) {
		t.Errorf("%s %+v does not tell ann %s: %s %v", name, q.ask, q.hides, own, err)
	}
}

func (q question) asked(t *testing.T, addr, name string, p person) (string, error) {
	t.Helper()
	path, ok := q.ask.(page)
	if !ok {
		got, err := rpc.Call[any, json.RawMessage](t.Context(), p.Client, addr, name, q.ask)
		return string(got), err
	}
	resp, err := p.Get(t.Context(), addr, string(path))
	if err != nil && strings.Contains(err.Error(), "403 Forbidden") {
		return "", fmt.Errorf("%w: %w", wire.Denied, err)
	}
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// unharmed looks for what bob may have changed.
func (j annsJobs) unharmed(t *testing.T, c *testcluster.Cluster, ann person) {
	t.Helper()
	if s := c.Status(j.runs); s.State.Ended() {
		t.Errorf("ann's job: %+v", s)
	}
	list, err := api.JobList.Call(t.Context(), ann.Client, c.Addr, wire.JobsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if (s.Name == "claimed") != (s.User == "bob") {
			t.Errorf("%s, called %s, is %s's", s.Job, s.Name, s.User)
		}
	}
	plans, err := api.SchedulerPlan.Call(t.Context(), ann.Client, c.Addr, wire.PlanRequest{})
	if err != nil || len(plans.Plans) != 1 || plans.Plans[0].Name != "soon" {
		t.Errorf("ann has announced %+v, %v", plans, err)
	}
}
