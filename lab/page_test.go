package lab

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/chart"
)

// The page is self-contained, and names from reports cannot become markup.
func TestHTML(t *testing.T) {
	r := Report{ID: "x", Title: "<script>alert(1)</script>", Source: "a.md", Checks: []Check{
		{Item: "<em>", Published: "1", Measured: "<i>2", Tolerance: "± 1", Verdict: Reproduced, scale: &scale{2, 0, 2, 1}},
		{Item: "open", Published: "more", Measured: "9", Verdict: NotReproduced, scale: &scale{9, 10, math.Inf(1), math.NaN()}},
	}}
	var b strings.Builder
	if err := WriteHTML(&b, Page{Reports: []Report{r}}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"<script", "<i>2", "<em>", "http://", "https://", "NaN", "Inf"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if strings.Count(page, "<svg") != 2 || !strings.Contains(page, "1 reproduced, 1 not reproduced") {
		t.Error("pictures or counts are missing")
	}
}

// TestPageLinks: whatever the page points to is on it, also when an experiment stands alone, and a text that names another
// experiment points there.
func TestPageLinks(t *testing.T) {
	missed := []Check{{Item: "a", Verdict: Reproduced}, {Item: "b", Verdict: NotReproduced, Why: "because"}}
	nas, marp := &Document{ID: "nas", Title: "one"}, &Document{ID: "marp", Title: "other"}
	all := []Report{
		{ID: "nas-40", Title: "first", document: nas, Checks: missed, Setup: "As nas-600, and not as nas-7.", Figures: []Figure{{Name: "f", Caption: "as nas-40", Chart: chart.Bars{}}}},
		{ID: "nas-600", Title: "second", document: nas, Seeds: 1, Checks: missed[:1], Tables: []Table{{Title: "of a", Head: []string{"x"}, Rows: [][]string{{"1"}}}}},
		{ID: "marp-size", Title: "between", document: marp},
		{ID: "nas-mix", Title: "a document's experiments stand together", document: nas},
		{ID: "fair", Title: "no experiment"},
	}
	for _, reports := range [][]Report{all, all[:1], all[4:]} {
		var b strings.Builder
		if err := WriteHTML(&b, Page{Reports: reports}); err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(b.String(), -1) {
			if strings.Count(b.String(), `id="`+m[1]+`"`) != 1 {
				t.Errorf("%d reports: nothing, or too much, is called %s", len(reports), m[1])
			}
		}
		if linked := strings.Contains(b.String(), `As <a href="#nas-600">`); linked != (len(reports) == 5) {
			t.Errorf("%d reports: nas-600 is linked: %v", len(reports), linked)
		}
		if first := strings.Contains(b.String(), `<td class="r not"><a href="#nas-40-row-2">1</a>`); first != (len(reports) == 5) {
			t.Errorf("%d reports: the way to the first miss: %v", len(reports), first)
		}
	}
}

// TestStrips: a value's place shows how far from its bound it is, and the ends of the axis are given.
func TestStrips(t *testing.T) {
	place := func(s scale) float64 { left, right := bounds(s); return (s.value - left) / (right - left) }
	most := func(v float64) scale { return scale{v, math.Inf(-1), 1, math.NaN()} }
	if a, b, c := place(most(0.9)), place(most(0.98)), place(most(1)); !(a < b && b < c && c == 0.5) {
		t.Errorf("0.9, 0.98 and 1 lie at %v, %v, %v", a, b, c)
	}
	if p := place(most(7)); p <= 0.5 || p >= 1 {
		t.Errorf("what is far beyond lies at %v", p)
	}
	if l, r := bounds(scale{0, 0, math.Inf(1), math.NaN()}); !(l < 0 && 0 < r) {
		t.Errorf("at least nothing: %v to %v", l, r)
	}
	if got := end(0.8, 1.2); got != "0.80" {
		t.Errorf("an end is %q", got)
	}
	if got := end(800, 1200); got != "800" {
		t.Errorf("an end is %q", got)
	}
}
