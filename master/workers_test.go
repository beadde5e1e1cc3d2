package master

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/membership"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/rpc/rpctest"
	"github.com/millrace/millrace/internal/wire"
)

// stateOf is the state of a node; "" if nobody knows it.
func stateOf(t *testing.T, m *Master, name wire.NodeName) string {
	t.Helper()
	for _, n := range must(t, m, ann, api.NodeList, struct{}{}) {
		if n.Node == name {
			return n.State
		}
	}
	return ""
}

// patient makes a master that gives workers up only when something tells it to.
func patient(c *Config) { c.Hold = time.Hour }

// parks waits until the report of a node waits for an answer.
func parks(t *testing.T, m *Master, name wire.NodeName) {
	t.Helper()
	eventually(t, "a report waits", func() bool {
		is, err := ask(t.Context(), m, func(time.Duration) (bool, error) { return m.parked[name] != nil, nil })
		return is && err == nil
	})
}

// TestReportsOfOthers: a node speaks for itself only, and what cannot be is refused.
func TestReportsOfOthers(t *testing.T) {
	m := served(t)
	h := newHand(t, m, "w1")
	r := h.report
	_, err := call(t, m, rpc.Caller{Node: "w2"}, api.WorkerReport, r)
	refusal(t, "a report in the name of another", err, wire.Denied, "node w2 reports as w1")
	_, err = call(t, m, ann, api.WorkerReport, r)
	refusal(t, "a report of a user", err, wire.Denied, "for nodes")
	r.Capacity.Containers = -1
	_, err = call(t, m, h.caller(), api.WorkerReport, r)
	refusal(t, "a report of less than no room", err, wire.Invalid, "capacity")
	if s := stateOf(t, m, "w1"); s != "" {
		t.Errorf("who was refused is %s", s)
	}
	h.say()
	twin := newHand(t, m, "w1")
	twin.report.Session, twin.report.Seq = "another", 1
	_, err = call(t, m, twin.caller(), api.WorkerReport, twin.report)
	refusal(t, "a second worker of a name", err, wire.KindOf(err), "w1")
	if stateOf(t, m, "w1") != "up" {
		t.Error("the first worker of the name is gone")
	}
}

// TestRefusedTooLate: a report that is refused in the moment at which it has waited long enough is answered, too.
func TestRefusedTooLate(t *testing.T) {
	m := served(t, func(c *Config) { c.Hold = 1 })
	h := newHand(t, m, "w1")
	h.report.Capacity.Containers = -1
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 30 { // which of the two is seen first is a matter of luck
		_, err := m.report(ctx, h.caller(), h.report)
		refusal(t, "less than no room", err, wire.Invalid, "capacity")
	}
}

// TestReportsWait: a report without news is held until there is some, until the next one comes, or until it is time to hear of the worker again.
func TestReportsWait(t *testing.T) {
	m := served(t, patient)
	h := newHand(t, m, "w1")
	h.report.Fresh = true
	if a := h.say(); len(a.Launch) > 0 { // a worker that is new has its answer at once
		t.Fatalf("%+v", a)
	}
	h.report.Fresh = false
	answer := func() <-chan wire.Answer {
		h.report.Seq++
		r, got := h.report, make(chan wire.Answer, 1)
		go func() {
			a, err := m.report(t.Context(), h.caller(), r)
			if err != nil {
				t.Error(err)
			}
			got <- a
		}()
		parks(t, m, "w1")
		return got
	}
	overtaken := answer()
	h.report.Seq++
	news := make(chan wire.Answer, 1)
	go func() {
		a, err := m.report(t.Context(), h.caller(), h.report)
		if err != nil {
			t.Error(err)
		}
		news <- a
	}()
	if a := <-overtaken; hasNews(&a) || a.Epoch != 0 {
		t.Errorf("a report that was overtaken is answered with %+v", a)
	}
	parks(t, m, "w1")
	id := submitted(t, m, ann, sleepJob("j"))
	if a := <-news; len(a.Launch) != 1 || a.Launch[0].ID.Job != id {
		t.Errorf("when a job comes the worker hears %+v", a)
	}
	short := served(t)
	h = newHand(t, short, "w1")
	h.say()
	begin := time.Now()
	if a := h.say(); hasNews(&a) || a.Epoch == 0 || time.Since(begin) < short.cfg.Hold {
		t.Errorf("a report without news is answered after %v with %+v", time.Since(begin), a)
	}
}

// TestBrokenConnection: a worker whose connection breaks while its report waits is given up soon; one that speaks again is not.
func TestBrokenConnection(t *testing.T) {
	m := served(t, patient, func(c *Config) { c.Gone = 200 * time.Millisecond })
	cut := func(h *hand) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		h.report.Seq++
		done := make(chan error, 1)
		go func() {
			_, err := m.report(ctx, h.caller(), h.report)
			done <- err
		}()
		parks(t, m, h.report.Node)
		cancel()
		if err := <-done; wire.KindOf(err) != wire.Canceled {
			t.Fatal(err)
		}
	}
	stays, goes := newHand(t, m, "w1"), newHand(t, m, "w2")
	for _, h := range []*hand{stays, goes} {
		h.report.Fresh = true
		h.say()
		h.report.Fresh = false
		cut(h)
	}
	stays.report.Fresh = true // it is answered at once
	stays.say()
	eventually(t, "the worker that says nothing more is down", func() bool { return stateOf(t, m, "w2") == "down" })
	if s := stateOf(t, m, "w1"); s != "up" {
		t.Errorf("the worker that spoke again is %s", s)
	}
}

// TestOverdueWorkersAreCalled: a silent worker is dead when its machine says that nobody listens at its address, and not while somebody does.
func TestOverdueWorkersAreCalled(t *testing.T) {
	m := served(t, impatient)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	alive, dead := newHand(t, m, "w1"), newHand(t, m, "w2")
	alive.report.Addr, dead.report.Addr = l.Addr().String(), gone.Addr().String()
	alive.say()
	dead.say()
	called, err := l.Accept() // the master knocks
	if err != nil {
		t.Fatal(err)
	}
	called.Close()
	if s := stateOf(t, m, "w2"); s != "up" {
		t.Errorf("a worker that listens is %s", s)
	}
	gone.Close()
	eventually(t, "the worker that nobody listens for is down", func() bool { return stateOf(t, m, "w2") == "down" })
	if s := stateOf(t, m, "w1"); s != "up" {
		t.Errorf("the worker that listens is %s", s)
	}
	l.Close() // it was called before, and listened then
	eventually(t, "the other is down, too", func() bool { return stateOf(t, m, "w1") == "down" })
}

// TestOneCallAtATime: while the address of a silent worker is being called it is not called again; afterwards it is.
func TestOneCallAtATime(t *testing.T) {
	m := served(t, patient)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := newHand(t, m, "w1")
	h.report.Addr = l.Addr().String()
	h.say()
	loop := func(do func(now time.Duration)) {
		if _, err := ask(t.Context(), m, func(now time.Duration) (struct{}, error) { do(now); return struct{}{}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		loop(func(now time.Duration) { m.probe(now + 1e6*time.Hour); m.probe(now + 1e6*time.Hour) })
		eventually(t, "it was called", func() (done bool) { loop(func(time.Duration) { done = len(m.probing) == 0 }); return done })
		last, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		for ; ; calls++ {
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if c.Close(); c.RemoteAddr().String() == last.LocalAddr().String() {
				break
			}
		}
		if last.Close(); calls != 1 {
			t.Errorf("it was called %d times", calls)
		}
	}
}

// TestGossip: workers are told where to join, and one that gossip has lost is given up after a third of the silence that others may keep.
func TestGossip(t *testing.T) {
	m := served(t, withKey(t), patient, func(c *Config) { c.Gossip, c.Jobs.Silence = "127.0.0.1:0", 9*time.Second })
	_, err := call(t, m, ann, api.ClusterGossip, struct{}{})
	refusal(t, "a user who asks for gossip", err, wire.Denied)
	where := must(t, m, rpc.Caller{Node: "w1"}, api.ClusterGossip, struct{}{})
	if where.Addr == "" || where.Label != m.names.Cluster() {
		t.Fatalf("%+v", where)
	}
	lost, quiet, speaks := newHand(t, m, "w1"), newHand(t, m, "w2"), newHand(t, m, "w3")
	for _, h := range []*hand{lost, quiet, speaks} {
		h.report.Fresh = true
		h.say()
	}
	joinAndLeave(t, m, where, lost)
	eventually(t, "the worker that gossip has lost is down", func() bool {
		speaks.say()
		nodes := must(t, m, ann, api.NodeList, struct{}{})
		if nodes[1].State != "up" || nodes[2].State != "up" {
			t.Fatalf("%+v", nodes)
		}
		return nodes[0].State == "down"
	})
	if got := must(t, served(t), rpc.Caller{Node: "w1"}, api.ClusterGossip, struct{}{}); got.Addr != "" || got.Label == "" {
		t.Errorf("a master without gossip says %+v", got)
	}
}

// joinAndLeave is a worker in the gossip until the master has heard of it.
func joinAndLeave(t *testing.T, m *Master, where wire.Gossip, h *hand) {
	t.Helper()
	keys, err := m.cfg.Key.Gossip()
	if err != nil {
		t.Fatal(err)
	}
	list, err := membership.Start(membership.Config{
		Member: membership.Member{Name: string(h.report.Node), Role: "worker", Session: h.report.Session, Addr: h.report.Addr}, Bind: "127.0.0.1:0",
		Seeds: func() []string { return []string{where.Addr} }, Label: where.Label, Keys: keys, Log: m.cfg.Log,
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the worker has joined", func() bool { return len(m.members.Members()) == 2 })
	if err := list.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLogsOfAttempts: the master fetches what an attempt printed from the worker that ran it, and says where it looked when it cannot.
func TestLogsOfAttempts(t *testing.T) {
	m := served(t, impatient)
	addr, stop := rpctest.Serve(t, func(s *rpc.Server) {
		rpc.Handle(s, api.TaskLog, func(_ context.Context, _ rpc.Caller, r wire.LogRequest) (wire.Log, error) {
			if r.From > 100 {
				return wire.Log{}, wire.Errorf(wire.NotFound, "the log is gone")
			}
			return wire.Log{Text: []byte("printed by " + string(r.ID.Kind)), Next: 7}, nil
		})
	})
	h := newHand(t, m, "w1")
	h.report.Addr = addr
	id := submitted(t, m, ann, sleepJob("j"))
	h.succeed(id)
	inHistory(t, m, id)
	maps := must(t, m, ann, api.JobAttempts, wire.AttemptsRequest{Job: id, Task: wire.MapTask, Index: 1})
	if len(maps) != 1 || maps[0].Node != "w1" || maps[0].How != wire.PastDone {
		t.Fatalf("%+v", maps)
	}
	r := wire.LogRequest{ID: wire.AttemptID{Job: id, Kind: wire.MapTask, Index: 1, Try: maps[0].Try}}
	if got := must(t, m, ann, api.JobLog, r); string(got.Text) != "printed by map" || got.Node != "w1" || got.Next != 7 {
		t.Errorf("%+v", got)
	}
	r.From = 101
	_, err := call(t, m, ann, api.JobLog, r)
	refusal(t, "what the worker does not have", err, wire.NotFound, "node w1", "the log is gone")
	r.From = 0
	other := r
	other.ID.Try++
	_, err = call(t, m, ann, api.JobLog, other)
	refusal(t, "an attempt that was not", err, wire.NotFound, "has no attempt")
	other.ID.Job = "job-99"
	_, err = call(t, m, ann, api.JobLog, other)
	refusal(t, "a job that was not", err, wire.NotFound, "job-99")
	stop()
	eventually(t, "the worker is down", func() bool { return stateOf(t, m, "w1") == "down" })
	_, err = call(t, m, ann, api.JobLog, r)
	refusal(t, "the log of a worker that is down", err, wire.NotFound, "node w1", "is down")
	m = again(t, m)
	_, err = call(t, m, ann, api.JobLog, r)
	if wire.KindOf(err) != wire.Unavailable || !strings.Contains(err.Error(), "has not reported to this master yet") {
		t.Errorf("just after a restart: %v", err)
	}
}

// TestTasksAskAboutTheirOwn: a task of one job hears nothing of another, and a driver without a plan is told so.
func TestTasksAskAboutTheirOwn(t *testing.T) {
	m := served(t)
	id := submitted(t, m, ann, sleepJob("j"))
	h := newHand(t, m, "w1")
	driver := h.plan(id, 2, 1)
	other := task("job-77")
	for what, do := range map[string]func(c rpc.Caller) error{
		"stage.info": func(c rpc.Caller) error { _, err := call(t, m, c, api.StageInfo, wire.StageRef{Job: id}); return err },
		"stage.outputs": func(c rpc.Caller) error {
			_, err := call(t, m, c, api.StageOutputs, wire.OutputsRequest{StageRef: wire.StageRef{Job: id}})
			return err
		},
		"driver.step": func(c rpc.Caller) error {
			_, err := call(t, m, c, api.DriverStep, wire.DriverRequest{ID: driver})
			return err
		},
	} {
		refusal(t, what+" of another", do(other), wire.Denied, "job-77")
		refusal(t, what+" of a user", do(ann), wire.Denied)
		if err := do(task(id)); err != nil {
			t.Errorf("%s of its own task: %v", what, err)
		}
		if err := do(h.caller()); err != nil {
			t.Errorf("%s of a node: %v", what, err)
		}
	}
	_, err := call(t, m, other, api.DriverPlan, wire.DriverRequest{ID: driver, Plan: &wire.StagePlan{}})
	refusal(t, "a plan of another", err, wire.Denied)
	_, err = call(t, m, other, api.DriverCommit, wire.DriverRequest{ID: driver})
	refusal(t, "a commit of another", err, wire.Denied)
	_, err = call(t, m, task(id), api.DriverPlan, wire.DriverRequest{ID: driver})
	refusal(t, "a plan without one", err, wire.Invalid, "has no plan")
	_, err = call(t, m, task(id), api.DriverPlan, wire.DriverRequest{ID: driver, Plan: &wire.StagePlan{}, Part: &wire.PlanPart{}})
	refusal(t, "a plan and a part", err, wire.Invalid)
	_, err = call(t, m, task(id), api.DriverCommit, wire.DriverRequest{ID: driver})
	refusal(t, "a commit before the end", err, wire.Stale)
	_, err = call(t, m, task(id), api.StageInfo, wire.StageRef{Job: id, Stage: 5})
	refusal(t, "a stage that is not there", err, wire.NotFound)
}

// TestTasksWaitForNews: a driver and a reduce that wait are answered when there is something, and else when the time that they gave is up;
// then nobody is kept for them.
func TestTasksWaitForNews(t *testing.T) {
	m := served(t)
	id := submitted(t, m, ann, sleepJob("j"))
	h := newHand(t, m, "w1")
	driver := h.plan(id, 1, 1)
	outputs := wire.OutputsRequest{StageRef: wire.StageRef{Job: id}, Wait: 30}
	if step := must(t, m, task(id), api.DriverStep, wire.DriverRequest{ID: driver, Wait: 30}); step.Do != "wait" {
		t.Errorf("%+v", step)
	}
	if got := must(t, m, task(id), api.StageOutputs, outputs); len(got.Changes) != 0 || got.All {
		t.Errorf("%+v", got)
	}
	if s := must(t, m, ann, api.JobStatus, wire.JobRequest{Job: id, Wait: 30}); s.State != wire.Running {
		t.Errorf("%+v", s)
	}
	left, err := ask(t.Context(), m, func(time.Duration) (int, error) {
		n := len(m.drivers[id]) + len(m.watchers[id])
		if a := m.statusWaiters[id]; a != nil {
			n += len(a.waiting)
		}
		return n, nil
	})
	if err != nil || left != 0 {
		t.Errorf("%d wait who have gone, %v", left, err)
	}
	outputs.Wait = 60_000
	news := make(chan wire.OutputsResponse, 1)
	go func() {
		got, err := m.outputs(t.Context(), task(id), outputs)
		if err != nil {
			t.Error(err)
		}
		news <- got
	}()
	eventually(t, "a reduce waits", func() bool {
		n, err := ask(t.Context(), m, func(time.Duration) (int, error) { return len(m.watchers[id]), nil })
		return n == 1 && err == nil
	})
	h.say(wire.Ended{ID: h.of(id, wire.MapTask, 1)[0], OK: true, Millis: 5})
	if got := <-news; len(got.Changes) != 1 || !got.All || got.Changes[0].Node != "w1" {
		t.Errorf("%+v", got)
	}
}

// TestReportsToAStoppedMaster: who reports to a master that has stopped by itself is told so, and does not wait for its process to end.
func TestReportsToAStoppedMaster(t *testing.T) {
	m := served(t)
	m.fail(errors.New("enough"))
	stopped(m)
	var wg sync.WaitGroup
	for range 20 { // the loop's inbox takes some that nobody reads
		wg.Go(func() {
			_, err := call(t, m, rpc.Caller{Node: "w1"}, api.WorkerReport, newHand(t, m, "w1").report)
			refusal(t, "a report to a master that has stopped", err, wire.Unavailable, "stopping")
		})
	}
	wg.Wait()
}
