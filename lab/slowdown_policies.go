package lab

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// spread is the slowdown distribution of one policy at one load, means over seeds.
type spread struct {
	q     map[int]float64 // percentile to slowdown
	bySze []float64       // mean slowdown by half-decade of job size, from 10 s
	small float64         // share of jobs below 4,000 s that lie above p95
	busy  float64         // utilisation of all slots
	work  float64         // slot-seconds in all

	medians, tails []float64 // the 50th and the 95th percentile of each repetition

	sizes, slow []float64 // of the first repetition's jobs
}

func (s spread) v(q int) float64 { return s.q[q] / s.q[50] }

// setting is a policy at a load.
type setting struct {
	policy    string
	params    map[string]string
	load      float64
	slowstart float64
	heartbeat time.Duration
}

var (
	fbq2  = map[string]string{"limits": "12000"}
	fbq4  = map[string]string{"k": "4", "limits": "4000,10000,36000"}
	tags  = map[string]string{"limits": "12000", "shares": "0.5,0.5"}
	sita  = map[string]string{"limits": "12000", "shares": "0.3,0.7"}
	comp4 = map[string]string{"k": "4"}
)

func slowdownPolicies(r *Recorder) error {
	n := r.seeds(5, 2)
	var settings []setting
	for _, load := range []float64{0.7, 0.9} {
		for _, start := range []float64{0.05, 1} {
			settings = append(settings,
				setting{policy: "fifo", load: load, slowstart: start}, setting{policy: "fbq", params: fbq2, load: load, slowstart: start},
				setting{policy: "tags", params: tags, load: load, slowstart: start}, setting{policy: "sita", params: sita, load: load, slowstart: start}, setting{policy: "comp", load: load, slowstart: start},
				setting{policy: "fbq4", params: fbq4, load: load, slowstart: start}, setting{policy: "comp4", params: comp4, load: load, slowstart: start})
		}
		settings = append(settings, setting{policy: "fair", load: load, slowstart: 0.05}, setting{policy: "srpt", load: load, slowstart: 0.05})
	}
	got, err := r.spreads(settings, n)
	if err != nil {
		return err
	}
	at := func(name string, load, start float64) spread { return got[fmt.Sprintf("%s %g %g", name, load, start)] }
	checkLevels(r, at)
	checkHighLoad(r, at)
	checkSizes(r, at)
	drawPolicies(r, at)
	return nil
}

type lookup func(name string, load, start float64) spread

var inf = math.Inf(1)

func checkLevels(r *Recorder, at lookup) {
	fifo, fbq, sita, tags, comp := at("fifo", 0.7, 0.05), at("fbq", 0.7, 0.05), at("sita", 0.7, 0.05), at("tags", 0.7, 0.05), at("comp", 0.7, 0.05)
	const fitted = "our specification calibrated the workload to this number: agreement shows that the code does what the specification says, not that the paper is right"
	r.within("1: FIFO median slowdown, load 0.7", fifo.q[50], 2.8, 0.6, fitted)
	r.within("1: FIFO 95th percentile", fifo.q[95], 23.8, 6, fitted)
	r.within("1: FIFO variability V(95)", fifo.v(95), 8.5, 2, fitted)
	r.marked(2, "2: p95 FIFO / FBQ, load 0.7", "halved: 2 (R15)", fifo.q[95]/fbq.q[95], 1.8, inf, "")
	r.marked(2, "2: p95 FIFO / SITA, load 0.7", "halved: 2 (R15)", fifo.q[95]/sita.q[95], 1.8, inf, "")
	for _, q := range []int{90, 95, 99} {
		r.marked(2, fmt.Sprintf("3: V(%d) FIFO / FBQ, slow start 0.05", q), "halved: 2 (R13)", fifo.v(q)/fbq.v(q), 1.4, inf, "")
		r.unmet(whyMissed[q])
		r.marked(2, fmt.Sprintf("3: V(%d) FIFO / FBQ, slow start 1", q), "halved: 2 (R13)", at("fifo", 0.7, 1).v(q)/at("fbq", 0.7, 1).v(q), 1.9, inf, "")
		r.unmet(whyMissed[q])
	}
	r.between("3: median FBQ / FIFO", "below 1 (R7: FBQ is best of all)", fbq.q[50]/fifo.q[50], 0, 1, "")
	r.between("8: V(95) TAGS / FIFO", "below 1 (R10)", tags.v(95)/fifo.v(95), 0, 1, "")
	r.between("8: median TAGS / FIFO", "above 1 (R10)", tags.q[50]/fifo.q[50], 1, inf, "")
	r.between("9: median COMP / FIFO", "below 1", comp.q[50]/fifo.q[50], 0, 1, "")
	r.between("9: V(80) COMP / FIFO", "below 1 (R13)", comp.v(80)/fifo.v(80), 0, 1, "")
	r.between("9: V(90) COMP / FIFO", "below 1 (R13)", comp.v(90)/fifo.v(90), 0, 1, "")
	r.marked(1, "9: V(95) COMP / FIFO", "about 1 (R13)", comp.v(95)/fifo.v(95), 0.8, 1.25, "")
	r.between("9: V(99) COMP / FIFO", "above 1 (R13)", comp.v(99)/fifo.v(99), 1, inf, "")
}

// whyMissed is why V(q) of FBQ is not half of FIFO's, by q.
var whyMissed = map[int]string{
	99: "the 99th percentile is the eleventh worst of 1,121 jobs and moves most from one random workload to the next. Over 100 workloads the ratio is 1.22 with slow start 0.05 and 1.88 with 1, below the bounds of 1.4 and 1.9. " +
		"Our specification's own model had 1.61 and 2.3, but over three workloads only: of all choices of three of our 100, 3 % and 7 % reach those values, and 17 % and 44 % the bounds. " +
		"Other readings of the policy (whether waiting reduces count, when limits are checked) change V(99) by 2 % at most",
}

// joined prints numbers in a row.
func joined(x []float64) string {
	var out []string
	for _, v := range x {
		out = append(out, number(v))
	}
	return strings.Join(out, ", ")
}

func checkHighLoad(r *Recorder, at lookup) {
	fifo, fbq, sita, tags, comp := at("fifo", 0.9, 0.05), at("fbq", 0.9, 0.05), at("sita", 0.9, 0.05), at("tags", 0.9, 0.05), at("comp", 0.9, 0.05)
	r.marked(2, "2: p95 FIFO / SITA, load 0.9", "halved: 2 (R15)", fifo.q[95]/sita.q[95], 1.8, inf, "")
	r.marked(2, "2: p95 FIFO / FBQ, load 0.9, slow start 0.05", "halved: 2 (R15)", fifo.q[95]/fbq.q[95], 1.3, inf, "how much FBQ gains here depends on how many reduces jobs have, which was not published")
	r.marked(2, "2: p95 FIFO / FBQ, load 0.9, slow start 1", "halved: 2 (R15)", at("fifo", 0.9, 1).q[95]/at("fbq", 0.9, 1).q[95], 2, inf, "")
	r.marked(2, "6: median TAGS / FIFO, load 0.9", "twice: 2 (R11)", tags.q[50]/fifo.q[50], 1.4, inf, "")
	r.marked(60, "6: p95 TAGS, load 0.9", "above 60 (R11)", tags.q[95], 60, inf, "")
	r.marked(0.5, "7: median SITA / FIFO, load 0.9", "half: 0.5 (R12)", sita.q[50]/fifo.q[50], 0, 0.6, "")
	r.between("7: mean slowdown of 31,600 to 100,000 slot-seconds, SITA / FIFO", "above 1 (R12)", sita.bySze[7]/fifo.bySze[7], 1, inf, "load 0.9; published for jobs above 31,600 slot-seconds")
	r.between("7: mean slowdown of 100,000 to 316,000 slot-seconds, SITA / FIFO", "above 1 (R12)", sita.bySze[8]/fifo.bySze[8], 1, inf, "load 0.9; published for jobs above 31,600 slot-seconds")
	r.between("9: V(95) COMP / FIFO, load 0.9", "COMP's p95 above 60 (R11)", comp.v(95)/fifo.v(95), 2, inf, "COMP's level depends on how well sizes are predicted, so our specification asks for V(95) of at least twice FIFO's instead of the published p95")
	four := at("fbq4", 0.9, 1)
	r.marked(0.7, "11: median FBQ K=4 / K=2, slow start 1", "30 % lower: 0.7 (R16)", four.q[50]/at("fbq", 0.9, 1).q[50], 0, 0.8, "")
	r.marked(0, "11: jobs below 4,000 slot-seconds above p95, K=4, %", "none: 0 (R16)", 100*four.small, 0, 0.5, "")
	r.between("12: median COMP / FBQ, K=4", "below 1 (R17)", at("comp4", 0.9, 0.05).q[50]/at("fbq4", 0.9, 0.05).q[50], 0, 1, "")
	r.between("12: V(95) COMP / FBQ, K=4, slow start 1", "above 1 (R17)", at("comp4", 0.9, 1).v(95)/four.v(95), 1, inf, "")
	r.between("20: p95 FBQ, slow start 0.05 / 1", "hoarding hurts: above 1 (VI-C)", fbq.q[95]/at("fbq", 0.9, 1).q[95], 1.5, inf, "")
	r.between("20: p95 FIFO, slow start 0.05 / 1", "not published; FIFO should hardly change", fifo.q[95]/at("fifo", 0.9, 1).q[95], 0.9, 1.1, "")
}

func checkSizes(r *Recorder, at lookup) {
	flat := func(name string) float64 {
		low, high := inf, 0.0
		for _, m := range at(name, 0.7, 0.05).bySze {
			if !math.IsNaN(m) {
				low, high = min(low, m), max(high, m)
			}
		}
		return high / low
	}
	r.between("10: largest over smallest mean slowdown by size, FIFO", "uneven: small jobs suffer (R14)", flat("fifo"), 10, inf, "")
	for _, name := range []string{"fbq", "sita", "comp"} {
		r.between("10: the same, "+name, "flat (R14)", flat(name), 1, 6, "")
	}
	falling := true
	for i, m := range at("fifo", 0.7, 0.05).bySze[1:] {
		falling = falling && !(m > 1.1*at("fifo", 0.7, 0.05).bySze[i])
	}
	r.holds("10: FIFO's mean slowdown falls with size (10 % noise)", "small jobs are slowed most (R14)", joined(at("fifo", 0.7, 0.05).bySze), falling, "from jobs of 10 to 31.6 slot-seconds to those of 100,000 to 316,000, each range half a decade")
	r.accept("no range above 1.1 times the one before")
	r.holds("10: TAGS is less even than those three", "FBQ, SITA and COMP are flatter (R14)", "largest over smallest "+number(flat("tags")),
		flat("tags") > max(flat("fbq"), flat("sita"), flat("comp")), "")
	r.accept("above FBQ, SITA and COMP")
	for _, name := range []string{"tags", "sita"} {
		s := at(name, 0.7, 0.05).bySze
		r.holds("17: jobs just too big for partition 1 suffer, "+name, "these, not the largest (R19)",
			fmt.Sprintf("mean slowdown %s and %s against %s of the largest", number(s[6]), number(s[7]), number(s[8])), s[6] > s[8] && s[7] > s[8],
			"jobs of 10,000 to 31,600 and of 31,600 to 100,000 slot-seconds against those above; the limit is 12,000")
		r.accept("both above the largest")
	}
}
