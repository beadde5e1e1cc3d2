package deadline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/deadline"
	"github.com/millrace/millrace/sim"
)

// forecasts are the relative errors of a job's forecast, each with its time as a part of the run.
type forecasts struct{ at, err []float64 }

// forecast runs a job alone and samples the error of its forecast every 3 s between the first and the last end of a map.
func forecast(job *sim.Job, nodes int, seed uint64) (out forecasts, err error) {
	cfg, err := workers(nodes, "deadline-max", nil, seed)
	if err != nil {
		return out, err
	}
	job.Spec.Maps = int32(len(job.Maps))
	job.Spec.Deadline = time.Hour
	cfg.SampleEvery = 3 * time.Second
	cfg.Sample = func(now time.Duration, v *scheduler.View) {
		live := v.Job(0)
		if live == nil || live.Done(scheduler.Map) == live.Total(scheduler.Map) {
			return
		}
		if f, ok := cfg.Policy.(*deadline.Policy).Forecast(now, live, nodes); ok {
			out.at, out.err = append(out.at, now.Seconds()), append(out.err, f)
		}
	}
	res, err := sim.Run(cfg, []*sim.Job{job})
	if err != nil {
		return out, err
	}
	actual := res.Jobs[0].Completion().Seconds()
	for i, f := range out.err {
		out.at[i], out.err[i] = out.at[i]/actual, deadline.RelErr(f, actual)
	}
	return out, nil
}

func estimator(r *lab.Recorder) {
	nodes := r.Int("nodes", ownNodes)
	kinds := []func(*rand.Rand) *sim.Job{wordCountJob, simulatorJob, joinJob}
	runs := lab.Sweep(r, kinds, r.Seeds(20, 5), func(kind func(*rand.Rand) *sim.Job, seed uint64) (forecasts, error) {
		return forecast(kind(rand.New(rand.NewPCG(seed, 8))), nodes, seed)
	})
	checkWordCount(r, runs[0])
	checkSimulator(r, runs[1])
	checkJoin(r, runs[2])
	lines := chart.Lines{
		Frame: chart.Frame{Title: "Relative error of the forecast (Figs. 1-3)", X: chart.Axis{Label: "part of the run (1: its end)"}, Y: chart.Axis{Label: "relative error, %", Min: -60, Max: 160}},
		Marks: []chart.Mark{{Name: "forecast right", Value: 0}},
	}
	for i, name := range []string{"WordCount", "Simulator", "Join"} {
		first := runs[i][0]
		lines.Series = append(lines.Series, chart.Series{Name: name, X: first.at, Y: lab.Each(first.err, func(e float64) float64 { return 100 * e })})
	}
	r.Figure("error", lines)
}

// nearest returns the error of the sample closest to a part of the run.
func (f forecasts) nearest(part float64) float64 {
	best, value := math.Inf(1), math.NaN()
	for i, t := range f.at {
		if d := math.Abs(t - part); d < best {
			best, value = d, f.err[i]
		}
	}
	return value
}

func checkWordCount(r *lab.Recorder, runs []forecasts) {
	var good, early float64
	for _, f := range runs {
		n := 0
		for _, e := range f.err {
			if math.Abs(e) < 0.05 {
				n++
			}
		}
		good += 100 * float64(n) / float64(len(f.err)) / float64(len(runs))
		early += 100 * f.nearest(0.1) / float64(len(runs))
	}
	r.Check(lab.Between("8: WordCount, samples with an error below 5 %, %", lab.Number("below 5 % for most of the run"), good, 80, 100).Because("mean over runs"))
	r.Check(lab.AtLeast("8: WordCount, error at 10 % of the run, %", lab.Sign("pessimistic at first"), early, 0).Because(r.Say("first wave")))
}

func checkSimulator(r *lab.Recorder, runs []forecasts) {
	for _, part := range []float64{0.1, 0.25, 0.5, 0.75} {
		_, _, worst := stats.Range(lab.Each(runs, func(f forecasts) float64 { return f.nearest(part) }))
		r.Check(lab.Between(fmt.Sprintf("9: Simulator, error at %.0f %% of the run, %% (largest)", 100*part), lab.Sign("optimistic"), 100*worst, -100, 0).Because("below 0 is optimistic; of all runs the error nearest to pessimistic"))
	}
	earliest := 1.0
	for _, f := range runs {
		for k := len(f.at) - 1; k >= 0 && math.Abs(f.err[k]) < 0.1; k-- {
			earliest = min(earliest, f.at[k])
		}
	}
	r.Check(lab.Between("9: Simulator, part of the run from which the error stays below 10 %", lab.Sign("towards the end"), earliest, 0.7, 1).Because("earliest of all runs; 1 is the end"))
}

func checkJoin(r *lab.Recorder, runs []forecasts) {
	ratio := 0.0
	for _, f := range runs {
		var start, end []float64
		for k, t := range f.at {
			switch {
			case t < 0.25:
				start = append(start, math.Abs(f.err[k]))
			case t >= 0.5:
				end = append(end, math.Abs(f.err[k]))
			}
		}
		if len(start) > 0 && len(end) > 0 {
			ratio += stats.Mean(start) / stats.Mean(end) / float64(len(runs))
		}
	}
	r.Check(lab.AtLeast("10: Join, mean error of the first quarter over that of the second half", lab.Sign("far better in the second half"), ratio, 3).Because("absolute errors; mean over runs of the quotient"))
}
