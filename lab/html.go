package lab

import (
	"fmt"
	"html/template"
	"io"
	"math"
)

// WriteHTML writes reports as one page that needs nothing else: a table for each
// experiment, and for each number a picture of where it lies.
func WriteHTML(w io.Writer, reports []Report) error {
	return page.Execute(w, reports)
}

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"picture": picture, "class": class, "count": count,
}).Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>millrace laboratory</title>
<style>
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --line: #ccc; --good: #2a7d4f; --bad: #b3402a; --shape: #8a6d1c; --band: #bfe3cd; --dot: #1b4f8f; }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --paper: #181a1b; --line: #444; --good: #6fcf97; --bad: #f08a70; --shape: #d9b95b; --band: #26513a; --dot: #8db8ee; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 2.5rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; } td.n { white-space: nowrap; }
.reproduced { color: var(--good); } .not { color: var(--bad); } .shape { color: var(--shape); }
.why { opacity: .75; font-size: .9em; } nav a { margin-right: 1rem; white-space: nowrap; }
svg { display: block; } .band { fill: var(--band); } .axis { stroke: var(--line); } .want { stroke: var(--ink); stroke-width: 2; } .dot { fill: var(--dot); }
</style></head><body>
<h1>millrace laboratory</h1>
<p>Published experiments, run again with the policy code of the live cluster in the simulator. In each picture the green band is what the
specification accepts, the black mark what was published as a number, the blue dot what was measured.</p>
<nav>{{range .}}<a href="#{{.ID}}">{{.ID}}</a> {{end}}</nav>
{{range .}}
<h2 id="{{.ID}}">{{.Title}}</h2>
<p>{{.Source}}; {{.Seeds}} repetitions; {{count .}}. Run it again: <code>millrace lab run {{.ID}}</code></p>
<table><thead><tr><th>item</th><th>published</th><th>measured</th><th>accepted</th><th></th><th>verdict</th></tr></thead><tbody>
{{range .Checks}}<tr><td>{{.Item}}{{if .Why}}<div class="why">{{.Why}}</div>{{end}}</td><td>{{.Published}}</td><td>{{.Measured}}</td><td>{{.Tolerance}}</td><td>{{picture .}}</td><td class="n {{class .Verdict}}">{{.Verdict}}</td></tr>
{{end}}</tbody></table>
{{end}}
</body></html>
`))

func class(v Verdict) string {
	switch v {
	case Reproduced:
		return "reproduced"
	case ShapeOnly:
		return "shape"
	}
	return "not"
}

func count(r Report) string {
	good := 0
	for _, c := range r.Checks {
		if c.Verdict == Reproduced {
			good++
		}
	}
	return fmt.Sprintf("%d of %d reproduced", good, len(r.Checks))
}

const (
	pictureWidth  = 160
	pictureHeight = 22
)

// picture draws the accepted band, the published mark and the measured dot on one axis.
func picture(c Check) template.HTML {
	if c.scale == nil {
		return ""
	}
	s := *c.scale
	left, right := bounds(s)
	x := func(v float64) float64 { return 4 + (pictureWidth-8)*clamp((v-left)/(right-left), 0, 1) }
	svg := fmt.Sprintf(`<svg width="%d" height="%d" role="img"><title>measured %s, accepted %s, published %s</title>`,
		pictureWidth, pictureHeight, template.HTMLEscapeString(c.Measured), template.HTMLEscapeString(c.Tolerance), template.HTMLEscapeString(c.Published))
	svg += fmt.Sprintf(`<rect class="band" x="%.1f" y="4" width="%.1f" height="14"/>`, x(s.low), max(1, x(s.high)-x(s.low)))
	svg += fmt.Sprintf(`<line class="axis" x1="0" x2="%d" y1="11" y2="11"/>`, pictureWidth)
	if !math.IsNaN(s.want) {
		svg += fmt.Sprintf(`<line class="want" x1="%[1]f" x2="%[1]f" y1="3" y2="19"/>`, x(s.want))
	}
	svg += fmt.Sprintf(`<circle class="dot" cx="%.1f" cy="11" r="4"/></svg>`, x(s.value))
	return template.HTML(svg) //nolint:gosec // every text in it is escaped
}

// bounds chooses the ends of the axis: what is finite, with some room around.
func bounds(s scale) (left, right float64) {
	left, right = s.value, s.value
	for _, v := range []float64{s.low, s.high, s.want} {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			left, right = min(left, v), max(right, v)
		}
	}
	room := 0.15 * (right - left)
	if room == 0 {
		room = max(math.Abs(right)*0.15, 1)
	}
	return left - room, right + room
}
