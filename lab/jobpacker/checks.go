package jobpacker

import (
	"fmt"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/topology"
)

// packVariant is a policy with parameters in a set-up.
type packVariant struct {
	name, policy string
	params       map[string]string
	net          hybridNet
}

// packJobs is how many jobs the source has.
const packJobs = 1000

// onlineSpan is how long jobs arrive: fewer jobs for a shorter time, at the same rate.
func onlineSpan(jobs int) time.Duration { return 90 * time.Minute * time.Duration(jobs) / packJobs }

// comparePacks runs variants on the same jobs; results are by variant and run. The set-up says which jobs they were.
func comparePacks(r *lab.Recorder, variants []packVariant, jobs, n int) (map[string][]packRun, string) {
	day, from := r.Day()
	if jobs != packJobs {
		r.Only(fmt.Sprintf("%d jobs of it", jobs))
	}
	r.Fact("jobs", human.Count(int64(jobs)))
	r.Fact("from", from)
	r.Fact("part", jobs != packJobs)
	r.Fact("minutes", fmt.Sprintf("%.0f", onlineSpan(jobs).Minutes()))
	return lab.Named(r, variants, n, func(v packVariant) string { return v.name }, func(v packVariant, seed uint64) (packRun, error) {
		run, err := v.net.run(v.policy, v.params, day, jobs, seed)
		if err != nil {
			err = fmt.Errorf("%s: %w", v.name, err)
		}
		return run, err
	}), from
}

// packRatio is the mean over runs of one variant's value over another's.
func packRatio(runs map[string][]packRun, a, b string, of func(packRun) float64) float64 {
	return lab.Ratio(runs[a], runs[b], of).Mean
}

var packNames = []string{"f-hybrid", "f-eps", "corral", "jobpacker"}

func batch(r *lab.Recorder) {
	n := r.Seeds(8, 1)
	jobs := packJobs
	if r.Quick() {
		jobs = 300
	}
	var variants []packVariant
	for _, name := range packNames {
		variants = append(variants, packVariant{name: name, policy: name, net: simulated})
	}
	for _, b := range []string{"1", "8", "10", "20"} {
		variants = append(variants, packVariant{name: "B" + b, policy: "jobpacker", params: map[string]string{"sub-batches": b}, net: simulated})
	}
	for _, gbps := range slowRates {
		slow := simulated
		slow.packet = topology.Gbps(gbps)
		for _, name := range packNames {
			variants = append(variants, packVariant{name: atRate(name, gbps), policy: name, net: slow})
		}
	}
	runs, _ := comparePacks(r, variants, jobs, n)
	packetRates(r, runs)
	r.Check(lab.Between("10: makespan with 5 sub-batches over 1", "lower (below 1)", packRatio(runs, "jobpacker", "B1", packMakespan), 0, 1).Accept("at most 1").Missed(sayRange(r, runs, "jobpacker", "B1")))
	for _, b := range []string{"8", "10", "20"} {
		flat := packRatio(runs, "B"+b, "jobpacker", packMakespan)
		r.Check(lab.Between("10: makespan with "+b+" sub-batches over 5", "flat", flat, 0.95, 1.05).Mark(1).Shown("%.3f", flat).Missed(sayRange(r, runs, "B"+b, "jobpacker")))
	}
	drawBatch(r, runs)
}

// sayRange is what is known of a ratio of makespans that no reason is known for.
func sayRange(r *lab.Recorder, runs map[string][]packRun, a, b string) string {
	var x []float64
	for i := range runs[a] {
		x = append(x, runs[a][i].makespan/runs[b][i].makespan)
	}
	low, _, high := stats.Range(x)
	return r.Say("range", lab.Facts{"low": low, "high": high, "n": human.Many(int64(len(x)), "repetition")})
}

// slowRates are rates of the packet network below the source's, fullRate, in Gb/s.
var slowRates = []float64{10, 3, 1}

const fullRate = 30

// atRate names a system on a packet network of a rate.
func atRate(name string, gbps float64) string {
	if gbps == fullRate {
		return name
	}
	return fmt.Sprint(name, " ", gbps)
}

// packetRates is item 7 at all rates of the packet network.
func packetRates(r *lab.Recorder, runs map[string][]packRun) {
	var ratios []float64
	widens := true
	for i, gbps := range append([]float64{fullRate}, slowRates...) {
		makespans(r, runs, gbps)
		ratios = append(ratios, packRatio(runs, atRate("jobpacker", gbps), atRate("f-hybrid", gbps), packMakespan))
		widens = widens && (i == 0 || ratios[i] <= ratios[i-1])
	}
	r.Check(lab.Holds("7: JobPacker over F-Hybrid as the packet network slows, 30 Gb/s first", "nothing; our specification expects the gap to widen", stats.Texts(ratios...)+" at 30, 10, 3, 1 Gb/s", widens, "does not rise at any step").Missed(r.Say("few links")))
}

// share is item 6. Quickly it has as many runs as fully: what Corral sends depends on
// the few largest jobs of all.
func share(r *lab.Recorder) {
	const jobs = packJobs
	var variants []packVariant
	for _, name := range []string{"jobpacker", "corral", "f-hybrid"} {
		variants = append(variants, packVariant{name: name, policy: name, net: simulated})
	}
	runs, from := comparePacks(r, variants, jobs, r.Seeds(8, 8))
	jp, corral, fair := lab.Mean(runs["jobpacker"], opticalShare), lab.Mean(runs["corral"], opticalShare), lab.Mean(runs["f-hybrid"], opticalShare)
	idle, over := 0, 0
	for _, run := range runs["corral"] {
		if run.cross == 0 {
			idle++
		}
		if run.optical > 0.5 {
			over++
		}
	}
	why := r.Say("one rack", lab.Facts{"idle": idle, "over": over, "n": human.Many(int64(len(runs["corral"])), "repetition")})
	r.Check(lab.Within("6: shuffle over circuits, JobPacker, %", jp, 98.3, 5).Because(fmt.Sprintf("%d jobs from %s", jobs, from)))
	r.Check(lab.Within("6: shuffle over circuits, F-Hybrid, %", fair, 1.3, 4).Because("its reduces are everywhere, so that hardly any transfer between two racks is an elephant"))
	r.Check(lab.Between("6: shuffle over circuits, Corral, %", "23.9", corral, 5, 50).Because(why).Mark(23.9))
	r.Check(lab.Holds("6: JobPacker above Corral above F-Hybrid", "98.3, 23.9, 1.3 %", fmt.Sprintf("%s, %s, %s %%", stats.Text(jp), stats.Text(corral), stats.Text(fair)), jp > corral && corral > fair, "in this order").Missed(why))
	var said []string
	for _, v := range variants {
		said = append(said, fmt.Sprintf("%s TB under %s", stats.Text(lab.Mean(runs[v.name], crossed)), packTitles[v.name]))
	}
	r.Check(lab.Reported("6: bytes across racks", "not given", strings.Join(said, ", ")).Because("of the shuffle, mean over repetitions"))
	drawShare(r, runs)
}

// makespans is item 7 at one rate of the packet network.
func makespans(r *lab.Recorder, runs map[string][]packRun, gbps float64) {
	over := func(a, b string) float64 { return packRatio(runs, atRate(a, gbps), atRate(b, gbps), packMakespan) }
	jp, corral := over("jobpacker", "f-hybrid"), over("corral", "f-hybrid")
	label, at, why, electric := "", "", r.Say("enough packets", lab.Facts{"eps": over("f-eps", "f-hybrid"), "packer": jp}), ""
	if gbps != fullRate {
		label, at, why, electric = fmt.Sprintf("%g Gb/s: ", gbps), " at 30 Gb/s", r.Say("few links"), r.Say("fast electric")
	}
	r.Check(lab.Holds(label+"7: makespan, JobPacker < Corral < F-Hybrid", "0.65, 0.85, 1"+at, fmt.Sprintf("%s, %s, 1", stats.Text(jp), stats.Text(corral)), jp < corral && corral < 1, "in this order").Because("over that of F-Hybrid").Missed(why).Missed(r.Say("crowded rack")))
	r.Check(lab.Within(label+"7: makespan of JobPacker over F-Hybrid", jp, 0.65, 0.15).Quoted("0.65" + at).Missed(why))
	r.Check(lab.Within(label+"7: makespan of Corral over F-Hybrid", corral, 0.85, 0.15).Quoted("0.85" + at).Missed(r.Say("crowded rack")))
	r.Check(lab.Between(label+"7: makespan of JobPacker over F-EPS", "within 5 %"+at, over("jobpacker", "f-eps"), 0, 1.1).Accept("at most 1.1").Missed(electric))
}
