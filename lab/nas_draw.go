package lab

import (
	"fmt"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler/nas"
)

// ratioBar draws one variant's value over another's, run by run, with its interval.
func ratioBar(runs map[string][]nasRun, a, b string, of func(*nasRun) float64) Estimate {
	var x []float64
	for i := range runs[a] {
		if base := of(&runs[b][i]); base > 0 {
			x = append(x, of(&runs[a][i])/base)
		}
	}
	return NewEstimate(x)
}

// drawNAS draws what the checks of nas-40 measure, at one scale.
func (r *Recorder) drawNAS(scale float64, runs map[string][]nasRun) {
	at := fmt.Sprintf(", sizes x%g", scale)
	r.figure(fmt.Sprintf("over-fair-%g", scale), "Over Fair, run by run; Fair is 1. More throughput and less completion is better. The thick line: published for NAS; for Delay and SW-delay by division of the published ratios. "+
		"The last pair is no policy: Fair where no link ever fills.", overFair("Throughput and mean completion over Fair"+at, runs))
	r.figure(fmt.Sprintf("classes-%g", scale), "Mean completion of a class of jobs over that under Fair: below 1 is faster than Fair. The speed-up in the table is 1 over this. "+
		"NAS helps the light jobs most; above 1 a class takes longer than under Fair.", classBars("Mean completion over Fair by class"+at, runs))
	cdf := chart.CDF{Frame: chart.Frame{Title: "Completion times of 200 jobs" + at, X: chart.Axis{Label: "completion, s", Log: true}, Y: chart.Axis{Label: "share of jobs"}}}
	for _, name := range []string{"fair", "delay", "sw-delay", "nas", "nas-mts-ca"} {
		cdf.Samples = append(cdf.Samples, chart.Sample{Name: name, Values: runs[name][0].times})
	}
	r.figure(fmt.Sprintf("cdf-%g", scale), "One repetition of those in the table. A curve further left is better.", cdf)
	r.figure(fmt.Sprintf("racks-%g", scale), "Bytes from rack to rack under NAS in one repetition; the fuller the colour the more. Rows send, columns receive. What stays in a rack is left out.",
		rackHeat("Rack to rack under NAS"+at, runs["nas"][0].traffic.Matrix))
}

func overFair(title string, runs map[string][]nasRun) chart.Bars {
	t, c := nasPublished.throughput40, nasPublished.completion40
	bars := chart.Bars{Frame: chart.Frame{Title: title, X: chart.Axis{Label: "over Fair"}}, Groups: []string{"throughput", "mean completion"}}
	for _, row := range []struct {
		name                   string
		throughput, completion float64
	}{
		{"delay", t[0] / t[1], c[0] / c[1]},
		{"sw-delay", t[0] / t[2], c[0] / c[2]},
		{"nas-mts", nan, nan},
		{"nas-mts-ca", nan, nan},
		{"nas", t[0], c[0]},
		{wideFair, nan, nan},
	} {
		b := ratioBar(runs, row.name, "fair", nasThroughput).bar(row.name, row.throughput)
		d := ratioBar(runs, row.name, "fair", completion).bar(row.name+", completion", row.completion)
		d.Group = 1
		bars.Bars = append(bars.Bars, b, d)
	}
	return bars
}

func classBars(title string, runs map[string][]nasRun) chart.Bars {
	bars := chart.Bars{Frame: chart.Frame{Title: title, X: chart.Axis{Label: "mean completion over Fair's"}}}
	names := []string{"delay", "sw-delay", "nas"}
	for g, name := range names {
		bars.Groups = append(bars.Groups, name)
		for k := range 3 {
			b := ratioBar(runs, name, "fair", func(r *nasRun) float64 { return r.byClass[k] }).bar(fmt.Sprintf("%s, %v", name, nas.Class(k)), nan)
			b.Group = g
			bars.Bars = append(bars.Bars, b)
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
				row[to] = nan
			}
		}
		h.Values = append(h.Values, row)
	}
	return h
}
