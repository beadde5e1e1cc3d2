package capacity

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
)

// pairs is spec/capacity 6, item 14.
func pairs(r *lab.Recorder) {
	n := r.Seeds(10, 10)
	for _, c := range []struct{ gap, want float64 }{{5, 195}, {80, 120}} {
		got, err := twoReduces(c.gap)
		r.Must(err)
		r.Check(lab.Within(fmt.Sprintf("14: a reduce of 100 s, joined by another after %g s, takes, s", c.gap), got, c.want, 0.01*c.want).Because("one device whose speed two tasks share equally, no noise"))
	}
	for _, slots := range []int32{2, 1} {
		pairs := lab.Repeat(r, n, func(seed uint64) (pairing, error) { return validationPairs(slots, seed) })
		var alone, paired []float64
		for _, p := range pairs {
			alone, paired = append(alone, p.alone...), append(paired, p.paired...)
		}
		if slots == 1 {
			r.Check(lab.Within("14: paired reduces with 1 reduce slot on a node", float64(len(paired)), 0, 0))
			continue
		}
		r.Check(lab.Holds("14: the validation workload shows isolated and paired reduces", lab.Order("both kinds occur"), fmt.Sprintf("%d isolated, %d paired", len(alone), len(paired)), len(alone) > 0 && len(paired) > 0, "at least one of each").Because("TeraSort reduces of all repetitions, 2 reduce slots on a node"))
		r.Check(lab.AtLeast("14: mean time of TeraSort reduces, paired / isolated", lab.Sign("above 1"), stats.Mean(paired)/stats.Mean(alone), 1).Because("time from the end of the job's last map"))
		drawPairs(r, alone, paired)
	}
}

// twoReduces runs two reduces that take 100 s alone on a machine with one processor, the
// second later, and returns how long the first takes.
func twoReduces(gap float64) (float64, error) {
	const bytes = 1 << 20
	dev := sim.DefaultDevices()
	dev.Hz, dev.Cores, dev.StartCycles, dev.SortCycles, dev.MergeCycles, dev.SortCyclesPerByte = 1e9, 1, 0, 0, 0, 0
	dev.DiskRead, dev.DiskWrite, dev.NIC, dev.Noise, dev.ReduceNoise = 1e15, 1e15, 1e15, 0, 0
	cfg, err := lab.Slotted(1, 2, 2, "fifo", nil)
	if err != nil {
		return 0, err
	}
	cfg.Model = sim.NewDevices(dev, 1, 1)
	var jobs []*sim.Job
	for i, at := range []float64{0, gap} {
		j := &sim.Job{
			Spec: &scheduler.JobSpec{ID: scheduler.JobID(i), Submit: lab.Seconds(at), Maps: 1, Reduces: 1},
			Cost: sim.Cost{ShuffleRatio: 1, ReduceCycles: 100 * 1e9 / bytes},
		}
		j.Spec.Splits.Add(bytes, 0)
		jobs = append(jobs, j)
	}
	res, err := sim.Run(cfg, jobs)
	if err != nil {
		return 0, err
	}
	return res.Jobs[0].Completion().Seconds(), nil
}

// pairing is how long TeraSort's reduces worked after their last map, by company.
type pairing struct{ alone, paired []float64 }

// validationPairs runs the validation workload of spec/capacity 5.2. A user's Sort comes
// when the user's TeraSort ends, as found by a run of the TeraSorts alone.
func validationPairs(reduceSlots int32, seed uint64) (pairing, error) {
	first, _, err := validationRun(reduceSlots, nil, seed)
	if err != nil {
		return pairing{}, err
	}
	var ends []time.Duration
	for i := range first.Jobs {
		ends = append(ends, first.Jobs[i].Finished)
	}
	res, w, err := validationRun(reduceSlots, ends, seed)
	if err != nil {
		return pairing{}, err
	}
	var out pairing
	for _, s := range w.Ran {
		job := &res.Jobs[s.Task.Job]
		if s.Task.Kind != scheduler.Reduce {
			continue
		}
		shared := false
		for _, o := range w.Ran {
			if o.Task.Kind == scheduler.Reduce && o.Task != s.Task && o.Node == s.Node && o.Start < s.End && o.End > s.Start {
				shared = true
			}
		}
		if job.Job.Spec.Maps != 32 {
			continue
		}
		if work := (s.End - job.MapsDone).Seconds(); shared {
			out.paired = append(out.paired, work)
		} else {
			out.alone = append(out.alone, work)
		}
	}
	return out, nil
}

func validationRun(reduceSlots int32, sorts []time.Duration, seed uint64) (*sim.Result, *compare.Watcher, error) {
	const nodes = 4
	rng := rand.New(rand.NewPCG(seed, 0x56))
	var jobs []*sim.Job
	add := func(user int, at time.Duration, blocks int32) {
		spec := &scheduler.JobSpec{
			ID: scheduler.JobID(len(jobs)), User: fmt.Sprint("u", user), Queue: fmt.Sprint("q", 1+user/2), Submit: at, Maps: blocks, Reduces: 1,
		}
		for range blocks {
			spec.Splits.Add(capBlock, lab.SomeNodes(rng, nodes, 3)...)
		}
		jobs = append(jobs, &sim.Job{Spec: spec, Cost: teraSortCost})
	}
	for user := range 4 {
		add(user, time.Duration(user%2)*5*time.Second, 32)
	}
	for user, at := range sorts {
		add(user, at, 16)
	}
	w := &compare.Watcher{Of: func(sim.Attempt) int { return -1 }, KeepSpans: true}
	cfg, err := cluster(nodes, scheduler.Capacity{MapSlots: 2, ReduceSlots: reduceSlots}, map[string]string{"queues": "q1=50,q2=50", "usage-lag": capLag}, nil, seed)
	if err != nil {
		return nil, nil, err
	}
	w.Attach(&cfg)
	res, err := sim.Run(cfg, jobs)
	return res, w, err
}
