package jobpacker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
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
	runs := map[string][]packRun{wideCorral: {{makespan: 1}}, widePacker: {{makespan: 1}}}
	for _, name := range packNames {
		for _, gbps := range append([]float64{fullRate}, slowRates...) {
			runs[atRate(name, gbps)] = []packRun{{makespan: 1}}
		}
	}
	report := ran(t, "jobpacker-batch", func(r *lab.Recorder) {
		makespans(r, "", runs)
		packetRates(r, runs)
	})
	if len(report.Checks) != 4+len(slowRates) {
		t.Fatalf("%d checks", len(report.Checks))
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
	if len(seen) != 15 || drawn()[0] != usual {
		t.Errorf("%d workloads, the first is %v", len(seen), drawn()[0])
	}
}

// ran runs something with the words of an experiment.
func ran(t *testing.T, id string, run func(*lab.Recorder)) lab.Report {
	t.Helper()
	all := Document().Experiments
	e := *all[slices.IndexFunc(all, func(e *lab.Experiment) bool { return e.ID == id })]
	e.Run = func(r *lab.Recorder) {
		for _, fact := range []string{"jobs", "from", "part", "minutes"} {
			r.Fact(fact, "")
		}
		run(r)
	}
	report, err := lab.Run(t.Context(), &e, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// A value that was published is judged by itself: a ratio below 1 alone shows the direction only (spec/jobpacker 5, item 14).
func TestWrongPlansGrades(t *testing.T) {
	for want, v := range map[lab.Verdict]float64{lab.Reproduced: 0.8, lab.Direction: 0.95, lab.NotReproduced: 1.02} {
		report := ran(t, "jobpacker-online", func(r *lab.Recorder) {
			wrongPlansRows(r, func(_, _ string) float64 { return v }, func(_, _ string) string { return "" })
		})
		for _, c := range report.Checks {
			if c.Verdict != want {
				t.Errorf("%s: %s is %s, want %s", c.Item, c.Measured, c.Verdict, want)
			}
		}
	}
}

// Where reduces may hold every container, what a broken deadlock frees goes to a map: the batch ends, and no reduce starts over and over.
func TestReduceShareOfOneEnds(t *testing.T) {
	h := simulated
	h.racks, h.servers, h.containers, h.reduceShare, h.slowstart = 2, 1, 2, "1", "0"
	day := []trace.Job{{InputBytes: 1 << 30, ShuffleBytes: 8 << 30}}
	cfg, jobs, err := h.config("f-hybrid", nil, day, 20, 1)
	if err != nil {
		t.Fatal(err)
	}
	starts, tasks := 0, 0
	for _, j := range jobs {
		tasks += int(j.Spec.Maps + j.Spec.Reduces)
	}
	cfg.Watch = func(_ time.Duration, _ sim.Attempt, started bool) {
		if started {
			starts++
		}
	}
	cfg.Stop = func() error {
		if starts > 20*tasks {
			return fmt.Errorf("%d starts of %d tasks", starts, tasks)
		}
		return nil
	}
	if _, err := sim.Run(cfg, jobs); err != nil {
		t.Fatal(err)
	}
	if starts <= tasks {
		t.Errorf("%d starts of %d tasks: no deadlock was broken, so this shows nothing", starts, tasks)
	}
}
