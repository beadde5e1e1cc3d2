package client_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// connect returns a client of a user, which ends with the test.
func connect(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	cl, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 {
			if err := cl.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return cl
}

// sleep is a job that does nothing for some time.
func sleep(name, out string, mapTime time.Duration) wire.JobSpec {
	return wire.JobSpec{
		Name: name, Queue: "night", Stages: 1, Output: "dfs:" + out,
		Program: wire.Program{Builtin: "sleep", Args: []string{"--maps", "2", "--reduces", "1", "--map-time", mapTime.String(), "--output", "dfs:" + out}},
	}
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"h:1": "h:1", "http://h:1/": "h:1", "https://[::1]:7070": "[::1]:7070",
		"": "no master: give --master HOST:PORT", "http://": "no master", "h": `master "h": must be HOST:PORT`,
	} {
		got, err := client.Address(in)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
		if _, newErr := client.New(client.Config{Master: in, Key: nil}); (newErr == nil) != (err == nil) {
			t.Errorf("a client of %q: %v", in, newErr)
		}
	}
}

// TestIdentity: a certificate says who asks, whatever else is said; who has the key is whom they say; the environment names files of both.
func TestIdentity(t *testing.T) {
	text := secure.Generate()
	key, err := secure.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := key.PEM(secure.User, "ann", "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	keyFile, certFile := filepath.Join(dir, "key"), filepath.Join(dir, "cert")
	for name, b := range map[string]string{keyFile: text, certFile: string(cert)} {
		if err := os.WriteFile(name, []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		key, cert, user, want string
		wrong                 bool
	}{
		{"", "", "bob", "bob", false},
		{"", "", "", client.CurrentUser(), false},
		{"", certFile, "bob", "ann", false},
		{keyFile, certFile, "bob", "bob", false}, // the key counts
		{keyFile + "none", "", "bob", "", true},
		{"", certFile + "none", "bob", "", true},
	} {
		t.Setenv("MILLRACE_KEY", c.key)
		t.Setenv("MILLRACE_CERT", c.cert)
		cfg := client.Config{Master: "h:1", User: c.user}
		if err := cfg.FromEnv(); (err != nil) != c.wrong {
			t.Errorf("%+v: %v", c, err)
		}
		if c.wrong {
			continue
		}
		if cl := connect(t, cfg); cl.User() != c.want || cl.Addr() != "h:1" || (cfg.Key != nil) != (c.key != "") {
			t.Errorf("%+v: the user is %s", c, cl.User())
		}
	}
	if cl := connect(t, client.Config{Master: "h:1", User: "bob", Key: key, Cert: cert}); cl.User() != "bob" {
		t.Errorf("who has the key besides a certificate is %s", cl.User())
	}
	if _, err := client.New(client.Config{Master: "h:1", Cert: []byte("no certificate")}); err == nil {
		t.Error("a text that is no certificate was taken")
	}
}

// TestSpecOf: the cluster is told all that a chain says, sizes rounded up to what it counts in, and no more inputs than a submission names.
func TestSpecOf(t *testing.T) {
	many := make([]string, 99)
	for i := range many {
		many[i] = fmt.Sprint("dfs:/", i)
	}
	first := mapreduce.Job{
		User: "ann", Queue: "q", Pool: "p", Deadline: 1500 * time.Millisecond, MaxAttempts: 7, SkipBadRecords: 3,
		Inputs: []mapreduce.Input{{Paths: many}, {Paths: []string{"dfs:/x", "dfs:/y"}}, {Paths: []string{"dfs:/z"}}},
	}
	first.Scheduling = mapreduce.Scheduling{
		Weight: 2, Slowstart: 0.5, ReduceCost: 3, Recurring: true,
		MapDemand: mapreduce.Demand{VCores: 2, MemoryBytes: 1<<20 + 1}, ReduceDemand: mapreduce.Demand{MemoryBytes: 1 << 20}, DriverDemand: mapreduce.Demand{VCores: 1},
		Expect: mapreduce.Expect{InputBytes: 1, ShuffleBytes: 2, MapTime: 3 * time.Second, ReduceTime: 4 * time.Second},
	}
	prog := wire.Program{Builtin: "sort"}
	got := client.SpecOf([]mapreduce.Job{first, {Name: "second", User: "bob", Output: "dfs:/out"}}, prog, true)
	want := wire.JobSpec{
		Name: "job", User: "ann", Queue: "q", Pool: "p", Deadline: 1500, Program: prog, Stages: 2, Output: "dfs:/out", Overwrite: true, Attempts: 7, Bad: 3,
		Inputs: append(slices.Clone(many), "dfs:/z"), Shape: wire.Shape(first.Shape()), Weight: 2, Slowstart: 0.5, ReduceCost: 3, Recurring: true,
		VCores: 2, MemoryMB: 2, Reduce: wire.Demand{MemoryMB: 1}, Driver: wire.Demand{VCores: 1},
		Expect: wire.Expected{Input: 1, Shuffle: 2, MapMillis: 3000, ReduceMillis: 4000},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestMasterIsAway: who asks is told what does not answer, at the end of the patience; who waits hears of it on the way, and goes
// on when the master is there again.
func TestMasterIsAway(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cl := connect(t, client.Config{Master: addr, User: "ann", Patience: time.Millisecond})
	if _, err := cl.Jobs(t.Context()); err == nil || !strings.Contains(err.Error(), "is the master at "+addr+" running?") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := cl.Jobs(ctx); err == nil || strings.Contains(err.Error(), "running?") {
		t.Errorf("of a question whose time is over: %v", err)
	}

	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	cl = connect(t, client.Config{Master: c.Addr, User: "ann"})
	id, err := cl.Submit(t.Context(), sleep("long", "/long", time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Master.Close(); err != nil {
		t.Fatal(err)
	}
	back, started := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(started)
		<-back
		c.StartMaster()
	}()
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	away, seen := 0, 0
	_, err = cl.WaitFor(ctx, id, time.Minute, func(s wire.JobStatus) {
		if seen++; s.State.Ended() || s.Job != id {
			t.Errorf("%+v", s)
		}
		cancel()
	}, func(since time.Duration) {
		if since < 0 || since > time.Minute {
			t.Errorf("away for %v", since)
		}
		if away++; away == 1 {
			close(back)
		}
	})
	if away == 0 {
		close(back)
	}
	<-started // before the cluster is stopped
	if err == nil || away == 0 || seen != 1 {
		t.Errorf("%v; away %d times, seen %d times", err, away, seen)
	}
}

// TestJobs follows jobs by all that a client can ask: each answer is about the job that was meant.
func TestJobs(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Racks: 2})
	cl, ctx := connect(t, client.Config{Master: "http://" + c.Addr + "/", User: "ann"}), t.Context()
	spec := sleep("short", "/short", time.Millisecond)
	spec.Request = "once"
	short, err := cl.Submit(ctx, spec)
	again, err2 := cl.Submit(ctx, spec)
	if err != nil || err2 != nil || short != again {
		t.Fatalf("handed in twice: %s and %s; %v, %v", short, again, err, err2)
	}
	states := 0
	s, err := cl.Wait(ctx, short, func(wire.JobStatus) { states++ })
	if err != nil || s.State != "SUCCEEDED" || s.User != "ann" || states == 0 || !s.State.Ended() {
		t.Fatalf("%+v, %v, seen %d times", s, err, states)
	}
	long, err := cl.Submit(ctx, sleep("long", "/long", time.Hour))
	if err != nil || long == short {
		t.Fatal(long, err)
	}
	c.Wait("the long job runs", func() bool { return c.Status(long).Maps.Running > 0 })
	checkJobs(t, cl, short, long)
	if err := cl.Kill(ctx, long, "enough of it"); err != nil {
		t.Fatal(err)
	}
	if s, err := cl.Wait(ctx, long, nil); err != nil || s.State != "CANCELLED" || !strings.Contains(s.Error, "enough of it") {
		t.Errorf("%+v, %v", s, err)
	}
	if list, err := cl.Active(ctx); err != nil || len(list) != 0 {
		t.Errorf("%+v are active, %v", list, err)
	}
	if _, err := cl.Status(ctx, "job-77"); wire.KindOf(err) != wire.NotFound {
		t.Errorf("a job that is not there: %v", err)
	}
	checkHistory(t, cl, short, long)
}

// checkJobs looks at a job that has ended and one that runs.
func checkJobs(t *testing.T, cl *client.Client, short, long wire.JobID) {
	t.Helper()
	ctx := t.Context()
	all, err := cl.Jobs(ctx)
	if err != nil || len(all) != 2 || all[0].Job != long || all[1].Job != short {
		t.Errorf("%+v, %v", all, err)
	}
	active, err := cl.Active(ctx)
	if err != nil || len(active) != 1 || active[0].Job != long || active[0].State.Ended() {
		t.Errorf("%+v, %v", active, err)
	}
	if s, err := cl.Status(ctx, short); err != nil || s.Job != short {
		t.Errorf("%+v, %v", s, err)
	}
	if why, err := cl.Why(ctx, short); err != nil || !strings.Contains(why, "SUCCEEDED") {
		t.Errorf("%q, %v", why, err)
	}
	if load, err := cl.Load(ctx); err != nil || load.Now < all[0].Submitted {
		t.Errorf("%+v, %v", load, err)
	}
	queues, err := cl.Queues(ctx)
	if i := slices.IndexFunc(queues, func(q wire.QueueStatus) bool { return q.Queue == "night" }); err != nil || i < 0 || queues[i].Running != 1 || queues[i].Succeeded != 1 {
		t.Errorf("%+v, %v", queues, err)
	}
	users, err := cl.Users(ctx)
	if i := slices.IndexFunc(users, func(u wire.UserStatus) bool { return u.User == "ann" }); err != nil || i < 0 || users[i].Running != 1 {
		t.Errorf("%+v, %v", users, err)
	}
}

// checkHistory looks at what is known of jobs that have ended.
func checkHistory(t *testing.T, cl *client.Client, short, long wire.JobID) {
	t.Helper()
	ctx := t.Context()
	past, err := cl.History(ctx, wire.PastQuery{State: "CANCELLED"})
	if err != nil || len(past.Jobs) != 1 || past.Jobs[0].Job != long {
		t.Errorf("%+v, %v", past, err)
	}
	if sum, err := cl.Summary(ctx, short); err != nil || sum.Job != short || sum.Maps != 2 || len(sum.Phases) == 0 {
		t.Errorf("%+v, %v", sum, err)
	}
	if sum, err := cl.Summary(ctx, "job-77"); wire.KindOf(err) != wire.NotFound || sum.Job != "" {
		t.Errorf("%+v, %v", sum, err)
	}
	launched := 0
	err = cl.Events(ctx, short, func(e *wire.PastEvent) {
		if e.Kind == wire.PastLaunched {
			launched++
		}
	})
	if err != nil || launched < 4 { // a driver, two maps, a reduce
		t.Errorf("%d attempts began, %v", launched, err)
	}
	if err := cl.Events(ctx, "job-77", func(*wire.PastEvent) { t.Error("an event of no job") }); err != nil {
		t.Error(err)
	}
	tries, err := cl.Attempts(ctx, wire.AttemptsRequest{Job: short, Task: wire.MapTask, Index: 1})
	if err != nil || len(tries) == 0 || tries[0].Index != 1 {
		t.Fatalf("%+v, %v", tries, err)
	}
	id := wire.AttemptID{Job: short, Kind: wire.MapTask, Index: 1, Try: tries[0].Try}
	if log, err := cl.Log(ctx, wire.LogRequest{ID: id}); err != nil || log.Open || log.Node != string(tries[0].Node) {
		t.Errorf("%+v, %v", log, err)
	}
}

// TestCluster asks about the cluster and changes it: what was changed is what is answered.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 4, Racks: 2})
	cl, ctx := connect(t, client.Config{Master: c.Addr, User: "ann"}), t.Context()
	if text, err := cl.Health(ctx); err != nil || text == "" {
		t.Errorf("%q, %v", text, err)
	}
	if err := cl.SetPolicy(ctx, wire.Choice{Name: "fifo"}); err != nil {
		t.Fatal(err)
	}
	if p, err := cl.Policies(ctx); err != nil || p.Policy.Name != "fifo" {
		t.Errorf("%+v, %v", p, err)
	}
	if s, err := cl.SchedulerStatus(ctx); err != nil || s.Policy.Name != "fifo" {
		t.Errorf("%+v, %v", s, err)
	}
	if err := cl.SetPolicy(ctx, wire.Choice{Name: "fifoo"}); wire.KindOf(err) != wire.Invalid {
		t.Errorf("an unknown policy: %v", err)
	}
	if err := cl.SetLimits(ctx, wire.LimitRequest{User: "bob", Changes: map[string]int64{"running": 3}}); err != nil {
		t.Fatal(err)
	}
	users, err := cl.Users(ctx)
	if i := slices.IndexFunc(users, func(u wire.UserStatus) bool { return u.User == "bob" }); err != nil || i < 0 || users[i].Limits.Running != 3 {
		t.Errorf("%+v, %v", users, err)
	}
	if n, err := cl.Net(ctx); err != nil || len(n.Nodes) != 4 || n.Threshold == 0 {
		t.Errorf("%+v, %v", n, err)
	}
	checkScheduling(t, cl)
	checkDrain(t, cl)
	var nodes []wire.NodeStatus
	if err := cl.Call(ctx, "node.list", struct{}{}, &nodes); err != nil || len(nodes) != 4 {
		t.Errorf("%+v, %v", nodes, err)
	}
	var other map[string]int
	if err := cl.Call(ctx, "node.list", struct{}{}, &other); wire.KindOf(err) != wire.Corrupt || !strings.Contains(err.Error(), "node.list") {
		t.Errorf("an answer in another form: %v", err)
	}
	if err := cl.Call(ctx, "node.none", struct{}{}, &nodes); err == nil {
		t.Error("a call that is not there was answered")
	}
}

// checkScheduling asks what is known of jobs that come again, and what was decided.
func checkScheduling(t *testing.T, cl *client.Client) {
	t.Helper()
	ctx := t.Context()
	id, err := cl.Submit(ctx, sleep("short", "/short", time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := cl.Wait(ctx, id, nil); err != nil || s.State != "SUCCEEDED" {
		t.Fatalf("%+v, %v", s, err)
	}
	if f, err := cl.Forecast(ctx, wire.ForecastRequest{Name: "short"}); err != nil || f.Name != "short" || f.User != "ann" || len(f.Stages) != 1 || f.Stages[0].Maps.Mean != 2 {
		t.Errorf("%+v, %v", f, err)
	}
	if p, err := cl.Plans(ctx, wire.PlanRequest{}); err != nil || p.Planner || len(p.Plans) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	d, err := cl.Decisions(ctx, wire.DecisionsRequest{Job: id, Limit: 2})
	if err != nil || len(d.Decisions) != 2 || d.Decisions[0].Job != id {
		t.Errorf("%+v, %v", d, err)
	}
	lines, err := cl.DecisionLines(ctx, 0)
	if err != nil || len(lines.Lines) == 0 || len(lines.Header) == 0 {
		t.Fatalf("%d lines, %v", len(lines.Lines), err)
	}
	rest, err := cl.DecisionLines(ctx, lines.Next-1)
	if err != nil || len(rest.Lines) == 0 || len(rest.Lines) >= len(lines.Lines) {
		t.Errorf("%d lines from %d on, of %d; %v", len(rest.Lines), lines.Next-1, len(lines.Lines), err)
	}
}

// checkDrain takes a worker out of service, and back; where too few would stay, neither the store nor the jobs lose one.
func checkDrain(t *testing.T, cl *client.Client) {
	t.Helper()
	ctx := t.Context()
	for _, step := range []struct {
		node    wire.NodeName
		undo    bool
		refused wire.Kind
		want    []wire.NodeName // that are out of service
	}{
		{"w9", false, wire.NotFound, nil},
		{"w2", false, 0, []wire.NodeName{"w2"}},
		{"w3", false, wire.Invalid, []wire.NodeName{"w2"}},
		{"w2", true, 0, nil},
	} {
		if err := cl.Drain(ctx, step.node, step.undo); (err != nil) != (step.refused != 0) || err != nil && wire.KindOf(err) != step.refused {
			t.Errorf("%+v: %v", step, err)
		}
		nodes, err := cl.Nodes(ctx)
		if err != nil || len(nodes) != 4 {
			t.Fatalf("%+v, %v", nodes, err)
		}
		var out []wire.NodeName
		for _, n := range nodes {
			if n.State == "draining" {
				out = append(out, n.Node)
			}
		}
		if !slices.Equal(out, step.want) {
			t.Errorf("%+v: %v are draining", step, out)
		}
	}
}

// TestShipSide: a side file that several stages name is shipped once; one that is not there is named.
func TestShipSide(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	cl := connect(t, client.Config{Master: c.Addr, User: "ann"})
	one, _ := localFile(t, "one")
	two, _ := localFile(t, "two")
	side, err := cl.ShipSide(t.Context(), []mapreduce.Job{{SideFiles: []string{one}}, {SideFiles: []string{two, one}}})
	if err != nil || len(side) != 2 || side[0].Name != filepath.Base(one) || side[0].Hash == side[1].Hash || !strings.HasSuffix(side[1].Path, side[1].Hash) {
		t.Errorf("%+v, %v", side, err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := cl.ShipSide(t.Context(), []mapreduce.Job{{SideFiles: []string{missing}}}); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("%v", err)
	}
}
