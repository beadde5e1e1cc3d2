package slowdown

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// besideFIFO compares the policies with FIFO at both loads.
func besideFIFO(r *lab.Recorder) {
	many, n := r.Seeds(50, 2), r.Seeds(5, 2)
	if r.Quick() {
		r.Only("two runs of five")
	}
	runs := map[string][]spread{}
	r.Fact("few", n)
	r.Fact("many", many)
	paying, rest := policySettings()
	for i, of := range spreadRuns(r, paying, many) {
		runs[paying[i].String()] = of
	}
	for i, of := range spreadRuns(r, rest, n) {
		runs[rest[i].String()] = of
	}
	at := func(name string, load, start float64) spread {
		of := runs[fmt.Sprintf("%s %g %g", name, load, start)]
		return average(of[:min(n, len(of))])
	}
	checkLevels(r, at)
	checkHighLoad(r, at, tailOfComp(r, n))
	checkSizes(r, at)
	whoPays(r, runs)
	drawPolicies(r, at)
	r.Watch(setting{policy: "fifo", load: 0.7, slowstart: 0.05}.scene(r), setting{policy: "fbq", params: fbq2, load: 0.7, slowstart: 0.05}.scene(r))
}

// policySettings are what is compared: paying over many workloads, for spec/slowdown 4.4, R18, and the rest.
func policySettings() (paying, rest []setting) {
	for _, load := range []float64{0.7, 0.9} {
		for _, start := range []float64{0.05, 1} {
			for _, s := range []setting{
				{policy: "fifo"},
				{policy: "fbq", params: fbq2},
				{policy: "tags", params: tags},
				{policy: "sita", params: sita},
				{policy: "comp"},
				{policy: "fbq4", params: fbq4},
				{policy: "comp4", params: comp4},
			} {
				s.load, s.slowstart = load, start
				if start == usualStart && slices.Contains([]string{"fifo", "fbq", "sita"}, s.policy) {
					paying = append(paying, s)
				} else {
					rest = append(rest, s)
				}
			}
		}
		rest = append(rest, setting{policy: "fair", load: load, slowstart: 0.05}, setting{policy: "srpt", load: load, slowstart: 0.05})
	}
	return paying, rest
}

type lookup func(name string, load, start float64) spread

func checkLevels(r *lab.Recorder, at lookup) {
	fifo, fbq, sita, tags, comp := at("fifo", 0.7, 0.05), at("fbq", 0.7, 0.05), at("sita", 0.7, 0.05), at("tags", 0.7, 0.05), at("comp", 0.7, 0.05)
	fitted := r.Say("calibrated")
	r.Check(lab.Within("1: FIFO median slowdown, load 0.7", fifo.q[50], 2.8, 0.6).Because(fitted))
	r.Check(lab.Within("1: FIFO 95th percentile", fifo.q[95], 23.8, 6).Because(fitted))
	r.Check(lab.Within("1: FIFO variability V(95)", fifo.v(95), 8.5, 2).Because(fitted))
	r.Check(lab.AtLeast("2: p95 FIFO / FBQ, load 0.7", lab.Number("halved: 2 (R15)"), fifo.q[95]/fbq.q[95], 1.8).Mark(2))
	r.Check(lab.AtLeast("2: p95 FIFO / SITA, load 0.7", lab.Number("halved: 2 (R15)"), fifo.q[95]/sita.q[95], 1.8).Mark(2))
	r.Check(lab.AtMost("8: V(95) TAGS / FIFO", lab.Sign("below 1 (R10)"), tags.v(95)/fifo.v(95), 1))
	r.Check(lab.AtLeast("8: median TAGS / FIFO", lab.Sign("above 1 (R10)"), tags.q[50]/fifo.q[50], 1))
	r.Check(lab.AtMost("9: median COMP / FIFO", lab.Sign("below 1"), comp.q[50]/fifo.q[50], 1))
	r.Check(lab.AtMost("9: V(80) COMP / FIFO", lab.Sign("below 1 (R13)"), comp.v(80)/fifo.v(80), 1))
	r.Check(lab.AtMost("9: V(90) COMP / FIFO", lab.Sign("below 1 (R13)"), comp.v(90)/fifo.v(90), 1))
	r.Check(lab.Between("9: V(95) COMP / FIFO", lab.Number("about 1 (R13)"), comp.v(95)/fifo.v(95), 0.8, 1.25).Mark(1))
	r.Check(lab.AtLeast("9: V(99) COMP / FIFO", lab.Sign("above 1 (R13)"), comp.v(99)/fifo.v(99), 1))
}

func checkHighLoad(r *lab.Recorder, at lookup, tried lab.Facts) {
	fifo, fbq, sita, tags, comp := at("fifo", 0.9, 0.05), at("fbq", 0.9, 0.05), at("sita", 0.9, 0.05), at("tags", 0.9, 0.05), at("comp", 0.9, 0.05)
	r.Check(lab.AtLeast("2: p95 FIFO / SITA, load 0.9", lab.Number("halved: 2 (R15)"), fifo.q[95]/sita.q[95], 1.8).Mark(2))
	r.Check(lab.AtLeast("2: p95 FIFO / FBQ, load 0.9, slow start 0.05", lab.Number("halved: 2 (R15)"), fifo.q[95]/fbq.q[95], 1.3).Mark(2).Because(r.Say("reduces unknown")))
	r.Check(lab.AtLeast("2: p95 FIFO / FBQ, load 0.9, slow start 1", lab.Number("halved: 2 (R15)"), at("fifo", 0.9, 1).q[95]/at("fbq", 0.9, 1).q[95], 2).Mark(2))
	r.Check(lab.Between("6: median TAGS / FIFO, load 0.9", lab.Number("twice: 2 (R11)"), tags.q[50]/fifo.q[50], 1.4, 2.6).Mark(2).SameSide(1).Missed(r.Say("overload", lab.Facts{"first": tags.partitions[0], "second": tags.partitions[1]})))
	r.Check(lab.AtLeast("6: p95 TAGS, load 0.9", lab.Number("above 60 (R11)"), tags.q[95], 60).Mark(60))
	r.Check(lab.Between("7: median SITA / FIFO, load 0.9", lab.Number("half: 0.5 (R12)"), sita.q[50]/fifo.q[50], 0.4, 0.6).Mark(0.5).SameSide(1).Missed(r.Say("better than half")))
	r.Check(lab.AtLeast("7: mean slowdown of 31,600 to 100,000 slot-seconds, SITA / FIFO", lab.Sign("above 1 (R12)"), sita.bySize[7]/fifo.bySize[7], 1).Because("load 0.9; published for jobs above 31,600 slot-seconds"))
	r.Check(lab.AtLeast("7: mean slowdown of 100,000 to 316,000 slot-seconds, SITA / FIFO", lab.Sign("above 1 (R12)"), sita.bySize[8]/fifo.bySize[8], 1).Because("load 0.9; published for jobs above 31,600 slot-seconds"))
	r.Check(lab.AtLeast("9: V(95) COMP / FIFO, load 0.9", lab.Sign("COMP varies far more than FIFO (R11)"), comp.v(95)/fifo.v(95), 2).Because("twice FIFO's is what our specification asks for"))
	r.Check(lab.AtLeast("9: p95 COMP, load 0.9", lab.Number("above 60 (R11)"), comp.q[95], 60).Mark(60).Direction(comp.q[95] > fifo.q[95]).Missed(r.Say("p95 of COMP", lab.Facts{"fifo": fifo.q[95]}, tried)))
	four := at("fbq4", 0.9, 1)
	r.Check(lab.Between("11: median FBQ K=4 / K=2, slow start 1", lab.Number("30 % lower: 0.7 (R16)"), four.q[50]/at("fbq", 0.9, 1).q[50], 0.6, 0.8).Mark(0.7).SameSide(1))
	r.Check(lab.Between("11: jobs below 4,000 slot-seconds above p95, K=4, %", lab.Number("none: 0 (R16)"), 100*four.small, 0, 0.5).Mark(0))
	r.Check(lab.AtMost("12: median COMP / FBQ, K=4", lab.Sign("below 1 (R17)"), at("comp4", 0.9, 0.05).q[50]/at("fbq4", 0.9, 0.05).q[50], 1))
	r.Check(lab.AtLeast("12: V(95) COMP / FBQ, K=4, slow start 1", lab.Sign("above 1 (R17)"), at("comp4", 0.9, 1).v(95)/four.v(95), 1))
	r.Check(lab.AtLeast("20: p95 FBQ, slow start 0.05 / 1", lab.Sign("hoarding hurts: above 1 (VI-C)"), fbq.q[95]/at("fbq", 0.9, 1).q[95], 1.5))
	r.Check(lab.Between("20: p95 FIFO, slow start 0.05 / 1", lab.Nobody("nothing; FIFO should hardly change"), fifo.q[95]/at("fifo", 0.9, 1).q[95], 0.9, 1.1))
}

func checkSizes(r *lab.Recorder, at lookup) {
	flat := func(name string) float64 {
		low, high := math.Inf(1), 0.0
		for _, m := range at(name, 0.7, 0.05).bySize {
			if !math.IsNaN(m) {
				low, high = min(low, m), max(high, m)
			}
		}
		return high / low
	}
	r.Check(lab.AtLeast("10: largest over smallest mean slowdown by size, FIFO", lab.Sign("uneven: small jobs suffer (R14)"), flat("fifo"), 10))
	for _, name := range []string{"fbq", "sita", "comp"} {
		r.Check(lab.AtMost("10: the same, "+name, lab.Sign("flat (R14)"), flat(name), 6))
	}
	falling := true
	for i, m := range at("fifo", 0.7, 0.05).bySize[1:] {
		falling = falling && !(m > 1.1*at("fifo", 0.7, 0.05).bySize[i])
	}
	r.Check(lab.Holds("10: FIFO's mean slowdown falls with size (10 % noise)", lab.Sign("small jobs are slowed most (R14)"), stats.Texts(at("fifo", 0.7, 0.05).bySize...), falling, "no range above 1.1 times the one before").Because(r.Say("half decades")))
	r.Check(lab.Holds("10: TAGS is less even than those three", lab.Sign("FBQ, SITA and COMP are flatter (R14)"), "largest over smallest "+stats.Text(flat("tags")), flat("tags") > max(flat("fbq"), flat("sita"), flat("comp")), "above FBQ, SITA and COMP"))
	for _, name := range []string{"tags", "sita"} {
		s := at(name, 0.7, 0.05).bySize
		r.Check(lab.Holds("17: jobs just too big for partition 1 suffer, "+name, lab.Sign("these, not the largest (R19)"), fmt.Sprintf("mean slowdown %s and %s against %s of the largest", stats.Text(s[6]), stats.Text(s[7]), stats.Text(s[8])), s[6] > s[8] && s[7] > s[8], "both above the largest").Because(r.Say("classes below")))
	}
}

// whoPays is spec/slowdown 4.4, R18: how many jobs are slower than under FIFO, job by job and rank by rank of the same workloads.
func whoPays(r *lab.Recorder, runs map[string][]spread) {
	for _, load := range []float64{0.7, 0.9} {
		for _, name := range []string{"fbq", "sita"} {
			base, other := runs[fmt.Sprintf("fifo %g 0.05", load)], runs[fmt.Sprintf("%s %g 0.05", name, load)]
			all := make([]payers, len(other))
			for i := range other {
				all[i] = pays(base[i], other[i])
			}
			percent := func(of func(payers) float64) stats.Estimate {
				return stats.NewEstimate(lab.Each(all, func(p payers) float64 { return 100 * of(p) }))
			}
			jobs, ranks := percent(func(p payers) float64 { return p.jobs }), percent(func(p payers) float64 { return p.ranks })
			much, large := percent(func(p payers) float64 { return p.much }), percent(func(p payers) float64 { return p.large })
			item := fmt.Sprintf("R18: jobs that are slower under %s than under FIFO, load %g, %%", strings.ToUpper(name), load)
			why := fmt.Sprintf("%s %% are slower by more than a tenth; of those that are slower %s %% are above 10,000 slot-seconds", much.Text(), large.Text())
			r.Check(lab.AtMost(item, lab.Number("below 5, large ones (R18)"), jobs.Mean, 5).Over(jobs).Because("the same job under both policies").Because(why).Missed(r.Say("who pays")))
			r.Check(lab.AtMost(item+", by rank", lab.Number("below 5 (R18)"), ranks.Mean, 5).Over(ranks).Because(r.Say("slowest beside slowest")).Missed(r.Say("who pays")))
		}
	}
}

// payers are parts of the jobs that are slower than under FIFO: of all, by more than a tenth, by rank of slowdown, and, of them, of large jobs.
type payers struct{ jobs, much, ranks, large float64 }

func pays(base, other spread) (p payers) {
	n := float64(len(base.slow))
	was, is := stats.Sorted(base.slow), stats.Sorted(other.slow)
	for i, slow := range other.slow {
		if slow > base.slow[i] {
			p.jobs += 1 / n
			if other.sizes[i] > 10_000 {
				p.large += 1 / n
			}
		}
		if slow > 1.1*base.slow[i] {
			p.much += 1 / n
		}
		if is[i] > was[i] {
			p.ranks += 1 / n
		}
	}
	p.large /= p.jobs
	return p
}
