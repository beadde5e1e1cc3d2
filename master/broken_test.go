package master_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fifo"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/topology"
)

// forgetful is fifo, but on every other call it names a task that does not exist.
type forgetful struct {
	*fifo.Policy
	calls int
}

func (f *forgetful) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	if f.calls++; f.calls%2 == 0 {
		return scheduler.Run(scheduler.TaskID{Job: 999}, 0, scheduler.Reason{Say: "forgot"})
	}
	return f.Policy.Assign(now, n, v)
}

func init() {
	policies.Register(&scheduler.Info{Name: "forgetful", Seam: scheduler.Assignment, Summary: "forgets", Setup: scheduler.Unset(func() (*forgetful, error) {
		return &forgetful{Policy: fifo.New(scheduler.DefaultReduceRule())}, nil
	})})
}

// safeBuffer is a log that a test may read while it is written.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestBrokenPolicyIsSeen: a policy that breaks a rule is logged, counted, and shown; jobs end all the same.
func TestBrokenPolicyIsSeen(t *testing.T) {
	var log safeBuffer
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) {
		m.Policy, m.Admission, m.Log = "forgetful", "unlimited", slog.New(slog.NewTextHandler(&log, nil))
	}})
	id := c.Submit(wire.JobSpec{}, "sleep", "--maps", "8", "--reduces", "2", "--map-time", "1ms", "--reduce-time", "1ms", "--output", "dfs:/out")
	if s := c.Finish(id); s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	cl, err := client.New(client.Config{Master: c.Addr, User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	s, err := cl.SchedulerStatus(t.Context())
	if err != nil || s.Broken == 0 || s.Launched < 11 || s.Admitted != 1 || s.Policy.Name != "forgetful" || !strings.Contains(s.LastBroken, "no such job") {
		t.Errorf("%+v, %v", s, err)
	}
	if said := strings.Count(log.String(), "a policy broke a rule"); said == 0 || int64(said) > s.Broken {
		t.Errorf("logged %d times, %d rounds were broken", said, s.Broken)
	}
	resp, err := http.Get("http://" + c.Addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(text), "millrace_policy_broken_rules_total ") || strings.Contains(string(text), "millrace_policy_broken_rules_total 0\n") {
		t.Errorf("metrics do not count it: %v", err)
	}
}
