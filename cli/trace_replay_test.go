package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/trace"
)

// TestReplayKeepsArrivals: jobs come at their times, counted from the first and scaled, not all at once.
func TestReplayKeepsArrivals(t *testing.T) {
	w := &workload{traced: []trace.Job{{ID: "a", Submit: 10 * time.Second, InputBytes: 1 << 20}, {ID: "b", Submit: 14 * time.Second, InputBytes: 1 << 20}, {ID: "c", Submit: 40 * time.Second, InputBytes: 1 << 20}}}
	var r replay
	if err := r.plan(&replayOptions{scaleTime: 0.5, scaleBytes: 1, seed: 1}, w, []wire.NodeStatus{{Capacity: wire.Capacity{Containers: 4}}}); err != nil {
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
