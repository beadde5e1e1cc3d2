package hybrid

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A job that ran under another policy before stays on the class where its tasks run or have left their output, whatever the classifier
// says; on both, if that is where they are.
func TestJobsStayWhereTheyRan(t *testing.T) {
	const none = topology.NoNode
	for _, tc := range []struct {
		small          bool
		done, runs     topology.NodeID // node 0 is scale-out, node 1 scale-up
		onOut, onUp    bool            // where its next map may run
		classification string
	}{
		{true, none, none, false, true, "is small, and new"},
		{false, none, none, true, false, "is large, and new"},
		{true, none, 0, true, false, "runs on scale-out"},
		{true, 0, none, true, false, "has output on scale-out"},
		{false, none, 1, false, true, "runs on scale-up"},
		{false, 1, none, false, true, "has output on scale-up"},
		{false, 0, 1, true, true, "is on both"},
	} {
		r := newRig(t, 1, 1, func(c *Config) { c.Classify = false })
		for n := range topology.NodeID(2) {
			r.Send(scheduler.NodeUpdated(n, scheduler.Capacity{Containers: 9}))
		}
		r.Submit(job(1, 5))
		if tc.done != none {
			r.Send(scheduler.Launched(scheduler.TaskID{Job: 1}, tc.done, scheduler.Anywhere, false))
			r.Send(scheduler.TaskFinished(scheduler.TaskID{Job: 1}, tc.done, time.Second, 0, 0))
		}
		if tc.runs != none {
			r.Send(scheduler.Launched(scheduler.TaskID{Job: 1, Index: 1}, tc.runs, scheduler.Anywhere, false))
		}
		cfg := DefaultConfig()
		cfg.Steal, cfg.Classifier = false, byID{1: map[bool]float64{true: 1, false: -1}[tc.small]}
		p, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		r.SetPolicy(r.Now, p)
		for n, want := range []bool{tc.onOut, tc.onUp} {
			if d := p.Assign(r.Now, topology.NodeID(n), r.View()); d.OK != want {
				t.Errorf("a job that %s may run on node %d: %v", tc.classification, n, d.OK)
			}
		}
	}
}

// A job that has ended leaves nothing behind for the one that gets its place in tables.
func TestEndedJobsAreForgotten(t *testing.T) {
	r := newRig(t, 1, 1, func(c *Config) { c.Classifier, c.Steal = byID{1: 1, 2: -1}, false })
	r.Submit(job(1, 1))
	r.Send(scheduler.JobVanished(1))
	r.Submit(job(2, 1))
	if onUp, onOut := r.offer(1), r.offer(0); onUp != scheduler.NoJob || onOut != 2 {
		t.Errorf("after a small job scale-up ran %v and scale-out %v; the job is large", onUp, onOut)
	}
}

// Only the class that is stuck is helped, and only with a job of its own; a map that ran there and ended changes nothing.
func TestStuckClassGivesItsOwn(t *testing.T) {
	r := newRig(t, 1, 1, func(c *Config) { c.Classifier = byID{1: 1, 5: -1, 9: 1} })
	r.Submit(job(5, 3))
	if r.offer(0) != 5 {
		t.Fatal("the large job does not run on scale-out")
	}
	r.Submit(job(9, 1))
	r.offer(1)
	r.Send(scheduler.TaskFinished(scheduler.TaskID{Job: 9}, 1, time.Second, 0, 0))
	r.Send(scheduler.JobFinished(9))
	s := job(1, 2)
	s.Reduces, s.Slowstart = 1, -1
	r.Submit(s)
	r.offer(1) // its reduce
	for r.Now = 0; r.Now <= 2*stuckAfter; r.Now += stuckAfter / 2 {
		r.p.Tick(r.Now, r.View())
	}
	if free, other := r.p.records.Of(r.View().Job(1)).free, r.p.records.Of(r.View().Job(5)).free; !free || other {
		t.Errorf("the job of the stuck class was let go: %v; that of the other: %v", free, other)
	}
}

// A node without work says whether jobs wait for the other class.
func TestWhyNodesIdle(t *testing.T) {
	r := newRig(t, 1, 1, func(c *Config) { c.Classifier = byID{1: -1} })
	why := func() string { return fmt.Sprint(r.p.Assign(0, 1, r.View()).Reason.Code) }
	if got := why(); got != "no-work" {
		t.Errorf("nobody waits: %s", got)
	}
	r.Submit(job(1, 1))
	if got := why(); got != "plan" {
		t.Errorf("a large job waits: %s", got)
	}
}

// A classifier that could not have been trained is refused.
func TestParseTrainedRefuses(t *testing.T) {
	text := func(mean, deviation, margin string) string {
		return `{"Scaler":{"Mean":[` + mean + `],"Deviation":[` + deviation + `]},"Model":{"Gamma":1,"Bias":0.5,"Coef":[1],"Vectors":[[0,0,0]]},"Margin":` + margin + `}`
	}
	for want, bad := range map[string]string{
		"":                           text("0,0,0", "1,1,1", "0"),
		"2 features":                 text("0,0", "1,1,1", "0"),
		"3 features, want 3":         text("0,0,0", "1,1", "0"),
		"feature 1 has":              text("0,0,0", "1,0,1", "0"),
		"feature 2 has":              text("0,0,0", "1,1,-1", "0"),
		"the margin must not be":     text("0,0,0", "1,1,1", "-1"),
		"trained classifier: json: ": `[]`,
	} {
		if _, err := ParseTrained(bad); (err == nil) != (want == "") || err != nil && want[0] != '3' && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
}

// The shuffle that a job could have is that of the largest with no more tasks of either kind.
func TestLargestShuffle(t *testing.T) {
	samples := []Sample{{Maps: 1, Reduces: 1, Shuffle: 5}, {Maps: 10, Reduces: 2, Shuffle: 50}, {Maps: 2, Reduces: 30, Shuffle: 500}}
	for _, tc := range []struct{ maps, reduces, want float64 }{{0, 9, 1}, {1, 1, 5}, {9, 9, 5}, {10, 2, 50}, {10, 1, 5}, {2, 30, 500}, {1, 99, 5}, {99, 99, 500}} {
		if got := largestShuffle(samples, tc.maps, tc.reduces); got != tc.want {
			t.Errorf("with %g maps and %g reduces: %g, want %g", tc.maps, tc.reduces, got, tc.want)
		}
	}
}
