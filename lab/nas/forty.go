package nas

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/trace"
)

// fortyNodes is spec/nas 5, item 4 and what is measured in the same runs (items 7 to 10), in both regimes.
func fortyNodes(r *lab.Recorder) {
	n := r.Seeds(20, 6)
	for _, g := range regimes {
		variants := append(plain("fair", "delay", "sw-delay", "nas", "nas-mts", "nas-mts-ca"), nasVariant{name: wideFair, policy: "fair", edit: widen},
			nasVariant{name: lowThreshold, policy: "nas", params: map[string]string{"t-min": "0.2", "t-max": "0.2"}})
		tried := g.readings()
		if r.Quick() && g.cluster.tasks == trace.Fine { // they take most of the time
			tried = nil
		}
		if len(tried) > 0 {
			for _, name := range []string{"delay", "sw-delay"} {
				variants = append(variants, nasVariant{name: name + ", " + sameJobs, policy: name, edit: onlyOne})
			}
		}
		for _, c := range tried {
			variants = append(variants, c.variants()...)
		}
		runs, from := compareNAS(r, g.cluster, variants, n)
		orders(r, g.label(), runs, from)
		limits(r, g.label(), runs)
		bytes(r, g.label(), runs)
		behaviour(r, g.label(), tried, runs)
		overloads(r, g.label(), runs)
		oneWorkload(r, g.label(), runs)
		drawNAS(r, g, runs)
		readings(r, g, tried, runs)
		strips(r, g, tried, runs)
	}
	if r.Quick() {
		r.Only("six samples of twenty, readings of regime A only")
	}
}

// lowThreshold is NAS with the threshold of SW-delay for every job.
const lowThreshold = "nas, thresholds 0.2"

// A reading is one setting of a regime changed: a correction of the specification switched off, or what the source does not say.
type reading struct {
	name   string
	edit   func(*nasCluster)
	params map[string]string // of NAS
}

// variants are Fair and NAS under the reading.
func (c reading) variants() []nasVariant {
	return []nasVariant{
		{name: "fair, " + c.name, policy: "fair", edit: c.edit},
		{name: "nas, " + c.name, policy: "nas", edit: c.edit, params: c.params},
	}
}

// sameJobs is the source's own way to repeat: the same jobs each time, with other placements.
const sameJobs = "one workload, other placements"

func onlyOne(c *nasCluster) { c.one = true }

// oneWorkload is the order of the policies where every repetition has the same jobs.
func oneWorkload(r *lab.Recorder, label string, runs nasRuns) {
	if len(runs["nas, "+sameJobs]) == 0 {
		return
	}
	for _, q := range []struct {
		name, published string
		of              func(nasRun) float64
		before          int // how a ratio compares with one that the source has before it
	}{
		{"throughput", "nas > sw-delay > delay > fair", throughput, -1},
		{"mean completion", "nas < sw-delay < delay < fair", completion, 1},
	} {
		said, last, ordered := []string{"fair 1"}, 1.0, true
		for _, name := range []string{"delay", "sw-delay", "nas"} {
			v := runs.ratio(name+", "+sameJobs, "fair, "+sameJobs, q.of)
			said, ordered, last = append(said, name+" "+stats.Text(v)), ordered && cmp.Compare(last, v) == q.before, v
		}
		r.Check(lab.Holds(label+"4: "+q.name+", "+sameJobs, lab.Order(q.published), strings.Join(said, ", "), ordered, "this order of the means").Because(r.Say("one workload", lab.Facts{"n": len(runs["fair"])})))
	}
}

// readings are the corrections of spec/nas 5, item 4, one by one switched off, and further scales.
func (g regime) readings() []reading {
	out := []reading{
		{name: "a reduce for each GiB, not SWIM's rule", edit: func(c *nasCluster) { c.tasks = trace.Fine }},
		{name: "reduce-place=prefer", params: map[string]string{"reduce-place": "prefer"}},
		{name: "reset=any", params: map[string]string{"reset": "any"}},
		{name: "one container a heartbeat", edit: func(c *nasCluster) { c.perHeartbeat = 1 }},
		{name: sameJobs, edit: onlyOne},
		{name: "a flow for each source node, not rack", edit: func(c *nasCluster) { c.byNode = true }},
	}
	scales := []float64{1, 0.35, 0.2, 40.0 / 600}
	if g.cluster.tasks == trace.Fine {
		out[0] = reading{name: "SWIM's rule, not a reduce for each GiB", edit: func(c *nasCluster) { c.tasks = trace.SWIM }}
		scales = scales[1:2]
		out = append(out, reading{name: "reduces hold half of the containers at most", edit: func(c *nasCluster) { c.reduceShare = "0.5" }})
	} else {
		out = append(out, reading{name: "reduces hold 0.95 of the containers at most", edit: func(c *nasCluster) { c.reduceShare = "0.95" }})
	}
	for _, rate := range sweptRates {
		if sim.NamedRates[rate] != g.cluster.rates {
			out = append(out, reading{name: "rate of tasks: " + rate, edit: func(c *nasCluster) { c.rates = sim.NamedRates[rate] }})
		}
	}
	for _, scale := range scales {
		out = append(out, reading{name: fmt.Sprintf("sizes x%.3g", scale), edit: func(c *nasCluster) { c.scale = scale }})
	}
	return out
}

// readings reports NAS over Fair under each reading, and draws them beside what was published.
func readings(r *lab.Recorder, g regime, tried []reading, runs nasRuns) {
	bars := chart.Bars{Frame: chart.Frame{Title: "NAS over Fair by reading, regime " + g.name, X: chart.Axis{Label: "over Fair"}}, Groups: []string{"throughput", "mean completion"}}
	add := func(name, nas, fair string) {
		t, c := lab.Ratio(runs[nas], runs[fair], throughput), lab.Ratio(runs[nas], runs[fair], completion)
		bars.Bars = append(bars.Bars, t.Bar(name, nasPublished.throughput40[0]), c.Bar(name+", completion", nasPublished.completion40[0]).In(1))
	}
	add("as judged", "nas", "fair")
	for _, c := range tried {
		nas, fair := "nas, "+c.name, "fair, "+c.name
		add(c.name, nas, fair)
		r.Check(lab.Reported(g.label()+"4: NAS over Fair, "+c.name, "throughput 1.58, completion 0.62",
			fmt.Sprintf("throughput %s, completion %s", stats.Text(runs.ratio(nas, fair, throughput)), stats.Text(runs.ratio(nas, fair, completion)))))
	}
	r.Figure("readings-"+g.name, bars)
}
