package lab

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"sync"

	"github.com/millrace/millrace/internal/chart"
)

// A Page is what a report shows.
type Page struct {
	Title   string // "millrace laboratory" if empty
	Date    string // when it was made; empty leaves it out, so that bytes repeat
	Quick   bool   // of a quick run
	Reports []Report
	Earlier *Earlier // source of the reports that were kept; nil: all have run now
}

// WriteHTML writes a self-contained page: an index with the verdicts, then for each group of experiments its words, and
// for each experiment its question, published values beside measured ones, and charts.
func WriteHTML(w io.Writer, p Page) error {
	p.Title = cmp.Or(p.Title, "millrace laboratory")
	return page().Execute(w, layOut(p))
}

//go:embed page.html
var pageText string

var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"class": class,
		"chart": func(c chart.Chart) template.HTML { return template.HTML(chart.Inline(c)) }, //nolint:gosec // chart escapes every text
		"style": func() template.CSS { return template.CSS(chart.Style) },                    //nolint:gosec // a constant
	}).Parse(pageText))
})

// FigureFile is the name of a figure's file, without its ending.
func FigureFile(r Report, f Figure) string { return r.ID + "-" + f.Name }

func class(v Verdict) string {
	switch v {
	case Reproduced:
		return "reproduced"
	case Direction:
		return "direction"
	case ShapeOnly:
		return "shape"
	}
	return "not"
}
