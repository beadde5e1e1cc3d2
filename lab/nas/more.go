package nas

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/trace"
)

// congestionPublished is by how much congestion grows without both thresholds, the traffic threshold, the
// completion threshold (Figure 3.13; spec/nas 5, item 12).
var congestionPublished = []float64{1.31, 1.22, 1.07}

// heldFrom are other limits of CR-RTS than the source's 0.8: the higher, the less it holds.
var heldFrom = []string{"0.9", "0.99"}

// ablation is spec/nas 5, items 5 and 6, in both regimes.
func ablation(r *lab.Recorder) {
	n := r.Seeds(20, 4)
	ca, cr := math.Inf(-1), math.Inf(-1) // the most that a mechanism adds in a regime
	var each []string
	for _, g := range regimes {
		variants := plain("nas-mts", "nas-mts-ca", "nas", "nas-no-tt", "nas-no-mct", "nas-no-both")
		for _, limit := range heldFrom {
			variants = append(variants, nasVariant{name: "held from " + limit, policy: "nas", params: map[string]string{"congestion": limit}})
		}
		runs, _ := compareNAS(r, g.cluster, variants, n)
		over := func(a, b string) stats.Estimate { return lab.Ratio(runs[a], runs[b], throughput) }
		with, all := over("nas-mts-ca", "nas-mts").Mean, over("nas", "nas-mts").Mean
		ca, cr = max(ca, with-1), max(cr, all-with)
		label := g.label()
		each = append(each, fmt.Sprintf("regime %s: MTS+CA-RTS %s, NAS %s", g.name, stats.Text(with), stats.Text(all)))
		held := []string{"from 0.8 " + stats.Text(all/with)}
		for _, limit := range heldFrom {
			held = append(held, fmt.Sprintf("from %s %s", limit, stats.Text(runs.ratio("held from "+limit, "nas-mts-ca", throughput))))
		}
		r.Check(lab.Reported(label+"5: throughput by the use of a link from which CR-RTS holds reduces, over never", "0.8; nothing on others", strings.Join(append(held, "never 1"), ", ")).Because(r.Say("held from")))
		r.Check(lab.Holds(label+"5: throughput, MTS < MTS+CA-RTS < NAS", lab.Order("each step adds"), fmt.Sprintf("MTS 1, MTS+CA-RTS %s, NAS %s; NAS over MTS+CA-RTS, run by run, %s", over("nas-mts-ca", "nas-mts").Text(), over("nas", "nas-mts").Text(), over("nas", "nas-mts-ca").Text()), with > 1 && all > with, "MTS+CA-RTS above 1, NAS above that").
			Missed(r.Say("placement and holding", lab.Facts{"with": with, "all": all})))
		for i, name := range []string{"nas-no-both", "nas-no-tt", "nas-no-mct"} {
			r.Check(lab.Within(label+"6: congestion occurrences, "+name+" over nas", runs.ratio(name, "nas", congestion), congestionPublished[i], 0.15).SameSide(1).
				Because("above 1 racks become congested more often without it").Missed(r.Say("occurrences", lab.Facts{"time": runs.ratio(name, "nas", congested)}, runs.between(name, "nas", congestion))))
		}
		drawAblation(r, g, runs)
	}
	r.Check(lab.Holds("5: each mechanism adds throughput in at least one regime", lab.Order("each step adds"), fmt.Sprintf("CA-RTS at most %+.3f, CR-RTS at most %+.3f of MTS's throughput", ca, cr), ca > 0 && cr > 0, "both above 0").
		Missed(r.Say("regime by regime", lab.Facts{"each": strings.Join(each, "; ")})))
	if r.Quick() {
		r.Only("four runs of eight")
	}
}

// wholeDay is spec/nas 5, item 13: the trace as it is, and with a fifth of the sizes.
func wholeDay(r *lab.Recorder) {
	r.Seeds(1, 1)
	day, from := r.Day()
	all := len(day)
	if r.Quick() {
		day = firstHours(day, time.Hour)
		r.Only("its first hour")
	}
	r.Fact("jobs", human.Count(int64(len(day))))
	r.Fact("all", human.Count(int64(all)))
	r.Fact("part", r.Quick())
	for _, scale := range []float64{1, 0.2} {
		runs := runDay(r, day, scale)
		label := fmt.Sprintf("sizes x%g: ", scale)
		if scale == 1 {
			dayThroughput(r, label, runs, from, len(day))
		}
		c := runs.overFair(completion, "delay", "sw-delay", "nas")
		r.Check(lab.Holds(label+"13: mean completion", lab.Order("nas < sw-delay < delay < fair"), fmt.Sprintf("fair 1, delay %s, sw-delay %s, nas %s", stats.Text(c[0]), stats.Text(c[1]), stats.Text(c[2])),
			c[2] < c[1] && c[1] < c[0] && c[0] < 1, "this order").Missed(r.Say("order of a day", dayFacts(runs))))
		drawDay(r, scale, runs)
	}
}

var dayNames = []string{"fair", "delay", "sw-delay", "nas"}

func runDay(r *lab.Recorder, day []trace.Job, scale float64) nasRuns {
	c := nas600.with(func(c *nasCluster) { c.scale, c.nodes = scale, r.NodesPerRack(c.racks, c.nodes) })
	return lab.Named(r, dayNames, 1, func(name string) string { return name }, func(name string, seed uint64) (nasRun, error) {
		return c.run(name, nil, day, seed)
	})
}

func dayThroughput(r *lab.Recorder, label string, runs nasRuns, from string, jobs int) {
	t := runs.overFair(throughput, "delay", "sw-delay", "nas")
	r.Check(lab.Holds(label+"13: throughput", lab.Order("nas > sw-delay > delay > fair"), fmt.Sprintf("fair 1, delay %s, sw-delay %s, nas %s", stats.Text(t[0]), stats.Text(t[1]), stats.Text(t[2])),
		t[2] > t[1] && t[1] > t[0] && t[0] > 1, "this order").Missed(r.Say("one run of a day", dayFacts(runs))))
	for i, base := range dayNames[:3] {
		r.Check(lab.Within(label+"13: throughput of nas over "+base, runs.ratio("nas", base, throughput), nasPublished.throughput600[i], 0.3).SameSide(1).
			Because(fmt.Sprintf("%s jobs from %s; one run", human.Count(int64(jobs)), from)).Missed(r.Say("one run of a day", dayFacts(runs))))
	}
}

// dayFacts says what a day under NAS and under Fair differs in: bytes between racks, when a link is congested, and the last hours.
func dayFacts(runs nasRuns) lab.Facts {
	f, n := runs["fair"][0], runs["nas"][0]
	return lab.Facts{
		"bytes": crossRack(n) / crossRack(f), "episodes": n.episodes / f.episodes, "skewFair": f.skew, "skewNAS": n.skew,
		"light": n.byClass[0] / f.byClass[0], "heavy": n.byClass[2] / f.byClass[2],
	}
}

func firstHours(jobs []trace.Job, until time.Duration) []trace.Job {
	var out []trace.Job
	for _, j := range jobs {
		if j.Submit < until {
			out = append(out, j)
		}
	}
	return out
}
