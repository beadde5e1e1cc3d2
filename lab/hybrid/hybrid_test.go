package hybrid

import (
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/trace"
)

// A wrong prediction changes what the scheduler is told, and nothing that is true of a job (spec/hybrid 4.1).
func TestErrorsChangeBeliefOnly(t *testing.T) {
	right := hybridVariant{cluster: mixed, jobs: 200, online: true}
	wrong := right
	wrong.wrong = 0.5
	a, truthA := right.workload(7)
	b, truthB := wrong.workload(7)
	told := 0
	fast, slow := newTwoSpeeds(mixed.isUp), newTwoSpeeds(mixed.isUp)
	fast.truth, slow.truth = truthA, truthB
	for i := range a {
		if truthA[i] != truthB[i] || a[i].Spec.Submit != b[i].Spec.Submit || a[i].Maps[0] != b[i].Maps[0] || fast.factor(a[i]) != slow.factor(b[i]) {
			t.Fatalf("job %d: another job with the error", i)
		}
		if a[i].Spec.Shuffle.Bytes != b[i].Spec.Shuffle.Bytes {
			told++
		}
	}
	if told < 50 {
		t.Errorf("the scheduler is told something else of %d jobs only", told)
	}
}

// Jobs of the trace have the sizes that SWIM's generator makes of them; a whole day keeps its arrivals.
func TestWorkloadOfATrace(t *testing.T) {
	day := []trace.Job{{Submit: 5e9, InputBytes: 60 << 30, ShuffleBytes: 60 << 30}, {Submit: 9e9}}
	v := hybridVariant{cluster: mixed, jobs: 3, online: true, day: day, scale: judgedScale}
	for _, j := range first(v.workload(1)) {
		if in := j.Spec.Input.Bytes; in != 1<<30 && in != 64<<20 {
			t.Errorf("%d bytes of input", in)
		}
		if j.Spec.Reduces < 1 {
			t.Error("SWIM's jobs have a reduce")
		}
	}
	v.whole = true
	jobs, _ := v.workload(1)
	if len(jobs) != 2 || jobs[0].Spec.Submit != 5e9 || jobs[1].Spec.Submit != 9e9 {
		t.Errorf("%d jobs, or not as they arrived", len(jobs))
	}
	v.online = false
	if jobs, _ = v.workload(1); len(jobs) != 2 || jobs[0].Spec.Submit != 0 || jobs[1].Spec.Submit != 0 {
		t.Errorf("%d jobs, or not all at once", len(jobs))
	}
}

func first[A, B any](a A, _ B) A { return a }

// ran runs something with the words of an experiment.
func ran(t *testing.T, id string, run func(*lab.Recorder)) lab.Report {
	t.Helper()
	all := Document().Experiments
	e := *all[slices.IndexFunc(all, func(e *lab.Experiment) bool { return e.ID == id })]
	e.Run = run
	report, err := lab.Run(t.Context(), &e, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestSet: what a reader sets is what runs: twice the machines of both kinds, jobs that come half as often.
func TestSet(t *testing.T) {
	own := hybridVariant{name: "v", cluster: mixed, jobs: 20, online: true}
	var set hybridVariant
	e := &lab.Experiment{ID: "set", Run: func(r *lab.Recorder) { set = own.in(r) }}
	if _, err := lab.Run(t.Context(), e, lab.Options{Set: map[string]float64{"nodes": 100, "arrivals": 2, "jobs": 20}}); err != nil {
		t.Fatal(err)
	}
	if set.cluster.slots() != 2*own.cluster.slots() || set.cluster.up != 4 {
		t.Errorf("the cluster is %+v", set.cluster)
	}
	before, _ := own.workload(1)
	after, _ := set.workload(1)
	for i := range before {
		if gap := after[i].Spec.Submit - 2*before[i].Spec.Submit; gap < -2 || gap > 2 {
			t.Fatalf("job %d comes at %v, before at %v", i, after[i].Spec.Submit, before[i].Spec.Submit)
		}
	}
	whole := own
	whole.whole = true
	if _, err := lab.Run(t.Context(), &lab.Experiment{ID: "day", Run: func(r *lab.Recorder) { set = whole.in(r) }}, lab.Options{}); err != nil || set.cluster != mixed {
		t.Errorf("of the whole day: %+v, %v", set.cluster, err)
	}
}

// made is a run of two small jobs and a large one, which all take so long.
func made(took float64) hybridRun {
	small := seen{maps: 3, input: 1, limit: 20, small: true, called: true, up: true, began: 1, ended: took}
	large := seen{maps: 300, input: 40, limit: 20, began: 2, ended: took}
	return hybridRun{all: []float64{took, took, took}, small: []float64{took, took}, large: []float64{took}, jobs: []seen{small, small, large}, makespan: took, largest: took}
}

// Item 9 has published values: a ratio that is only on their side of 1 is a direction, and the median of small jobs, of which no value was
// published, is never more.
func TestOrderGrades(t *testing.T) {
	for ratio, want := range map[float64]lab.Verdict{0.5: lab.Reproduced, 0.7: lab.Direction, 1.1: lab.NotReproduced} {
		report := ran(t, "hybrid-online", func(r *lab.Recorder) {
			base, with := []hybridRun{made(100)}, []hybridRun{made(100 * ratio)}
			order(r, map[string][]hybridRun{"FS": base, "DS": base, "H-FS-with": with, "H-DS-with": with})
		})
		if len(report.Checks) != 8 {
			t.Fatalf("%d rows", len(report.Checks))
		}
		for _, c := range report.Checks {
			expected := want
			if strings.Contains(c.Item, "median completion of small") && want == lab.Reproduced {
				expected = lab.Direction
			}
			if c.Verdict != expected {
				t.Errorf("%s: %s is %s, want %s", c.Item, c.Measured, c.Verdict, expected)
			}
		}
	}
}

// Every reading that was run is a mark of the strip, the judged one first.
func TestStripHasEveryReading(t *testing.T) {
	report := ran(t, "hybrid-online", func(r *lab.Recorder) {
		var rows []scaled
		for i, name := range []string{"judged", "a network", "the whole day"} {
			rows = append(rows, scaled{name, map[string][]hybridRun{"FS": {made(100)}, "H-FS-with": {made(float64(60 + 10*i))}}})
		}
		strips(r, rows, []headline{{"small", "small jobs", "ratio", "below 0.45", 0.45, meanSmall, 1}})
	})
	h := report.Headlines[0]
	if h.Judged() != "0.6" || h.High() != "0.8" || h.Count() != 3 {
		t.Errorf("%s", h)
	}
}

// A curve that falls outwards by more than its noise is seen, on either side.
func TestNonDecreasing(t *testing.T) {
	for _, c := range []struct {
		y    []float64
		want bool
	}{
		{[]float64{1.2, 1.1, 1, 1, 1.3}, true}, {[]float64{1.09, 1.1, 1, 0.99, 1}, true}, {[]float64{1.05, 1.1, 1, 1, 1}, false}, {[]float64{1, 1, 1, 1.1, 1.05}, false},
	} {
		if got := nonDecreasing(c.y); got != c.want {
			t.Errorf("%v: %v", c.y, got)
		}
	}
}

// What is said of the job that ends last: its size, its limit, where it ran, and when it ends on the other cluster.
func TestLastJobs(t *testing.T) {
	here, there := made(50), made(80)
	here.jobs[1].ended, here.jobs[2].ended, there.jobs[1].up = 70, 90, false
	got := lasts([]hybridRun{here}, []hybridRun{there}, lastOfSmall)
	if want := "1 GB of a limit of 20.00 (small), 3 maps, scale-up, 1 to 70.00 s; there scale-out, 1 to 80.00 s, the last ends at 80.00 s"; got != want {
		t.Errorf("%s", got)
	}
	if got := lasts([]hybridRun{here}, []hybridRun{there}, lastOfAll); !strings.HasPrefix(got, "40.00 GB of a limit of 20.00 (large), 300 maps, scale-out, 2 to 90.00 s") {
		t.Errorf("%s", got)
	}
}
