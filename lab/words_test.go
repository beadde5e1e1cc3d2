package lab

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/chart"
)

const someWords = `# Title

Front, on
two lines.

## In a sentence

**Claim.** it is 2

**Finding.** {{.ratio.Judged}}

**How sure.** sure on
two nodes

**Beside.** Over {{.ratio.Count}} readings it is {{.ratio.Low}} to {{.ratio.High}}, and {{.ratio.At "b"}} with b.

## The document

> A. Author: A Title. 2020.

What it is about.

## Words

- **slot**: room for
  one task

What there is

| name | value |
|---|---|
| a | 1 |
| b | 2 |

## doc-one: The first

*spec/nas 5, item 1*

**Question.** Why?

**Set-up.** {{.jobs}} jobs.

**How to read it.** From left
to right.

**Charts.**

- ` + "`bars-*`" + `: Value {{.value}}, exactly {{printf "%.4f" .value}}.
- ` + "`bars-own`" + `: Its own.

**Remarks.**

- ` + "`why`" + `: own

## Remarks

- ` + "`why`" + `: shared
- ` + "`shared`" + `: of all

## Exercises

1. Think.
`

func someDocument(run func(*Recorder)) *Document {
	return NewDocument("doc", someWords, nil, &Experiment{ID: "doc-one", Run: run})
}

// An experiment has the words of its section, with what the run says filled in.
func TestWords(t *testing.T) {
	d := someDocument(func(r *Recorder) {
		r.Fact("jobs", "1,000")
		r.Figure("bars-1", chart.Bars{}, Facts{"value": 12.3456})
		r.Figure("bars-own", chart.Bars{})
		r.Check(Holds("1", Order(""), "", false, "").Missed(r.Say("why")), Holds("2", Order(""), "", false, "").Missed(r.Say("shared")), Holds("3", Order(""), "", false, ""))
	})
	if d.Title != "Title" || d.Front != "Front, on\ntwo lines." || d.Reference != "A. Author: A Title. 2020." || d.Intro != "What it is about." || d.Notes != "## Exercises\n\n1. Think.\n\n" {
		t.Errorf("document: %+v", d)
	}
	if !slices.Equal(d.Words, []Word{{"slot", "room for one task"}}) {
		t.Errorf("words: %v", d.Words)
	}
	if len(d.Tables) != 1 || d.Tables[0].Title != "What there is" || !slices.Equal(d.Tables[0].Head, []string{"name", "value"}) || len(d.Tables[0].Rows) != 2 || d.Tables[0].Rows[1][1] != "2" {
		t.Errorf("tables: %+v", d.Tables)
	}
	r, err := Run(t.Context(), d.Experiments[0], Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Title != "The first" || r.Source != "spec/nas 5, item 1" || r.Question != "Why?" || r.Read != "From left to right." || r.Setup != "1,000 jobs." || r.Document != d.Reference {
		t.Errorf("report: %+v", r)
	}
	if a, b := r.Figures[0].Caption, r.Figures[1].Caption; a != "Value 12.35, exactly 12.3456." || b != "Its own." {
		t.Errorf("captions %q and %q", a, b)
	}
	for i, want := range []string{"own", "of all", "reason not known"} {
		if r.Checks[i].Why != want {
			t.Errorf("check %d: why %q, want %q", i, r.Checks[i].Why, want)
		}
	}
}

// A run that leaves a text without its facts, or asks for a text that is not there, fails and says which.
func TestWordsThatAreMissing(t *testing.T) {
	for want, run := range map[string]func(*Recorder){
		"jobs":    func(*Recorder) {},
		"value":   func(r *Recorder) { r.Figure("bars-1", chart.Bars{}) },
		`"lines"`: func(r *Recorder) { r.Figure("lines", chart.Bars{}) },
		`"what"`:  func(r *Recorder) { r.Say("what") },
		"broken":  func(r *Recorder) { r.Must(errors.New("broken")) },
	} {
		if _, err := Run(t.Context(), someDocument(run).Experiments[0], Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %s", err, want)
		}
	}
	defer func() {
		if p := recover(); p == nil || !strings.Contains(p.(string), "doc-two") {
			t.Errorf("an experiment without words: %v", p)
		}
	}()
	NewDocument("doc", someWords, nil, &Experiment{ID: "doc-two"})
}

// A check says what was asked, what came out and what is accepted, and is judged by its bounds.
func TestChecks(t *testing.T) {
	for _, c := range []struct {
		got  Check
		want Check
	}{
		{Within("a", 1.05, 1, 0.1), Check{"a", "1", numberClaim, "1.05", "± 0.1", Reproduced, "", true, false, false, "", nil}},
		{Within("a", 1.2, 1, 0.1).Missed("x").Missed("y"), Check{"a", "1", numberClaim, "1.2", "± 0.1", NotReproduced, "x; y", false, false, false, "", nil}},
		{Between("a", Number("p"), 2, 1, 2).Missed("x"), Check{"a", "p", numberClaim, "2", "1 to 2", Reproduced, "", true, false, false, "", nil}},
		{AtLeast("a", Sign("p"), 1, 1.5).Because("r").Missed("x"), Check{"a", "p", signClaim, "1", "at least 1.5", NotReproduced, "r; x", false, false, false, "", nil}},
		{AtMost("a", Target("p"), 1, 1.5).Because("").Accept("little"), Check{"a", "p", targetClaim, "1", "little", Reproduced, "", true, false, false, "", nil}},
		{AtMost("a", Number("p"), 1, 1.5).Shown("%.3f", 1.0).Quoted(Sign("q")).Mark(2).Missed("x"), Check{"a", "q", signClaim, "1.000", "at most 1.5", Direction, "", true, false, false, "", nil}},
		{Holds("a", Order("p"), "m", false, "this"), Check{"a", "p", orderClaim, "m", "this", NotReproduced, "", false, false, false, "", nil}},
		{Within("a", 1.2, 1, 0.1).Contradicted("q"), Check{"a", "1", numberClaim, "1.2", "± 0.1", Contradiction, "q", false, false, false, Contradiction, nil}},
		{Within("a", 1.2, 1, 0.1).Contradicted("q").SameSide(0), Check{"a", "1", numberClaim, "1.2", "± 0.1", Direction, "q", false, true, false, Contradiction, nil}},
		{Reported("a", "p", "m").Missed("x"), Check{"a", "p", nothingClaim, "m", "reported", ShapeOnly, "", false, false, false, "", nil}},
	} {
		c.got.scale = nil
		if c.got != c.want {
			t.Errorf("got %+v, want %+v", c.got, c.want)
		}
	}
	one := Between("a", Number("p"), 2, 1, 3)
	if two := one.Mark(2.5); one.scale.want == two.scale.want {
		t.Error("a changed copy changed the check")
	}
}

// TestCaptions: a strip says which of its marks are judged, and of a line only where one was published.
func TestCaptions(t *testing.T) {
	for want, h := range map[string]Headline{
		"Each mark is one reading of what the document leaves open; the filled one, in the first row, is judged. The grey line is what was published. A gain that a single reading takes away is no proof.":      {Line: 2},
		"Each mark is one policy; the 2 filled ones, in the first rows, are judged. The grey line is what was published.":                                                                                        {Line: 2, Judges: 2, Policies: true},
		"Each mark is one policy; the filled one, in the first row, is the set-up of the other charts, and none is judged.":                                                                                      {Line: math.NaN(), Judges: -1, Policies: true},
		"Each mark is one reading of what the document leaves open; the 6 filled ones, in the first rows, are judged. The grey line is what was published. A gain that a single reading takes away is no proof.": {Line: 1, Judges: 6},
	} {
		if got := h.caption(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestOfMeans: the figure is that of all runs; its interval is none where runs agree, and wider the more they differ.
func TestOfMeans(t *testing.T) {
	self := func(x float64) float64 { return x }
	ratio := func(a, b float64) float64 { return a / b }
	same := OfMeans([]float64{2, 4, 6}, []float64{1, 2, 3}, self, ratio)
	if same.Mean != 2 || same.Low != 2 || same.High != 2 {
		t.Errorf("twice as much in every run: %+v", same)
	}
	some := OfMeans([]float64{2, 5, 5}, []float64{1, 2, 3}, self, ratio)
	much := OfMeans([]float64{0, 12, 0}, []float64{1, 2, 3}, self, ratio)
	if some.Mean != 2 || much.Mean != 2 || !(much.High-much.Low > some.High-some.Low && some.High > some.Low) {
		t.Errorf("%+v and %+v", some, much)
	}
}

// TestSentence: the figures of the sentence are those of the run; without the run there is no sentence.
func TestSentence(t *testing.T) {
	d := someDocument(func(r *Recorder) {
		r.Fact("jobs", "1")
		r.Figure("bars-own", chart.Bars{})
		r.Headline(Headline{Name: "ratio", What: "A over B", Unit: "ratio", Published: "2", Line: 2, None: 1}, one("a", 1.5), one("b", 0.75), one("never ends", math.NaN()))
		r.Check(Within("4: x", 1, 1, 0))
	})
	if d.Leads() != "ratio" {
		t.Errorf("the finding begins with %q", d.Leads())
	}
	if _, err := d.Sentence(nil); err == nil {
		t.Error("a sentence without a run")
	}
	r, err := Run(t.Context(), d.Experiments[0], Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "The document claims that it is 2; we find 1.5: sure on two nodes. Over 2 readings it is 0.75 to 1.5, and 0.75 with b."
	if got, err := d.Sentence([]Report{r}); got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got := r.Finding(); got != "A over B: 1.5, published 2; 0.75 to 1.5 over 2 readings." {
		t.Errorf("finding %q", got)
	}
	if r.Figures[0].Name != "strip-ratio" {
		t.Errorf("the strip is not the first figure: %s", r.Figures[0].Name)
	}
	r.Headlines = nil
	if got := r.Finding(); got != "X: published 1; measured 1 (reproduced)." {
		t.Errorf("finding %q", got)
	}
	r.Checks[0].Item = "regime A: 11: x"
	if got := r.Finding(); got != "Regime A: x: published 1; measured 1 (reproduced)." {
		t.Errorf("finding %q", got)
	}
	r.Checks = append(r.Checks, Reported("2: y", "nothing", "3"), Within("3: z", 9, 1, 0), Within("4: u", 1, 1, 0))
	if got := r.Finding(); got != "Of 3 published statements: 2 reproduced, 1 not reproduced. Regime A: x: published 1; measured 1 (reproduced)." {
		t.Errorf("finding %q", got)
	}
	r.Answers = []string{"3: z", "2: y", "a row that a quick run has not"}
	if got := r.Finding(); got != "Of 3 published statements: 2 reproduced, 1 not reproduced. Z: published 1; measured 9 (not reproduced). Y: published nothing; measured 3 (shape only)." {
		t.Errorf("finding %q", got)
	}
	r.Checks = []Check{Within("3: z", 1, 1, 0), Within("4: u", 1, 1, 0)}
	if got := r.Finding(); !strings.HasPrefix(got, "All 2 published statements are reproduced. Z: ") {
		t.Errorf("finding %q", got)
	}
	defer func() {
		if p := recover(); p == nil || !strings.Contains(p.(string), "Beside") {
			t.Errorf("a sentence without a part: %v", p)
		}
	}()
	NewDocument("doc", strings.Replace(someWords, "**Beside.**", "", 1), nil, d.Experiments[0])
}

// TestFiguresAreArranged: figures come as the words have them, and small multiples share their axes.
func TestFiguresAreArranged(t *testing.T) {
	bars := func(v float64) chart.Bars { return chart.Bars{Bars: []chart.Bar{chart.Plain("a", v)}} }
	e := &Experiment{order: []string{"key", "rest-*"}}
	got := e.arranged([]Figure{{Name: "rest-b", Chart: bars(9)}, {Name: "rest-a", Chart: bars(3)}, {Name: "key", Chart: bars(1)}})
	if got[0].Name != "key" || got[1].Name != "rest-b" || got[2].Name != "rest-a" {
		t.Errorf("order %v", got)
	}
	if b := got[2].Chart.(chart.Bars); b.X.Max != 9 {
		t.Errorf("the axis ends at %v", b.X.Max)
	}
}
