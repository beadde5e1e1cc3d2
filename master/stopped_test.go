package master

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// asked is a call of which only the error matters.
func asked[Req, Resp any](t *testing.T, m *Master, c rpc.Caller, what rpc.Method[Req, Resp], r Req) func() (string, error) {
	t.Helper()
	return func() (string, error) {
		_, err := call(t, m, c, what, r)
		return what.Name, err
	}
}

// TestAStoppedMasterSaysSo: whatever is asked of a master that has stopped by itself is answered with that it stops, and never with nothing.
func TestAStoppedMasterSaysSo(t *testing.T) {
	m := served(t)
	home(t, m, "ann")
	put(t, m, "ann", "/ann/exe", 0o644)
	shipped := wire.JobSpec{Name: "shipped", Stages: 1, Program: wire.Program{Exe: "/ann/exe", Hash: strings.Repeat("ab", 32)}}
	id := submitted(t, m, ann, sleepJob("j"))
	url := "http://" + m.Addr()
	if code, text := get(t, http.DefaultClient, url+"/healthz"); code != http.StatusOK {
		t.Errorf("before: %d %s", code, text)
	}
	m.fail(errors.New("enough"))
	stopped(m)
	of := wire.JobRequest{Job: id}
	driver := wire.DriverRequest{ID: wire.AttemptID{Job: id, Kind: wire.DriverTask}, Plan: &wire.StagePlan{}}
	again := withSpec(sleepJob("k"), func(s *wire.JobSpec) { s.Request = "R" })
	for _, do := range []func() (string, error){
		asked(t, m, ann, api.JobSubmit, sleepJob("k")), asked(t, m, ann, api.JobSubmit, again), asked(t, m, ann, api.JobSubmit, shipped), asked(t, m, ann, api.JobStatus, of),
		asked(t, m, ann, api.JobStatus, wire.JobRequest{Job: id, Wait: 60_000}), asked(t, m, ann, api.JobList, wire.JobsRequest{}), asked(t, m, ann, api.JobKill, of),
		asked(t, m, ann, api.JobWhy, of), asked(t, m, ann, api.NodeList, struct{}{}), asked(t, m, ann, api.Health, struct{}{}),
		asked(t, m, admin, api.NodeDrain, wire.DrainRequest{Node: "w1"}), asked(t, m, ann, api.SchedulerGet, struct{}{}), asked(t, m, ann, api.QueueList, struct{}{}),
		asked(t, m, ann, api.ClusterLoad, struct{}{}), asked(t, m, ann, api.NetStatus, struct{}{}), asked(t, m, ann, api.SchedulerStatus, struct{}{}),
		asked(t, m, ann, api.SchedulerForecast, wire.ForecastRequest{Name: "j"}), asked(t, m, ann, api.SchedulerPlan, wire.PlanRequest{}),
		asked(t, m, admin, api.SchedulerSet, wire.Choice{Name: "fair"}), asked(t, m, admin, api.SchedulerSet, wire.Choice{Name: "marp"}),
		asked(t, m, ann, api.SchedulerLog, wire.DecisionsRequest{}), asked(t, m, ann, api.SchedulerLines, wire.DecisionsRequest{}), asked(t, m, ann, api.UserList, struct{}{}),
		asked(t, m, admin, api.UserLimit, wire.LimitRequest{User: "ann", Changes: map[string]int64{"running": 1}}),
		asked(t, m, task(id), api.StageInfo, wire.StageRef{Job: id}), asked(t, m, task(id), api.StageOutputs, wire.OutputsRequest{StageRef: wire.StageRef{Job: id}, Wait: 60_000}),
		asked(t, m, task(id), api.DriverStep, wire.DriverRequest{ID: driver.ID, Wait: 60_000}), asked(t, m, task(id), api.DriverPlan, driver), asked(t, m, task(id), api.DriverCommit, driver),
		asked(t, m, ann, api.JobAttempts, wire.AttemptsRequest{Job: id}), asked(t, m, ann, api.JobLog, wire.LogRequest{ID: driver.ID}),
	} {
		what, err := do()
		refusal(t, what, err, wire.Unavailable, "stopping")
	}
	for _, path := range []string{"/healthz", "/metrics"} {
		if code, text := get(t, http.DefaultClient, url+path); code < 500 || !strings.Contains(text, "stopping") {
			t.Errorf("%s of a master that stops: %d %s", path, code, text)
		}
	}
}

// TestStartOnABadDisk: what lies in the way of what a master keeps is named when it starts, and ends the start.
func TestStartOnABadDisk(t *testing.T) {
	for words, spoil := range map[string]func(dir string) error{
		"audit.log":    func(dir string) error { return os.Mkdir(filepath.Join(dir, "audit.log"), 0o700) },
		"decisions.s2": func(dir string) error { return os.Mkdir(filepath.Join(dir, "decisions.s2"), 0o700) },
		"namespace":    func(dir string) error { return os.WriteFile(filepath.Join(dir, "names"), nil, 0o600) },
		"jobs":         func(dir string) error { return os.WriteFile(filepath.Join(dir, "jobs"), nil, 0o600) },
		"not the header of a snapshot": func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "jobs"), 0o700), os.WriteFile(filepath.Join(dir, "jobs", snapshotName), []byte("odd"), 0o600))
		},
		TrainedFile: func(dir string) error { return os.WriteFile(filepath.Join(dir, TrainedFile), []byte("{"), 0o600) },
	} {
		cfg := DefaultConfig()
		cfg.Dir, cfg.Listen, cfg.Policy = t.TempDir(), "127.0.0.1:0", "hybrid"
		if err := spoil(cfg.Dir); err != nil {
			t.Fatal(err)
		}
		m, err := Start(cfg)
		if err == nil {
			t.Errorf("%s: it serves", words)
			_ = m.Close() // the test has failed
		} else if !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
}
