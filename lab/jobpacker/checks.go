package jobpacker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
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
func comparePacks(r *lab.Recorder, variants []packVariant, jobs, n int) map[string][]packRun {
	day, from := r.Day()
	if jobs != packJobs {
		r.Only(fmt.Sprintf("%d jobs of it", jobs))
	}
	r.Fact("jobs", human.Count(int64(jobs)))
	r.Fact("from", from)
	r.Fact("part", jobs != packJobs)
	r.Fact("minutes", fmt.Sprintf("%.0f", onlineSpan(jobs).Minutes()))
	return runPacks(r, day, variants, jobs, n)
}

func runPacks(r *lab.Recorder, day []trace.Job, variants []packVariant, jobs, n int) map[string][]packRun {
	set := simulated.in(r)
	return lab.Named(r, variants, n, func(v packVariant) string { return v.name }, func(v packVariant, seed uint64) (packRun, error) {
		if v.net.racks == simulated.racks {
			v.net = v.net.like(set)
		}
		run, err := v.net.run(v.policy, v.params, day, jobs, seed)
		if err != nil {
			err = fmt.Errorf("%s: %w", v.name, err)
		}
		return run, err
	})
}

// packRatio is the mean over runs of one variant's value over another's.
func packRatio(runs map[string][]packRun, a, b string, of func(packRun) float64) float64 {
	return lab.Ratio(runs[a], runs[b], of).Mean
}

var packNames = []string{"f-hybrid", "f-eps", "corral", "jobpacker"}

// wideCorral and widePacker are Corral and JobPacker, with the plans of the source's network, on a packet network as fast as the circuits:
// they show what the packet network costs them.
const (
	wideCorral = "corral, 100 Gb/s"
	widePacker = "jobpacker, 100 Gb/s"
)

func batch(r *lab.Recorder) {
	n := r.Seeds(6, 1)
	jobs := packJobs
	if r.Quick() {
		jobs = 300
	}
	day, _ := r.Day()
	runs := comparePacks(r, append(batchSystems(simulated), splits()...), jobs, n)
	half := (n + 1) / 2
	slow := rateRuns(r, day, runs, jobs, half)
	workloads := drawn()
	if r.Quick() {
		workloads = workloads[:2]
		r.Only(fmt.Sprintf("two workloads of %d", len(drawn())+len(readings())))
	}
	t := &tally{judged: len(workloads)}
	for i, w := range workloads {
		of := runs
		if i > 0 {
			of = runPacks(r, day, batchSystems(simulated.on(w)), jobs, half)
		}
		makespans(r, w.name()+": ", of)
		t.add(w, of)
	}
	if !r.Quick() {
		readWorkloads(r, day, t)
	}
	t.say(r)
	packetRates(r, slow)
	subBatches(r, runs)
	drawBatch(r, runs, slow)
	t.strips(r, runs)
	at := simulated.in(r)
	const few = 60 // a page of 150 has more than 2 MB
	scene := func(name string) lab.Scene {
		return lab.Scene{Name: fmt.Sprintf("%s, %d jobs", name, few), Setup: func() (sim.Config, []*sim.Job, error) { return at.config(name, nil, day, few, r.Seed()) }}
	}
	r.Watch(scene("corral"), scene("jobpacker"))
}

// batchSystems are the four systems, and Corral and JobPacker with a faster network.
func batchSystems(net hybridNet) []packVariant {
	wide := net
	wide.packet = net.circuit
	same := map[string]string{"eps-gbps": fmt.Sprint(fullRate)}
	return append(systemsOn(net), packVariant{name: wideCorral, policy: "corral", net: wide, params: same}, packVariant{name: widePacker, policy: "jobpacker", net: wide, params: same})
}

// splits are JobPacker with other numbers of sub-batches, and with five in other orders.
func splits() (variants []packVariant) {
	for _, b := range []string{"1", "8", "10", "20"} {
		variants = append(variants, packVariant{name: "B" + b, policy: "jobpacker", params: map[string]string{"sub-batches": b}, net: simulated})
	}
	for _, seed := range otherOrders {
		variants = append(variants, packVariant{name: "order " + seed, policy: "jobpacker", params: map[string]string{"seed": seed}, net: simulated})
	}
	return variants
}

// otherOrders are further seeds of the order of five sub-batches.
var otherOrders = []string{"2", "3", "4"}

// subBatches is spec/jobpacker 5, item 10.
func subBatches(r *lab.Recorder, runs map[string][]packRun) {
	why := r.Say("orders", orderFacts(runs))
	r.Check(lab.Between("10: makespan with 5 sub-batches over 1", lab.Sign("lower (below 1)"), packRatio(runs, "jobpacker", "B1", packMakespan), 0, 1).Accept("at most 1").Missed(sayRange(r, runs, "jobpacker", "B1")).Missed(why))
	for _, b := range []string{"8", "10", "20"} {
		flat := packRatio(runs, "B"+b, "jobpacker", packMakespan)
		r.Check(lab.Between("10: makespan with "+b+" sub-batches over 5", lab.Number("flat: 1"), flat, 0.95, 1.05).Mark(1).Shown("%.3f", flat).Missed(sayRange(r, runs, "B"+b, "jobpacker")).Missed(why))
	}
}

// orderFacts are what another order of the same five sub-batches does: the most that the slowest of the orders takes over the
// quickest in a repetition, the mean of that, and the mean of the quickest over one sub-batch.
func orderFacts(runs map[string][]packRun) lab.Facts {
	var spread, best []float64
	for i := range runs["jobpacker"] {
		took := []float64{runs["jobpacker"][i].makespan}
		for _, seed := range otherOrders {
			took = append(took, runs["order "+seed][i].makespan)
		}
		spread = append(spread, slices.Max(took)/slices.Min(took))
		best = append(best, slices.Min(took)/runs["B1"][i].makespan)
	}
	return lab.Facts{"orders": 1 + len(otherOrders), "most": slices.Max(spread), "mean": stats.Mean(spread), "best": stats.Mean(best)}
}

// sayRange is how far a ratio of makespans differs between repetitions.
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

// rateRuns are the four systems at all rates of the packet network, n runs of each; those of the source's rate are at hand.
func rateRuns(r *lab.Recorder, day []trace.Job, full map[string][]packRun, jobs, n int) map[string][]packRun {
	var variants []packVariant
	for _, gbps := range slowRates {
		slow := simulated
		slow.packet = topology.Gbps(gbps)
		for _, name := range packNames {
			variants = append(variants, packVariant{name: atRate(name, gbps), policy: name, net: slow})
		}
	}
	runs := runPacks(r, day, variants, jobs, n)
	for _, name := range packNames {
		runs[name] = full[name][:n]
	}
	return runs
}

// packetRates reports spec/jobpacker 5, item 7 at rates of the packet network that the source does not have: a question of our own.
func packetRates(r *lab.Recorder, runs map[string][]packRun) {
	for _, gbps := range slowRates {
		over := func(a, b string) string {
			return stats.Text(packRatio(runs, atRate(a, gbps), atRate(b, gbps), packMakespan))
		}
		r.Check(lab.Reported(fmt.Sprintf("%g Gb/s: 7: makespans over F-Hybrid's at this rate", gbps), "nothing at this rate",
			fmt.Sprintf("JobPacker %s, Corral %s; JobPacker over F-EPS with 100 Gb/s %s", over("jobpacker", "f-hybrid"), over("corral", "f-hybrid"), over("jobpacker", "f-eps"))).
			Because(human.Many(int64(len(runs["f-hybrid"])), "repetition")))
	}
}

// share is spec/jobpacker 5, item 6. Quickly it has as many runs as fully: what Corral sends depends on
// the few largest jobs of all.
func share(r *lab.Recorder) {
	const jobs = packJobs
	var variants []packVariant
	for _, name := range []string{"jobpacker", "corral", "f-hybrid"} {
		variants = append(variants, packVariant{name: name, policy: name, net: simulated})
	}
	_, from := r.Day()
	runs := comparePacks(r, variants, jobs, r.Seeds(8, 8))
	jp, corral, fair := lab.Mean(runs["jobpacker"], opticalShare), lab.Mean(runs["corral"], opticalShare), lab.Mean(runs["f-hybrid"], opticalShare)
	idle, over := uncrossed(runs["corral"]), 0
	for _, run := range runs["corral"] {
		if run.optical > 0.5 {
			over++
		}
	}
	why := r.Say("one rack", lab.Facts{"idle": idle, "over": over, "n": human.Many(int64(len(runs["corral"])), "repetition")})
	r.Check(lab.Within("6: shuffle over circuits, JobPacker, %", jp, 98.3, 5).Because(fmt.Sprintf("%d jobs from %s", jobs, from)))
	r.Check(lab.Within("6: shuffle over circuits, F-Hybrid, %", fair, 1.3, 4).Because(r.Say("few elephants")))
	r.Check(lab.Between("6: shuffle over circuits, Corral, %", lab.Number("23.9"), corral, 5, 50).Because(why).Mark(23.9))
	r.Check(lab.Holds("6: JobPacker above Corral above F-Hybrid", lab.Order("98.3, 23.9, 1.3 %"), fmt.Sprintf("%s, %s, %s %%", stats.Text(jp), stats.Text(corral), stats.Text(fair)), jp > corral && corral > fair, "in this order").Missed(why))
	var said []string
	for _, v := range variants {
		said = append(said, fmt.Sprintf("%s TB under %s", stats.Text(lab.Mean(runs[v.name], crossed)), packTitles[v.name]))
	}
	r.Check(lab.Reported("6: bytes across racks", "not given", strings.Join(said, ", ")).Because("of the shuffle, mean over repetitions"))
	drawShare(r, runs)
}

// makespans is spec/jobpacker 5, item 7 with the source's packet network on one workload.
func makespans(r *lab.Recorder, label string, runs map[string][]packRun) {
	over := func(a, b string) float64 { return packRatio(runs, a, b, packMakespan) }
	jp, corral, eps := over("jobpacker", "f-hybrid"), over("corral", "f-hybrid"), over("jobpacker", "f-eps")
	network := r.Say("enough packets", lab.Facts{
		"eps": over("f-eps", "f-hybrid"), "packer": jp, "wide": over(widePacker, "jobpacker"), "widePacker": over(widePacker, "f-hybrid"),
		"sent": lab.Mean(runs["jobpacker"], sentByPackets), "fair": lab.Mean(runs["f-hybrid"], sentByPackets),
		"reads": lab.Mean(runs["jobpacker"], readByPackets), "fairReads": lab.Mean(runs["f-hybrid"], readByPackets),
	})
	rack := r.Say("crowded rack", lab.Facts{
		"wide": over(wideCorral, "corral"), "idle": uncrossed(runs["corral"]), "n": human.Many(int64(len(runs["corral"])), "repetition"),
		"busy": lab.Mean(runs["corral"], busyShare), "fair": lab.Mean(runs["f-hybrid"], busyShare),
	})
	r.Check(lab.Holds(label+"7: makespan, JobPacker < Corral < F-Hybrid", lab.Order("0.65, 0.85, 1"), fmt.Sprintf("%s, %s, 1", stats.Text(jp), stats.Text(corral)), jp < corral && corral < 1, "in this order").
		Because("over that of F-Hybrid").Missed(rack))
	r.Check(lab.Within(label+"7: makespan of JobPacker over F-Hybrid", jp, 0.65, 0.15).SameSide(1).Missed(network))
	r.Check(lab.Within(label+"7: makespan of Corral over F-Hybrid", corral, 0.85, 0.15).SameSide(1).Missed(rack))
	if eps < 0.9 {
		network = r.Say("below packets", lab.Facts{"eps": over("f-eps", "f-hybrid"), "corral": over("corral", "f-eps")})
	}
	r.Check(lab.Between(label+"7: makespan of JobPacker over F-EPS", lab.Number("within 5 %"), eps, 0.9, 1.1).Mark(1).Direction(eps <= 1.1).Missed(network))
}

// uncrossed counts the runs in which no shuffle crosses racks.
func uncrossed(runs []packRun) (n int) {
	for _, run := range runs {
		if run.cross == 0 {
			n++
		}
	}
	return n
}
