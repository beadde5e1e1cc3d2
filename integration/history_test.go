package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/master/history"
)

func newClient(t *testing.T, c *testcluster.Cluster, user string) *client.Client {
	t.Helper()
	cl, err := client.New(client.Config{Master: c.Addr, User: user})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cl.Close() })
	return cl
}

func sleepJob(out string) []string {
	return []string{"sleep", "--maps", "6", "--reduces", "2", "--map-time", "2ms", "--reduce-time", "1ms", "--output", out}
}

// storyOf waits until the history has all of a job, and returns it.
func storyOf(t *testing.T, c *testcluster.Cluster, cl *client.Client, id wire.JobID) (s wire.PastSummary) {
	t.Helper()
	c.Wait("the history has "+string(id), func() bool {
		var err error
		s, err = cl.Summary(t.Context(), id)
		return err == nil && s.Over()
	})
	return s
}

// TestHistoryOfJobs: what happened to a job is there after it has ended, after the master has forgotten it, and after the
// master was killed; each attempt is there once.
func TestHistoryOfJobs(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) { m.Jobs.KeepEnded, m.CompactFrom = 2, 2000 }})
	cl := newClient(t, c, "ann")
	var ids []wire.JobID
	for i := range 5 {
		ids = append(ids, c.Submit(wire.JobSpec{}, sleepJob(fmt.Sprint("dfs:/out", i))...))
		if s := c.Finish(ids[i]); s.State != "SUCCEEDED" {
			t.Fatalf("%+v", s)
		}
	}
	check := func(when string) {
		t.Helper()
		for _, id := range ids {
			s := storyOf(t, c, cl, id)
			if s.State != "SUCCEEDED" || s.Maps != 6 || s.Reduces != 2 || s.User != "ann" || s.Name != "sleep" || len(s.Slowest) != 8 || s.Failures != 0 {
				t.Errorf("%s: %+v", when, s)
			}
			var names []string
			for _, p := range s.Phases {
				names = append(names, p.Name)
				if p.End < p.Begin {
					t.Errorf("%s: %s: phase %+v", when, id, p)
				}
			}
			if want := []string{"wait", "plan", "map", "reduce", "commit"}; !slices.Equal(names, want) {
				t.Errorf("%s: %s: phases %v, want %v", when, id, names, want)
			}
			st, err := cl.Status(t.Context(), id)
			if err != nil || st.State != "SUCCEEDED" || st.Maps.Done != 6 || len(st.Counts) == 0 {
				t.Errorf("%s: status of %s: %+v, %v", when, id, st, err)
			}
		}
		got, err := cl.History(t.Context(), wire.PastQuery{User: "ann", State: "SUCCEEDED"})
		if err != nil || len(got.Jobs) != len(ids) || got.Jobs[0].Job != ids[len(ids)-1] || got.Problem != "" {
			t.Errorf("%s: %d jobs, %v %s", when, len(got.Jobs), err, got.Problem)
		}
	}
	check("at first")
	if list, err := cl.Jobs(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("the master remembers %d jobs, %v", len(list), err)
	}
	if err := c.Master.Close(); err != nil {
		t.Fatal(err)
	}
	c.StartMaster()
	check("after a restart")
	if none, err := cl.History(t.Context(), wire.PastQuery{User: "bob"}); err != nil || len(none.Jobs) != 0 {
		t.Errorf("bob has %v, %v", none.Jobs, err)
	}
	if _, err := cl.Summary(t.Context(), "job-99"); wire.KindOf(err) != wire.NotFound {
		t.Errorf("a job that never was: %v", err)
	}
}

// TestHistoryCatchesUp: a history that was thrown away, as after a power cut, is made again from the journal.
func TestHistoryCatchesUp(t *testing.T) {
	t.Parallel()
	dir := ""
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) { dir = m.Dir }})
	cl := newClient(t, c, "ann")
	id := c.Submit(wire.JobSpec{}, sleepJob("dfs:/out")...)
	c.Finish(id)
	if err := c.Master.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "history")); err != nil {
		t.Fatal(err)
	}
	c.StartMaster()
	s := storyOf(t, c, cl, id)
	done := 0
	err := cl.Events(t.Context(), id, func(e *wire.PastEvent) {
		if e.Kind == wire.PastDone && e.Task != wire.DriverTask {
			done++
		}
	})
	if err != nil || done != 8 || s.State != "SUCCEEDED" || s.SubmittedWall == 0 || len(s.Counts) == 0 {
		t.Errorf("%d tasks are done, %v: %+v", done, err, s)
	}
}

// TestNoHistory: a master whose history cannot be opened works, and says so.
func TestNoHistory(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Master: func(m *master.Config) {
		m.History = func(h *history.Config) { h.Dir = "/dev/null/history" }
	}})
	cl := newClient(t, c, "ann")
	if s := c.Finish(c.Submit(wire.JobSpec{}, sleepJob("dfs:/out")...)); s.State != "SUCCEEDED" {
		t.Errorf("%+v", s)
	}
	if _, err := cl.History(t.Context(), wire.PastQuery{}); err == nil || !strings.Contains(err.Error(), "there is no history") {
		t.Errorf("%v", err)
	}
}

// mentions counts the answers about a failed job, of five, that hold a text.
func mentions(t *testing.T, addr string, cl *rpc.Client, id wire.JobID, text string) (n int) {
	t.Helper()
	status, err1 := api.JobStatus.Call(t.Context(), cl, addr, wire.JobRequest{Job: id})
	list, err2 := api.JobList.Call(t.Context(), cl, addr, wire.JobsRequest{})
	past, err3 := api.HistoryList.Call(t.Context(), cl, addr, wire.PastQuery{})
	summary, err4 := api.HistoryJob.Call(t.Context(), cl, addr, wire.JobRequest{Job: id})
	events, err5 := api.HistoryEvents.Call(t.Context(), cl, addr, wire.PastEventsRequest{Job: id})
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	for _, answer := range []any{status, list, past, summary, events} {
		b, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(text)) {
			n++
		}
	}
	return n
}

// TestLogsFromAnywhere: the owner of a job reads what its attempts said, also those inside the worker, until the node is
// gone; others do not.
func TestLogsFromAnywhere(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Key: k})
	dfsPut(t, c, "/in", []byte("a b\n"))
	good := c.Submit(wire.JobSpec{}, "wordcount", "--input", "dfs:/in", "--output", "dfs:/out")
	bad := c.Submit(wire.JobSpec{}, "streaming", "--mapper", "false", "--input", "dfs:/in", "--output", "dfs:/out2")
	c.Finish(good)
	c.Finish(bad)
	logOf := func(cl *rpc.Client, id wire.AttemptID) (string, error) {
		got, err := api.JobLog.Call(t.Context(), cl, c.Addr, wire.LogRequest{ID: id})
		return string(got.Text), err
	}
	attempts := func(cl *rpc.Client, r wire.AttemptsRequest) ([]wire.PastAttempt, error) {
		return api.JobAttempts.Call(t.Context(), cl, c.Addr, r)
	}
	var list []wire.PastAttempt
	c.Wait("the history has the attempt", func() bool {
		list, _ = attempts(c.Client, wire.AttemptsRequest{Job: good, Task: wire.MapTask})
		return len(list) > 0 && list[0].How == wire.PastDone
	})
	id := wire.AttemptID{Job: good, Kind: wire.MapTask, Try: list[0].Try}
	if text, err := logOf(c.Client, id); err != nil || !strings.Contains(text, "map 0 began") || !strings.Contains(text, "map 0 is done") {
		t.Errorf("%q, %v", text, err)
	}
	var failed []wire.PastAttempt
	c.Wait("the history has the failures", func() bool {
		failed, _ = attempts(c.Client, wire.AttemptsRequest{Job: bad})
		return slices.ContainsFunc(failed, func(a wire.PastAttempt) bool { return a.How == wire.PastFailed })
	})
	i := slices.IndexFunc(failed, func(a wire.PastAttempt) bool { return a.How == wire.PastFailed })
	if text, err := logOf(c.Client, wire.AttemptID{Job: bad, Kind: failed[i].Task, Index: failed[i].Index, Try: failed[i].Try}); err != nil || !strings.Contains(text, "failed") {
		t.Errorf("%q, %v", text, err)
	}

	bob := c.NewClient(secure.User, "bob")
	defer bob.Close()
	for who, cl := range map[string]*rpc.Client{"ann": c.Client, "bob": bob} {
		if n := mentions(t, c.Addr, cl, bad, "exit status 1"); (n == 5) != (who == "ann") || who == "bob" && n != 0 {
			t.Errorf("%d of 5 answers tell %s what ann's program said", n, who)
		}
	}
	if _, err := logOf(bob, id); wire.KindOf(err) != wire.Denied {
		t.Errorf("bob reads ann's log: %v", err)
	}
	if _, err := attempts(bob, wire.AttemptsRequest{Job: good}); wire.KindOf(err) != wire.Denied {
		t.Errorf("bob lists ann's attempts: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(c.Workers[0].Dir), "master", "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"user":"bob",[^\n]*"from":"127[^\n]*"call":"job.log","what":"` + string(id.Job) + `[^\n]*"allowed":false,"error":"`,
		`"user":"ann",[^\n]*"from":"127[^\n]*"call":"job.submit",[^\n]*"allowed":true}`,
	} {
		if !regexp.MustCompile(want).Match(b) {
			t.Errorf("the audit log has no %s:\n%s", want, b)
		}
	}
	root := c.NewClient(secure.Admin, "root")
	defer root.Close()
	if _, err := logOf(root, id); err != nil {
		t.Errorf("an administrator: %v", err)
	}
	for _, wrong := range []wire.AttemptID{
		{Job: good, Kind: wire.MapTask, Try: 7}, {Job: "../../etc", Kind: wire.MapTask}, {Job: good, Kind: "../passwd", Try: list[0].Try},
	} {
		if text, err := logOf(root, wrong); err == nil {
			t.Errorf("%v: %q", wrong, text)
		}
	}
	for _, n := range c.Workers {
		if n.Name == list[0].Node {
			n.Stop()
		}
	}
	c.Wait("the node is down", func() bool {
		return slices.ContainsFunc(c.Nodes(), func(n wire.NodeStatus) bool { return n.Node == list[0].Node && n.State == "down" })
	})
	if _, err := logOf(c.Client, id); err == nil || !strings.Contains(err.Error(), "is down") {
		t.Errorf("a log of a node that is down: %v", err)
	}
}

// TestLongPlan: a plan of more bytes than a message or a record may have works.
func TestLongPlan(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Build: func(p *wire.Program) ([]mapreduce.Job, error) {
		list, err := jobs.Parse(p.Builtin, p.Args)
		for i := range list {
			list[i].SplitBytes = 1
		}
		return list, err
	}})
	dfsPut(t, c, "/in/"+strings.Repeat("long-", 40), bytes.Repeat([]byte("x\n"), 10_000))
	cl := newClient(t, c, "ann")
	id := c.Submit(wire.JobSpec{}, "wordcount", "--input", "dfs:/in", "--output", "dfs:/out")
	c.Wait("the plan is there", func() bool { return c.Status(id).Maps.Total >= 10_000 || c.Status(id).Error != "" })
	if s := c.Status(id); s.Maps.Total != 20_000 {
		t.Errorf("%+v", s)
	}
	if err := cl.Kill(t.Context(), id, "seen enough"); err != nil {
		t.Error(err)
	}
}

// TestOversizedSpec: a description that no record could hold is refused, and the master lives.
func TestOversizedSpec(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	cl := newClient(t, c, "ann")
	_, err := cl.Submit(t.Context(), wire.JobSpec{Name: "big", Stages: 1, Program: wire.Program{Builtin: "sleep", Args: []string{strings.Repeat("x", 9<<20)}}})
	if wire.KindOf(err) != wire.TooLarge || !strings.Contains(err.Error(), "at most") {
		t.Errorf("%v", err)
	}
	if s := c.Finish(c.Submit(wire.JobSpec{}, sleepJob("dfs:/out")...)); s.State != "SUCCEEDED" {
		t.Errorf("%+v", s)
	}
}
