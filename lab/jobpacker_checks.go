package lab

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/millrace/millrace/topology"
)

// oneRack is why Corral uses few circuits.
const oneRack = "its planner (jobpacker.md 3.13) finds one rack best for nearly every job, so that nothing crosses; only a job of many terabytes gets several, " +
	"and as it has no more reduces than a fifth of the containers, each fetches enough for a circuit: the share is that of the runs with such a job"

// concentrated is why JobPacker loses on a very slow packet network.
const concentrated = "JobPacker's maps stand in few racks, so the rest that is too small for a circuit leaves through few links; " +
	"where those are slow, jobs wait, and after five minutes are taken off their plans"

// packVariant is a policy with parameters in a set-up.
type packVariant struct {
	name, policy string
	params       map[string]string
	net          hybridNet
}

// packJobs is how many jobs the source has.
const packJobs = 1000

// comparePacks runs variants on the same jobs; results are by variant and run.
func (r *Recorder) comparePacks(variants []packVariant, jobs, n int) (map[string][]packRun, string, error) {
	day, from := r.day()
	if jobs != packJobs {
		r.only(fmt.Sprintf("%d jobs of it", jobs))
	}
	runs := make([]packRun, n*len(variants))
	err := r.each(len(runs), func(i int) (err error) {
		v := variants[i%len(variants)]
		runs[i], err = v.net.run(v.policy, v.params, day, jobs, r.options.Seed+uint64(i/len(variants)))
		if err != nil {
			err = fmt.Errorf("%s: %w", v.name, err)
		}
		return err
	})
	out := map[string][]packRun{}
	for i, run := range runs {
		name := variants[i%len(variants)].name
		out[name] = append(out[name], run)
	}
	return out, from, err
}

// packRatio is the mean over runs of one variant's value over another's.
func packRatio(runs map[string][]packRun, a, b string, of func(*packRun) float64) float64 {
	var x []float64
	for i := range runs[a] {
		x = append(x, of(&runs[a][i])/of(&runs[b][i]))
	}
	return mean(x)
}

func opticalShare(runs []packRun) float64 {
	var x []float64
	for i := range runs {
		x = append(x, 100*runs[i].optical)
	}
	return mean(x)
}

func packMakespan(p *packRun) float64 { return p.makespan }
func packMedian(p *packRun) float64   { return p.median() }
func adhocMedian(p *packRun) float64  { return quantile(sorted(p.another), 0.5) }

var packNames = []string{"f-hybrid", "f-eps", "corral", "jobpacker"}

func packBatch(r *Recorder) error {
	n := r.seeds(8, 1)
	jobs := packJobs
	if r.options.Quick {
		jobs = 300
	}
	var variants []packVariant
	for _, name := range packNames {
		variants = append(variants, packVariant{name: name, policy: name, net: simulated})
	}
	for _, b := range []string{"1", "8", "10", "20"} {
		variants = append(variants, packVariant{name: "B" + b, policy: "jobpacker", params: map[string]string{"sub-batches": b}, net: simulated})
	}
	rates := []float64{10, 3, 1}
	for _, gbps := range rates {
		slow := simulated
		slow.packet = topology.Gbps(gbps)
		for _, name := range packNames {
			variants = append(variants, packVariant{name: fmt.Sprint(name, " ", gbps), policy: name, net: slow})
		}
	}
	runs, _, err := r.comparePacks(variants, jobs, n)
	if err != nil {
		return err
	}
	r.makespans("", runs, "")
	said, last, widens := number(packRatio(runs, "jobpacker", "f-hybrid", packMakespan)), packRatio(runs, "jobpacker", "f-hybrid", packMakespan), true
	for _, gbps := range rates {
		suffix := fmt.Sprint(" ", gbps)
		r.makespans(fmt.Sprintf("%g Gb/s: ", gbps), runs, suffix)
		next := packRatio(runs, "jobpacker"+suffix, "f-hybrid"+suffix, packMakespan)
		said += fmt.Sprintf(", %g: %s", gbps, number(next))
		widens = widens && next <= last
		last = next
	}
	r.holds("7: JobPacker over F-Hybrid as the packet network slows, 30 Gb/s first", "the gap widens", said, widens, concentrated)
	five := packRatio(runs, "jobpacker", "B1", packMakespan)
	r.between("10: makespan with 5 sub-batches over 1", "lower", five, 0, 1, "")
	for _, b := range []string{"8", "10", "20"} {
		r.between("10: makespan with "+b+" sub-batches over 5", "flat", packRatio(runs, "B"+b, "jobpacker", packMakespan), 0.95, 1.05, "")
	}
	return nil
}

// packShare is item 6. Quickly it has as many runs as fully: what Corral sends depends on
// the few largest jobs of all.
func packShare(r *Recorder) error {
	const jobs = packJobs
	var variants []packVariant
	for _, name := range []string{"jobpacker", "corral", "f-hybrid"} {
		variants = append(variants, packVariant{name: name, policy: name, net: simulated})
	}
	runs, from, err := r.comparePacks(variants, jobs, r.seeds(8, 8))
	if err != nil {
		return err
	}
	jp, corral, fair := opticalShare(runs["jobpacker"]), opticalShare(runs["corral"]), opticalShare(runs["f-hybrid"])
	r.within("6: shuffle over circuits, JobPacker, %", jp, 98.3, 5, fmt.Sprintf("%d jobs from %s", jobs, from))
	r.within("6: shuffle over circuits, F-Hybrid, %", fair, 1.3, 4, "")
	r.between("6: shuffle over circuits, Corral, %", "23.9", corral, 5, 50, oneRack)
	r.holds("6: JobPacker above Corral above F-Hybrid", "98.3, 23.9, 1.3", fmt.Sprintf("%s, %s, %s", number(jp), number(corral), number(fair)), jp > corral && corral > fair, "")
	var said strings.Builder
	for _, v := range variants {
		var x []float64
		for i := range runs[v.name] {
			x = append(x, runs[v.name][i].cross/1e12)
		}
		fmt.Fprintf(&said, "%s %s TB  ", v.name, number(mean(x)))
	}
	r.add(Check{Item: "6: bytes across racks", Published: "not given", Measured: said.String(), Tolerance: "reported", Verdict: ShapeOnly})
	return nil
}

// makespans is item 7 at one rate of the packet network.
func (r *Recorder) makespans(label string, runs map[string][]packRun, suffix string) {
	base := "f-hybrid" + suffix
	jp, corral := packRatio(runs, "jobpacker"+suffix, base, packMakespan), packRatio(runs, "corral"+suffix, base, packMakespan)
	r.holds(label+"7: makespan, JobPacker < Corral < F-Hybrid", "0.65, 0.85, 1", fmt.Sprintf("%s, %s, 1", number(jp), number(corral)), jp < corral && corral < 1, "")
	r.within(label+"7: makespan of JobPacker over F-Hybrid", jp, 0.65, 0.15, "")
	r.within(label+"7: makespan of Corral over F-Hybrid", corral, 0.85, 0.15, "")
	r.between(label+"7: makespan of JobPacker over F-EPS", "within 5 %", packRatio(runs, "jobpacker"+suffix, "f-eps"+suffix, packMakespan), 0, 1.1, "")
}

func packOnline(r *Recorder) error {
	n := r.seeds(8, 1)
	jobs := packJobs
	if r.options.Quick {
		jobs = 200
	}
	online := simulated
	online.span = 90 * time.Minute * time.Duration(jobs) / packJobs
	mixed := online
	mixed.adhoc = 0.5
	var variants []packVariant
	add := func(name, policy string, net hybridNet, params map[string]string) {
		variants = append(variants, packVariant{name: name, policy: policy, net: net, params: params})
	}
	for _, name := range packNames {
		add(name, name, online, nil)
	}
	add("mixed f-hybrid", "f-hybrid", mixed, nil)
	for _, ratio := range []string{"0", "1", "2"} {
		add("mixed "+ratio, "jobpacker", mixed, map[string]string{"over-provision": ratio})
	}
	add("mixed aggregated", "jobpacker-adhoc-agg", mixed, map[string]string{"over-provision": "1"})
	intervals := []time.Duration{100 * time.Millisecond, 3 * time.Second}
	for _, d := range intervals {
		net := online
		net.interval = d
		add("interval "+d.String(), "jobpacker", net, nil)
	}
	for _, s := range []string{"0.2", "0.5", "0.8"} {
		net := online
		net.slowstart = s
		add("slowstart "+s, "jobpacker", net, nil)
	}
	wrong := online
	wrong.sizeError, wrong.lateJobs = 0.5, 0.5
	add("wrong jobpacker", "jobpacker", wrong, nil)
	add("wrong corral", "corral", wrong, nil)
	runs, _, err := r.comparePacks(variants, jobs, n)
	if err != nil {
		return err
	}
	r.onlineChecks(runs, intervals)
	return nil
}

// smallJobs is why medians hardly differ.
const smallJobs = "two thirds of the jobs are one map of a block or less, whose time no policy changes at this load"

func (r *Recorder) onlineChecks(runs map[string][]packRun, intervals []time.Duration) {
	of := func(name, base string) float64 { return packRatio(runs, name, base, packMedian) }
	r.within("8: median completion of JobPacker over F-Hybrid", of("jobpacker", "f-hybrid"), 0.57, 0.15, smallJobs)
	r.within("8: median completion of Corral over F-Hybrid", of("corral", "f-hybrid"), 0.79, 0.15, smallJobs)
	r.between("12, 16: shuffle over circuits, JobPacker, %", "much higher than the others", opticalShare(runs["jobpacker"]), 90, 100, "figure 4.12")
	r.within("9: mixed, recurring jobs, JobPacker over F-Hybrid", of("mixed 1", "mixed f-hybrid"), 0.60, 0.15, smallJobs)
	r.within("9: mixed, ad-hoc jobs, JobPacker over F-Hybrid", packRatio(runs, "mixed 1", "mixed f-hybrid", adhocMedian), 0.62, 0.15, smallJobs)
	vary := 0.0
	for _, d := range intervals {
		vary = max(vary, math.Abs(of("interval "+d.String(), "jobpacker")-1))
	}
	r.between("11: median by reconfiguration interval, change from 1 s", "minimal", vary, 0, 0.1, "0.1 and 3 s")
	r.between("11: median with an interval of 3 s over F-Hybrid", "at least a quarter below", of("interval 3s", "f-hybrid"), 0, 0.75, smallJobs)
	r.between("12: median with slow start 0.5 over 0.7", "flat", of("slowstart 0.5", "jobpacker"), 0.95, 1.05, "")
	r.between("12: median with slow start 0.8 over 0.7", "flat", of("slowstart 0.8", "jobpacker"), 0.95, 1.05, "")
	r.between("12: median with slow start 0.2 over 0.7", "not better", of("slowstart 0.2", "jobpacker"), 0.995, math.Inf(1), "")
	r.between("13: mixed, no over-provisioning over ratio 1", "worse", of("mixed 0", "mixed 1"), 1, math.Inf(1), "")
	r.between("13: mixed, ratio 2 over ratio 1", "flat", of("mixed 2", "mixed 1"), 0.93, 1.07, "")
	r.between("14: with wrong plans, JobPacker over F-Hybrid", "below", of("wrong jobpacker", "f-hybrid"), 0, 1, "sizes off by up to half, half of the arrivals by up to 200 s")
	r.between("14: with wrong plans, JobPacker over Corral", "below", of("wrong jobpacker", "wrong corral"), 0, 1, "")
	r.between("15: aggregating ad-hoc jobs, recurring median over without", "not better", of("mixed aggregated", "mixed 1"), 1, math.Inf(1), "")
	r.between("15: aggregating ad-hoc jobs, ad-hoc median over without", "not better", packRatio(runs, "mixed aggregated", "mixed 1", adhocMedian), 1, math.Inf(1), "")
}
