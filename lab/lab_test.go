package lab

import (
	"math"
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

func TestExperimentsAreReproduced(t *testing.T) {
	for _, e := range List() {
		t.Run(e.ID, func(t *testing.T) {
			if !slices.Contains(quick, e.ID) {
				require.Stress(t)
			}
			r, err := Run(t.Context(), e, Options{Quick: !require.Stressed(), Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Checks) == 0 {
				t.Error("no check")
			}
			for _, c := range r.Checks {
				if c.Verdict == NotReproduced {
					t.Errorf("%s: published %s, measured %s, accepted %s", c.Item, c.Published, c.Measured, c.Tolerance)
				}
			}
		})
	}
}

// The same seed makes the same report on one core and on two.
func TestReportsRepeat(t *testing.T) {
	run := func() string {
		r, err := Run(t.Context(), All["deadline-late"], Options{Quick: true, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		var page strings.Builder
		if err := WriteHTML(&page, Page{Reports: []Report{r}}); err != nil {
			t.Fatal(err)
		}
		return page.String()
	}
	want := run()
	old := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(old)
	if d := cmp.Diff(want, run()); d != "" {
		t.Error(d)
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

// The page is self-contained, and names from reports cannot become markup.
func TestHTML(t *testing.T) {
	r := Report{ID: "x", Title: "<script>alert(1)</script>", Source: "a.md", Checks: []Check{
		{Item: "<b>", Published: "1", Measured: "<i>2", Tolerance: "± 1", Verdict: Reproduced, scale: &scale{2, 0, 2, 1}},
		{Item: "open", Published: "more", Measured: "9", Verdict: NotReproduced, scale: &scale{9, 10, inf, math.NaN()}},
	}}
	var b strings.Builder
	if err := WriteHTML(&b, Page{Reports: []Report{r}}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"<script", "<i>2", "<b>", "http://", "https://", "NaN", "Inf"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if strings.Count(page, "<svg") != 2 || !strings.Contains(page, "1 of 2 reproduced") {
		t.Error("pictures or counts are missing")
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
