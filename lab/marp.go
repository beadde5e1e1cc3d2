package lab

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/admission"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

var marpExperiments = []*Experiment{
	{
		ID: "marp-slots", Title: "How many drivers a MARP admits", Seconds: 1,
		Source: "marp.md 6, items 1 and 3", run: marpSlots,
	},
	{
		ID: "marp-terasort", Title: "Six TeraSorts in parallel and under three controllers", Seconds: 3,
		Source: "marp.md 6, items 4 and 9", run: marpTeraSort,
	},
	{
		ID: "marp-fifo", Title: "Four jobs one after the other and all at once", Seconds: 1,
		Source: "marp.md 6, item 5", run: marpFIFO,
	},
	{
		ID: "marp-others", Title: "Six WordCounts and six Sorts", Seconds: 6,
		Source: "marp.md 6, items 6 and 7", run: marpOthers,
	},
	{
		ID: "marp-profile", Title: "The processors under a single job", Seconds: 1,
		Source: "marp.md 6, item 8", run: marpProfile,
	},
}

const (
	clusterMB = 3 * 17 * 1024
	driverMB  = 2048
	taskMB    = 1024
)

// batchKind is a benchmark of the source, with the work of its tasks (Appendix A).
type batchKind struct {
	maps   int
	work   float64 // thread-seconds of a map
	reduce float64 // seconds of a reduce alone
}

var (
	teraSort3  = batchKind{24, 26, 102}
	wordCount2 = batchKind{16, 45, 120}
	sort25     = batchKind{20, 60, 70}
)

const calibrated = "calibrated: marp.md Appendix A fits its profile to these means"

// batch makes n jobs that are submitted together, in an order that the seed chooses.
func (k batchKind) batch(n int, rng *rand.Rand) []*sim.Job {
	run := 1 + 0.03*rng.NormFloat64()
	jobs := make([]*sim.Job, n)
	for i := range jobs {
		j := &sim.Job{
			Spec: &scheduler.JobSpec{
				ID: scheduler.JobID(i), Maps: int32(k.maps), Reduces: 1, HasDriver: true,
				DriverDemand: scheduler.Demand{VCores: 1, MemoryMB: driverMB},
				MapDemand:    scheduler.Demand{VCores: 1, MemoryMB: taskMB},
				ReduceDemand: scheduler.Demand{VCores: 1, MemoryMB: taskMB},
			},
			StartUp: seconds(15 * (1 + 0.12*(2*rng.Float64()-1))), CleanUp: 2 * time.Second,
			Reduces: []time.Duration{seconds(k.reduce * run * jitter(rng))},
		}
		for range k.maps {
			j.Maps = append(j.Maps, seconds(k.work*run*jitter(rng)))
		}
		jobs[i] = j
	}
	return jobs
}

func jitter(rng *rand.Rand) float64 { return max(0.1, 1+0.1*rng.NormFloat64()) }

// batchRun is what was seen of one batch.
type batchRun struct {
	total      float64 // completion of the batch
	secondMaps float64 // launch of the second job's first map
	firstHalf  float64 // when the first job's maps were done
	admitted   []float64
	busy       float64 // mean number of jobs that run
}

func runBatch(k batchKind, n int, policy string, params map[string]string, seed uint64) (batchRun, error) {
	topo, err := topology.Uniform(1, 3, 0, 0)
	if err != nil {
		return batchRun{}, err
	}
	given := map[string]string{"seed": strconv.FormatUint(seed, 10)}
	maps.Copy(given, params)
	adm, err := policies.Admission(policy, given)
	if err != nil {
		return batchRun{}, err
	}
	fair, err := policies.Policy("fair", map[string]string{"measure": "memory"})
	if err != nil {
		return batchRun{}, err
	}
	rng := rand.New(rand.NewPCG(seed, 0x6d617270))
	res, err := sim.Run(sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{VCores: 17, MemoryMB: 17 * 1024},
		Policy: fair, Admission: adm, State: scheduler.DefaultConfig(),
		Model: sim.NewContention(sim.DefaultContention(), seed), Seed: seed,
		Heartbeat: time.Second, PerHeartbeat: 1,
	}, k.batch(n, rng))
	if err != nil {
		return batchRun{}, err
	}
	return observe(res), nil
}

func observe(res *sim.Result) batchRun {
	out := batchRun{total: res.Makespan.Seconds()}
	first, second := math.Inf(1), math.Inf(1)
	var firstJob *sim.JobResult
	for i := range res.Jobs {
		j := &res.Jobs[i]
		out.admitted = append(out.admitted, j.Admitted.Seconds())
		out.busy += (j.Finished - j.Admitted).Seconds() / out.total
		switch at := j.FirstMap.Seconds(); {
		case at < first:
			first, second, firstJob = at, first, j
		case at < second:
			second = at
		}
	}
	out.secondMaps, out.firstHalf = second, firstJob.MapsDone.Seconds()
	return out
}

// batches runs one policy over many seeds and returns the completion times.
func (r *Recorder) batches(k batchKind, jobs int, policy string, params map[string]string, n int) ([]batchRun, []float64, error) {
	runs, totals := make([]batchRun, n), make([]float64, n)
	err := r.each(n, func(i int) (err error) {
		runs[i], err = runBatch(k, jobs, policy, params, r.options.Seed+uint64(i))
		totals[i] = runs[i].total
		return err
	})
	return runs, totals, err
}

var parallel = map[string]string{"marp": "0.25"}

// gains runs PRJ and the three controllers and returns the means and the gains in
// per cent.
func (r *Recorder) gains(k batchKind, n int) (means map[string]float64, gain map[string]float64, runs map[string][]batchRun, err error) {
	means, gain, runs = map[string]float64{}, map[string]float64{}, map[string][]batchRun{}
	for _, p := range []string{"marp", "cbt", "cbtws", "cbtwat"} {
		var params map[string]string
		if p == "marp" {
			params = parallel
		}
		var totals []float64
		if runs[p], totals, err = r.batches(k, 6, p, params, n); err != nil {
			return nil, nil, nil, err
		}
		means[p] = mean(totals)
		gain[p] = 100 * (means["marp"] - means[p]) / means["marp"]
	}
	return means, gain, runs, nil
}

func marpTeraSort(r *Recorder) error {
	n := r.seeds(200, 40)
	means, gain, runs, err := r.gains(teraSort3, n)
	if err != nil {
		return err
	}
	r.within("4: TeraSort 6 x 3 GB, all in parallel, s", means["marp"], 782.5, 0.05*782.5, calibrated)
	for _, c := range []struct {
		policy    string
		published float64
	}{{"cbt", 10.9}, {"cbtws", 18}, {"cbtwat", 18.9}} {
		r.within("4: gain of "+c.policy+", %", gain[c.policy], c.published, 5, calibrated)
	}
	r.holds("4: order of means, PRJ > CBT > CBTwS and CBTwAT", "782 > 697 > 641, 634",
		fmt.Sprintf("%s > %s > %s, %s", number(means["marp"]), number(means["cbt"]), number(means["cbtws"]), number(means["cbtwat"])),
		means["marp"] > means["cbt"] && means["cbt"] > means["cbtws"] && means["cbt"] > means["cbtwat"], "")
	r.between("4: CBTwS and CBTwAT apart, % of PRJ", "0.9", math.Abs(gain["cbtws"]-gain["cbtwat"]), 0, 5, "")
	staircase(r, runs["cbt"])
	return nil
}

// staircase is item 9: CBT starts the second job when the first has left its maps.
func staircase(r *Recorder, runs []batchRun) {
	late := 0
	for _, b := range runs {
		second := math.Inf(1)
		for _, at := range b.admitted {
			if at > 1 && at < second {
				second = at
			}
		}
		if second > b.firstHalf {
			late++
		}
	}
	share := 100 * float64(late) / float64(len(runs))
	r.between("9: CBT, runs in which the second job starts only after the first one's maps, %", "staircase (Fig. 5.3)", share, 90, 100, "")
}

func marpFIFO(r *Recorder) error {
	n := r.seeds(200, 40)
	_, fifo, err := r.batches(teraSort3, 4, "marp", map[string]string{"marp": "0.05"}, n)
	if err != nil {
		return err
	}
	_, all, err := r.batches(teraSort3, 4, "marp", parallel, n)
	if err != nil {
		return err
	}
	r.between("5: four jobs, all at once / one by one", "442 / 697 = 0.634", mean(all)/mean(fifo), 0.58, 0.70, calibrated)
	r.add(Check{
		Item: "5: one by one and all at once, s", Published: "697 and 442", Measured: number(mean(fifo)) + " and " + number(mean(all)),
		Tolerance: "reported", Verdict: ShapeOnly, Why: "the job type of the source's figure is not stated (marp.md 7.25)",
	})
	return nil
}

func marpOthers(r *Recorder) error {
	n := r.seeds(200, 40)
	_, word, _, err := r.gains(wordCount2, n)
	if err != nil {
		return err
	}
	_, sorts, _, err := r.gains(sort25, n)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		policy      string
		word, sort  float64
		wide, wideS float64
	}{{"cbt", 14.8, 5.4, 6, 8}, {"cbtws", 21.6, 10.4, 6, 4}, {"cbtwat", 22.8, 9.8, 6, 4}} {
		r.within("6: WordCount, gain of "+c.policy+", %", word[c.policy], c.word, c.wide, "two parameters refitted in Appendix A; PRJ without outliers")
		r.within("7: Sort, gain of "+c.policy+", %", sorts[c.policy], c.sort, c.wideS, "two parameters refitted in Appendix A; PRJ without outlier")
	}
	return nil
}

func marpSlots(r *Recorder) error {
	r.seeds(1, 1)
	table := []struct {
		marp  float64
		slots int64
	}{
		{0.05, 1},
		{0.09, 2},
		{0.10, 2},
		{0.13, 3},
		{0.17, 4},
		{0.20, 5},
		{0.21, 5},
		{0.25, 6},
		{0.30, 7},
		{0.40, 10},
		{0.50, 12},
		{0.60, 15},
		{0.70, 17},
		{0.80, 20},
		{0.90, 22},
		{0.039, 0},
	}
	for _, c := range table {
		got := admission.Slots(c.marp, clusterMB, driverMB)
		r.holds(fmt.Sprintf("1: drivers admitted at MARP %g", c.marp), fmt.Sprint(c.slots), fmt.Sprint(got), got == c.slots, "")
	}
	got := admission.SafeJobs(clusterMB, driverMB, taskMB, taskMB)
	r.holds("3: running jobs that always leave room for a map", "16", fmt.Sprint(got), got == 16, "17 and more can lock up (marp.md 2.3)")
	return nil
}

// marpProfile watches one job alone.
func marpProfile(r *Recorder) error {
	r.seeds(1, 1)
	topo, err := topology.Uniform(1, 3, 0, 0)
	if err != nil {
		return err
	}
	fair, err := policies.Policy("fair", map[string]string{"measure": "memory"})
	if err != nil {
		return err
	}
	model := sim.NewContention(sim.DefaultContention(), 1)
	var at, busy []float64
	res, err := sim.Run(sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{VCores: 17, MemoryMB: 17 * 1024}, Policy: fair,
		State: scheduler.DefaultConfig(), Model: model, Heartbeat: time.Second, PerHeartbeat: 1,
		SampleEvery: time.Second,
		Sample: func(now time.Duration, v *scheduler.View) {
			if idle, ok := v.CPUIdle(); ok {
				at, busy = append(at, now.Seconds()), append(busy, 100-idle)
			}
		},
	}, teraSort3.batch(1, rand.New(rand.NewPCG(1, 8))))
	if err != nil {
		return err
	}
	j := &res.Jobs[0]
	phase := func(from, to float64) float64 {
		var in []float64
		for i, t := range at {
			if t >= from && t < to {
				in = append(in, busy[i])
			}
		}
		return mean(in)
	}
	maps, done, end := j.FirstMap.Seconds(), j.MapsDone.Seconds(), j.Finished.Seconds()
	const built = "true by construction of the profile"
	r.between("8: processors busy before the first map, %", "low", phase(0, maps), 0, 20, built)
	r.between("8: processors busy while all maps run, %", "100", phase(maps+15, done-15), 95, 100, built)
	r.between("8: processors busy during the reduce, %", "low", phase(done+5, end-3), 0, 35, built)
	return nil
}
