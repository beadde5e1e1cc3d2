package nas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
)

// nasVariant is a policy with parameters, under a name of its own.
type nasVariant struct {
	name, policy string
	params       map[string]string
	edit         func(*nasCluster)
}

func plain(names ...string) []nasVariant {
	var out []nasVariant
	for _, n := range names {
		out = append(out, nasVariant{name: n, policy: n})
	}
	return out
}

// nasRuns are runs by the name of their variant.
type nasRuns map[string][]nasRun

// compareNAS runs variants on the same samples of the trace.
func compareNAS(r *lab.Recorder, c nasCluster, variants []nasVariant, n int) (nasRuns, string) {
	day, from := r.Day()
	c.nodes, c.containers = r.NodesPerRack(c.racks, c.nodes), r.Int("containers", c.containers)
	c.uplink, c.nic = r.Rate("uplink", c.uplink), r.Rate("nic", c.nic)
	jobs, gap := r.Int("jobs", 200), lab.Seconds(r.Float("gap", 14))
	scene := func(policy string) lab.Scene {
		return lab.Scene{Name: policy, Setup: func() (sim.Config, []*sim.Job, error) {
			return c.config(policy, nil, sample(day, jobs, gap, rand.New(rand.NewPCG(r.Seed(), 9))), r.Seed())
		}}
	}
	r.Watch(scene("fair"), scene("nas"))
	return lab.Named(r, variants, n, func(v nasVariant) string { return v.name }, func(v nasVariant, seed uint64) (nasRun, error) {
		at, drawn := c.with(v.edit), seed
		if at.one {
			drawn = r.Seed()
		}
		return at.run(v.policy, v.params, sample(day, jobs, gap, rand.New(rand.NewPCG(drawn, 9))), seed)
	}), from
}

// ratio is the mean over runs of one variant's value over another's.
func (n nasRuns) ratio(a, b string, of func(nasRun) float64) float64 {
	return lab.Ratio(n[a], n[b], of).Mean
}

// overFair is ratio to Fair of several variants, in order.
func (n nasRuns) overFair(of func(nasRun) float64, names ...string) []float64 {
	return lab.Each(names, func(name string) float64 { return n.ratio(name, "fair", of) })
}

// mechanisms are values over those of Fair: MTS alone, without CR-RTS, and all of NAS.
func (n nasRuns) mechanisms(of func(nasRun) float64) lab.Facts {
	x := n.overFair(of, "nas-mts", "nas-mts-ca", "nas")
	return lab.Facts{"mts": x[0], "without": x[1], "all": x[2]}
}

func throughput(r nasRun) float64 { return r.throughput }
func completion(r nasRun) float64 { return r.completion }
func crossRack(r nasRun) float64  { return r.traffic.Cross() }
func congestion(r nasRun) float64 { return r.episodes }
func congested(r nasRun) float64  { return r.congested }

// between says between which values a ratio lies in single runs.
func (n nasRuns) between(a, b string, of func(nasRun) float64) lab.Facts {
	var each []float64
	for i, base := range n[b] {
		if of(base) > 0 {
			each = append(each, of(n[a][i])/of(base))
		}
	}
	low, _, high := stats.Range(each)
	return lab.Facts{"low": low, "high": high, "n": len(each)}
}

// orders is spec/nas 5, item 4.
func orders(r *lab.Recorder, label string, runs nasRuns, from string) {
	said := func(x []float64) string {
		return fmt.Sprintf("fair 1, delay %s, sw-delay %s, nas %s", stats.Text(x[0]), stats.Text(x[1]), stats.Text(x[2]))
	}
	t, c := runs.overFair(throughput, "delay", "sw-delay", "nas"), runs.overFair(completion, "delay", "sw-delay", "nas")
	r.Check(lab.Holds(label+"4: throughput", lab.Order("nas > sw-delay > delay > fair"), said(t), t[2] > t[1] && t[1] > t[0] && t[0] > 1, "this order of the means").Missed(r.Say("order of throughput", runs.mechanisms(throughput))))
	r.Check(lab.Holds(label+"4: mean completion", lab.Order("nas < sw-delay < delay < fair"), said(c), c[2] < c[1] && c[1] < c[0] && c[0] < 1, "this order of the means").Because("jobs from " + from).Missed(r.Say("order of completion", runs.mechanisms(completion))))
	for i, base := range []string{"fair", "delay", "sw-delay"} {
		want := nasPublished.throughput40[i]
		r.Check(lab.Within(label+"4: throughput of nas over "+base, runs.ratio("nas", base, throughput), want, 0.25).SameSide(1).Missed(r.Say("readings of throughput", runs.mechanisms(throughput))))
		r.Check(lab.Within(label+"4: mean completion of nas over "+base, runs.ratio("nas", base, completion), nasPublished.completion40[i], 0.15).SameSide(1).Missed(r.Say("order of completion", runs.mechanisms(completion))))
	}
}

// wideFair is Fair where no link ever fills: what a perfect cure of congestion would give.
const wideFair = "fair, links x100"

func widen(c *nasCluster) { c.nic, c.uplink = 100*c.nic, 100*c.uplink }

// limits says how much there is to gain, and which part of NAS gains and loses it.
func limits(r *lab.Recorder, label string, runs nasRuns) {
	r.Check(lab.Reported(label+"4: Fair with links a hundred times as wide, over Fair", "nothing on this; of NAS throughput 1.58, completion 0.62",
		fmt.Sprintf("throughput %s, completion %s", stats.Text(runs.ratio(wideFair, "fair", throughput)), stats.Text(runs.ratio(wideFair, "fair", completion)))).
		Because(r.Say("never congested")))
	var said []string
	for _, name := range []string{"delay", "nas-mts", "nas-mts-ca", "nas"} {
		said = append(said, fmt.Sprintf("%s: throughput %s, completion %s, skew %s", name, stats.Text(runs.ratio(name, "fair", throughput)), stats.Text(runs.ratio(name, "fair", completion)),
			stats.Text(lab.Mean(runs[name], func(r nasRun) float64 { return r.skew }))))
	}
	r.Check(lab.Reported(label+"4: throughput and completion over Fair, mechanism by mechanism", "each step adds throughput", strings.Join(said, "; ")).
		Because(r.Say("skew")))
}

// bytes is spec/nas 5, item 7.
func bytes(r *lab.Recorder, label string, runs nasRuns) {
	over := func(a, b string) float64 { return lab.Mean(runs[a], crossRack) / lab.Mean(runs[b], crossRack) } // weighted by bytes
	ca := over("nas-mts-ca", "nas-mts")
	input, shuffle := func(r nasRun) float64 { return r.traffic.Input / 1e9 }, func(r nasRun) float64 { return r.traffic.Shuffle / 1e9 }
	moved := func(name string, of func(nasRun) float64) string { return stats.Text(lab.Mean(runs[name], of)) }
	parts := func(a, b string) string {
		return r.Say("bytes in parts", lab.Facts{"a": a, "inputA": moved(a, input), "shuffleA": moved(a, shuffle), "b": b, "inputB": moved(b, input), "shuffleB": moved(b, shuffle)})
	}
	r.Check(lab.Between(label+"7: bytes across racks, MTS over Delay", lab.Number("about equal: 1"), over("nas-mts", "delay"), 0.95, 1.05).Mark(1).Shown("%.3f", over("nas-mts", "delay")).Missed(parts("nas-mts", "delay")).Missed(r.Say("bytes unexplained")))
	r.Check(lab.AtMost(label+"7: MTS+CA-RTS over MTS", lab.Sign("lower: below 1"), ca, 1).Shown("%.3f", ca).Because(r.Say("saved", lab.Facts{"change": 100 * (ca - 1)})).Missed(r.Say("bytes unexplained")))
	r.Check(lab.Between(label+"7: NAS over MTS+CA-RTS", lab.Number("no change: 1"), over("nas", "nas-mts-ca"), 0.97, 1.03).Mark(1).Shown("%.3f", over("nas", "nas-mts-ca")).Missed(parts("nas", "nas-mts-ca")).Missed(r.Say("bytes unexplained")))
	r.Check(lab.AtMost(label+"7: NAS over Fair", lab.Sign("below 1"), over("nas", "fair"), 1).Shown("%.3f", over("nas", "fair")).Missed(parts("nas", "fair")).Missed(r.Say("bytes unexplained")))
	r.Check(lab.AtMost(label+"7: SW-delay over Fair", lab.Sign("below 1"), over("sw-delay", "fair"), 1).Shown("%.3f", over("sw-delay", "fair")).
		Because(parts("sw-delay", "fair")).Missed(r.Say("bytes unexplained")))
	for _, name := range []string{"fair", "delay", "sw-delay", "nas-mts", "nas-mts-ca", "nas"} {
		jobs := lab.Mean(runs[name], func(r nasRun) float64 { return 100 * r.traffic.JobShare })
		r.Check(lab.Reported(label+"7: bytes across racks, "+name, "a figure without numbers", fmt.Sprintf("input %s GB, shuffle %s GB; of a job's shuffle %s %% crosses racks, averaged over jobs", moved(name, input), moved(name, shuffle), stats.Text(jobs))))
	}
}

// overloads is spec/nas 5, item 9.
func overloads(r *lab.Recorder, label string, runs nasRuns) {
	share := func(r nasRun) float64 { return 100 * r.overload }
	over := func(name string) float64 { return lab.Mean(runs[name], share) }
	said := fmt.Sprintf("nas %.2f %%, fair %.2f %%, delay %.2f %%, sw-delay %.2f %% of the samples", over("nas"), over("fair"), over("delay"), over("sw-delay"))
	// by says in how many repetitions a row holds, and what the repetition with most shows.
	by := func(holds func(i int) bool) string {
		times, most := 0, 0
		for i := range runs["fair"] {
			if holds(i) {
				times++
			}
			if runs["fair"][i].overload > runs["fair"][most].overload {
				most = i
			}
		}
		return r.Say("overloads", lab.Facts{"times": times, "all": len(runs["fair"]), "fair": share(runs["fair"][most]), "nas": share(runs["nas"][most]), "watcher": share(runs["sw-delay"][most])})
	}
	r.Check(lab.Holds(label+"9: nodes above the traffic threshold, NAS", lab.Sign("very small"), said, over("nas") < 0.5*min(over("fair"), over("delay")), "NAS below half of Fair and of Delay").
		Missed(by(func(i int) bool {
			return runs["nas"][i].overload < 0.5*min(runs["fair"][i].overload, runs["delay"][i].overload)
		})))
	r.Check(lab.Holds(label+"9: nodes above the traffic threshold, SW-delay", lab.Sign("highest"), said, over("sw-delay") >= over("fair"), "SW-delay at least as much as Fair").
		Missed(by(func(i int) bool { return runs["sw-delay"][i].overload >= runs["fair"][i].overload })))
}

// behaviour is spec/nas 5, items 8 and 10.
func behaviour(r *lab.Recorder, label string, tried []reading, runs nasRuns) {
	overlap := func(name string) float64 { return lab.Mean(runs[name], func(r nasRun) float64 { return r.overlap }) }
	f, d, s, n := overlap("fair"), overlap("delay"), overlap("sw-delay"), overlap("nas")
	said := fmt.Sprintf("sw-delay %s, nas %s, delay %s, fair %s", stats.Text(s), stats.Text(n), stats.Text(d), stats.Text(f))
	r.Check(lab.Holds(label+"8: map progress at the first reduce, NAS over Delay and Fair", lab.Order("nas > delay ~ fair"), said, n > max(d, f) && math.Abs(d-f) <= 0.05 && f >= 0.2, "NAS above both; Delay and Fair at most 0.05 apart; Fair at least 0.2"))
	r.Check(lab.Holds(label+"8: map progress at the first reduce, SW-delay over NAS", lab.Sign("sw-delay > nas"), said, s > n, "SW-delay above NAS").Missed(r.Say("own threshold", lab.Facts{"low": overlap(lowThreshold), "lower": overlap(lowThreshold) < s})))
	skewOf := func(name string) float64 { return lab.Mean(runs[name], func(r nasRun) float64 { return r.skew }) }
	gain, times := runs.byClass("nas", "fair"), 0
	for _, c := range tried {
		if falling(runs.byClass("nas, "+c.name, "fair, "+c.name)) {
			times++
		}
	}
	said = fmt.Sprintf("light %s, medium %s, heavy %s", stats.Text(gain[0]), stats.Text(gain[1]), stats.Text(gain[2]))
	r.Check(lab.Holds(label+"10: speed-up of NAS over Fair by class", lab.Order("light > medium > heavy, all at least 1"), said, falling(gain), "this order, and heavy at least 1").
		Missed(r.Say("heavy jobs", lab.Facts{"fair": skewOf("fair"), "nas": skewOf("nas"), "even": skewOf("nas") > 0.9*skewOf("fair"), "times": times, "all": len(tried)})))
}

// byClass is the speed-up of light, medium and heavy jobs.
func (n nasRuns) byClass(a, b string) (gain [3]float64) {
	for k := range gain {
		gain[k] = 1 / n.ratio(a, b, func(r nasRun) float64 { return r.byClass[k] })
	}
	return gain
}

// falling reports whether the lighter gain more, and none loses.
func falling(gain [3]float64) bool { return gain[0] > gain[1] && gain[1] > gain[2] && gain[2] >= 1 }
