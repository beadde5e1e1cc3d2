package nas

import (
	"fmt"
	"math"
	"slices"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// drawSweeps draws NAS over each thing that nas-sweeps varies, in one regime.
func drawSweeps(r *lab.Recorder, g regime, runs nasRuns) {
	frame := func(title, x, y, one string, series ...chart.Series) chart.Lines {
		return chart.Lines{Frame: chart.Frame{Title: title + ", regime " + g.name, X: chart.Axis{Label: x}, Y: chart.Axis{Label: y}}, Marks: []chart.Mark{{Name: one, Value: 1}}, Series: series}
	}
	users := frame("NAS by number of users", "users", "throughput, 200 users = 1", "as with 200 users",
		chart.Curve("nas", sweptUsers, func(u float64) float64 { return runs.ratio(fmt.Sprint("users ", u), "users 200", throughput) }))
	users.X.Log = true
	r.Figure("users-"+g.name, fromZero(users))
	limited := func(low, high float64) float64 {
		return runs.ratio(limitPair{low, high}.String(), limitPair{0.2, 0.5}.String(), throughput)
	}
	r.Figure("thresholds-"+g.name, fromZero(frame("NAS by completion thresholds", "the threshold that is varied", "throughput, (0.2, 0.5) = 1", "as with (0.2, 0.5)",
		chart.Curve("T_max varied, T_min 0.2", []float64{0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}, func(high float64) float64 { return limited(0.2, high) }),
		chart.Curve("T_min varied, T_max 0.5", []float64{0.1, 0.2, 0.3, 0.4, 0.5}, func(low float64) float64 { return limited(low, 0.5) }))))
	links := frame("NAS over Fair by oversubscription", "nodes could send so many times what the rack's link carries", "over Fair", "as Fair")
	times := func(x []float64, by float64) []float64 { return lab.Each(x, func(v float64) float64 { return v * by }) }
	for _, of := range []struct {
		name  string
		value func(nasRun) float64
	}{{"throughput", throughput}, {"mean completion", completion}} {
		narrow := chart.Curve(of.name, sweptRatios, func(k float64) float64 { return runs.ratio(fmt.Sprint("nas", k), fmt.Sprint("fair", k), of.value) })
		narrow.X = times(narrow.X, 5)
		links.Series = append(links.Series, narrow)
	}
	r.Figure("links-"+g.name, fromZero(links), lab.Facts{"throughput": stats.Texts(links.Series[0].Y...), "completion": stats.Texts(links.Series[1].Y...)})
	r.Figure("rates-"+g.name, rateBars(g, runs))
}

// fromZero has all of its lines above an axis that begins at 0.
func fromZero(c chart.Lines) chart.Lines {
	c.Y.Max = 1.2
	for _, s := range c.Series {
		c.Y.Max = max(c.Y.Max, 1.05*slices.Max(s.Y))
	}
	return c
}

// rateBars draws NAS over Fair by how fast tasks compute.
func rateBars(g regime, runs nasRuns) chart.Bars {
	bars := chart.Bars{Frame: chart.Frame{Title: "NAS over Fair by how fast tasks compute, regime " + g.name, X: chart.Axis{Label: "over Fair"}}, Groups: []string{"throughput", "mean completion"}}
	for _, name := range sweptRates {
		nas, fair := runs["nas rate "+name], runs["fair rate "+name]
		bars.Bars = append(bars.Bars, lab.Ratio(nas, fair, throughput).Bar(name, math.NaN()), lab.Ratio(nas, fair, completion).Bar(name+", completion", math.NaN()).In(1))
	}
	return bars
}

// drawAblation draws throughput and congestion of the variants over those of NAS.
func drawAblation(r *lab.Recorder, g regime, runs nasRuns) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Throughput by mechanism, regime " + g.name, X: chart.Axis{Label: "over MTS alone"}}}
	for _, name := range []string{"nas-mts", "nas-mts-ca", "nas"} {
		bars.Bars = append(bars.Bars, lab.Ratio(runs[name], runs["nas-mts"], throughput).Bar(name, math.NaN()))
	}
	r.Figure("throughput-"+g.name, bars)
	count := chart.Bars{Frame: chart.Frame{Title: "How often racks become congested, regime " + g.name, X: chart.Axis{Label: "occurrences over those of NAS"}}}
	for i, name := range []string{"nas-no-both", "nas-no-tt", "nas-no-mct"} {
		count.Bars = append(count.Bars, lab.Ratio(runs[name], runs["nas"], congestion).Bar(name, congestionPublished[i]))
	}
	for _, name := range []string{"nas-mts", "nas-mts-ca"} {
		count.Bars = append(count.Bars, lab.Ratio(runs[name], runs["nas"], congestion).Bar(name, math.NaN()))
	}
	r.Figure("congestion-"+g.name, count, lab.Facts{"without": runs.ratio("nas-mts-ca", "nas", congestion)})
}

// drawDay draws nas-600: levels, and the distribution of completion times.
func drawDay(r *lab.Recorder, scale float64, runs nasRuns) {
	at := fmt.Sprintf(", sizes x%g", scale)
	bars := chart.Bars{Frame: chart.Frame{Title: "Throughput and mean completion over Fair" + at, X: chart.Axis{Label: "over Fair"}}, Groups: []string{"throughput", "mean completion"}}
	cdf := chart.CDF{Frame: chart.Frame{Title: "Completion times of the day's jobs" + at, X: chart.Axis{Label: "completion, s", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
	if r.Quick() {
		cdf.Title = "Completion times of the jobs of an hour" + at
	}
	p := nasPublished.throughput600
	for i, name := range []string{"delay", "sw-delay", "nas"} {
		bars.Bars = append(bars.Bars, lab.Ratio(runs[name], runs["fair"], throughput).Bar(name, p[0]/[]float64{p[1], p[2], 1}[i]), lab.Ratio(runs[name], runs["fair"], completion).Bar(name+", completion", math.NaN()).In(1))
	}
	for _, name := range []string{"fair", "delay", "sw-delay", "nas"} {
		cdf.Samples = append(cdf.Samples, chart.Sample{Name: name, Values: runs[name][0].times})
	}
	r.Figure(fmt.Sprintf("over-fair-%g", scale), bars)
	r.Figure(fmt.Sprintf("cdf-%g", scale), cdf)
}
