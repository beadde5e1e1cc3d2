package lab

import (
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/chart"
)

// drawSweeps draws NAS over each thing that nas-sweeps varies.
func (r *Recorder) drawSweeps(runs map[string][]nasRun) {
	frame := func(title, x, y, one string) chart.Lines {
		return chart.Lines{Frame: chart.Frame{Title: title, X: chart.Axis{Label: x}, Y: chart.Axis{Label: y, Min: 0, Max: 1.2}}, Marks: []chart.Mark{{Name: one, Value: 1}}}
	}
	users := frame("NAS by number of users", "users", "throughput, 200 users = 1", "as with 200 users")
	users.X.Log = true
	s := chart.Series{Name: "nas"}
	for _, u := range sweptUsers {
		s.X, s.Y = append(s.X, float64(u)), append(s.Y, ratio(runs, fmt.Sprint("users ", u), "users 200", nasThroughput))
	}
	users.Series = []chart.Series{s}
	r.figure("users", "Published: throughput falls with the number of users. Here it hardly depends on it.", users)

	limits := frame("NAS by completion thresholds", "the threshold that is varied", "throughput, (0.2, 0.5) = 1", "as with (0.2, 0.5)")
	high, low := chart.Series{Name: "T_max varied, T_min 0.2"}, chart.Series{Name: "T_min varied, T_max 0.5"}
	for _, p := range sweptLimits {
		t := ratio(runs, p.String(), limitPair{0.2, 0.5}.String(), nasThroughput)
		if p.low == 0.2 {
			high.X, high.Y = append(high.X, p.high), append(high.Y, t)
		}
	}
	for _, t := range []float64{0.1, 0.2, 0.3, 0.4, 0.5} {
		low.X, low.Y = append(low.X, t), append(low.Y, ratio(runs, limitPair{t, 0.5}.String(), limitPair{0.2, 0.5}.String(), nasThroughput))
	}
	limits.Series = []chart.Series{high, low}
	r.figure("thresholds", "Published: best at T_min 0.2 and T_max 0.5. Here the lines are nearly flat.", limits)
	r.drawAgainstFair(frame, runs)
}

func (r *Recorder) drawAgainstFair(frame func(title, x, y, one string) chart.Lines, runs map[string][]nasRun) {
	links := frame("NAS over Fair by oversubscription", "nodes could send so many times what the rack's link carries", "over Fair", "as Fair")
	rates := frame("NAS over Fair by the rate of tasks", "MB/s that a task computes", "over Fair", "as Fair")
	rates.X.Log = true
	for _, of := range []struct {
		name  string
		value func(*nasRun) float64
	}{{"throughput", nasThroughput}, {"mean completion", completion}} {
		s, t := chart.Series{Name: of.name}, chart.Series{Name: of.name}
		for _, k := range sweptRatios {
			s.X, s.Y = append(s.X, 5*k), append(s.Y, ratio(runs, fmt.Sprint("nas", k), fmt.Sprint("fair", k), of.value))
		}
		for _, rate := range sweptRates {
			t.X, t.Y = append(t.X, rate/1e6), append(t.Y, ratio(runs, fmt.Sprint("nas rate ", rate), fmt.Sprint("fair rate ", rate), of.value))
		}
		links.Series, rates.Series = append(links.Series, s), append(rates.Series, t)
	}
	r.figure("links", "Published: the narrower the links, the more NAS gains. "+byLinks(links.Series[0].Y, links.Series[1].Y)+" Above 1 in throughput, below 1 in completion NAS is better than Fair.", links)
	r.figure("rates", "Nothing was published on this. "+byRates(rates.Series[1].Y), rates)
}

// byLinks says what narrower links do to throughput and completion of NAS over Fair.
func byLinks(throughput, completion []float64) string {
	ends := func(y []float64) string { return fmt.Sprintf("%s to %s", number(y[0]), number(y[len(y)-1])) }
	gains, rises := completion[len(completion)-1] < completion[0], throughput[len(throughput)-1] >= throughput[0]
	switch {
	case gains && rises:
		return fmt.Sprintf("Here that holds for mean completion (%s) and for throughput (%s).", ends(completion), ends(throughput))
	case gains:
		return fmt.Sprintf("Here that holds for mean completion (%s), not for throughput, which falls (%s).", ends(completion), ends(throughput))
	case rises:
		return fmt.Sprintf("Here that holds for throughput (%s), not for mean completion (%s).", ends(throughput), ends(completion))
	}
	return fmt.Sprintf("Here that holds neither for throughput (%s) nor for mean completion (%s).", ends(throughput), ends(completion))
}

// byRates says what slower tasks do to the mean completion of NAS over Fair.
func byRates(completion []float64) string {
	var said []string
	for i, rate := range sweptRates {
		said = append(said, fmt.Sprintf("%s at %g MB/s", number(completion[i]), rate/1e6))
	}
	fast, slow := completion[0], completion[len(completion)-1]
	text := "Mean completion of NAS over Fair's is " + strings.Join(said, ", ") + "."
	switch {
	case slow > 1 && fast < 1:
		return text + " With the fastest tasks NAS is quicker than Fair, with the slowest slower."
	case slow > fast:
		return text + " With the slowest tasks NAS gains less than with the fastest."
	}
	return text
}

// drawAblation draws throughput and congestion of the variants over those of NAS.
func (r *Recorder) drawAblation(runs map[string][]nasRun) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Throughput by mechanism", X: chart.Axis{Label: "over MTS alone"}}}
	for _, name := range []string{"nas-mts", "nas-mts-ca", "nas"} {
		bars.Bars = append(bars.Bars, ratioBar(runs, name, "nas-mts", nasThroughput).bar(name, nan))
	}
	r.figure("throughput", "MTS alone is 1 by definition. Published: each mechanism adds throughput.", bars)
	count := chart.Bars{Frame: chart.Frame{Title: "How often racks become congested", X: chart.Axis{Label: "occurrences over those of NAS"}}}
	for i, name := range []string{"nas-no-both", "nas-no-tt", "nas-no-mct"} {
		count.Bars = append(count.Bars, ratioBar(runs, name, "nas", congestion).bar(name, congestionPublished[i]))
	}
	for _, name := range []string{"nas-mts", "nas-mts-ca"} {
		count.Bars = append(count.Bars, ratioBar(runs, name, "nas", congestion).bar(name, nan))
	}
	r.figure("congestion", "NAS is 1. The thick line: published (Figure 3.13). Nothing was published of the last two, which lack whole mechanisms: without CR-RTS racks become congested "+number(ratio(runs, "nas-mts-ca", "nas", congestion))+" times as often.", count)
}

// drawDay draws nas-600: levels, and the distribution of completion times.
func (r *Recorder) drawDay(runs map[string][]nasRun) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Throughput and mean completion over Fair", X: chart.Axis{Label: "over Fair"}}, Groups: []string{"throughput", "mean completion"}}
	cdf := chart.CDF{Frame: chart.Frame{Title: "Completion times of the day's jobs", X: chart.Axis{Label: "completion, s", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
	if r.options.Quick {
		cdf.Title = "Completion times of the jobs of two hours"
	}
	p := nasPublished.throughput600
	for i, name := range []string{"delay", "sw-delay", "nas"} {
		b := ratioBar(runs, name, "fair", nasThroughput).bar(name, p[0]/[]float64{p[1], p[2], 1}[i])
		c := ratioBar(runs, name, "fair", completion).bar(name+", completion", nan)
		c.Group = 1
		bars.Bars = append(bars.Bars, b, c)
	}
	for _, name := range []string{"fair", "delay", "sw-delay", "nas"} {
		cdf.Samples = append(cdf.Samples, chart.Sample{Name: name, Values: runs[name][0].times})
	}
	r.figure("over-fair", "Fair is 1. The thick line: published throughput, for Delay and SW-delay by division of the published ratios.", bars)
	r.figure("cdf", "A curve further left is better.", cdf)
}
