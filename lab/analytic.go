package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
)

// slowdownAnalytic compares one map slot with queueing theory: FIFO's mean wait with
// Pollaczek-Khinchine, FAIR's mean slowdown of every size class with 1/(1-rho).
//
// At load 0.9 a run of 400,000 jobs holds only about a hundred independent busy
// periods, so one run is ten per cent off easily; the means are taken over runs.
func slowdownAnalytic(r *Recorder) error {
	n := r.seeds(8, 8)
	const jobs = 400_000
	rows := []struct {
		policy string
		load   float64
	}{{"fifo", 0.7}, {"fair", 0.7}, {"fair", 0.9}}
	waits, theory := make([]float64, n), make([]float64, n)
	classes := make([][][]float64, len(rows)) // by row and run: means by class
	for i := range classes {
		classes[i] = make([][]float64, n)
	}
	few := n // at load 0.7 three runs are enough
	if r.options.Quick {
		few = min(n, 3)
	}
	err := r.each(len(rows)*n, func(i int) error {
		row, run := i/n, i%n
		if run >= few && rows[row].load < 0.9 {
			return nil
		}
		res, err := oneSlot(rows[row].policy, rows[row].load, jobs, r.options.Seed+uint64(run))
		if err != nil {
			return err
		}
		if row == 0 {
			waits[run], theory[run] = fifoWait(res, rows[row].load)
		}
		classes[row][run] = classMeans(res)
		return nil
	})
	if err != nil {
		return err
	}
	waits, theory, classes[0], classes[1] = waits[:few], theory[:few], classes[0][:few], classes[1][:few]
	r.within("18: FIFO mean wait, load 0.7, s", mean(waits), mean(theory), 0.08*mean(theory), "by the formula of Pollaczek and Khinchine for the jobs drawn: arrival rate x mean of n squared / (2 (1 - load)), n the tasks of a job")
	r.newest().Published = number(mean(theory)) + " by theory"
	for i, c := range rows[1:] {
		low, high := classSpan(classes[i+1])
		want := 1 / (1 - c.load)
		r.holds(fmt.Sprintf("18: FAIR mean slowdown in every size class, load %g", c.load), number(want)+" by theory",
			fmt.Sprintf("%s to %s", number(low), number(high)), low > 0.95*want && high < 1.05*want, "1 / (1 - load), the same for all sizes; measured are the lowest and the highest class")
		r.accept("within 5 % in every class")
	}
	names := []string{}
	for _, row := range rows {
		names = append(names, fmt.Sprintf("%s, load %g", row.policy, row.load))
	}
	r.figure("sizes", "Under fair the slowdown is the same for all sizes, as theory says (dashed lines: 1/(1 - load)); under fifo small jobs are slowed most. A class is a doubling of the number of tasks, from 5 to 500.", classLines(names, classes))
	return nil
}

// classLines draws the mean slowdown of each size class, and what theory says of sharing.
func classLines(names []string, classes [][][]float64) chart.Lines {
	lines := chart.Lines{
		Frame: chart.Frame{Title: "Mean slowdown by size, one slot", X: chart.Axis{Label: "tasks of the job", Log: true}, Y: chart.Axis{Label: "mean slowdown", Log: true}},
		Marks: []chart.Mark{{Name: "1/(1-0.7)", Value: 1 / (1 - 0.7)}, {Name: "1/(1-0.9)", Value: 1 / (1 - 0.9)}},
	}
	for i, name := range names {
		s := chart.Series{Name: name}
		for class := range classes[i][0] {
			var over []float64
			for _, run := range classes[i] {
				over = append(over, run[class])
			}
			s.X, s.Y = append(s.X, 5*math.Pow(2, float64(class)+0.5)), append(s.Y, mean(over))
		}
		lines.Series = append(lines.Series, s)
	}
	return lines
}

// classSpan averages the class means over runs and returns the smallest and the largest.
func classSpan(runs [][]float64) (low, high float64) {
	low = math.Inf(1)
	for class := range runs[0] {
		var over []float64
		for _, run := range runs {
			over = append(over, run[class])
		}
		low, high = min(low, mean(over)), max(high, mean(over))
	}
	return low, high
}

// oneSlot runs jobs of n unit tasks, n bounded Pareto(1.5) on [5, 500].
func oneSlot(policy string, load float64, n int, seed uint64) (*sim.Result, error) {
	rng := rand.New(rand.NewPCG(seed, 18))
	jobs := make([]*sim.Job, n)
	total := 0.0
	for i := range jobs {
		tasks := boundedPareto(rng, 1.5, 5, 500)
		total += float64(tasks)
		jobs[i] = &sim.Job{Spec: &scheduler.JobSpec{Maps: int32(tasks)}, Maps: []time.Duration{time.Second}}
	}
	arrive(rng, jobs, total/float64(n)/load)
	cfg, err := slotted(1, 1, 1)
	if err != nil {
		return nil, err
	}
	params := map[string]string{}
	if policy == "fair" {
		params["ties"] = "served"
	}
	if cfg.Policy, err = policies.Policy(policy, params); err != nil {
		return nil, err
	}
	return sim.Run(cfg, jobs)
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

// classMeans returns the mean slowdown of each octave of sizes from 5 to 500.
func classMeans(res *sim.Result) []float64 {
	classes := make([][]float64, 7)
	for i := range res.Jobs {
		n := float64(res.Jobs[i].Job.Spec.Maps)
		c := min(int(math.Log2(n/5)), len(classes)-1)
		classes[c] = append(classes[c], res.Jobs[i].Completion().Seconds()/n)
	}
	out := make([]float64, len(classes))
	for i, c := range classes {
		out[i] = mean(c)
	}
	return out
}
