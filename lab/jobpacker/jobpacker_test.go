package jobpacker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/trace"
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

// The published ratios are those of 30 Gb/s: slower networks are reported, not judged.
func TestPublishedRate(t *testing.T) {
	runs := map[string][]packRun{wideCorral: {{makespan: 1}}}
	for _, name := range packNames {
		for _, gbps := range append([]float64{fullRate}, slowRates...) {
			runs[atRate(name, gbps)] = []packRun{{makespan: 1}}
		}
	}
	all := Document().Experiments
	e := *all[slices.IndexFunc(all, func(e *lab.Experiment) bool { return e.ID == "jobpacker-batch" })]
	e.Run = func(r *lab.Recorder) {
		for _, fact := range []string{"jobs", "from", "part"} {
			r.Fact(fact, "")
		}
		makespans(r, "", runs)
		packetRates(r, runs)
	}
	report, err := lab.Run(t.Context(), &e, lab.Options{})
	if err != nil || len(report.Checks) != 4+len(slowRates) {
		t.Fatalf("%d checks, %v", len(report.Checks), err)
	}
	for _, c := range report.Checks {
		if slow := strings.Contains(c.Item, " Gb/s: "); (c.Verdict == lab.ShapeOnly) != slow {
			t.Errorf("%s: %s", c.Item, c.Verdict)
		}
	}
}

// Jobs are drawn from those with at least one elephant where the workload says so, and the six workloads that are judged differ.
func TestWorkloads(t *testing.T) {
	day := []trace.Job{{ShuffleBytes: 1}, {ShuffleBytes: simulated.threshold}, {ShuffleBytes: simulated.threshold + 1}}
	if got := (workload{elephants: true}).of(day); len(got) != 1 || got[0].ShuffleBytes != simulated.threshold+1 || len(day) != 3 {
		t.Errorf("drawn from %v", got)
	}
	if got := usual.of(day); len(got) != 3 {
		t.Errorf("all are drawn from %v", got)
	}
	seen := map[string]bool{}
	for _, w := range drawn() {
		seen[w.name()] = true
	}
	for _, c := range readings() {
		seen[c.name()] = true
	}
	if len(seen) != 14 || drawn()[0] != usual {
		t.Errorf("%d workloads, the first is %v", len(seen), drawn()[0])
	}
}
