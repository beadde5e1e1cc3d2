package lab

import (
	"testing"
	"time"
)

// What needs no long runs is reproduced.
func TestJobPackerBasics(t *testing.T) {
	traces(t)
	for _, id := range []string{"jobpacker-latency", "jobpacker-circuits", "jobpacker-batches"} {
		r, err := Run(t.Context(), All[id], Options{Quick: true, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Checks {
			if c.Verdict == NotReproduced {
				t.Errorf("%s, %s: published %s, measured %s", id, c.Item, c.Published, c.Measured)
			}
		}
	}
}

// On a small cluster with circuits every policy ends its jobs, also with wrong plans;
// JobPacker uses the circuits for most of the shuffle, and without a switch nobody does.
func TestJobPackerRun(t *testing.T) {
	h := simulated
	h.racks, h.servers = 4, 5
	h.threshold = 10e6
	day, _ := dayOrModel(1)
	for _, name := range packNames {
		a, err := h.run(name, nil, day, 40, 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "jobpacker" && a.optical < 0.5 || name == "f-eps" && a.optical != 0 {
			t.Errorf("%s sends %.2f of its shuffle over circuits", name, a.optical)
		}
	}
	h.span, h.adhoc, h.sizeError, h.lateJobs = 10*time.Minute, 0.5, 0.5, 0.5
	for _, name := range []string{"jobpacker", "corral", "jobpacker-adhoc-agg"} {
		a, err := h.run(name, nil, day, 40, 2)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(a.recurring) == 0 || len(a.another) == 0 || a.makespan <= 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
