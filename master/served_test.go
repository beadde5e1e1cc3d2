package master

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// Callers as a server makes them out. On a cluster with a key root is an administrator.
var (
	ann   = rpc.Caller{User: "ann"}
	bob   = rpc.Caller{User: "bob"}
	admin = rpc.Caller{User: "root", Admin: true}
)

// served is a master that serves, without workers; changes say how it differs from others. It ends with the test.
func served(t *testing.T, changes ...func(c *Config)) *Master {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Dir, cfg.Listen = t.TempDir(), "127.0.0.1:0"
	cfg.Superuser, cfg.Policy, cfg.Admission = "root", "fifo", "unlimited"
	cfg.Hold, cfg.Gone = 50*time.Millisecond, time.Hour // nobody listens where a hand says that it is
	for _, change := range changes {
		change(&cfg)
	}
	m, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// again starts the next master on the disk of one, which ends.
func again(t *testing.T, m *Master, changes ...func(c *Config)) *Master {
	t.Helper()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return served(t, append([]func(c *Config){func(c *Config) { *c = m.cfg }}, changes...)...)
}

// withKey makes a cluster a secure one.
func withKey(t *testing.T) func(c *Config) {
	t.Helper()
	key, err := secure.Parse(secure.Generate())
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Key = key }
}

// call makes a call in the name of a caller, by the rule of its route.
func call[Req, Resp any](t *testing.T, m *Master, c rpc.Caller, what rpc.Method[Req, Resp], r Req) (resp Resp, err error) {
	t.Helper()
	err = m.server.Local(t.Context(), c, what.Name, r, &resp)
	return resp, err
}

// must is call for what has to work.
func must[Req, Resp any](t *testing.T, m *Master, c rpc.Caller, what rpc.Method[Req, Resp], r Req) Resp {
	t.Helper()
	resp, err := call(t, m, c, what, r)
	if err != nil {
		t.Fatalf("%s as %+v: %v", what.Name, c, err)
	}
	return resp
}

// refusal checks that an error is of a kind and has words in it.
func refusal(t *testing.T, what string, err error, kind wire.Kind, words ...string) {
	t.Helper()
	if err == nil || wire.KindOf(err) != kind {
		t.Errorf("%s: %v, want one of kind %v", what, err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %v, want %q in it", what, err, w)
		}
	}
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for begin := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("waited a minute: %s", what)
		}
	}
}

// sleepJob is a job that any cluster takes.
func sleepJob(name string) wire.JobSpec {
	return wire.JobSpec{Name: name, Stages: 1, Program: wire.Program{Builtin: "sleep"}}
}

func submitted(t *testing.T, m *Master, c rpc.Caller, spec wire.JobSpec) wire.JobID {
	t.Helper()
	return must(t, m, c, api.JobSubmit, spec).Job
}

// A hand is a worker of which the test says what it does.
type hand struct {
	t       *testing.T
	m       *Master
	report  wire.Report
	running []wire.AttemptID
}

func newHand(t *testing.T, m *Master, name wire.NodeName) *hand {
	t.Helper()
	return &hand{t: t, m: m, report: wire.Report{
		Node: name, Session: "first life of " + string(name), Rack: "r1", Addr: "127.0.0.1:1", Capacity: wire.Capacity{Containers: 4}, Idle: -1, Platform: "linux/amd64",
	}}
}

func (h *hand) caller() rpc.Caller { return rpc.Caller{Node: string(h.report.Node)} }

// say reports what runs and what has ended, and does as it is told.
func (h *hand) say(ended ...wire.Ended) wire.Answer {
	h.t.Helper()
	h.report.Seq++
	r := h.report
	r.Ended = ended
	h.running = slices.DeleteFunc(h.running, func(id wire.AttemptID) bool {
		return slices.ContainsFunc(ended, func(e wire.Ended) bool { return e.ID == id })
	})
	for _, id := range h.running {
		r.Running = append(r.Running, wire.Progress{ID: id, Done: 0.5})
	}
	ans := must(h.t, h.m, h.caller(), api.WorkerReport, r)
	h.report.Full = ans.Full
	for _, l := range ans.Launch {
		if !slices.Contains(h.running, l.ID) {
			h.running = append(h.running, l.ID)
		}
	}
	for _, k := range ans.Kill {
		h.running = slices.DeleteFunc(h.running, func(id wire.AttemptID) bool { return id == k.ID })
	}
	return ans
}

// of are the attempts of a kind that it runs, once there are so many of a job.
func (h *hand) of(job wire.JobID, kind wire.TaskKind, n int) (out []wire.AttemptID) {
	h.t.Helper()
	eventually(h.t, "a worker is given its tasks", func() bool {
		out = nil
		for _, id := range h.running {
			if id.Job == job && id.Kind == kind {
				out = append(out, id)
			}
		}
		if len(out) < n {
			h.say()
		}
		return len(out) >= n
	})
	return out
}

// plan is a job's driver with a plan of some maps and reduces.
func (h *hand) plan(job wire.JobID, maps int, reduces int32) wire.AttemptID {
	h.t.Helper()
	driver := h.of(job, wire.DriverTask, 1)[0]
	h.say() // it runs
	must(h.t, h.m, task(job), api.DriverPlan, wire.DriverRequest{ID: driver, Plan: &wire.StagePlan{Splits: make([]wire.Split, maps), Reducers: reduces, Work: "/w"}})
	return driver
}

// task is a caller that speaks for a job.
func task(job wire.JobID) rpc.Caller { return rpc.Caller{User: "ann", Job: string(job)} }

// succeed runs a job of two maps and a reduce to its end.
func (h *hand) succeed(job wire.JobID) {
	h.t.Helper()
	driver := h.plan(job, 2, 1)
	for _, kind := range []wire.TaskKind{wire.MapTask, wire.ReduceTask} {
		n := 1
		if kind == wire.MapTask {
			n = 2
		}
		for _, id := range h.of(job, kind, n) {
			h.say(wire.Ended{ID: id, OK: true, Millis: 5, InBytes: 10, OutBytes: 20})
		}
	}
	if step := must(h.t, h.m, task(job), api.DriverStep, wire.DriverRequest{ID: driver, Wait: 5000}); step.Do != "commit" {
		h.t.Fatalf("%s: the driver is to %+v", job, step)
	}
	must(h.t, h.m, task(job), api.DriverCommit, wire.DriverRequest{ID: driver})
	h.say(wire.Ended{ID: driver, OK: true})
}

// breakDown ends a job with an error of a program.
func (h *hand) breakDown(job wire.JobID, text string) {
	h.t.Helper()
	h.plan(job, 1, 0)
	h.say(wire.Ended{ID: h.of(job, wire.MapTask, 1)[0], Final: true, Error: text, Millis: 5})
}

// impatient makes a master look soon after workers that say nothing.
func impatient(c *Config) { c.Gone = 50 * time.Millisecond }

// stopped waits until the loop of a master that has failed takes no more calls.
func stopped(m *Master) {
	for range m.commit { // the loop closes it
	}
}
