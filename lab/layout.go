package lab

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"sync"
)

// A layout is a page as its template wants it.
type layout struct {
	Page
	Checked, Index bool // there are verdicts; there are several reports to choose from
	Total          verdicts
	Groups         []groupLayout
	ids            map[string]bool
}

// A groupLayout is the reports of one document, which is nil for reports that are no experiments.
type groupLayout struct {
	Group   *Document
	Tally   verdicts
	Reports []reportLayout
}

// A reportLayout is a report with its place in the page.
type reportLayout struct {
	Report
	GroupID        string
	Previous, Next string
	Tally          verdicts
	Rows           []row
}

// A row is a check with its place in the page.
type row struct {
	Check
	Anchor, Experiment string
	kept               bool
}

// layOut groups the reports by their documents, in the order in which these come.
func layOut(p Page) *layout {
	l := &layout{Page: p, Index: len(p.Reports) > 1, ids: map[string]bool{}}
	at := map[*Document]int{}
	for _, r := range p.Reports {
		l.ids[r.ID] = true
		v := reportLayout{Report: r, Tally: tally(r), Rows: rowsOf(r)}
		g := r.document
		if g != nil {
			v.GroupID = g.ID
		}
		i, known := at[g]
		if !known {
			i = len(l.Groups)
			at[g], l.Groups = i, append(l.Groups, groupLayout{Group: g})
		}
		l.Groups[i].Reports, l.Groups[i].Tally = append(l.Groups[i].Reports, v), l.Groups[i].Tally.plus(v.Tally)
		l.Checked = l.Checked || len(r.Checks) > 0
		l.Total = l.Total.plus(v.Tally)
	}
	l.chain()
	return l
}

// chain links each report to those before and after it.
func (l *layout) chain() {
	var last *reportLayout
	for g := range l.Groups {
		for r := range l.Groups[g].Reports {
			now := &l.Groups[g].Reports[r]
			if last != nil {
				last.Next, now.Previous = now.ID, last.ID
			}
			last = now
		}
	}
}

// idLike matches what may be the id of an experiment.
var idLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[a-z]+(-[a-z0-9]+)+`) })

// Link turns the ids of this page's experiments in a text into links.
func (l *layout) Link(text string) template.HTML {
	text = template.HTMLEscapeString(text)
	return template.HTML(idLike().ReplaceAllStringFunc(text, func(id string) string { //nolint:gosec // escaped above; ids are ours
		if !l.ids[id] {
			return id
		}
		return `<a href="#` + id + `">` + id + `</a>`
	}))
}

func rowsOf(r Report) (rows []row) {
	for i, c := range r.Checks {
		rows = append(rows, row{c, fmt.Sprintf("%s-row-%d", r.ID, i+1), r.ID, r.kept})
	}
	return rows
}

// Missed reports whether a statement was judged but not reproduced.
func (r row) Missed() bool { return r.Verdict.missed() }

// Nested reports whether the report belongs to a document.
func (r reportLayout) Nested() bool { return r.GroupID != "" }

// FirstNot returns the place of the first statement that was not reproduced, by whatever name.
func (r reportLayout) FirstNot() string {
	for _, c := range r.Rows {
		if c.Missed() {
			return c.Anchor
		}
	}
	return r.ID
}

// Count returns how the checks ended.
func (r reportLayout) Count() string {
	parts := []string{fmt.Sprintf("%d reproduced", r.Tally.Reproduced)}
	if r.Tally.Direction > 0 {
		parts = append(parts, fmt.Sprintf("%d direction", r.Tally.Direction))
	}
	if r.Tally.Shape > 0 {
		parts = append(parts, fmt.Sprintf("%d shape only", r.Tally.Shape))
	}
	parts = append(parts, fmt.Sprintf("%d not reproduced", r.Tally.Not))
	if r.Tally.Contradiction > 0 {
		parts = append(parts, fmt.Sprintf("%d contradiction", r.Tally.Contradiction))
	}
	if r.Tally.NotPrinted > 0 {
		parts = append(parts, fmt.Sprintf("%d not printed enough", r.Tally.NotPrinted))
	}
	return strings.Join(parts, ", ")
}

// Repetitions returns how often it was run.
func (r reportLayout) Repetitions() string {
	switch r.Seeds {
	case 0:
		return "computed, without repetitions"
	case 1:
		return "1 repetition"
	}
	return fmt.Sprintf("%d repetitions", r.Seeds)
}

// verdicts counts checks.
type verdicts struct{ Reproduced, Direction, Shape, Not, Contradiction, NotPrinted int }

func (v verdicts) plus(o verdicts) verdicts {
	return verdicts{v.Reproduced + o.Reproduced, v.Direction + o.Direction, v.Shape + o.Shape, v.Not + o.Not, v.Contradiction + o.Contradiction, v.NotPrinted + o.NotPrinted}
}

// Missed counts what was judged and not reproduced, by whatever name.
func (v verdicts) Missed() int { return v.Not + v.Contradiction + v.NotPrinted }

func tally(r Report) (t verdicts) {
	for _, c := range r.Checks {
		switch c.Verdict {
		case Reproduced:
			t.Reproduced++
		case Direction:
			t.Direction++
		case ShapeOnly:
			t.Shape++
		case Contradiction:
			t.Contradiction++
		case NotPrintedEnough:
			t.NotPrinted++
		default:
			t.Not++
		}
	}
	return t
}

// Sentence returns what a student may quote of a document, or "" if this page lacks the runs for it.
func (l *layout) Sentence(d *Document) string {
	s, err := d.Sentence(l.Reports)
	if err != nil {
		return ""
	}
	return s
}

// A figureLayout is a figure with its place in the page.
type figureLayout struct {
	Figure
	File   string
	Linked template.HTML
	Kept   template.HTML // the drawing, where the report was kept
}

// Figure lays out a figure of a report.
func (l *layout) Figure(r Report, f Figure) figureLayout {
	return figureLayout{f, FigureFile(r, f), l.Link(f.Caption), l.drawing(r.kept, FigureFile(r, f))}
}

// Picture draws where a statement lies.
func (l *layout) Picture(r row) template.HTML {
	if kept := l.drawing(r.kept, r.Anchor); kept != "" {
		return kept
	}
	return picture(r.Check)
}
