package nas

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// What nas-sweeps varies (spec/nas 3.14, 4.1 and 5).
var (
	sweptUsers  = []float64{25, 50, 100, 200, 400}
	sweptRatios = []float64{1, 2, 4}
	sweptRates  = []string{"copy", "middle", "slow"} // sim.NamedRates
	sweptLimits = []limitPair{
		{0.2, 0.2}, {0.2, 0.3}, {0.2, 0.4}, {0.2, 0.5}, {0.2, 0.6}, {0.2, 0.7}, {0.2, 0.8}, {0.2, 0.9}, {0.1, 0.5}, {0.3, 0.5}, {0.4, 0.5}, {0.5, 0.5},
	}
)

// limitPair is T_min and T_max.
type limitPair struct{ low, high float64 }

func (p limitPair) String() string { return fmt.Sprintf("thresholds %g %g", p.low, p.high) }

func sweeps(r *lab.Recorder) {
	n := r.Seeds(4, 2)
	for _, g := range regimes {
		runs, _ := compareNAS(r, g.cluster, sweptVariants(), n)
		sweepUsers(r, g, runs)
		sweepLimits(r, g, runs)
		sweepLinks(r, g, runs)
		sweepRates(r, g, runs)
		drawSweeps(r, g, runs)
	}
	if r.Quick() {
		r.Only("two runs of four")
	}
}

func sweptVariants() []nasVariant {
	var out []nasVariant
	for _, u := range sweptUsers {
		out = append(out, nasVariant{name: fmt.Sprint("users ", u), policy: "nas", edit: func(c *nasCluster) { c.users = int(u) }})
	}
	for _, p := range sweptLimits {
		out = append(out, nasVariant{name: p.String(), policy: "nas", params: map[string]string{
			"t-min": strconv.FormatFloat(p.low, 'g', -1, 64), "t-max": strconv.FormatFloat(p.high, 'g', -1, 64),
		}})
	}
	out = append(out, nasVariant{name: byJob, policy: "nas", params: map[string]string{"key": "job"}})
	out = append(out, nasVariant{name: byLogarithm, policy: "nas", params: map[string]string{"threshold-scale": "log"}})
	narrowest := sweptRatios[len(sweptRatios)-1]
	out = append(out, nasVariant{name: heldNot, policy: "nas-mts-ca", edit: func(c *nasCluster) { c.uplink /= topology.Rate(narrowest) }})
	for _, name := range []string{"fair", "nas"} {
		for _, k := range sweptRatios {
			out = append(out, nasVariant{name: fmt.Sprint(name, k), policy: name, edit: func(c *nasCluster) { c.uplink /= topology.Rate(k) }})
		}
		for _, rate := range sweptRates {
			out = append(out, nasVariant{name: name + " rate " + rate, policy: name, edit: func(c *nasCluster) { c.rates = sim.NamedRates[rate] }})
		}
	}
	return out
}

// byJob is NAS with containers shared between jobs: the number of users then decides nothing.
const byJob = "shared between jobs"

// byLogarithm is NAS with a threshold that falls with the logarithm of a job's shuffle, not with the shuffle: one giant job in the cluster then does not
// leave nearly all others at T_max.
const byLogarithm = "threshold by the logarithm"

// heldNot is NAS without CR-RTS over the narrowest links: it says what a fall in throughput comes from.
const heldNot = "without CR-RTS, narrowest links"

// sweepUsers is spec/nas 5, item 11.
func sweepUsers(r *lab.Recorder, g regime, runs nasRuns) {
	var said []string
	falls, last := true, math.Inf(1)
	for _, u := range sweptUsers {
		t := runs.ratio(fmt.Sprint("users ", u), "users 200", throughput)
		said = append(said, fmt.Sprintf("%g users %s", u, stats.Text(t)))
		falls = falls && t <= last*1.02
		last = t
	}
	few := runs.ratio(fmt.Sprint("users ", sweptUsers[0]), fmt.Sprint("users ", sweptUsers[len(sweptUsers)-1]), throughput)
	r.Check(lab.Holds(g.label()+"11: throughput of NAS by number of users, 200 = 1", lab.Sign("falls with users"), strings.Join(said, ", "), falls, "no step up by more than 2 %").Direction(few > 1).Missed(r.Say("users", runs.between("users 400", "users 200", throughput), lab.Facts{"job": runs.ratio(byJob, "users 200", throughput)})))
}

// sweepLimits is spec/nas 5, item 12.
func sweepLimits(r *lab.Recorder, g regime, runs nasRuns) {
	used, constant := limitPair{0.2, 0.5}.String(), limitPair{0.2, 0.2}.String()
	best, at := 0.0, limitPair{}
	for _, p := range sweptLimits {
		if t := runs.ratio(p.String(), used, throughput); t > best {
			best, at = t, p
		}
	}
	log := lab.Facts{"log": runs.ratio(byLogarithm, used, throughput)}
	r.Check(lab.Between(g.label()+"12: best thresholds over (0.2, 0.5), throughput", lab.Order("(0.2, 0.5) is best"), best, 0, 1.02).Because(fmt.Sprintf("the best of the %d pairs tried is T_min %g, T_max %g", len(sweptLimits), at.low, at.high)).Mark(1).Missed(r.Say("late reduces", log, runs.between(at.String(), used, throughput))))
	r.Check(lab.Between(g.label()+"12: gain of (0.2, 0.5) over (0.2, 0.2), throughput", lab.Number("up to 5 %: 1 to 1.05"), runs.ratio(used, constant, throughput), 1, 1.08).Missed(r.Say("late reduces", log, runs.between(used, constant, throughput))))
}

// sweepLinks is spec/nas 5, item 14.
func sweepLinks(r *lab.Recorder, g regime, runs nasRuns) {
	var said []string
	rises, last := true, 0.0
	for _, k := range sweptRatios {
		t := runs.ratio(fmt.Sprint("nas", k), fmt.Sprint("fair", k), throughput)
		said = append(said, fmt.Sprintf("%g:1 %s", 5*k, stats.Text(t)))
		rises = rises && t >= last*0.97
		last = t
	}
	k := sweptRatios[len(sweptRatios)-1]
	fair := fmt.Sprint("fair", k)
	r.Check(lab.Holds(g.label()+"14: throughput of NAS over Fair by oversubscription", lab.Sign("does not fall"), strings.Join(said, ", "), rises, "no step down by more than 3 %").Direction(last > runs.ratio("nas1", "fair1", throughput)).Missed(r.Say("narrow links", lab.Facts{"at": fmt.Sprintf("%g:1", 5*k), "without": runs.ratio(heldNot, fair, throughput), "with": runs.ratio(fmt.Sprint("nas", k), fair, throughput)})))
}

// sweepRates is the sweep of spec/nas 4.1: how fast tasks compute is not published.
func sweepRates(r *lab.Recorder, g regime, runs nasRuns) {
	var said []string
	for _, rate := range sweptRates {
		nas, fair := "nas rate "+rate, "fair rate "+rate
		said = append(said, fmt.Sprintf("%s: throughput %s, completion %s", rate, stats.Text(runs.ratio(nas, fair, throughput)), stats.Text(runs.ratio(nas, fair, completion))))
	}
	r.Check(lab.Reported(g.label()+"4.1: throughput and completion of NAS over Fair by the rate of tasks", "rate not published", strings.Join(said, "; ")).Because(r.Say("rates")))
}
