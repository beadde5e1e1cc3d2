package lab

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/millrace/millrace/internal/chart"
)

// A Page is what a report shows.
type Page struct {
	Title   string // "millrace laboratory" if empty
	Date    string // when it was made; empty leaves it out, so that bytes repeat
	Reports []Report
}

// WriteHTML writes a page that needs nothing else: an index with the verdicts, then for
// each experiment its question, what was published beside what was measured, and charts.
func WriteHTML(w io.Writer, p Page) error {
	p.Title = cmp.Or(p.Title, "millrace laboratory")
	return page.Execute(w, p)
}

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"picture": picture, "class": class, "count": count, "tally": tally, "total": total,
	"chart": func(c chart.Chart) template.HTML { return template.HTML(chart.Inline(c)) }, //nolint:gosec // chart escapes every text
	"style": func() template.CSS { return template.CSS(chart.Style) },                    //nolint:gosec // a constant
	"file":  FigureFile,
	"checked": func(reports []Report) bool {
		return slices.ContainsFunc(reports, func(r Report) bool { return len(r.Checks) > 0 })
	},
}).Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --line: #ccc; --good: #2a7d4f; --bad: #b3402a; --shape: #8a6d1c; --band: #bfe3cd; --dot: #1b4f8f; --link: #1b5fa8; }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --paper: #181a1b; --line: #444; --good: #6fcf97; --bad: #f08a70; --shape: #d9b95b; --band: #26513a; --dot: #8db8ee; --link: #8db8ee; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 84rem; margin: 2rem auto; padding: 0 1rem; }
a { color: var(--link); } h2 { margin-top: 3.5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 1.5rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; } td.n { white-space: nowrap; } td.r, th.r { text-align: right; } .prose { max-width: 52rem; }
.reproduced { color: var(--good); } .not { color: var(--bad); } .shape { color: var(--shape); }
.why { opacity: .75; font-size: .9em; } .figures { display: flex; flex-wrap: wrap; gap: 1.5rem 2rem; }
figure { margin: 0; max-width: 640px; } figcaption { font-size: .9em; opacity: .8; }
svg { display: block; } .band { fill: var(--band); } .axis { stroke: var(--line); } .want { stroke: var(--ink); stroke-width: 2; } .dot { fill: var(--dot); }
{{style}}</style></head><body>
<h1>{{.Title}}</h1>
{{if checked .Reports}}<p class="prose">Experiments run in the simulator, with the policy code of the live cluster. In the tables the green band is what the specification
accepts, the black mark a published number, the blue dot what was measured. "Shape only" means that a published number is reported but the
specification asks for no agreement; "not reproduced" comes with its figures and, where known, the reason. Whiskers are 95 % confidence intervals over repetitions.</p>{{else}}<p class="prose">Runs of the simulator, with the policy code of the live cluster. Whiskers and brackets are 95 % confidence intervals over repetitions.</p>{{end}}
{{if .Date}}<p>Made on {{.Date}}.</p>{{end}}
{{if gt (len .Reports) 1}}<h3 id="index">Verdicts</h3>
<table><thead><tr><th>experiment</th><th>what is asked</th><th>source</th><th class="r">reproduced</th><th class="r">shape only</th><th class="r">not reproduced</th></tr></thead><tbody>
{{range .Reports}}{{$t := tally .}}<tr><td class="n"><a href="#{{.ID}}">{{.ID}}</a></td><td>{{.Title}}</td><td>{{.Source}}</td><td class="r reproduced">{{$t.Reproduced}}</td><td class="r shape">{{if $t.Shape}}{{$t.Shape}}{{end}}</td><td class="r not">{{if $t.Not}}{{$t.Not}}{{end}}</td></tr>
{{end}}{{$t := total .Reports}}<tr><th>all</th><th></th><th></th><th class="r reproduced">{{$t.Reproduced}}</th><th class="r shape">{{$t.Shape}}</th><th class="r not">{{$t.Not}}</th></tr></tbody></table>{{end}}
{{range $r := .Reports}}
<h2 id="{{.ID}}">{{.Title}}</h2>
<p>{{.Source}}; {{.Seeds}} repetitions{{if .Checks}}; {{count .}}. Run it again: <code>millrace lab run {{.ID}}</code>{{end}}</p>
{{if .Question}}<p class="prose"><b>Question.</b> {{.Question}}</p>{{end}}
{{if .Setup}}<p class="prose"><b>Set-up.</b> {{.Setup}}</p>{{end}}
{{if .Checks}}<table><thead><tr><th>item</th><th>published</th><th>measured</th><th>accepted</th><th></th><th>verdict</th></tr></thead><tbody>
{{range .Checks}}<tr><td>{{.Item}}{{if .Why}}<div class="why">{{.Why}}</div>{{end}}</td><td>{{.Published}}</td><td>{{.Measured}}</td><td>{{.Tolerance}}</td><td>{{picture .}}</td><td class="n {{class .Verdict}}">{{.Verdict}}</td></tr>
{{end}}</tbody></table>{{end}}
{{range .Tables}}<table><thead><tr>{{range .Head}}<th>{{.}}</th>{{end}}</tr></thead><tbody>{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody></table>{{end}}
{{if .Read}}<p class="prose"><b>How to read it.</b> {{.Read}}</p>{{end}}
{{if .Figures}}<div class="figures">{{range .Figures}}<figure id="{{file $r .}}">{{chart .Chart}}{{if .Caption}}<figcaption>{{.Caption}}</figcaption>{{end}}</figure>
{{end}}</div>{{end}}
{{end}}
</body></html>
`))

// FigureFile is the name of a figure's file, without its ending.
func FigureFile(r Report, f Figure) string { return r.ID + "-" + f.Name }

func class(v Verdict) string {
	switch v {
	case Reproduced:
		return "reproduced"
	case ShapeOnly:
		return "shape"
	}
	return "not"
}

// verdicts counts checks.
type verdicts struct{ Reproduced, Shape, Not int }

func tally(r Report) (t verdicts) {
	for _, c := range r.Checks {
		switch c.Verdict {
		case Reproduced:
			t.Reproduced++
		case ShapeOnly:
			t.Shape++
		default:
			t.Not++
		}
	}
	return t
}

func total(reports []Report) (t verdicts) {
	for r := range slices.Values(reports) {
		one := tally(r)
		t = verdicts{t.Reproduced + one.Reproduced, t.Shape + one.Shape, t.Not + one.Not}
	}
	return t
}

func count(r Report) string {
	return fmt.Sprintf("%d of %d reproduced", tally(r).Reproduced, len(r.Checks))
}
