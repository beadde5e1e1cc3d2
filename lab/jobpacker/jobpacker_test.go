package jobpacker

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/lab"
)

// On a small cluster with circuits every policy ends its jobs, also with wrong plans;
// JobPacker uses the circuits for most of the shuffle, and without a switch nobody does.
func TestJobPackerRun(t *testing.T) {
	h := simulated
	h.racks, h.servers = 4, 5
	h.threshold = 10e6
	day, _ := lab.DayOrModel(1)
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

// The published ratios are those of 30 Gb/s: rows for slower networks say so.
func TestPublishedRate(t *testing.T) {
	runs := map[string][]packRun{}
	for _, name := range packNames {
		for _, gbps := range []float64{fullRate, 10} {
			runs[atRate(name, gbps)] = []packRun{{makespan: 1}}
		}
	}
	e := &lab.Experiment{ID: "rates", Run: func(r *lab.Recorder) {
		makespans(r, runs, fullRate)
		makespans(r, runs, 10)
	}}
	report, err := lab.Run(t.Context(), e, lab.Options{})
	if err != nil || len(report.Checks) != 8 {
		t.Fatalf("%d checks, %v", len(report.Checks), err)
	}
	for _, c := range report.Checks {
		if slow := strings.HasPrefix(c.Item, "10 Gb/s: "); strings.HasSuffix(c.Published, " at 30 Gb/s") != slow {
			t.Errorf("%s: published %q", c.Item, c.Published)
		}
	}
}
