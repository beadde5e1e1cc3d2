package worker

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/worker/attempt"
	"github.com/millrace/millrace/worker/roster"
)

var speaker = wire.AttemptID{Job: "job-1", Kind: wire.ReduceTask, Index: 1, Try: 5}

// hear lets a worker that runs one reduce listen to what its process says.
func hear(said []byte) (*Worker, wire.Ended, bool) {
	w := &Worker{duties: duties{roster: roster.New(roster.Config{Node: "w1"}), traffic: newTraffic(nil), news: make(chan struct{}, 1)}}
	w.cfg.Log = slog.New(slog.DiscardHandler)
	w.roster.Answer(&wire.Answer{Epoch: 1, Seq: 1, Launch: []wire.Launch{{ID: speaker, Spec: &wire.JobSpec{}}}})
	c := &childRun{w: w, l: &wire.Launch{ID: speaker}, sandbox: &sandbox{}}
	end, _, ok := c.listen(bytes.NewReader(said))
	return w, end, ok
}

func line(t testing.TB, word attempt.Word) []byte {
	t.Helper()
	b, err := json.Marshal(word)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// TestWordsAreBelievedOfTheSpeakerOnly: complaints of other jobs and stages, and ends of other attempts, are not passed on.
func TestWordsAreBelievedOfTheSpeakerOnly(t *testing.T) {
	theirs := wire.AttemptID{Job: "job-2", Kind: wire.MapTask, Try: 3}
	stage := wire.AttemptID{Job: "job-1", Stage: 1, Kind: wire.MapTask, Try: 3}
	own := wire.AttemptID{Job: "job-1", Kind: wire.MapTask, Try: 3}
	var said []byte
	for _, b := range []wire.BadFetch{{Map: theirs, By: speaker}, {Map: stage, By: speaker}, {Map: theirs, By: theirs}, {Map: speaker, By: speaker}} {
		said = append(said, line(t, attempt.Word{BadFetch: &b})...)
	}
	said = append(said, line(t, attempt.Word{Ended: &wire.Ended{ID: theirs, OK: true}})...)
	if w, end, ok := hear(said); ok || len(w.roster.Report().BadFetch) > 0 {
		t.Errorf("the worker believes %+v, %v", w.roster.Report().BadFetch, end)
	}
	said = append(said, line(t, attempt.Word{BadFetch: &wire.BadFetch{Map: own, By: speaker, Why: strings.Repeat("y", 1<<20)}})...)
	said = append(said, line(t, attempt.Word{Ended: &wire.Ended{ID: speaker, OK: true}})...)
	w, end, ok := hear(said)
	if bad := w.roster.Report().BadFetch; !ok || !end.OK || len(bad) != 1 || len(bad[0].Why) > wire.MaxReason {
		t.Errorf("its own words: %v, %v, %d complaints", ok, end, len(bad))
	}
}

// TestWordsArePassedOn: how far a child has come and what it has sent is in the worker's next report, whatever else it says between. One that says too much
// at once is ended, and hears why.
func TestWordsArePassedOn(t *testing.T) {
	half := 0.5
	w, _, ok := hear(slices.Concat(line(t, attempt.Word{Progress: &half}), []byte("hello\n"), line(t, attempt.Word{Net: []wire.NetBytes{{Peer: "w2", What: "shuffle", Sent: 7}}})))
	r := w.makeReport()
	if ok || len(r.Running) != 1 || r.Running[0].Done != half || len(r.Net) != 1 || r.Net[0] != (wire.NetBytes{Peer: "w2", What: "shuffle", Sent: 7}) {
		t.Errorf("%v, %+v, %+v", ok, r.Running, r.Net)
	}
	if w.childGone(speaker); len(w.traffic.live) != 0 || len(w.traffic.children) != 1 {
		t.Errorf("after its end: %v, %v", w.traffic.live, w.traffic.children)
	}
	yes, no := true, false
	for said, want := range map[*[]*bool]int{{&yes}: 1, {&yes, &yes}: 1, {&yes, &no}: 0, {&no}: 0, {&yes, &no, &yes}: 1} {
		w.machine = newMachine(0.5, wire.Capacity{VCores: 4}, time.Now())
		var all []byte
		for _, computes := range *said {
			all = append(all, line(t, attempt.Word{Computes: computes})...)
		}
		c := &childRun{w: w, l: &wire.Launch{ID: speaker}, sandbox: &sandbox{}}
		if c.listen(bytes.NewReader(all)); w.machine.computing != want {
			t.Errorf("%d words: %d compute, want %d", len(*said), w.machine.computing, want)
		}
		if c.computing(false); w.machine.computing != 0 {
			t.Errorf("after its end %d compute", w.machine.computing)
		}
	}
	for long, want := range map[int]string{maxWord - 1: "", maxWord + 1: "the program said more than 2 MiB on one line"} {
		c := &childRun{w: w, l: &wire.Launch{ID: speaker}, sandbox: &sandbox{}}
		if _, _, ok := c.listen(bytes.NewReader(append(bytes.Repeat([]byte("x"), long), '\n'))); ok || !strings.HasPrefix(c.reason, want) || c.killed() != (want != "") {
			t.Errorf("a line of %d bytes: %v, %q", long, ok, c.reason)
		}
	}
}

// FuzzWords: whatever a child says, the worker goes on, and what it takes over is within the limits.
func FuzzWords(f *testing.F) {
	half := 0.5
	f.Add(line(f, attempt.Word{Progress: &half}))
	f.Add(line(f, attempt.Word{BadFetch: &wire.BadFetch{Map: speaker, By: speaker}}))
	f.Add(line(f, attempt.Word{Ended: &wire.Ended{ID: speaker, OK: true, Counts: wire.Counts{"g": {"n": 1}}, Bad: []wire.BadRecord{{File: "x"}}}}))
	f.Add(line(f, attempt.Word{Net: []wire.NetBytes{{Peer: "w2", What: "block", Sent: -1}}}))
	f.Add([]byte("{\"progress\":1e999}\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		w, end, ok := hear(said)
		r := w.roster.Report()
		for _, p := range r.Running {
			if !(p.Done >= 0 && p.Done <= 1) {
				t.Errorf("progress %g", p.Done)
			}
		}
		for _, b := range r.BadFetch {
			if !b.Of(speaker) || len(b.Why) > wire.MaxReason {
				t.Errorf("%+v", b)
			}
		}
		if ok && (end.ID != speaker || end.Counts.Check() != nil || len(end.Error) > wire.MaxText || len(end.Bad) > wire.MaxBad) {
			t.Errorf("%+v", end)
		}
	})
}
