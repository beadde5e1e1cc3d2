package live

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// Report makes a page of a run: what the simulator foretold beside what the cluster did, measure by measure.
func (l *Laboratory) Report(v Verdict, repeat int, costs Overheads) lab.Report {
	r := lab.Report{
		ID: l.ID, Live: true, Title: l.Title, Source: l.Source, Seeds: repeat, Checks: l.checks(v), Tables: []lab.Table{v.Table()},
		Question: "Do simulator and cluster, which run the same policy code over the same jobs, agree?",
		Setup:    fmt.Sprintf("%s%s A job costs %s: the simulator is told so.", &l.Machines, l.sequences(repeat), costs),
		Read:     "A bar is the cluster, with the smallest and the largest of its repetitions; the thick line is the simulator.",
	}
	for i, m := range l.Measures {
		r.Figures = append(r.Figures, lab.Figure{Name: fmt.Sprintf("measure-%d", i+1), Chart: v.bars(m)})
	}
	return r
}

// checks returns the marks for a laboratory, what is published of its first measure, and the statements of single rows.
func (l *Laboratory) checks(v Verdict) []lab.Check {
	var first []string
	for i := 0; i < len(v.Rows); i += len(l.Measures) {
		first = append(first, fmt.Sprintf("%s %s", v.Rows[i].Arm, stats.Text(stats.Mean(v.Rows[i].Live))))
	}
	ours := lab.Target("nothing, it is our own mark")
	out := []lab.Check{
		lab.AtMost("error of the simulator, of a job in the median, %", ours, 100*v.MedianError, 100*maxError),
		lab.AtLeast("order of the arms in the simulator and on the cluster, Kendall's tau", ours, v.Tau, minTau),
		lab.AtMost("error of the simulator in "+l.Measures[0].Name+" of an arm over that of the first arm, in the worst arm", ours, v.Ratio, maxRatio),
		lab.Reported(l.Measures[0].Name+" on the cluster, "+l.Measures[0].Unit, cmp.Or(l.Published, "nothing"), strings.Join(first, ", ")),
	}
	for _, r := range v.Rows {
		if r.check != nil {
			out = append(out, *r.check)
		}
	}
	return out
}

// HowToRead says what the column of verdicts means.
const HowToRead = "verdict: what is published is reproduced (a ratio within 0.15), agrees in direction, or is not reproduced; foretold is what the simulator has within 10 %"

// Table returns all rows: published, simulated and live side by side.
func (v *Verdict) Table() lab.Table {
	t := lab.Table{Title: "Published, simulated and live; " + HowToRead, Head: []string{"arm", "measure", "published", "simulated", "live (least to most)", "error", "verdict"}}
	for _, r := range v.Rows {
		t.Rows = append(t.Rows, []string{r.Arm, r.Measure, cmp.Or(r.Published, "-"), stats.Text(r.Simulated) + " " + r.Unit, stats.Span(r.Live, r.Unit), r.off(), r.says()})
	}
	return t
}

// says returns the verdict of a row.
func (r *Row) says() string {
	said := "foretold"
	if !r.Foretold {
		said = "not foretold"
	}
	if r.Verdict != "" {
		said = string(r.Verdict) + ", " + said
	}
	return said
}

// bars returns the arms by one measure.
func (v *Verdict) bars(m Measure) chart.Bars {
	b := chart.Bars{Frame: chart.Frame{Title: m.Name, X: chart.Axis{Label: m.Unit}}, Reference: "simulated"}
	for _, r := range v.Rows {
		if r.Measure != m.Name {
			continue
		}
		low, mean, high := stats.Range(r.Live)
		bar := chart.Plain(r.Arm, mean).Beside(r.Simulated)
		if len(r.Live) > 1 {
			bar.Low, bar.High = low, high
		}
		b.Bars = append(b.Bars, bar)
	}
	return b
}

// off returns the simulator's error in per cent, if that is defined.
func (r *Row) off() string {
	measured := stats.Mean(r.Live)
	if measured != r.Simulated && measured == 0 || math.IsNaN(measured) {
		return ""
	}
	if percent := math.Round(100 * (r.Simulated/measured - 1)); measured != r.Simulated && percent != 0 {
		return fmt.Sprintf("%+.0f %%", percent)
	}
	return "0 %"
}

// String describes what a cluster has.
func (m *Machines) String() string {
	var classes []string
	for _, c := range m.Classes {
		said := fmt.Sprintf("%d machines of %d containers", c.Count, c.Containers)
		if c.Speed > 0 {
			said += fmt.Sprintf(" at %s of this machine's speed", stats.Text(c.Speed))
		}
		classes = append(classes, said)
	}
	where := "in one rack"
	if m.Racks > 1 {
		where = fmt.Sprintf("in %d racks", m.Racks)
	}
	return fmt.Sprintf("%s, %s.", strings.Join(classes, " and "), where)
}
