package bench

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestJudge: what must hold, what is aimed at, and what memory has to say.
func TestJudge(t *testing.T) {
	const budget = 100 << 20
	sample := func(wall, cpu, rss int) Sample {
		return Sample{Wall: time.Duration(wall), CPU: time.Duration(cpu), PeakRSS: int64(rss) << 20}
	}
	for name, c := range map[string]struct {
		ours, theirs Sample
		cpu          bool
		absolute     bool
		before       string
		want         string
		complaint    string
	}{
		"aim":                   {ours: sample(40, 40, 100), theirs: sample(100, 100, 0), want: "aim"},
		"must":                  {ours: sample(60, 40, 100), theirs: sample(100, 100, 0), want: "must"},
		"missed":                {ours: sample(61, 40, 100), theirs: sample(100, 100, 0), want: "missed"},
		"CPU does not count":    {ours: sample(40, 900, 100), theirs: sample(100, 100, 0), want: "aim"},
		"CPU counts":            {ours: sample(40, 61, 100), theirs: sample(100, 100, 0), cpu: true, want: "missed"},
		"memory just in budget": {ours: sample(40, 40, 115), theirs: sample(100, 100, 0), want: "aim"},
		"memory over budget":    {ours: sample(40, 40, 116), theirs: sample(100, 100, 0), want: "missed", complaint: "peak memory"},
		"no rival":              {ours: sample(40, 40, 100), before: "no rival", want: "no rival"},
		"absolute":              {ours: sample(1, 1, 1), absolute: true, want: "aim"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Row{Ours: c.ours, Theirs: c.theirs, Verdict: c.before}
			r.judge(Case{Must: 0.60, Aim: 0.40, CPU: c.cpu, Absolute: c.absolute, Budget: budget}, 400*time.Microsecond)
			if r.Verdict != c.want || !strings.Contains(r.Complaint, c.complaint) {
				t.Errorf("verdict %q (%s), want %q", r.Verdict, r.Complaint, c.want)
			}
		})
	}
}

func TestBestOfRounds(t *testing.T) {
	var s Sample
	s.best(Sample{Wall: 5, CPU: 9, PeakRSS: 1})
	s.best(Sample{Wall: 7, CPU: 3, PeakRSS: 2})
	if want := (Sample{Wall: 5, CPU: 3, PeakRSS: 2}); s != want {
		t.Errorf("best is %+v, want %+v: the fastest, but the most memory", s, want)
	}
	if m := median([]time.Duration{9, 1, 5}); m != 5 {
		t.Errorf("median is %d, want 5", m)
	}
}

// TestFit finds the exponent of a power law, whatever its factor.
func TestFit(t *testing.T) {
	x := []int64{1000, 2000, 4000, 8000}
	for _, exponent := range []float64{0.5, 1, 1.1, 2} {
		var y []float64
		for _, v := range x {
			y = append(y, 0.003*math.Pow(float64(v), exponent))
		}
		if got := fit(x, y); math.Abs(got-exponent) > 1e-9 {
			t.Errorf("the slope is %v, want %v", got, exponent)
		}
	}
}

func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	s, err := measure(t.Context(), Command{Name: "sh", Args: []string{"sh", "-c", `echo "$X" >file; sleep 0.02`}, Env: []string{"X=y"}}, dir)
	if err != nil || s.Wall < 20*time.Millisecond || s.PeakRSS <= 0 {
		t.Errorf("measured %+v, %v", s, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); string(got) != "y\n" {
		t.Errorf("the command wrote %q, %v", got, err)
	}
	exit := Command{Name: "sh", Args: []string{"sh", "-c", "echo reason >&2; exit 3"}}
	if _, err := measure(t.Context(), exit, dir); err == nil || !strings.Contains(err.Error(), "reason") {
		t.Errorf("a command that fails: %v", err)
	}
	exit.Okay = []int{3}
	if _, err := measure(t.Context(), exit, dir); err != nil {
		t.Errorf("an exit code that is fine: %v", err)
	}
}

// TestCasesAreTheTable: the rows of the published table, each once, with the bounds
// of the table.
func TestCasesAreTheTable(t *testing.T) {
	want := map[string][2]float64{
		"terasort": {0.60, 0.40}, "terasort-4x": {0.60, 0.40}, "terasort-memory": {1.6, 1.2}, "sort": {0.80, 0.50},
		"wordcount-mawk": {1.0 / 7, 1.0 / 13}, "wordcount-bare": {2.5, 1.5}, "grep": {1.0, 0.6}, "tiny": {10, 8},
		"terasort-256": {1.3, 1.2}, "join": {0.5, 0.4}, "distinct": {0.5, 0.4}, "topk": {0.5, 0.4}, "sort-pairs": {0.4, 0.35}, "index": {1.5, 1.2},
	}
	for _, p := range regexps {
		want[p.id], want[p.id+"-count"] = [2]float64{3, 1.5}, [2]float64{3, 1.5}
	}
	cases := Setup{Dir: t.TempDir(), Self: "millrace", Large: true}.withDefaults().Cases()
	if len(cases) != len(want) {
		t.Errorf("%d cases, want %d", len(cases), len(want))
	}
	for _, c := range cases {
		if got := [2]float64{c.Must, c.Aim}; got != want[c.ID] {
			t.Errorf("%s: must and aim are %v, want %v", c.ID, got, want[c.ID])
		}
		if !c.Absolute && len(c.Rival.Args) == 0 {
			t.Errorf("%s has no rival", c.ID)
		}
	}
}

// TestProseHasMatches: each expression is in some lines of the text that it is looked for in, the last in most.
func TestProseHasMatches(t *testing.T) {
	s := Setup{Dir: t.TempDir(), Size: 1000}.withDefaults()
	if err := os.WriteFile(s.file(text, s.Size), []byte(strings.Repeat("the words\n", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.prepare(t.Context(), s.file(prose, s.Size)); err != nil {
		t.Fatal(err)
	}
	prose, err := os.ReadFile(s.file(prose, s.Size))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range regexps {
		n := len(regexp.MustCompile("(?m)^.*"+p.expr+".*$").FindAll(prose, -1))
		if p.word == "" && n != 100 || p.word != "" && (n < 8 || n > 20) {
			t.Errorf("%s is in %d lines of 100", p.expr, n)
		}
	}
}
