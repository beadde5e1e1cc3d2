package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/require"
)

// quick lists experiments that a plain test run can afford; all run under stress.
var quick = []string{"slowdown-table2", "slowdown-validation", "deadline-late", "deadline-rules", "deadline-estimator", "marp-slots", "marp-profile", "marp-controllers", "marp-disk", "capacity-arithmetic", "capacity-small", "capacity-pairs", "hybrid-stealing", "hybrid-crosspoint"}

// committed are the reports of the last full run, and of the quick one for experiments that have a part of
// the workload only when run quickly.
var committed = []string{"../docs/lab/results/results.json", "../docs/lab/results/quick.json"}

// Every experiment comes to the verdicts of the committed report.
func TestVerdictsAreTheCommittedOnes(t *testing.T) {
	want, err := ReadReports(committed...)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range List() {
		t.Run(e.ID, func(t *testing.T) {
			if !slices.Contains(quick, e.ID) {
				require.Stress(t)
			}
			r, err := Run(t.Context(), e, Options{Quick: true, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Checks) == 0 {
				t.Error("no check")
			}
			for _, d := range Disagreements([]Report{r}, want) {
				t.Error(d)
			}
		})
	}
}

func TestDisagreements(t *testing.T) {
	was := []Report{{ID: "a", Checks: []Check{{Item: "1", Verdict: Reproduced}, {Item: "2", Verdict: Reproduced}, {Item: "3", Verdict: ShapeOnly}}}}
	now := []Report{{ID: "a", Checks: []Check{{Item: "1", Verdict: Reproduced}, {Item: "2", Verdict: NotReproduced}, {Item: "4", Verdict: ShapeOnly}}}, {ID: "new"}}
	got := strings.Join(Disagreements(now, was), "|")
	want := `a: "2" is not reproduced (measured ), was reproduced|a: "4" was not checked before|a: "3" is not checked any more`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The same seed makes the same bytes of every file, three times on one core and three
// times on two.
func TestReportsRepeat(t *testing.T) {
	ids := []string{"deadline-late", "deadline-estimator", "marp-fifo", "capacity-pairs"}
	if require.Stressed() {
		ids = append(ids, "nas-ablation", "jobpacker-online")
	}
	list := []*Experiment{smallNetwork}
	for _, id := range ids {
		list = append(list, All[id])
	}
	run := func() map[string]string {
		reports, err := RunAll(t.Context(), list, Options{Seeds: 2, Seed: 7}, func(Report, error) {})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := WriteFiles(dir, Page{Reports: reports}); err != nil {
			t.Fatal(err)
		}
		return filesOf(t, dir)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want map[string]string
	for _, cores := range []int{2, 1, 2, 1, 2, 1} {
		runtime.GOMAXPROCS(cores)
		got := run()
		if want == nil {
			want = got
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("on %d cores:\n%s", cores, d)
		}
	}
	if len(want) < 8 {
		t.Errorf("only %d files", len(want))
	}
}

// smallNetwork has jobs of a trace on a network, a fiftieth of their sizes.
var smallNetwork = &Experiment{ID: "small-network", run: func(r *Recorder) error {
	c := nas40
	c.scale = 0.02
	runs, _, err := r.compareNAS(c, plain("fair", "nas"), r.seeds(2, 2))
	for _, name := range []string{"fair", "nas"} {
		r.holds(name, "", fmt.Sprintf("%+v", runs[name]), true, "")
	}
	return err
}}

func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// When the context ends, the reports of finished experiments still come back.
func TestInterruptKeepsWhatIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	list := []*Experiment{
		{ID: "slow", run: func(r *Recorder) error {
			<-r.ctx.Done()
			return r.each(3, func(int) error { return errors.New("ran after the end") })
		}},
		{ID: "fast", run: func(r *Recorder) error {
			r.holds("1", "", "", true, "")
			return nil
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

func TestFindUnknown(t *testing.T) {
	if _, err := Find("nosuch"); err == nil || !strings.Contains(err.Error(), "slowdown-table2") {
		t.Errorf("error %v, want one that lists the ids", err)
	}
}

func TestExperimentsAreDescribed(t *testing.T) {
	for id, e := range All {
		if e.ID != id || e.Title == "" || !strings.Contains(e.Source, ".md") || e.Seconds < 1 {
			t.Errorf("%s: incomplete: %+v", id, e)
		}
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

// TestCommittedResultsAgreeWithThemselves: checks that share a name are told apart.
func TestCommittedResultsAgreeWithThemselves(t *testing.T) {
	want, err := ReadReports(committed...)
	if err != nil || len(want) == 0 {
		t.Fatalf("%d reports, %v", len(want), err)
	}
	if d := Disagreements(want, want); len(d) > 0 {
		t.Errorf("%d differences: %v", len(d), d)
	}
}

// Runs over different workloads are named, not compared.
func TestOtherWorkloadsAreNotCompared(t *testing.T) {
	was := []Report{{ID: "a", Workload: fromTrace, Checks: []Check{{Item: "1", Verdict: Reproduced}}}, {ID: "b"}}
	now := []Report{{ID: "a", Workload: fromModel, Checks: []Check{{Item: "1", Verdict: NotReproduced}}}, {ID: "b"}}
	if d := Disagreements(now, was); len(d) > 0 {
		t.Errorf("compared: %v", d)
	}
	if d := NotCompared(now, was); len(d) != 1 || !strings.Contains(d[0], fromModel) {
		t.Errorf("passed over: %v", d)
	}
	was = append(was, Report{ID: "a", Workload: fromModel, Checks: []Check{{Item: "1", Verdict: Reproduced}}}) // another earlier run
	if d := Disagreements(now, was); len(d) != 1 {
		t.Errorf("differences: %v", d)
	}
	if d := NotCompared(append(now, Report{ID: "c"}), was); len(d) != 1 || d[0] != "c: no earlier run has it" {
		t.Errorf("passed over: %v", d)
	}
}
