package capacity

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
)

// published are all response ratios that the source prints (Tables 6.2, 6.3, 6.8, 6.9, 6.14 and 6.18 in spec/capacity 5.5): by the first
// experiment of a group and by queue a line for each type, with the settings a to h.
var published = map[int]map[string]string{
	1: {"q1": phasedEqual, "q2": phasedEqual},
	9: {"q1": `
1.2 1.15 1.20 1.06 1.14 1.02 1.07 1.01
1.92 1.6 1.93 1.57 1.67 1.39 1.5 1.38
1.43 1.42 1.51 1.16 1.43 1.12 1.16 1.12
5.18 5.38 6.7 1.5 5.5 1.45 1.57 1.45
15 12.5 14.6 3.6 12.4 1.9 3.4 1.8
12.6 10.28 12.94 1.75 10.43 1.9 1.8 1.9
9.1 5.2 10.2 1.75 5.2 1.81 1.86 1.78`, "q2": `
1.14 1.32 1.20 1.02 1.32 1.01 1.01 1.01
1.78 2.3 1.95 1.5 2.28 1.71 1.5 1.69
1.2 1.87 1.51 1.16 1.86 1.22 1.16 1.22
3.74 10.78 6.7 1.5 10.8 1.64 1.55 1.64
14 26 14.6 3.6 26 6 3.4 6.1
13.5 22.8 13.0 2.5 22 5.3 2.6 5.3
10.1 14.6 10.3 1.8 14 3.3 1.84 3.4`},
	17: {"q1": interleavedEqual, "q2": interleavedEqual},
	25: {"": `
1.14 1.23 1.25 1.01 1.25 1.01 1.02 1.02
1.76 2.21 1.94 1.39 2.18 1.56 1.38 1.54
1.19 1.59 1.51 1.12 1.58 1.16 1.12 1.15
2.46 9.36 6.51 1.55 9.06 1.73 1.56 1.72
13.05 1.2 5.85 4.84 1.18 1.06 5.0 1.08
14.11 1.65 7.03 5.22 1.48 1.20 5.18 1.20
9.04 1.53 4.18 4.88 1.45 1.27 4.87 1.25`},
}

const (
	phasedEqual = `
1.2 1.21 1.2 1.01 1.21 1.01 1.01 1.01
1.93 1.96 1.96 1.53 1.96 1.53 1.51 1.52
1.24 1.51 1.51 1.14 1.51 1.15 1.14 1.14
2.1 6.70 6.7 1.54 6.75 1.54 1.54 1.54
15 15 14 3 14 3.6 3.2 3.5
12.8 12.9 12.79 3 12.7 3 2.7 3
10.3 10.4 10.3 1.8 10.5 1.83 1.82 1.93`
	interleavedEqual = `
1.18 1.18 1.18 1.02 1.18 1.02 1.01 1.02
1.90 1.94 1.93 1.46 1.91 1.46 1.47 1.47
1.35 1.51 1.51 1.15 1.50 1.15 1.15 1.15
8.46 8.70 8.91 1.79 8.48 1.79 1.77 1.80
2.03 2.02 2.03 1.41 2.02 1.43 1.43 1.42
3.19 4.16 4.24 2.47 4.10 2.53 2.53 2.48
4.20 6.91 6.85 1.90 6.70 1.89 1.90 1.90`
)

// publishedRatio is the response ratio of a type in a queue of an experiment.
func publishedRatio(g capGroup, queue string, setting, typ int) float64 {
	line := strings.Fields(strings.Split(strings.TrimSpace(published[g.first][queue]), "\n")[typ])
	v, err := strconv.ParseFloat(line[setting], 64)
	if err != nil {
		panic(err)
	}
	return v
}

// accepted is how far a response ratio may be from the published one, as a part of it (spec/capacity 6, items 2, 5 and 6).
func accepted(g capGroup, typ int) float64 {
	switch {
	case typ < longTypes:
		return wide(typ)
	case g.first == 17:
		return 0.45
	}
	return small
}

// compared is the response ratios of an experiment beside the published ones.
type compared struct {
	number, all int
	off         []string // what is not accepted, in words
	said, got   []string // by queue
}

func compareRatios(g capGroup, setting int, m capMean) compared {
	out := compared{number: g.first + setting}
	for _, q := range []string{"q1", "q2", ""} {
		if published[g.first][q] == "" {
			continue
		}
		got := m.byQueue[q]
		if q == "" { // printed for both sides and all queues together
			got = m.ratio
		}
		want := make([]float64, len(got))
		for t := range got {
			want[t] = publishedRatio(g, q, setting, t)
			out.all++
			if math.Abs(got[t]-want[t]) > accepted(g, t)*want[t] {
				out.off = append(out.off, strings.TrimSpace(fmt.Sprintf("%s type %d", q, t+1)))
			}
		}
		out.said, out.got = append(out.said, strings.TrimSpace(q+" "+stats.Texts(want...))), append(out.got, strings.TrimSpace(q+" "+stats.Texts(got...)))
	}
	return out
}

// within counts what is accepted.
func (c compared) within() int { return c.all - len(c.off) }

// withoutConstant is the devices without the 20 s of each reduce, as MRPERF has them.
func withoutConstant() sim.DeviceConfig {
	d := sim.DefaultDevices()
	d.SortCycles = 6e9
	return d
}

// ratios is all 392 response ratios that the source prints, and how many come out with the order of queues that its text states.
func ratios(r *lab.Recorder) {
	n := r.Seeds(1, 1)
	text := capBase()
	text.params = map[string]string{"queue-order": "ratio"}
	within, ofText := 0, 0
	bars := chart.Bars{Frame: chart.Frame{Title: "Response ratios within what is accepted", X: chart.Axis{Label: "% of the 14 or 7 that are printed"}}}
	for _, g := range capGroups {
		for s, setting := range capSettings {
			c := compareRatios(g, s, average(r, g, setting, capBase(), n))
			other := c
			if g.contradicted(setting) {
				other = compareRatios(g, s, average(r, g, setting, text, n))
			}
			within, ofText = within+c.within(), ofText+other.within()
			r.Check(lab.Reported(fmt.Sprintf("experiment %d, response ratios of types 1 to 7", c.number), strings.Join(c.said, "; "), strings.Join(c.got, "; ")).Because(c.remark(g.contradicted(setting))))
			bars.Bars = append(bars.Bars, chart.Plain(fmt.Sprintf("experiment %d", c.number), 100*float64(c.within())/float64(c.all)))
		}
	}
	r.Headline(lab.Headline{Name: "within", What: "Response ratios within what is accepted, of 392", Unit: "response ratios", Published: "392", Line: 392, None: math.NaN()},
		lab.Read("as judged", stats.NewEstimate([]float64{float64(within)})), lab.Read("the order of the text in all 32", stats.NewEstimate([]float64{float64(ofText)})))
	r.Figure("within", bars)
}

// remark says how many are accepted, and which are not.
func (c compared) remark(backlog bool) string {
	said := fmt.Sprintf("%d of %d accepted", c.within(), c.all)
	if len(c.off) > 0 {
		said += ", not " + strings.Join(c.off, ", ")
	}
	if backlog {
		said += "; order by backlog"
	}
	return said
}
