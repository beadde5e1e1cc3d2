package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/trace"
)

// TestReplayKeepsArrivals: jobs come at their times, counted from the first and scaled, not all at once.
func TestReplayKeepsArrivals(t *testing.T) {
	w := &workload{traced: []trace.Job{{ID: "a", Submit: 10 * time.Second, InputBytes: 1 << 20}, {ID: "b", Submit: 14 * time.Second, InputBytes: 1 << 20}, {ID: "c", Submit: 40 * time.Second, InputBytes: 1 << 20}}}
	var r replay
	if err := r.plan(&replayOptions{scaleTime: 0.5, scaleBytes: 1, workload: "fine", rates: "copy", seed: 1}, w, []wire.NodeStatus{{Capacity: wire.Capacity{Containers: 4}}}); err != nil {
		t.Fatal(err)
	}
	if says := r.ahead(&replayOptions{scaleBytes: 1}); !strings.HasPrefix(says, "3 jobs with 3 tasks; their maps will make 0 B") {
		t.Error(says)
	}
	for i, want := range []time.Duration{0, 2 * time.Second, 15 * time.Second} {
		if got := r.jobs[i].at; got != want {
			t.Errorf("job %d comes after %v, want %v", i, got, want)
		}
	}
}

// TestReplayLeavesOutJobsWithoutMaps: a job that ended before its plan has none; the others are replayed, and it is counted.
func TestReplayLeavesOutJobsWithoutMaps(t *testing.T) {
	const empty, whole = `{"job":{"id":"job-1","submit_ns":1000000000,"start_ns":1000000000,"end_ns":2000000000,"state":"done","maps":0,"reduces":1}}
{"attempt":{"job":"job-1","kind":"reduce","index":0,"node":"w1","start_ns":1000000000,"end_ns":2000000000}}
`, `{"job":{"id":"job-2","submit_ns":3000000000,"start_ns":3000000000,"end_ns":5000000000,"state":"done","maps":1,"reduces":0}}
{"attempt":{"job":"job-2","kind":"map","index":0,"node":"w1","start_ns":3000000000,"end_ns":5000000000}}
`
	nodes := []wire.NodeStatus{{Capacity: wire.Capacity{Containers: 4}}}
	for text, want := range map[string]int{empty + whole: 1, empty: 0} {
		h, err := trace.ReadHistory(strings.NewReader("{\"millrace_history\":1}\n"+text), "h")
		if err != nil {
			t.Fatal(err)
		}
		var r replay
		err = r.plan(&replayOptions{scaleTime: 1, scaleBytes: 1, workload: "fine", rates: "copy", seed: 1}, &workload{traced: h.Trace(), history: h}, nodes)
		if (err == nil) != (want > 0) || len(r.jobs) != want || r.left != 1 {
			t.Errorf("%d jobs, %d left out, %v; want %d and 1", len(r.jobs), r.left, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "no job of the trace has a map") {
			t.Error(err)
		}
	}
}

// TestReplayShapes: a trace is replayed with the tasks that the generator SWIM would give its jobs, and with their times.
func TestReplayShapes(t *testing.T) {
	w := &workload{traced: []trace.Job{{ID: "a", InputBytes: 1 << 30, ShuffleBytes: 1 << 30, OutputBytes: 1 << 30}}}
	nodes := []wire.NodeStatus{{Capacity: wire.Capacity{Containers: 4}}}
	for _, c := range []struct {
		shape   string
		reduces int32
	}{{"fine", 1}, {"swim,machines=100", 32}, {"swim,machines=100,reduce-bytes=512MiB", 4}} {
		var r replay
		if err := r.plan(&replayOptions{scaleTime: 1, scaleBytes: 1, workload: c.shape, rates: "slow", seed: 1}, w, nodes); err != nil {
			t.Fatal(err)
		}
		if got := r.specs[0].Reduces; got != c.reduces {
			t.Errorf("%s: %d reduces, want %d", c.shape, got, c.reduces)
		}
	}
	for _, o := range []replayOptions{{workload: "coarse", rates: "slow"}, {workload: "fine", rates: "fast"}} {
		o.scaleTime, o.scaleBytes = 1, 1
		if err := (&replay{}).plan(&o, w, nodes); err == nil || !strings.HasPrefix(err.Error(), "--") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestFreeOf: forty workers on one disk have it once.
func TestFreeOf(t *testing.T) {
	var nodes []wire.StoreNode
	for _, addr := range []string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.2:1"} {
		nodes = append(nodes, wire.StoreNode{Place: wire.Place{Addr: addr}, Volumes: []wire.Volume{{Total: 100, Free: 70}, {Total: 50, Free: 20}}})
	}
	if got := freeOf(nodes); got != 180 {
		t.Errorf("%d bytes are free, want 180", got)
	}
}

// TestReplayFailsWithItsJobs: a replay in which a job failed has failed, and says what it measured first, as text and as JSON.
func TestReplayFailsWithItsJobs(t *testing.T) {
	ran := func(s wire.JobState, ended int64) dueJob {
		return dueJob{ended: true, status: wire.JobStatus{State: s, Submitted: 1000, Ended: ended}}
	}
	for _, c := range []struct {
		asJSON bool
		other  wire.JobState
		says   string
		failed bool
	}{
		{false, wire.Succeeded, "2 jobs with 7 tasks in 0.0 s, 0 failed", false},
		{false, wire.Failed, "2 jobs with 7 tasks in 0.0 s, 1 failed", true},
		{true, wire.Succeeded, `"longest_s": 4`, false},
		{true, wire.Failed, `"failed": 1`, true},
	} {
		var out strings.Builder
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		r := &replay{workflow: workflow{jobs: []dueJob{ran(wire.Succeeded, 3000), ran(c.other, 5000)}}, tasks: 7}
		if err := r.report(cmd, &replayOptions{asJSON: c.asJSON}, nil); (err != nil) != c.failed || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s, as JSON %v: %v\n%s", c.other, c.asJSON, err, out.String())
		}
	}
}
