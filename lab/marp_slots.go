package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/admission"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

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
		r.holds(fmt.Sprintf("1: drivers admitted at MARP %g", c.marp), several(int(c.slots), "driver"), several(int(got), "driver"), got == c.slots, "")
		r.accept("exactly")
	}
	got := admission.SafeJobs(clusterMB, driverMB, taskMB, taskMB)
	r.holds("3: running jobs that always leave room for a map", "16 jobs", fmt.Sprint(got, " jobs"), got == 16, "17 drivers of 2 GB and 17 reduces of 1 GB fill all 51 GB; derived in our specification, not published")
	r.accept("exactly")
	drawSlots(r)
	slotDrift(r)
	return marpDeadlock(r)
}

// slotDrift is the arithmetic of marp.md 3.7.
func slotDrift(r *Recorder) {
	slots := func(n, m int, dec float64) int64 {
		return admission.Slots(math.Round(1000*(0.05+0.04*float64(n)-dec*float64(m)))/1000, clusterMB, driverMB)
	}
	third, steady := true, true
	for n := 3; n <= 20; n++ {
		third = third && slots(n, 3, 0.03) == int64(1+n-3)+1
		for m := range n + 1 {
			steady = steady && slots(n, m, 0.039) == int64(1+n-m)
		}
	}
	r.holds("3: the third decrease leaves one slot more than planned, for 3 to 20 increases", "by exactly one", foundOr(third, "by one in all 18 cases", "not in all 18 cases"), third, "derived from the published steps of 0.04 and 0.03")
	r.accept("by one in every case")
	r.holds("3: no drift when 0.039 is taken off", "none up to 20 decreases", foundOr(steady, "none", "some"), steady, "derived, not published")
	r.accept("none for up to 20 increases and decreases")
}

// marpDeadlock runs 24 jobs under static values.
func marpDeadlock(r *Recorder) error {
	for _, c := range []struct {
		what  string
		setup batchSetup
		stall bool
	}{
		{"MARP 0.60, 15 drivers", batchSetup{kind: teraSort3, jobs: 24, marp: 0.6}, false},
		{"MARP 0.70, 17 drivers", batchSetup{kind: teraSort3, jobs: 24, marp: 0.7}, true},
		{"MARP 0.70, reduces held back", batchSetup{kind: teraSort3, jobs: 24, marp: 0.7, hold: true}, false},
		{"MARP 0.039", batchSetup{kind: teraSort3, jobs: 1, marp: 0.039}, true},
	} {
		run, err := c.setup.run(r.options.Seed)
		if err != nil {
			return err
		}
		say := map[bool]string{true: "makes no progress for ever", false: "completes"}
		item := "3: 24 jobs, "
		if c.setup.jobs == 1 {
			item = "1: one job, "
		}
		r.holds(item+c.what, say[c.stall], say[run.stalled], run.stalled == c.stall, foundOr(run.stalled, "recognised by the simulator, not waited for", ""))
		r.accept("the same")
	}
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
	const built = "the profile was built so; no evidence"
	r.between("8: processors busy before the first map, %", "low", phase(0, maps), 0, 20, built)
	r.between("8: processors busy while all maps run, %", "100", phase(maps+15, done-15), 95, 100, built)
	r.mark(100)
	r.between("8: processors busy during the reduce, %", "low", phase(done+5, end-3), 0, 35, built)
	drawProfile(r, at, busy, maps, done)
	return nil
}

func drawProfile(r *Recorder, at, busy []float64, maps, done float64) {
	r.figure("busy", "The processors are mostly idle once the last map has ended, at half of the job's progress.", chart.Lines{
		Frame:  chart.Frame{Title: "Processors busy under one TeraSort", X: chart.Axis{Label: "time, s"}, Y: chart.Axis{Label: "% of processors busy", Min: 0, Max: 100}},
		Series: []chart.Series{{Name: "busy", X: at, Y: busy}}, Marks: []chart.Mark{{Name: "first map", Value: maps, Vertical: true}, {Name: "last map ends", Value: done, Vertical: true}},
	})
}
