package lab

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
)

// A Headline is a figure that a document is known for, under every reading that was tried: what the document leaves
// open has to be filled in, and a chosen filling must not pass for a proof. Its chart is a strip; its values fill the
// sentence of the document.
type Headline struct {
	// Name is how the sentence calls it, letters only; What is the title of its chart, Unit the label of its axis.
	Name string `json:"name"`
	What string `json:"what"`
	Unit string `json:"unit"`
	// Published is in the document's words, as "1.58" or "below 0.45"; the line is drawn at Line, or nowhere if that is NaN.
	Published string  `json:"published"`
	Line      float64 `json:"-"`
	// None is the value that means no effect; NaN: there is none.
	None float64 `json:"-"`
	// Readings begin with the judged one, or with Judges of them if Judges is above 0; below 0 none is judged. Policies
	// says that they are policies, not ways to fill in what a document leaves open.
	Readings []Reading `json:"readings"`
	Judges   int       `json:"-"`
	Policies bool      `json:"policies,omitempty"`
}

// A Reading is one way to fill in what a document leaves open, and the value that it gives.
type Reading struct {
	Name  string    `json:"name"`
	Value float64   `json:"value"`
	Apart bool      `json:"apart,omitempty"` // drawn, but not part of the figure's range
	bar   chart.Bar // with its interval
}

// Read returns a reading of one or more runs.
func Read(name string, e stats.Estimate) Reading {
	return Reading{Name: name, Value: e.Mean, bar: e.Bar(name, math.NaN())}
}

// Headline adds a headline and its strip. It leaves out a reading without a value, such as one under which a batch
// never ends.
func (r *Recorder) Headline(h Headline, readings ...Reading) {
	strip := chart.Strip{Frame: chart.Frame{Title: h.What, X: chart.Axis{Label: h.Unit}}, Published: h.Line, Said: h.Published, None: h.None, Judged: max(1, h.Judges)}
	for _, one := range readings {
		if !math.IsNaN(one.Value) && !math.IsInf(one.Value, 0) {
			h.Readings, strip.Readings = append(h.Readings, one), append(strip.Readings, one.bar)
		}
	}
	if len(h.Readings) == 0 {
		r.Must(fmt.Errorf("headline %s has no reading", h.Name))
	}
	r.report.Headlines = append(r.report.Headlines, h)
	r.report.Figures = append(r.report.Figures, Figure{Name: "strip-" + h.Name, Caption: h.caption(), Chart: strip})
}

// caption explains the marks of a strip, and which of them are judged.
func (h Headline) caption() string {
	judged := "the filled one, in the first row, is judged"
	switch {
	case h.Judges < 0:
		judged = "the filled one, in the first row, is the set-up of the other charts, and none is judged"
	case h.Judges > 1:
		judged = fmt.Sprintf("the %d filled ones, in the first rows, are judged", h.Judges)
	}
	grey := ""
	if !math.IsNaN(h.Line) {
		grey = " The grey line is what was published."
	}
	if h.Policies {
		return "Each mark is one policy; " + judged + "." + grey
	}
	return "Each mark is one reading of what the document leaves open; " + judged + "." + grey + " A gain that a single reading takes away is no proof."
}

// Judged returns the value of the judged reading.
func (h Headline) Judged() string { return stats.Text(h.Readings[0].Value) }

// Low returns the smallest and High the largest value over all readings, except those that stand apart.
func (h Headline) Low() string  { low, _ := h.span(); return stats.Text(low) }
func (h Headline) High() string { _, high := h.span(); return stats.Text(high) }

// Count returns how many readings there are, including the judged one but not those that stand apart.
func (h Headline) Count() (n int) {
	for _, r := range h.Readings {
		if !r.Apart {
			n++
		}
	}
	return n
}

// At returns the value of a reading by name.
func (h Headline) At(name string) (string, error) {
	for _, r := range h.Readings {
		if r.Name == name {
			return stats.Text(r.Value), nil
		}
	}
	return "", fmt.Errorf("headline %s has no reading %q", h.Name, name)
}

func (h Headline) span() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, r := range h.Readings {
		if !r.Apart {
			low, high = min(low, r.Value), max(high, r.Value)
		}
	}
	return low, high
}

// String returns the headline in words.
func (h Headline) String() string {
	s := fmt.Sprintf("%s: %s, published %s", h.What, h.Judged(), h.Published)
	of := "readings"
	if h.Policies {
		of = "policies"
	}
	if h.Count() > 1 {
		s += fmt.Sprintf("; %s to %s over %d %s", h.Low(), h.High(), h.Count(), of)
	}
	return s
}

// Finding describes what an experiment found: its headlines or, if it has none, how many published statements hold, and
// those that answer its question.
func (r Report) Finding() string {
	var said []string
	for _, h := range r.Headlines {
		said = append(said, h.String()+".")
	}
	if len(said) > 0 {
		return strings.Join(said, " ")
	}
	if tally := r.tally(); tally != "" {
		said = append(said, tally)
	}
	for _, c := range r.answers() {
		said = append(said, c.sentence())
	}
	return strings.Join(said, " ")
}

// answers returns the checks that answer the question: those that the words name or, if this run made none of them, the
// first judged one, else the first.
func (r Report) answers() (out []Check) {
	for _, item := range r.Answers {
		if i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.Item == item }); i >= 0 {
			out = append(out, r.Checks[i])
		}
	}
	if len(out) > 0 || len(r.Checks) == 0 {
		return out
	}
	return r.Checks[max(0, slices.IndexFunc(r.Checks, Check.judgedBySource)):][:1]
}

// judgedBySource reports whether the source published something that the check could contradict.
func (c Check) judgedBySource() bool { return c.Verdict != ShapeOnly }

// tally counts the published statements by verdict; a single one speaks for itself.
func (r Report) tally() string {
	count, all := map[Verdict]int{}, 0
	for _, c := range r.Checks {
		if c.judgedBySource() {
			count[c.Verdict]++
			all++
		}
	}
	if all < 2 {
		return ""
	}
	var parts []string
	for _, v := range []struct {
		Verdict
		text string
	}{{Reproduced, "reproduced"}, {Direction, "of direction"}, {NotReproduced, "not reproduced"}, {Contradiction, "not, for a contradiction of the source"}, {NotPrintedEnough, "not, for want of what the source does not print"}} {
		switch n := count[v.Verdict]; n {
		case 0:
		case all:
			return fmt.Sprintf("All %d published statements are %s.", all, v.text)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, v.text))
		}
	}
	return fmt.Sprintf("Of %d published statements: %s.", all, strings.Join(parts, ", "))
}

// itemNumber matches the number of a statement, even after the name of a regime: "4: " and "regime A: 11: ".
var itemNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(|[^:]*: )[0-9]+(?:, [0-9]+)*: `) })

// sentence returns a check in words.
func (c Check) sentence() string {
	item := itemNumber().ReplaceAllString(c.Item, "$1")
	return fmt.Sprintf("%s%s: published %s; measured %s (%s).", strings.ToUpper(item[:1]), item[1:], c.Published, c.Measured, c.Verdict)
}
