package all

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millrace/millrace/lab"
)

// elsewhere are figures of the notes that no committed report of their document has, and where they are from.
var elsewhere = map[string]map[string]string{
	"hybrid":    {"3.5": "an earlier version"},
	"jobpacker": {"466": "a trial build", "825": "a trial build", "98.0": "before the specification was corrected"},
	"nas":       {"1.49": "a trial of eight samples", "1,438": "the trace", "570": "processor time", "494": "processor time"},
	"slowdown":  {"1.61": "figures that were withdrawn"},
}

var figure = regexp.MustCompile(`(?:^|[^\w.,-])(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)\b`)

// numbers are the figures of a text with the number of their decimals, as they are written.
func numbers(text string) (written []string) {
	for _, m := range figure.FindAllStringSubmatch(text, -1) {
		written = append(written, m[1])
	}
	return written
}

func value(t *testing.T, written string) (v, half float64) {
	t.Helper()
	v, err := strconv.ParseFloat(strings.ReplaceAll(written, ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	_, decimals, _ := strings.Cut(written, ".")
	return v, 0.5 * math.Pow10(-len(decimals))
}

// What the notes of a page say was measured stands in a committed report of the page's document, to as many digits. Whoever renews a
// report and leaves the notes as they were hears of it here.
func TestNotesSayWhatWasMeasured(t *testing.T) {
	for _, d := range Documents() {
		var of []lab.Report
		for _, r := range readCommitted(t) {
			if slices.ContainsFunc(d.Experiments, func(e *lab.Experiment) bool { return e.ID == r.ID }) {
				of = append(of, r)
			}
		}
		measured, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		var known []float64
		for _, written := range numbers(string(measured) + d.Front + d.Intro + d.Reference + words(d)) {
			v, _ := value(t, written)
			known = append(known, v)
		}
		for _, written := range numbers(d.Notes[:strings.Index(d.Notes, "## Exercises")]) {
			if v, half := value(t, written); len(written) >= 3 && !near(known, v, half) && elsewhere[d.ID][written] == "" {
				t.Errorf("lab/%s/words.md says %s, which no committed report of its experiments has", d.ID, written)
			}
		}
	}
}

func near(known []float64, v, half float64) bool {
	for _, k := range known {
		if math.Abs(k-v) <= half*(1+1e-9) {
			return true
		}
	}
	return false
}

// words are what is stated beside a run: numbers of machines, sizes, rates.
func words(d *lab.Document) string {
	var b strings.Builder
	for _, e := range d.Experiments {
		b.WriteString(e.Question + " " + e.Read + " ")
	}
	for _, w := range d.Words {
		b.WriteString(w.Meaning + " ")
	}
	return b.String()
}
