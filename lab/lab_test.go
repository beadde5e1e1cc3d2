package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/stats"
)

func TestDisagreements(t *testing.T) {
	was := []Report{{ID: "a", Checks: []Check{{Item: "1", Verdict: Reproduced}, {Item: "2", Verdict: Reproduced}, {Item: "3", Verdict: ShapeOnly}}}}
	now := []Report{{ID: "a", Checks: []Check{{Item: "1", Verdict: Reproduced}, {Item: "2", Verdict: NotReproduced}, {Item: "4", Verdict: ShapeOnly}}}, {ID: "new"}}
	got := strings.Join(Disagreements(now, was), "|")
	want := `a: "2" is not reproduced (measured ), was reproduced|a: "4" was not checked before|a: "3" is not checked any more`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// When the context ends, the reports of finished experiments still come back.
func TestInterruptKeepsWhatIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	list := []*Experiment{
		{ID: "slow", Run: func(r *Recorder) {
			<-r.ctx.Done()
			Repeat(r, 3, func(uint64) (int, error) { return 0, errors.New("ran after the end") })
		}},
		{ID: "fast", Run: func(r *Recorder) {
			r.Check(Holds("1", Order(""), "", true, ""))
		}},
	}
	reports, err := RunAll(ctx, list, Options{}, func(r Report, _ error) {
		if r.ID == "fast" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(reports) != 1 || reports[0].ID != "fast" {
		t.Errorf("reports %v, error %v", reports, err)
	}
}

func TestWriteFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if err := WriteFiles(dir, Page{Reports: []Report{{ID: "x", Checks: []Check{{Item: "a,b", Verdict: ShapeOnly}}}}}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "report.csv"))
	if err != nil || !strings.Contains(string(data), `x,"a,b"`) {
		t.Errorf("csv is %q, %v", data, err)
	}
}

// A comparison checks nothing: its rows are those of its first table.
func TestComparisonHasRows(t *testing.T) {
	dir := t.TempDir()
	table := Table{Head: []string{"policy", "slowdown"}, Rows: [][]string{{"fair", "1.04"}, {"fifo", "3.38"}}}
	paired := Table{Head: []string{"policy", "against the first"}, Rows: [][]string{{"fifo", "2.34"}}}
	if err := WriteFiles(dir, Page{Reports: []Report{{ID: comparison, Tables: []Table{table, paired}}, {ID: comparison}}}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "report.csv"))
	if want := "policy,slowdown\nfair,1.04\nfifo,3.38\n"; err != nil || string(data) != want {
		t.Errorf("csv is %q, %v", data, err)
	}
}

// Runs over different workloads are named, not compared.
func TestOtherWorkloadsAreNotCompared(t *testing.T) {
	was := []Report{{ID: "a", Workload: FromTrace, Checks: []Check{{Item: "1", Verdict: Reproduced}}}, {ID: "b"}}
	now := []Report{{ID: "a", Workload: FromModel, Checks: []Check{{Item: "1", Verdict: NotReproduced}}}, {ID: "b"}}
	if d := Disagreements(now, was); len(d) > 0 {
		t.Errorf("compared: %v", d)
	}
	if d := NotCompared(now, was); len(d) != 1 || !strings.Contains(d[0], FromModel) {
		t.Errorf("passed over: %v", d)
	}
	was = append(was, Report{ID: "a", Workload: FromModel, Checks: []Check{{Item: "1", Verdict: Reproduced}}}) // another earlier run
	if d := Disagreements(now, was); len(d) != 1 {
		t.Errorf("differences: %v", d)
	}
	if d := NotCompared(append(now, Report{ID: "c"}), was); len(d) != 1 || d[0] != "c: no earlier run has it" {
		t.Errorf("passed over: %v", d)
	}
}

// A check that failed has the grade direction where it goes the way that was published; one that holds keeps its verdict.
func TestGrades(t *testing.T) {
	for _, c := range []struct {
		check Check
		want  Verdict
	}{
		{Within("gain", 1.3, 1.58, 0.25).SameSide(1), Direction},
		{Within("gain", 0.9, 1.58, 0.25).SameSide(1), NotReproduced},
		{Within("gain", 1.5, 1.58, 0.25).SameSide(1), Reproduced},
		{Within("time", 0.9, 0.62, 0.15).SameSide(1), Direction},
		{AtMost("bound", Number("below 1"), 1.2, 1).SameSide(1), NotReproduced},                             // no single number was published
		{Holds("order", Order("a > b > c"), "a, c, b", false, "this order").Direction(true), NotReproduced}, // broken, though a is first
		{Holds("order", Order("a > b > c"), "b, c, a", false, "this order").Direction(false), NotReproduced},
		{Reported("shape", "nothing", "1").Direction(true), ShapeOnly},
		{AtMost("sign", Sign("falls"), 0.1, 1), Direction},
		{AtMost("sign", Sign("falls much"), 0.9, 0.5).Direction(true), Direction},
		{AtMost("sign", Sign("falls"), 1.1, 1), NotReproduced},
		{Within("gain", 1.58, 1.58, 0.25).Quoted(Sign("more")), Direction},
		{Within("theory", 1, 1, 0).Quoted(Nobody("1 by theory")), ShapeOnly},
		{Within("theory", 2, 1, 0).Quoted(Nobody("1 by theory")).Direction(true), ShapeOnly},
		{AtMost("mark", Target("ours"), 1, 2), Reproduced},
		{Within("gain", 1.5, 1.58, 0.25).Late(), Direction},
		{Within("gain", 0.9, 1.58, 0.25).Late(), NotReproduced},
		{AtMost("sign", Sign("falls"), 0.9, 1).Over(stats.Estimate{Mean: 0.9, Low: 0.8, High: 1, N: 50}), Direction},
		{AtMost("sign", Sign("falls"), 0.9, 1).Over(stats.Estimate{Mean: 0.9, Low: 0.7, High: 1.1, N: 50}), NotReproduced}, // it may as well rise
		{AtLeast("sign", Sign("rises"), 3, 2.5).Over(stats.Estimate{Mean: 3, Low: 2.4, High: 3.6, N: 50}), NotReproduced},
		{AtMost("number", Number("below 5"), 4, 5).Over(stats.Estimate{Mean: 4, Low: 2, High: 6, N: 50}), Reproduced},
	} {
		if c.check.Verdict != c.want {
			t.Errorf("%s, measured %s: %s, want %s", c.check.Item, c.check.Measured, c.check.Verdict, c.want)
		}
	}
	if got := Within("gain", 1.3, 1.58, 0.25).SameSide(1).Missed("so"); got.Why != "so" {
		t.Errorf("a direction has the reason %q", got.Why)
	}
	if got := tally(Report{Checks: []Check{{Verdict: Direction}, {Verdict: Reproduced}, {Verdict: NotReproduced}, {Verdict: ShapeOnly}, {Verdict: Contradiction}, {Verdict: NotPrintedEnough}}}); got != (verdicts{1, 1, 1, 1, 1, 1}) || got.Missed() != 3 {
		t.Errorf("counted %+v", got)
	}
}

// TestClaimsBoundVerdicts: a report never has more of a row than its source states, whatever an experiment writes into it, and says why.
func TestClaimsBoundVerdicts(t *testing.T) {
	e := &Experiment{ID: "x", Run: func(r *Recorder) {
		for _, said := range []Said{Number("1"), Order("a > b"), Sign("falls"), Nobody("nothing")} {
			for _, ok := range []bool{true, false} {
				c := Holds(said.text, said, "", ok, "")
				c.Verdict = Reproduced
				r.Check(c)
			}
		}
	}}
	r, err := Run(t.Context(), e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []Verdict
	for _, c := range r.Checks {
		got = append(got, c.Verdict)
	}
	if want := []Verdict{Reproduced, NotReproduced, Reproduced, NotReproduced, Direction, NotReproduced, ShapeOnly, ShapeOnly}; !slices.Equal(got, want) {
		t.Errorf("verdicts %v, want %v", got, want)
	}
	for i, want := range map[int]string{4: "only the direction", 6: "it holds", 7: "does not hold"} {
		if !strings.Contains(r.Checks[i].Why, want) {
			t.Errorf("row %d: %q does not say %q", i, r.Checks[i].Why, want)
		}
	}
}
