package tracker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
)

// TestDecisionsAreTold: what the policies decide is remembered in words, with who else was eligible, and told to the history;
// why a job gets nothing is told when it changes, and not each time; the lines replay, and both memories are bounded.
func TestDecisionsAreTold(t *testing.T) {
	s := newScene(t, 6, 3)
	id, err := s.c.Submit(s.now, wire.JobSpec{Name: "other", User: "bob", Stages: 1, Program: wire.Program{Builtin: "sleep"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		s.pass(100 * time.Millisecond)
		s.say(s.n0)
		s.say(s.n1)
	}
	all := s.c.DecisionsFrom(wire.DecisionsRequest{})
	of := func(do string, job wire.JobID) (out []wire.Decision) {
		for _, d := range all.Decisions {
			if d.Do == do && d.Job == job {
				out = append(out, d)
			}
		}
		return out
	}
	launches := of("launch", s.job)
	if len(launches) != 4 || launches[0].Task != wire.DriverTask || launches[1].Task != wire.MapTask || launches[1].Why == "" || launches[1].Node != "n1" {
		t.Errorf("launches %+v", launches)
	}
	holds := of("hold", s.job)
	if n := len(holds); n == 0 || n > 3 || !strings.Contains(holds[0].Why, string(s.job)) {
		t.Errorf("three of its maps wait in 30 rounds, of which is told %+v", holds)
	}
	told := s.c.Take().Events
	if !slices.ContainsFunc(told, func(e Event) bool { return e.Kind == wire.PastHeld && e.ID.Job == s.job && e.Text == holds[0].Why }) {
		t.Errorf("the history is not told: %+v", told)
	}
	if got := s.c.DecisionsFrom(wire.DecisionsRequest{Job: id, Limit: 1}); len(got.Decisions) != 1 || got.Decisions[0].Job != id {
		t.Errorf("decisions about %s: %+v", id, got)
	}
	if got := s.c.DecisionsFrom(wire.DecisionsRequest{From: all.Next}); len(got.Decisions) != 0 || got.Next != all.Next {
		t.Errorf("decisions from the end on: %+v", got)
	}
	s.verify()

	s.c.cfg.KeepDecisions, s.c.cfg.KeepLines = 10, 20_000
	for range 300 {
		s.c.decided(wire.Decision{Do: "launch"})
		s.pass(100 * time.Millisecond)
	}
	if got := s.c.DecisionsFrom(wire.DecisionsRequest{}); len(got.Decisions) > 12 || got.Lost == 0 || got.Decisions[0].Seq != got.Lost {
		t.Errorf("%d decisions are kept of 10, %d are lost", len(got.Decisions), got.Lost)
	}
	if p := s.c.Lines(0); len(p.Lines) > 40 || p.First == 0 || p.Header.Lost != p.First {
		t.Errorf("%d lines are kept in 20,000 bytes; the first is %d", len(p.Lines), p.First)
	}
}

// TestAdmissionSaysWhoWaits: each job that is not admitted has one line of its own for each reason, not one for each round, and
// one that is admitted at once has none.
func TestAdmissionSaysWhoWaits(t *testing.T) {
	for _, tt := range []struct {
		admission, param, value string
		want                    [3][]string // of each job
	}{
		{"marp", "marp", "0.5", [3][]string{
			nil, {"job-2 waits: with its driver drivers would hold 2 containers, above the 1 that MARP 0.5 allows"}, {"job-3 waits for admission: 1 job is before it, the first is job-2"},
		}},
		{"capacity-init", "max-system-jobs", "1", [3][]string{
			nil, {"job-2 waits: queue default has 1 initialised jobs of at most 1"}, {"job-3 waits: queue default has 1 initialised jobs of at most 1"},
		}},
	} {
		s := admittedScene(t, tt.admission, map[string]string{tt.param: tt.value})
		s.c.Tick(s.now)
		s.now += 5 * time.Second // the poller of capacity-init first looks after an interval
		for range tt.want {
			mustSleep(t, s.c, s.now, "ann")
		}
		for range 50 {
			s.pass(100 * time.Millisecond)
			s.say(s.n0)
		}
		var got [3][]string
		for i := range got {
			for _, d := range s.c.DecisionsFrom(wire.DecisionsRequest{Job: wire.JobID(fmt.Sprint("job-", i+1))}).Decisions {
				if d.Do == "hold" {
					got[i] = append(got[i], d.Why)
				}
			}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: held are %q, want %q", tt.admission, got, tt.want)
		}
	}
}

// admittedScene is a worker of two containers, and an admission policy.
func admittedScene(t *testing.T, admission string, params map[string]string) *scene {
	t.Helper()
	s := emptyScene(t, admission, params)
	s.n0.restart()
	s.say(s.n0)
	return s
}

// emptyScene is an admission policy, and a worker of two containers that has not come yet.
func emptyScene(t *testing.T, admission string, params map[string]string) *scene {
	t.Helper()
	p, err1 := policies.Policy("fifo", nil)
	a, err2 := policies.Admission(admission, params)
	c, err3 := New(DefaultConfig(), p, a)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	c.Resume(0)
	return &scene{t: t, c: c, n0: &hand{name: "n0", rack: "r0", room: 2}}
}

// verify replays the lines of the log as a file.
func (s *scene) verify() {
	s.t.Helper()
	names, err := drive.Encode(&drive.Line{Kind: drive.LinePolicies, Policy: drive.Named{Name: "fifo"}})
	if err != nil {
		s.t.Fatal(err)
	}
	page := s.c.Lines(0)
	file, err := page.Encode()
	if err != nil || len(file.Lines) != len(page.Lines) || file.More {
		s.t.Fatalf("%d of %d lines, %v", len(file.Lines), len(page.Lines), err)
	}
	b := &bytes.Buffer{}
	for _, line := range append([]json.RawMessage{file.Header, names}, file.Lines...) {
		b.Write(append(slices.Clone(line), '\n'))
	}
	v, err := drive.Verify(b, "log", func(p, _ drive.Named) (scheduler.Policy, scheduler.Admission, error) {
		made, err := policies.Policy(p.Name, p.Params)
		return made, nil, err
	})
	if err != nil || v.Decisions < 5 {
		s.t.Errorf("%+v, %v", v, err)
	}
}
