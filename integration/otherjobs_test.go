package integration

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

// sleeper hands in a job that stays while the test runs, with its output in the user's home.
func sleeper(t *testing.T, c *testcluster.Cluster, p person, out string) wire.JobID {
	t.Helper()
	out = "dfs:/user/" + out
	words := []string{"--maps", "1", "--map-time", "1h", "--output", out}
	got, err := api.JobSubmit.Call(t.Context(), p.Client, c.Addr, wire.JobSpec{Name: "sleep", Stages: 1, Output: out, Program: wire.Program{Builtin: "sleep", Args: words}})
	if err != nil {
		t.Fatal(err)
	}
	return got.Job
}

// taskOf calls as a task of a job that lives.
func taskOf(t *testing.T, c *testcluster.Cluster, p person, user string) *rpc.Client {
	t.Helper()
	cfg, err := c.Key().Client(secure.Task, string(sleeper(t, c, p, user+"/task")), user)
	if err != nil {
		t.Fatal(err)
	}
	cl := rpc.NewClient(cfg)
	t.Cleanup(func() { cl.Close() })
	return cl
}

// TestRoutesOfOtherJobs walks all routes that tasks may call for their own job: each is asked about a job of ann's by a task of
// another job of hers, and of one of bob's, and refuses; the job's own task it answers, or finds another fault. A route whose
// request names no job fails, as nobody could check it.
func TestRoutesOfOtherJobs(t *testing.T) {
	t.Parallel()
	c, ann, bob := sharedCluster(t)
	victim := sleeper(t, c, ann, "ann/victim")
	c.Wait("the job runs", func() bool { return c.Status(victim).State == "RUNNING" })
	tasks := map[string]rpc.Caller{
		"its own task":          {User: "ann", Job: string(victim)},
		"a task of ann's other": {User: "ann", Job: string(sleeper(t, c, ann, "ann/other"))},
		"a task of bob's":       {User: "bob", Job: string(sleeper(t, c, bob, "bob/other"))},
		"a task of no such job": {User: "ann", Job: "job-77"},
	}
	asked := 0
	for addr, list := range map[string][]rpc.Route{c.Addr: c.Master.Routes(), c.Workers[0].Worker.Addr(): c.Workers[0].Worker.Routes()} {
		for _, r := range list {
			if r.Rule != rpc.Tasks {
				continue
			}
			asked++
			for who, caller := range tasks {
				status := knockAbout(t, c, caller, addr, r, victim)
				if own := who == "its own task"; (status == http.StatusForbidden) == own {
					t.Errorf("%s about %s by %s: status %d", r.Path, victim, who, status)
				}
			}
		}
	}
	if asked < 6 {
		t.Errorf("only %d routes are for tasks", asked)
	}
}

// knockAbout asks a route about a job.
func knockAbout(t *testing.T, c *testcluster.Cluster, caller rpc.Caller, addr string, r rpc.Route, job wire.JobID) int {
	t.Helper()
	body := ""
	if r.Req != nil {
		req := reflect.New(r.Req)
		if name(req.Elem(), job) == 0 {
			t.Fatalf("%s is for tasks, and what it is asked with, %s, names no job", r.Path, r.Req)
		}
		text, err := json.Marshal(req.Interface())
		if err != nil {
			t.Fatal(err)
		}
		body = string(text)
	} else if !strings.Contains(r.Path, "{job}") {
		t.Fatalf("%s is for tasks, and names no job", r.Path)
	}
	cfg, err := c.Key().Client(secure.Task, caller.Job, caller.User)
	if err != nil {
		t.Fatal(err)
	}
	status, err := tryWith(t, cfg.TLS, addr, r.Path, job, body)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// name puts a job into all places of a request that are for one, and counts them.
func name(v reflect.Value, job wire.JobID) (n int) {
	if v.Type() == reflect.TypeFor[wire.JobID]() {
		v.SetString(string(job))
		return 1
	}
	if v.Kind() != reflect.Struct {
		return 0
	}
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			n += name(v.Field(i), job)
		}
	}
	return n
}
