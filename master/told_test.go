package master

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/history"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/scheduler/hybrid/svm"
)

// TestFiguresOfAJob: the status of a job that has not ended has the figures of the policies for it and for no other; one that waits says why.
func TestFiguresOfAJob(t *testing.T) {
	m := served(t, func(c *Config) { c.Policy = "deadline-min" })
	goal := withSpec(sleepJob("goal"), func(s *wire.JobSpec) { s.Deadline = 3_600_000 })
	first, second := submitted(t, m, ann, goal), submitted(t, m, ann, goal)
	if s := must(t, m, ann, api.JobStatus, wire.JobRequest{Job: first}); s.State != wire.Queued || s.Why == "" || len(s.Figures) != 0 {
		t.Errorf("a job that waits: %+v", s)
	}
	h := newHand(t, m, "w1")
	h.plan(first, 2, 1)
	h.plan(second, 1, 0)
	for _, id := range []wire.JobID{first, second} {
		s := must(t, m, ann, api.JobStatus, wire.JobRequest{Job: id})
		if s.State != wire.Running || s.Why != "" || len(s.Figures) < 2 {
			t.Errorf("a job that runs: %+v", s)
		}
		for _, f := range s.Figures {
			if f.Job != id {
				t.Errorf("%s has the figure %+v", id, f)
			}
		}
	}
	must(t, m, ann, api.JobKill, wire.JobRequest{Job: first})
	if s := must(t, m, ann, api.JobStatus, wire.JobRequest{Job: first}); len(s.Figures) != 0 || s.Why != "" {
		t.Errorf("a job that has ended: %+v", s)
	}
}

// TestRecordsInTheHistory: what a record of the journal says is in the history, each where it belongs; records of the cluster are no events.
func TestRecordsInTheHistory(t *testing.T) {
	spec, counts := sleepJob("j"), wire.Counts{"g": {"n": 1}}
	done := &tracker.TaskRecord{Kind: wire.MapTask, Index: 3, Try: 9, Node: "w1", Millis: 7, In: 5, Out: 6, Counts: counts}
	for what, x := range map[string]struct {
		record tracker.Record
		want   history.Entry
	}{
		"a job that comes": {
			tracker.Record{Kind: tracker.Submitted, Job: "job-1", At: 5, Wall: 8, Spec: &spec},
			history.Entry{Spec: &spec, Wall: 8, PastEvent: wire.PastEvent{Kind: wire.PastSubmitted, At: 5}},
		},
		"a plan": {
			tracker.Record{Kind: tracker.Planned, Job: "job-1", Stage: 1, Plan: &wire.StagePlan{Splits: make([]wire.Split, 4), Reducers: 2}},
			history.Entry{PastEvent: wire.PastEvent{Kind: wire.PastPlanned, Stage: 1, Maps: 4, Reduces: 2}},
		},
		"a plan in parts": {
			tracker.Record{Kind: tracker.Planned, Job: "job-1", Plan: &wire.StagePlan{Splits: make([]wire.Split, 4), Parts: 9}},
			history.Entry{PastEvent: wire.PastEvent{Kind: wire.PastPlanned, Maps: 9}},
		},
		"a task": {
			tracker.Record{Kind: tracker.TaskDone, Job: "job-1", Stage: 2, Task: done},
			history.Entry{PastEvent: wire.PastEvent{Kind: wire.PastDone, Stage: 2, Task: wire.MapTask, Index: 3, Try: 9, Node: "w1", Millis: 7, In: 5, Out: 6, Counts: counts}},
		},
		"output that is lost": {
			tracker.Record{Kind: tracker.TaskLost, Job: "job-1", Task: &tracker.TaskRecord{Kind: wire.MapTask, Index: 3}, Text: "why"},
			history.Entry{PastEvent: wire.PastEvent{Kind: wire.PastOutputLost, Task: wire.MapTask, Index: 3, Text: "why"}},
		},
		"an end": {
			tracker.Record{Kind: tracker.JobEnded, Job: "job-1", State: tracker.Failed, Text: "why", Wall: 8, Tries: 4, Counts: counts},
			history.Entry{Wall: 8, Tries: 4, PastEvent: wire.PastEvent{Kind: wire.PastEnded, State: wire.Failed, Text: "why", Counts: counts}},
		},
	} {
		x.want.Job, x.want.Seq = "job-1", 77
		if got := entriesOf(77, &x.record); len(got) != 1 || !reflect.DeepEqual(got[0], x.want) {
			t.Errorf("%s: %+v\nwant %+v", what, got, x.want)
		}
	}
	for _, kind := range []tracker.RecordKind{tracker.Numbered, tracker.Scripted, tracker.Text} {
		if got := entriesOf(77, &tracker.Record{Kind: kind}); len(got) != 0 {
			t.Errorf("%v is the event %+v", kind, got)
		}
	}
}

// TestTrainedClassifierIsTaken: the classifier of the master's directory is a parameter of hybrid, at the start and later, unless another is given, by
// whatever letters; other policies have none. A file may be as large as is allowed.
func TestTrainedClassifierIsTaken(t *testing.T) {
	one := []float64{1, 1, 1}
	text, err := json.Marshal(hybrid.Trained{
		Scaler: svm.Scaler{Mean: one, Deviation: one}, Model: svm.Model{Gamma: 1, Vectors: [][]float64{one}, Coef: one[:1]}, Trained: "today",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hybrid.ParseTrained(string(text)); err != nil {
		t.Fatal(err)
	}
	padded := string(text) + strings.Repeat(" ", MaxTrained-len(text))
	m := served(t)
	if err := os.WriteFile(filepath.Join(m.cfg.Dir, TrainedFile), []byte(padded), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, params := range map[string]map[string]string{"model": {"model": string(text)}, "Model": {"Model": string(text)}} {
		if c, err := m.choose("hybrid", params); err != nil || c.Params["model"] == padded {
			t.Errorf("%s is given: %v", name, err)
		}
	}
	if c, err := m.choose("fifo", nil); err != nil || c.Params["model"] != "" {
		t.Errorf("fifo has %+v, %v", c, err)
	}
	must(t, m, admin, api.SchedulerSet, wire.Choice{Name: "hybrid"})
	m = again(t, m, func(c *Config) { c.Policy = "hybrid" })
	if p := must(t, m, ann, api.SchedulerGet, struct{}{}); p.Policy.Name != "hybrid" || p.Policy.Params["model"] != padded {
		t.Errorf("after a restart %.100v", p.Policy)
	}
}

// TestTextsAreBounded: however many scripts there were, a bounded number of texts is remembered, the last among them.
func TestTextsAreBounded(t *testing.T) {
	var all texts
	for i := range 2*mostTexts + 5 {
		text := fmt.Sprint("# ", i)
		all.take(&tracker.Record{Kind: tracker.Text, Text: text})
		if len(all.bySum) > mostTexts || all.bySum[wire.SumOf(text)] != text {
			t.Fatalf("after %d: %d texts", i, len(all.bySum))
		}
	}
}

// TestBrokenRulesHaveATime: who asks hears how long ago a policy broke a rule; of one that broke none, nothing.
func TestBrokenRulesHaveATime(t *testing.T) {
	m := served(t)
	if s := must(t, m, ann, api.SchedulerStatus, struct{}{}); s.Broken != 0 || s.BrokenAgo != 0 {
		t.Errorf("at first %+v", s)
	}
	time.Sleep(10 * time.Millisecond) // the cluster has an age
	begin := time.Now()
	if _, err := ask(t.Context(), m, func(now time.Duration) (none, error) {
		m.jobs.Broke(now, fmt.Errorf("odd"))
		return none{}, nil
	}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a moment has passed", func() bool {
		s := must(t, m, ann, api.SchedulerStatus, struct{}{})
		if most := time.Since(begin).Milliseconds(); s.BrokenAgo < 0 || s.BrokenAgo > most || s.Broken != 1 {
			t.Fatalf("%d ms ago, and at most %d have passed: %+v", s.BrokenAgo, most, s)
		}
		return s.BrokenAgo > 0
	})
}
