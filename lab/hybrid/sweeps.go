package hybrid

import (
	"fmt"
	"math"
	"strings"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// wrongBy are the errors of spec/hybrid 5, item 11, in per cent.
var wrongBy = []float64{-100, -60, -30, -10, 0, 10, 30, 60, 100}

// errorSweep is spec/hybrid 5, item 11: the makespan of a batch, or the mean completion of jobs that arrive.
func errorSweep(r *lab.Recorder, at setting, online bool, n int) {
	what, of := "makespan", makespanOf
	if online {
		what, of = "mean completion", meanAll
	}
	var list []hybridVariant
	for _, e := range wrongBy {
		list = append(list, hybridVariant{name: stats.Text(e), cluster: mixed, base: "fair", on: true, steal: true, online: online, jobs: hybridCount, wrong: max(1+e/100, 1e-6)})
	}
	got := hybrids(r, at.of(list, judgedScale), n)
	line := chart.Series{Name: what}
	worst := 0.0
	for _, e := range wrongBy {
		v := lab.Ratio(got[stats.Text(e)], got[stats.Text(0)], of).Mean
		line.X, line.Y = append(line.X, e), append(line.Y, v)
		if math.Abs(e) <= 30 {
			worst = max(worst, v)
		}
	}
	r.Check(lab.Between("11: "+what+" with errors up to 30 %, over none", lab.Number("nearly unchanged: 1 (Fig. 5.18)"), worst, 0, 1.05).Mark(1).Accept("at most 1.05").Shown("%.3f, the worst of -30 to 30 %%", worst))
	grows := nonDecreasing(line.Y)
	r.Check(lab.Holds("11: "+what+" does not fall as the error grows", lab.Sign("grows beyond 30 % (Fig. 5.18)"), errorsText(line), grows, "no step outwards falls by more than 0.02").Because(r.Say("errors", errorFacts(got))))
	r.Figure("errors", chart.Lines{
		Frame: chart.Frame{
			Title: strings.ToUpper(what[:1]) + what[1:] + " over that without error of prediction",
			X:     chart.Axis{Label: "error of the predicted shuffle size, %"}, Y: chart.Axis{Label: "ratio, 1 is no error"},
		},
		Series: []chart.Series{line},
	}, errorFacts(got), lab.Facts{"ratio": fmt.Sprintf("%.3f", line.Y[0])})
}

// nonDecreasing reports whether values do not fall from the middle outwards, up to noise of 2 %.
func nonDecreasing(y []float64) bool {
	const noise = 0.02
	for i := len(y)/2 + 1; i < len(y); i++ {
		if k := len(y) - 1 - i; y[i] < y[i-1]-noise || y[k] < y[k+1]-noise {
			return false
		}
	}
	return true
}

func errorsText(s chart.Series) string {
	var said []string
	for i, e := range s.X {
		said = append(said, fmt.Sprintf("%.0f %%: %.3f", e, s.Y[i]))
	}
	return strings.Join(said, ", ")
}

// errorFacts returns how the classifier decides under the largest errors.
func errorFacts(got map[string][]hybridRun) lab.Facts {
	facts := lab.Facts{}
	for name, e := range map[string]float64{"None": 0, "Low": -100, "High": 100} {
		facts["called"+name] = fmt.Sprintf("%.1f", lab.Mean(got[stats.Text(e)], calledSmall))
		facts["stolen"+name] = fmt.Sprintf("%.1f", lab.Mean(got[stats.Text(e)], stolenJobs))
	}
	return facts
}

// replacementSweep is spec/hybrid 5, item 13. A scale-up machine replaces five, so that 50 machines have no share below 10 %; the shares of the larger
// cluster are of the whole day.
func replacementSweep(r *lab.Recorder, at setting, n int) {
	clusters := []hybridCluster{{5, 10, 0}, {5, 9, 1}, {4, 10, 2}, {3, 10, 4}}
	got := hybrids(r, at.of(replaced(clusters), judgedScale), n)
	replacementRow(r, "50 machines", clusters, got, "at equal cost: 5 scale-out machines for 1 scale-up machine")
	drawReplacement(r, "replacement-50", clusters, got)
	if r.Quick() {
		return
	}
	large := []hybridCluster{{120, 5, 0}, {119, 5, 1}, {114, 5, 6}, {108, 5, 12}, {96, 5, 24}, {72, 5, 48}}
	got = hybrids(r, at.allJobs(replaced(large), true, 1), 1)
	replacementRow(r, "600 machines, the whole day", large, got, r.Say("one run of 600"))
	drawReplacement(r, "replacement-600", large, got)
}

// replaced are H-FS-with on these clusters, by the number of scale-up machines.
func replaced(clusters []hybridCluster) (list []hybridVariant) {
	for _, c := range clusters {
		list = append(list, hybridVariant{name: fmt.Sprint(c.up), cluster: c, base: "fair", on: c.up > 0, steal: true, online: true, jobs: hybridCount})
	}
	return list
}

// share is the part of the machines that are replaced, per cent.
func (c hybridCluster) share() string {
	out, gone := c.racks*c.perRack, 5*c.up
	return fmt.Sprintf("%.0f", 100*float64(gone)/float64(out+gone))
}

func replacementRow(r *lab.Recorder, of string, clusters []hybridCluster, got map[string][]hybridRun, why string) {
	var shares, means []string
	for _, c := range clusters {
		shares, means = append(shares, c.share()), append(means, fmt.Sprintf("%.3f", lab.Ratio(got[fmt.Sprint(c.up)], got["0"], meanAll).Mean))
	}
	percent := strings.Join(shares, ", ") + " %"
	r.Check(lab.Reported("13: mean completion with "+percent+" of "+of+" replaced", "nothing; our specification expects the minimum inside", strings.Join(means, ", ")+" for "+percent+", over 0 %").Because(why))
}
