package slowdown

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

// analytic compares one map slot with queueing theory: FIFO's mean wait with
// Pollaczek-Khinchine, FAIR's mean slowdown of every size class with 1/(1-rho).
//
// At load 0.9 a run of 400,000 jobs holds only about a hundred independent busy
// periods, so one run is ten per cent off easily; the means are taken over runs.
func analytic(r *lab.Recorder) {
	n := r.Seeds(8, 8)
	few := n // at load 0.7 three runs are enough
	if r.Quick() {
		few = min(n, 3)
	}
	slots := []oneSlot{{"fifo", 0.7}, {"fair", 0.7}, {"fair", 0.9}}
	runs := append(lab.Sweep(r, slots[:2], few, oneSlot.run), lab.Sweep(r, slots[2:], n, oneSlot.run)...)
	want := lab.Mean(runs[0], func(run slotRun) float64 { return run.theory })
	r.Check(lab.Within("18: FIFO mean wait, load 0.7, s", lab.Mean(runs[0], func(run slotRun) float64 { return run.wait }), want, 0.08*want).Quoted(lab.Nobody(stats.Text(want) + " by theory")).
		Because(r.Say("formula of Pollaczek and Khinchine")))
	lines := chart.Lines{
		Frame: chart.Frame{Title: "Mean slowdown by size, one slot", X: chart.Axis{Label: "tasks of the job", Log: true}, Y: chart.Axis{Label: "mean slowdown", Log: true}},
		Marks: []chart.Mark{{Name: "1/(1-0.7)", Value: 1 / (1 - 0.7)}, {Name: "1/(1-0.9)", Value: 1 / (1 - 0.9)}},
	}
	for i, c := range slots {
		s := chart.Series{Name: fmt.Sprintf("%s, load %g", c.policy, c.load)}
		for class := range sizeClasses {
			s.X = append(s.X, 5*math.Pow(2, float64(class)+0.5))
			s.Y = append(s.Y, lab.Mean(runs[i], func(run slotRun) float64 { return run.classes[class] }))
		}
		lines.Series = append(lines.Series, s)
		if c.policy == "fair" {
			low, _, high := stats.Range(s.Y)
			want := 1 / (1 - c.load)
			r.Check(lab.Holds(fmt.Sprintf("18: FAIR mean slowdown in every size class, load %g", c.load), lab.Nobody(stats.Text(want)+" by theory"), fmt.Sprintf("%s to %s", stats.Text(low), stats.Text(high)),
				low > 0.95*want && high < 1.05*want, "within 5 % in every class").Because(r.Say("same for all sizes")))
		}
	}
	r.Figure("sizes", lines)
}

// oneSlot is a policy on one map slot at a given load.
type oneSlot struct {
	policy string
	load   float64
}

// slotRun is FIFO's mean wait as measured and by theory, and the mean slowdown of each size class.
type slotRun struct {
	wait, theory float64
	classes      []float64
}

// run runs jobs of n unit tasks, n bounded Pareto(1.5) on [5, 500].
func (c oneSlot) run(seed uint64) (slotRun, error) {
	const n = 400_000
	rng := rand.New(rand.NewPCG(seed, 18))
	jobs := make([]*sim.Job, n)
	total := 0.0
	for i := range jobs {
		tasks := boundedPareto(rng, 1.5, 5, 500)
		total += float64(tasks)
		jobs[i] = &sim.Job{Spec: &scheduler.JobSpec{Maps: int32(tasks)}, Maps: []time.Duration{time.Second}}
	}
	lab.Arrive(rng, jobs, total/n/c.load)
	params := map[string]string{}
	if c.policy == "fair" {
		params["ties"] = "served"
	}
	cfg, err := lab.Slotted(1, 1, 1, c.policy, params)
	if err != nil {
		return slotRun{}, err
	}
	res, err := sim.Run(cfg, jobs)
	if err != nil {
		return slotRun{}, err
	}
	out := slotRun{classes: classMeans(res)}
	out.wait, out.theory = fifoWait(res, c.load)
	return out, nil
}

func boundedPareto(rng *rand.Rand, a, low, high float64) int {
	u := rng.Float64()
	x := math.Pow(-(u*math.Pow(high, a)-u*math.Pow(low, a)-math.Pow(high, a))/(math.Pow(high, a)*math.Pow(low, a)), -1/a)
	return int(math.Round(x))
}

func fifoWait(res *sim.Result, load float64) (measured, theory float64) {
	var wait, work, square float64
	for i := range res.Jobs {
		n := float64(res.Jobs[i].Job.Spec.Maps)
		wait += res.Jobs[i].Wait().Seconds()
		work += n
		square += n * n
	}
	jobs := float64(len(res.Jobs))
	lambda := load / (work / jobs)
	return wait / jobs, lambda * (square / jobs) / (2 * (1 - load))
}

// sizeClasses are octaves of sizes from 5 to 500.
const sizeClasses = 7

// classMeans returns the mean slowdown of each class.
func classMeans(res *sim.Result) []float64 {
	classes := make([][]float64, sizeClasses)
	for i := range res.Jobs {
		n := float64(res.Jobs[i].Job.Spec.Maps)
		c := min(int(math.Log2(n/5)), len(classes)-1)
		classes[c] = append(classes[c], res.Jobs[i].Completion().Seconds()/n)
	}
	return lab.Each(classes, stats.Mean)
}
