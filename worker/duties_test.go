package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/emulate"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/rpc/rpctest"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/worker/roster"
)

// onDuty is a worker with what it needs to report and to carry out answers, whose master answers as handle says.
func onDuty(t *testing.T, handle func(s *rpc.Server)) *Worker {
	t.Helper()
	master, _ := rpctest.Serve(t, handle)
	w := &Worker{cfg: DefaultConfig(), lifetime: lifetime{begin: time.Now(), taken: make(chan struct{}), failed: make(chan error, 1)}}
	w.cfg.Master, w.cfg.Node, w.cfg.Dir = master, "w1", t.TempDir()
	w.ctx, w.cancel = context.WithCancel(t.Context())
	w.client = rpc.NewClient(rpc.ClientConfig{Node: "w1"})
	w.duties = duties{
		news: make(chan struct{}, 1), runs: map[wire.AttemptID]run{}, stages: map[wire.StageRef]*stageCache{}, traffic: newTraffic(func() (float64, bool) { return 50, true }),
		roster: roster.New(roster.Config{Node: "w1", Capacity: wire.Capacity{Containers: 4}}),
	}
	var err1, err2, err3 error
	w.outputs, _, err1 = openOutputs(filepath.Join(t.TempDir(), "scratch"), 4096)
	w.logs, err2 = openLogs(filepath.Join(t.TempDir(), "logs"))
	w.shipped, err3 = openShipped(t.TempDir(), w.jobRuns)
	if err := errors.Join(err1, err2, err3, w.openStore()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.cancel()
		for _, d := range w.disks {
			_ = d.Close() // only read and written by the store, which is closed with the process
		}
		if err := errors.Join(w.client.Close(), w.logs.close(), w.outputs.files.close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// TestAnswersAreCarriedOut: attempts that the master wants to end are stopped, stages that it drops leave nothing, and the worker knows whether an answer has
// said anything new.
func TestAnswersAreCarriedOut(t *testing.T) {
	var says wire.Answer
	var refuses error
	w := onDuty(t, func(s *rpc.Server) {
		rpc.HandleQuick(s, api.WorkerReport, func(_ rpc.Caller, r wire.Report) (wire.Answer, error) {
			if r.Node != "w1" {
				t.Errorf("%+v", r)
			}
			a := says
			a.Epoch, a.Seq = 1, r.Seq
			return a, refuses
		})
	})
	runs, waits := mapOf(served, 1, 5), wire.AttemptID{Job: "job-2", Kind: wire.MapTask, Try: 6}
	w.roster.Answer(&wire.Answer{Epoch: 1, Launch: []wire.Launch{{ID: runs, Spec: &wire.JobSpec{}}}, Seq: 1})
	stopped := 0
	w.runs[runs] = run{stop: func() { stopped++ }, began: time.Now().Add(-5 * time.Second)}
	w.makeReport() // the first has been answered
	collectMap(t, w.outputs, mapOf(served, 0, 7), 100)
	w.stages[served] = &stageCache{}
	w.logs.say(runs, "hello")
	links := filepath.Join(w.shipped.side, string(served.Job))
	if err := os.MkdirAll(links, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		what    string
		answer  wire.Answer
		err     error
		want    outcome
		stopped int
		taken   bool
	}{
		{"nobody there", wire.Answer{}, wire.Errorf(wire.Unavailable, "away"), unheard, 0, false},
		{"nothing new", wire.Answer{}, nil, answered, 0, true},
		{"who is not here is to end", wire.Answer{Kill: []wire.Kill{{ID: waits}}}, nil, repeated, 0, true},
		{"and something else", wire.Answer{Kill: []wire.Kill{{ID: waits}}, Ended: []wire.AttemptID{waits}}, nil, answered, 0, true},
		{"who runs is to end", wire.Answer{Kill: []wire.Kill{{ID: runs, Why: "enough"}}}, nil, answered, 1, true},
		{"the same again", wire.Answer{Kill: []wire.Kill{{ID: runs, Why: "enough"}}}, nil, repeated, 1, true},
	} {
		says, refuses = x.answer, x.err
		if got := w.send(w.makeReport()); got != x.want || stopped != x.stopped {
			t.Errorf("%s: %d, want %d; stopped %d times, want %d", x.what, got, x.want, stopped, x.stopped)
		}
		select {
		case <-w.Ready():
			if !x.taken {
				t.Errorf("%s: it is taken in", x.what)
			}
		default:
			if x.taken {
				t.Errorf("%s: it is not taken in", x.what)
			}
		}
	}
	if r := w.makeReport(); len(r.Running) != 1 || r.Running[0].Millis < 5000 || r.Running[0].Millis > 60_000 {
		t.Errorf("it tells of %+v", r.Running)
	}
	dir := filepath.Join(w.outputs.root, dirName(served))
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	says, refuses = wire.Answer{Drop: []wire.StageRef{served}}, nil
	for _, still := range []bool{true, false} { // an attempt of the job runs, and then none
		if !still {
			delete(w.runs, runs)
		}
		if got := w.send(w.makeReport()); got != answered || w.stages[served] != nil || w.outputs.get(mapOf(served, 0, 7)) != nil || w.logs.busy(served.Job) {
			t.Errorf("dropped: %d; %v", got, w.stages)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("its map output: %v", err)
		}
		if _, err := os.Stat(links); (err == nil) != still {
			t.Errorf("links to its side files, while it runs %v: %v", still, err)
		}
	}
}

// TestStagesAreBuiltOnce: attempts of a stage share its jobs and what the master says of it; what could not be had is asked for again.
func TestStagesAreBuiltOnce(t *testing.T) {
	asked, built := 0, 0
	w := onDuty(t, func(s *rpc.Server) {
		rpc.HandleQuick(s, api.StageInfo, func(_ rpc.Caller, ref wire.StageRef) (wire.StageInfo, error) {
			if asked++; asked == 1 {
				return wire.StageInfo{}, wire.Errorf(wire.Invalid, "not now")
			}
			return wire.StageInfo{Maps: 7}, nil
		})
	})
	w.cfg.Build = func(p *wire.Program) ([]mapreduce.Job, error) {
		if built++; built == 1 {
			return nil, errors.New("not now")
		}
		return []mapreduce.Job{{Name: p.Builtin}}, nil
	}
	c := w.cache(served)
	if w.cache(served) != c || w.cache(wire.StageRef{Job: "job-1", Stage: 3}) == c {
		t.Error("stages are mixed up")
	}
	for i := range 3 {
		jobs, err := w.jobsOf(c, &wire.JobSpec{Program: wire.Program{Builtin: "x"}})
		info, err2 := w.infoOf(t.Context(), c, served)
		if fails := i == 0; (err != nil) != fails || (err2 != nil) != fails || !fails && (len(jobs) != 1 || jobs[0].Name != "x" || info.Maps != 7) {
			t.Errorf("time %d: %v, %v; %+v, %v", i+1, jobs, err, info, err2)
		}
	}
	if asked != 2 || built != 2 {
		t.Errorf("asked %d times, built %d times", asked, built)
	}
}

// TestWhatWorkersSayAtOnce: that one is drained or sick, or that map output cannot be fetched, goes into the next report, which is not waited for.
func TestWhatWorkersSayAtOnce(t *testing.T) {
	w := onDuty(t, func(*rpc.Server) {})
	for what, x := range map[string]struct {
		do   func()
		said func(r *wire.Report) bool
	}{
		"drained":  {w.Drain, func(r *wire.Report) bool { return r.Draining }},
		"sick":     {func() { w.setSick("no disk") }, func(r *wire.Report) bool { return r.Sick == "no disk" }},
		"no fetch": {func() { w.badFetch(wire.BadFetch{Map: mapOf(served, 1, 2)}) }, func(r *wire.Report) bool { return len(r.BadFetch) == 1 }},
	} {
		if x.said(w.makeReport()) || len(w.news) != 0 {
			t.Errorf("%s: it is said before", what)
		}
		if x.do(); !x.said(w.makeReport()) || len(w.news) != 1 {
			t.Errorf("%s: %+v, nudges: %d", what, w.makeReport(), len(w.news))
		}
		<-w.news
	}
	if !w.Idle() {
		t.Error("it is not idle")
	}
	id := mapOf(served, 1, 5)
	w.roster.Answer(&wire.Answer{Epoch: 1, Seq: 1, Launch: []wire.Launch{{ID: id, Spec: &wire.JobSpec{}}}})
	if w.progress(id, 0.5); w.Idle() || w.makeReport().Running[0].Done != 0.5 {
		t.Errorf("%+v", w.makeReport().Running)
	}
	if end := w.settle(wire.Ended{ID: id, OK: true, Millis: 3}, nil); !end.OK || end.Millis != 3 || w.outputs.get(id) != nil {
		t.Errorf("of an attempt without output: %+v", end)
	}
	collectMap(t, w.outputs, mapOf(served, 2, 6), 100)
	out := w.outputs.get(mapOf(served, 2, 6))
	if end := w.settle(wire.Ended{ID: id, OK: true}, out); !end.OK || w.outputs.get(id) != out {
		t.Errorf("of a map with output: %+v", end)
	}
}

// TestOneMachine: bytes leave no machine if others reach the worker at an address of this one, unless links are emulated.
func TestOneMachine(t *testing.T) {
	for _, x := range []struct {
		addr    string
		emulate *emulate.Setting
		want    bool
	}{{"127.0.0.1:7", nil, true}, {"[::1]:7", nil, true}, {"10.0.0.1:7", nil, false}, {"127.0.0.1:7", new(emulate.Setting), false}} {
		w := &Worker{connections: connections{addr: x.addr}}
		if w.cfg.Emulate = x.emulate; w.oneMachine() != x.want {
			t.Errorf("%+v: %v", x, !x.want)
		}
	}
}
