package all

import (
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
	"github.com/millrace/millrace/lab"
)

// quick lists experiments that a plain test run can afford; all run under stress.
var quick = []string{"slowdown-table2", "slowdown-validation", "deadline-late", "deadline-rules", "deadline-estimator", "marp-slots", "marp-profile", "marp-controllers", "marp-disk", "capacity-arithmetic", "capacity-small", "capacity-pairs", "hybrid-stealing", "hybrid-crosspoint"}

// committed are the reports of the last full run, and of the quick one for experiments that have a part of
// the workload only when run quickly.
var committed = []string{"../../docs/lab/results/results.json", "../../docs/lab/results/quick.json"}

func readCommitted(t *testing.T) []lab.Report {
	t.Helper()
	reports, err := lab.ReadReports(committed...)
	if err != nil || len(reports) == 0 {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	return reports
}

// Every experiment comes to the verdicts of the committed report.
func TestVerdictsAreTheCommittedOnes(t *testing.T) {
	want := readCommitted(t)
	for _, e := range Experiments() {
		t.Run(e.ID, func(t *testing.T) {
			if !slices.Contains(quick, e.ID) {
				require.Stress(t)
			}
			r, err := lab.Run(t.Context(), e, lab.Options{Quick: true, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Checks) == 0 || r.Document == "" {
				t.Errorf("%d checks of %q", len(r.Checks), r.Document)
			}
			for _, d := range lab.Disagreements([]lab.Report{r}, want) {
				t.Error(d)
			}
		})
	}
}

// The same seed makes the same bytes of every file, three times on one core and three
// times on two.
func TestReportsRepeat(t *testing.T) {
	ids := []string{"deadline-late", "deadline-estimator", "marp-fifo", "capacity-pairs"}
	if require.Stressed() {
		ids = append(ids, "nas-ablation", "jobpacker-online")
	}
	var list []*lab.Experiment
	for _, id := range ids {
		e, err := Find(id)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	run := func() map[string]string {
		reports, err := lab.RunAll(t.Context(), list, lab.Options{Seeds: 2, Seed: 7}, func(lab.Report, error) {})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := lab.WriteFiles(dir, lab.Page{Reports: reports}); err != nil {
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

// What needs no long runs, and was not measured by others, is reproduced.
func TestBasicsAreReproduced(t *testing.T) {
	for _, id := range []string{"jobpacker-latency", "jobpacker-circuits", "jobpacker-batches", "nas-mix", "nas-skips", "nas-formulas"} {
		e, err := Find(id)
		if err != nil {
			t.Fatal(err)
		}
		r, err := lab.Run(t.Context(), e, lab.Options{Quick: true, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Checks {
			if c.Verdict == lab.NotReproduced {
				t.Errorf("%s, %s: published %s, measured %s", id, c.Item, c.Published, c.Measured)
			}
		}
	}
}

func TestFindUnknown(t *testing.T) {
	if _, err := Find("nosuch"); err == nil || !strings.Contains(err.Error(), "slowdown-table2") {
		t.Errorf("error %v, want one that lists the ids", err)
	}
}

// A reader meets no experiment without the words of its document, and the document is named as the specifications name it.
func TestDocumentsAreDescribed(t *testing.T) {
	references, err := os.ReadFile("../../docs/specs/REFERENCES.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, d := range Documents() {
		row := fmt.Sprintf("| %s |", d.Reference)
		if d.Title == "" || d.Reference == "" || !strings.Contains(string(references), row) || len(d.Intro) < 200 || !strings.Contains(d.Intro, "docs/specs/"+d.ID+".md") {
			t.Errorf("%s: incomplete, or not as in REFERENCES.md: %q, %q, %q", d.ID, d.Title, d.Reference, d.Intro)
		}
		if len(d.Words) < 10 || len(d.Experiments) < 5 {
			t.Errorf("%s: %d words, %d experiments", d.ID, len(d.Words), len(d.Experiments))
		}
		names := map[string]bool{}
		for _, w := range d.Words {
			if w.Name == "" || len(w.Meaning) < 10 || names[w.Name] {
				t.Errorf("%s: %q means %q", d.ID, w.Name, w.Meaning)
			}
			names[w.Name] = true
		}
		for _, e := range d.Experiments {
			if !strings.HasPrefix(e.ID, d.ID+"-") || seen[e.ID] || !strings.HasPrefix(e.Source, "spec/"+d.ID+" ") || e.Seconds < 1 || e.Read == "" {
				t.Errorf("%s: incomplete: %+v", e.ID, e)
			}
			seen[e.ID] = true
		}
	}
}

// Checks that share a name are told apart.
func TestCommittedResultsAgreeWithThemselves(t *testing.T) {
	want := readCommitted(t)
	if d := lab.Disagreements(want, want); len(d) > 0 {
		t.Errorf("%d differences: %v", len(d), d)
	}
}

// What was not reproduced has a reason, what was accepted is said, every experiment has a chart, and what is asked is what the
// experiments ask today.
func TestCommittedReportExplainsItself(t *testing.T) {
	for _, r := range readCommitted(t) {
		e, err := Find(r.ID)
		if err != nil || e.Title != r.Title || e.Question != r.Question || e.Read != r.Read {
			t.Errorf("%s has another title, question or way to read it now: renew docs/lab/results", r.ID)
		}
		if !slices.Equal(e.Answers, r.Answers) {
			t.Errorf("%s is answered by %q, and its report has %q: renew docs/lab/results", r.ID, e.Answers, r.Answers)
		}
		for _, item := range e.Answers {
			if !slices.ContainsFunc(r.Checks, func(c lab.Check) bool { return c.Item == item }) {
				t.Errorf("%s is answered by %q, and has no such row", r.ID, item)
			}
		}
		if len(r.Figures) == 0 {
			t.Errorf("%s has no chart", r.ID)
		}
		for _, c := range r.Checks {
			if c.Verdict == lab.NotReproduced && c.Why == "" || c.Tolerance == "" || c.Tolerance == "as stated" || c.Published == "" {
				t.Errorf("%s: %q: %+v", r.ID, c.Item, c)
			}
		}
	}
}

// Where no reason is known, what was tried stands there.
func TestReasonsOrWhatWasTried(t *testing.T) {
	reports, err := lab.ReadReports(append(committed, "../../docs/lab/results/model.json")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		for _, c := range r.Checks {
			if said := strings.ToLower(c.Why); strings.Contains(said, "not known") && !strings.Contains(said, "tried") {
				t.Errorf("%s: %q has no reason, and no list of what was tried: %s", r.ID, c.Item, c.Why)
			}
		}
	}
}

// What is not reproduced for a fault of the source says which: two of its places are quoted, or what it does not print is named.
func TestFaultsOfTheSourceAreNamed(t *testing.T) {
	reports, err := lab.ReadReports(append(committed, "../../docs/lab/results/model.json")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		for _, c := range r.Checks {
			switch quotes := strings.Count(c.Why, `"`) / 2; {
			case c.Verdict == lab.Contradiction && quotes < 2:
				t.Errorf("%s: %q is called a contradiction, and its remark quotes %d places of the source: %s", r.ID, c.Item, quotes, c.Why)
			case c.Verdict == lab.NotPrintedEnough && !strings.Contains(c.Why, "not print"):
				t.Errorf("%s: %q says not what the source does not print: %s", r.ID, c.Item, c.Why)
			}
		}
	}
}

// A row has no better verdict than its claim allows, and its claim is what its words say: who prints a number prints a digit, and of what nobody
// published the page says so.
func TestClaimsAreWhatIsSaid(t *testing.T) {
	reports, err := lab.ReadReports(append(committed, "../../docs/lab/results/model.json")...)
	if err != nil {
		t.Fatal(err)
	}
	count := map[lab.Claim]int{}
	for _, r := range reports {
		for _, c := range r.Checks {
			count[c.Claim]++
			bad := ""
			switch said := strings.ToLower(c.Published); c.Claim {
			case "number":
				if !strings.ContainsAny(said, "0123456789") {
					bad = "a number without a digit"
				}
			case "order":
			case "sign":
				if c.Verdict == lab.Reproduced {
					bad = "a sign is reproduced"
				}
			case "nobody":
				if c.Verdict != lab.ShapeOnly || !strings.Contains(c.Why, "nobody published it") {
					bad = "what nobody published is judged"
				}
			case "nothing":
				if c.Verdict != lab.ShapeOnly {
					bad = "what is not to be judged is"
				}
			default:
				bad = "no claim of a published experiment"
			}
			if bad != "" {
				t.Errorf("%s: %q, published %q, is %s: %s", r.ID, c.Item, c.Published, c.Verdict, bad)
			}
		}
	}
	for _, claim := range []lab.Claim{"number", "order", "sign", "nobody", "nothing"} {
		if count[claim] == 0 {
			t.Errorf("no row has the claim %s", claim)
		}
	}
}
