package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/chart"
)

// someReports are two experiments of a document: value is what the first measured.
func someReports(d *Document, value float64) []Report {
	of := func(id string, v float64) Report {
		return Report{
			ID: id, Title: id, Source: "spec/nas 5", Seeds: 1, Date: "2026-11-17", document: d,
			Checks: []Check{
				Within("1: a number", v, 1, 0.5).admitted(),
				Holds("2: no number", Order("a > b"), "a > b", true, "this order").admitted(),
				AtMost("3: a bound", Sign("less"), v, 2).admitted(),
			},
			Figures: []Figure{{Name: "one", Caption: "as nas-mix", Chart: chart.Bars{Bars: []chart.Bar{chart.Plain("x", v)}}}, {Name: "two", Chart: chart.Bars{Bars: []chart.Bar{chart.Plain("y & z", 2*v)}}}},
		}
	}
	return []Report{of("nas-40", value), of("nas-mix", 1.25)}
}

func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"report.html", "report.json", "report.csv", "figures/nas-40-one.svg", "figures/nas-mix-two.svg"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(data)
	}
	return out
}

// TestKeep: a page on which one experiment is run again is, byte for byte, the page of a run of all.
func TestKeep(t *testing.T) {
	d := &Document{ID: "nas", Title: "a document"}
	find := func(id string) (*Experiment, error) { return &Experiment{ID: id, document: d}, nil }
	dir, whole := t.TempDir(), t.TempDir()
	if err := WriteFiles(dir, Page{Reports: someReports(d, 0.75)}); err != nil {
		t.Fatal(err)
	}
	if err := WriteFiles(whole, Page{Reports: someReports(d, 1.5)}); err != nil {
		t.Fatal(err)
	}
	earlier, err := ReadEarlier(dir)
	if err != nil {
		t.Fatal(err)
	}
	both, err := earlier.With(someReports(d, 1.5)[:1], find)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteFiles(dir, Page{Reports: both, Earlier: earlier}); err != nil {
		t.Fatal(err)
	}
	got, want := filesIn(t, dir), filesIn(t, whole)
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is another than that of a run of all:\n%s\nwant\n%s", name, got[name], text)
		}
	}
	if !strings.Contains(got["report.html"], "It ran on 2026-11-17") {
		t.Error("the page does not say when an experiment ran")
	}
	if _, err := earlier.With(nil, func(string) (*Experiment, error) { return nil, errors.New("unknown") }); err == nil || !strings.Contains(err.Error(), "nas-40") {
		t.Errorf("an experiment that is no more: %v", err)
	}
}

// TestKeepNeedsThePage: what has no drawing is not kept without one, and the error says which experiment to run.
func TestKeepNeedsThePage(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadEarlier(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
	if err := WriteFiles(dir, Page{Reports: someReports(nil, 1)}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "report.html")
	html, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(html), `<figure id="nas-mix-two">`, `<figure>`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadEarlier(dir); err == nil || !strings.Contains(err.Error(), "nas-mix-two") || !strings.Contains(err.Error(), "run nas-mix again") {
		t.Errorf("a page without a drawing: %v", err)
	}
	if err := os.Truncate(name, largestPage+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadEarlier(dir); err == nil || !strings.Contains(err.Error(), "no page of the laboratory") {
		t.Errorf("a file of any size: %v", err)
	}
}

// FuzzDrawings: whatever a page holds, what is taken from it is drawings.
func FuzzDrawings(f *testing.F) {
	f.Add(`<figure id="a"><svg class="chart"><path/></svg></figure><tr id="r"><td>x</td><td class="strip"><svg width="1"></svg></td>`)
	f.Add(`<figure id="a"><svg `)
	f.Fuzz(func(t *testing.T, page string) {
		for id, d := range drawingsOf(page) {
			if id == "" || !strings.HasPrefix(string(d), "<svg ") || !strings.HasSuffix(string(d), "</svg>") || strings.Count(string(d), "</svg>") != 1 {
				t.Errorf("%q: %q", id, d)
			}
		}
	})
}
