package marp

import (
	"fmt"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim/compare"
)

// batches runs one set-up over many seeds. The watcher sees the first.
func batches(r *lab.Recorder, b batchSetup, n int) []batchRun {
	b = b.in(r)
	return lab.Repeat(r, n, func(seed uint64) (batchRun, error) {
		mine := b
		if seed > r.Seed() {
			mine.watch = nil
		}
		return mine.run(seed)
	})
}

func total(b batchRun) float64 { return b.total }

// gainRuns are PRJ (under "prj") and the three controllers.
type gainRuns struct {
	runs  map[string][]batchRun
	total map[string]stats.Estimate
	gain  map[string]float64 // over PRJ, per cent
	watch map[string]*compare.Watcher
}

func gains(r *lab.Recorder, k batchKind, jobs, n int) gainRuns {
	out := gainRuns{map[string][]batchRun{}, map[string]stats.Estimate{}, map[string]float64{}, map[string]*compare.Watcher{}}
	for _, name := range withPRJ {
		b := batchSetup{kind: k, jobs: jobs, control: name}
		if name == "prj" {
			b = parallelRun(k, jobs)
		}
		b.watch = &compare.Watcher{Of: compare.TasksOf(jobs), KeepSpans: true}
		for j := range jobs {
			b.watch.Keys = append(b.watch.Keys, fmt.Sprintf("job %d", j+1))
		}
		out.runs[name], out.watch[name] = batches(r, b, n), b.watch
		out.total[name] = stats.NewEstimate(lab.Each(out.runs[name], total))
		out.gain[name] = 100 * (out.total["prj"].Mean - out.total[name].Mean) / out.total["prj"].Mean
	}
	return out
}

// texts returns the gains of the controllers as text.
func (g gainRuns) texts() string {
	return stats.Texts(g.gain["cbt"], g.gain["cbtws"], g.gain["cbtwat"])
}

// bars draws the completion of the batch beside what was published of PRJ and the controllers.
func (g gainRuns) bars(title string, published ...float64) chart.Bars {
	bars := chart.Bars{Frame: chart.Frame{Title: title, X: chart.Axis{Label: "s"}}}
	for i, name := range withPRJ {
		bars.Bars = append(bars.Bars, g.total[name].Bar(shownAs[name], published[i]))
	}
	return bars
}
