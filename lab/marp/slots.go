package marp

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/admission"
	"github.com/millrace/millrace/sim"
)

// stated are the values of MARP of which the source says how many jobs they let run, and where: what controllers start with, an increase of 0.04
// "just enough for one" more, and what it used for six jobs at once. The rest of the table is our specification's arithmetic.
var stated = map[float64]string{0.05: "5.5", 0.09: "5.5", 0.13: "5.5", 0.25: "6.2"}

func slots(r *lab.Recorder) {
	r.Seeds(1, 1)
	marps := []float64{0.05, 0.09, 0.10, 0.13, 0.17, 0.20, 0.21, 0.25, 0.30, 0.40, 0.50, 0.60, 0.70, 0.80, 0.90, 0.039}
	for i, want := range []int64{1, 2, 2, 3, 4, 5, 5, 6, 7, 10, 12, 15, 17, 20, 22, 0} {
		got := admission.Slots(marps[i], clusterMB, driverMB)
		said := lab.Nobody("nothing; " + human.Many(want, "driver") + " by arithmetic")
		if where := stated[marps[i]]; where != "" {
			said = lab.Number(human.Many(want, "driver") + " (" + where + ")")
		}
		r.Check(lab.Holds(fmt.Sprintf("1: drivers admitted at MARP %g", marps[i]), said, human.Many(got, "driver"), got == want, "exactly"))
	}
	got := admission.SafeJobs(clusterMB, driverMB, taskMB, taskMB)
	r.Check(lab.Reported("3: running jobs that always leave room for a map", "nothing: our specification derives 16 jobs", fmt.Sprint(got, " jobs")).Because(r.Say("full memory")))
	drawSlots(r)
	slotDrift(r)
	deadlock(r)
}

// slotDrift is the arithmetic of spec/marp 3.7.
func slotDrift(r *lab.Recorder) {
	slots := func(n, m int, dec float64) int { return int(admitted(after(n, m, dec))) }
	third, steady := true, true
	for n := 3; n <= 20; n++ {
		third = third && slots(n, 3, 0.03) == 1+n-3+1
		for m := range n + 1 {
			steady = steady && slots(n, m, 0.039) == 1+n-m
		}
	}
	r.Check(lab.Holds("3: the third decrease leaves one slot more than planned, for 3 to 20 increases", lab.Nobody("nothing; by exactly one"), map[bool]string{true: "by one in all 18 cases", false: "not in all 18 cases"}[third], third, "by one in every case").Because("derived from the published steps of 0.04 and 0.03"))
	r.Check(lab.Reported("3: drift when 0.039 is taken off", "nothing: our specification derives that there is none", map[bool]string{true: "none", false: "some"}[steady]).Because("up to 20 increases and decreases"))
}

// deadlock runs 24 jobs under static values.
func deadlock(r *lab.Recorder) {
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
		run, err := c.setup.run(r.Seed())
		r.Must(err)
		say := map[bool]string{true: "makes no progress for ever", false: "completes"}
		item, said := "3: 24 jobs, ", lab.Nobody("nothing; "+say[c.stall])
		if c.setup.jobs == 1 {
			item, said = "1: one job, ", lab.Order(say[c.stall]+" (4.3)")
		}
		r.Check(lab.Holds(item+c.what, said, say[run.stalled], run.stalled == c.stall, "the same").Because(map[bool]string{true: "recognised by the simulator, not waited for"}[run.stalled]))
	}
}

// profile watches one job alone.
func profile(r *lab.Recorder) {
	r.Seeds(1, 1)
	cfg, err := machine(false, ownNodes)
	r.Must(err)
	var at, busy []float64
	cfg.Model, cfg.SampleEvery = sim.NewContention(sim.DefaultContention(), 1), time.Second
	cfg.Sample = func(now time.Duration, v *scheduler.View) {
		if idle, ok := v.CPUIdle(); ok {
			at, busy = append(at, now.Seconds()), append(busy, 100-idle)
		}
	}
	res, err := sim.Run(cfg, teraSort3.batch(1, rand.New(rand.NewPCG(1, 8))))
	r.Must(err)
	j := &res.Jobs[0]
	phase := func(from, to float64) float64 {
		var in []float64
		for i, t := range at {
			if t >= from && t < to {
				in = append(in, busy[i])
			}
		}
		return stats.Mean(in)
	}
	maps, done, end := j.FirstMap.Seconds(), j.MapsDone.Seconds(), j.Finished.Seconds()
	const built = "the profile was built so; no evidence"
	r.Check(lab.Between("8: processors busy before the first map, %", lab.Sign("low"), phase(0, maps), 0, 20).Because(built))
	r.Check(lab.Between("8: processors busy while all maps run, %", lab.Number("100"), phase(maps+15, done-15), 95, 100).Because(built).Mark(100))
	r.Check(lab.Between("8: processors busy during the reduce, %", lab.Sign("low"), phase(done+5, end-3), 0, 35).Because(built))
	r.Figure("busy", chart.Lines{
		Frame:  chart.Frame{Title: "Processors busy under one TeraSort", X: chart.Axis{Label: "time, s"}, Y: chart.Axis{Label: "% of processors busy", Min: 0, Max: 100}},
		Series: []chart.Series{{Name: "busy", X: at, Y: busy}}, Marks: []chart.Mark{{Name: "first map", Value: maps, Vertical: true}, {Name: "last map ends", Value: done, Vertical: true}},
	})
}
