package nas

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/nas"
)

// drawNAS draws what the checks of nas-40 measure, in one regime.
func drawNAS(r *lab.Recorder, g regime, runs nasRuns) {
	at := ", regime " + g.name
	r.Figure("over-fair-"+g.name, overFair("Throughput and mean completion over Fair"+at, runs))
	r.Figure("classes-"+g.name, classBars("Mean completion over Fair by class"+at, runs))
	cdf := chart.CDF{Frame: chart.Frame{Title: "Completion times of 200 jobs" + at, X: chart.Axis{Label: "completion, s", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
	for _, name := range []string{"fair", "delay", "sw-delay", "nas", "nas-mts-ca"} {
		cdf.Samples = append(cdf.Samples, chart.Sample{Name: name, Values: runs[name][0].times})
	}
	r.Figure("cdf-"+g.name, cdf)
	r.Figure("racks-"+g.name, rackHeat("Rack to rack under NAS"+at, runs["nas"][0].traffic.Matrix))
}

func overFair(title string, runs nasRuns) chart.Bars {
	t, c := nasPublished.throughput40, nasPublished.completion40
	bars := chart.Bars{Frame: chart.Frame{Title: title, X: chart.Axis{Label: "over Fair"}}, Groups: []string{"throughput", "mean completion"}}
	for _, row := range []struct {
		name                   string
		throughput, completion float64
	}{
		{"delay", t[0] / t[1], c[0] / c[1]},
		{"sw-delay", t[0] / t[2], c[0] / c[2]},
		{"nas-mts", math.NaN(), math.NaN()},
		{"nas-mts-ca", math.NaN(), math.NaN()},
		{"nas", t[0], c[0]},
		{wideFair, math.NaN(), math.NaN()},
	} {
		bars.Bars = append(bars.Bars, lab.Ratio(runs[row.name], runs["fair"], throughput).Bar(row.name, row.throughput),
			lab.Ratio(runs[row.name], runs["fair"], completion).Bar(row.name+", completion", row.completion).In(1))
	}
	return bars
}

func classBars(title string, runs nasRuns) chart.Bars {
	bars := chart.Bars{Frame: chart.Frame{Title: title, X: chart.Axis{Label: "mean completion over Fair's"}}}
	names := []string{"delay", "sw-delay", "nas"}
	for g, name := range names {
		bars.Groups = append(bars.Groups, name)
		for k := range 3 {
			bars.Bars = append(bars.Bars, lab.Ratio(runs[name], runs["fair"], func(r nasRun) float64 { return r.byClass[k] }).Bar(fmt.Sprintf("%s, %v", name, nas.Class(k)), math.NaN()).In(g))
		}
	}
	return bars
}

func rackHeat(title string, matrix [][]float64) chart.Heat {
	h := chart.Heat{Frame: chart.Frame{Title: title, X: chart.Axis{Label: "to rack"}}, Unit: " GB"}
	for from := range matrix {
		h.Rows, h.Columns = append(h.Rows, fmt.Sprintf("rack %d", from+1)), append(h.Columns, fmt.Sprint(from+1))
		row := make([]float64, len(matrix))
		for to := range matrix {
			row[to] = matrix[from][to] / 1e9
			if from == to {
				row[to] = math.NaN()
			}
		}
		h.Values = append(h.Values, row)
	}
	return h
}
