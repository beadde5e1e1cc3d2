package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/deadline"
	"github.com/millrace/millrace/sim"
)

// forecastError runs a job alone and returns the relative error of its forecast, sampled
// every 3 s between the first and the last end of a map, with the time as a part of the
// run.
func forecastError(job *sim.Job, seed uint64) (at, err []float64, _ error) {
	cfg, e := slotted(60, 1, 1)
	if e != nil {
		return nil, nil, e
	}
	p, e := deadline.New(deadline.DefaultConfig(true))
	if e != nil {
		return nil, nil, e
	}
	job.Spec.Maps = int32(len(job.Maps))
	job.Spec.Deadline = time.Hour
	cfg.Policy, cfg.Heartbeat, cfg.OutOfBand, cfg.Seed = p, 3*time.Second, true, seed
	var times, forecasts []float64
	cfg.SampleEvery = 3 * time.Second
	cfg.Sample = func(now time.Duration, v *scheduler.View) {
		live := v.Job(0)
		if live == nil || live.Done(scheduler.Map) == live.Total(scheduler.Map) {
			return
		}
		if f, ok := p.Forecast(now, live, 60); ok {
			times, forecasts = append(times, now.Seconds()), append(forecasts, f)
		}
	}
	res, e := sim.Run(cfg, []*sim.Job{job})
	if e != nil {
		return nil, nil, e
	}
	actual := res.Jobs[0].Completion().Seconds()
	for i, f := range forecasts {
		at, err = append(at, times[i]/actual), append(err, deadline.RelErr(f, actual))
	}
	return at, err, nil
}

func deadlineEstimator(r *Recorder) error {
	n := r.seeds(20, 5)
	kinds := []func(*rand.Rand) *sim.Job{wordCountJob, simulatorJob, joinJob}
	at, errs := make([][]float64, 3*n), make([][]float64, 3*n)
	err := r.each(3*n, func(i int) (err error) {
		seed := r.options.Seed + uint64(i%n)
		at[i], errs[i], err = forecastError(kinds[i/n](rand.New(rand.NewPCG(seed, 8))), seed)
		return err
	})
	if err != nil {
		return err
	}
	checkWordCount(r, at[:n], errs[:n])
	checkSimulator(r, at[n:2*n], errs[n:2*n])
	checkJoin(r, at[2*n:], errs[2*n:])
	lines := chart.Lines{
		Frame: chart.Frame{Title: "Relative error of the forecast (Figs. 1-3)", X: chart.Axis{Label: "part of the run (1: its end)"}, Y: chart.Axis{Label: "relative error, %", Min: -60, Max: 160}},
		Marks: []chart.Mark{{Name: "forecast right", Value: 0}},
	}
	for i, name := range []string{"WordCount", "Simulator", "Join"} {
		s := chart.Series{Name: name, X: at[i*n]}
		for _, e := range errs[i*n] {
			s.Y = append(s.Y, 100*e)
		}
		lines.Series = append(lines.Series, s)
	}
	r.figure("error", "One run of each application. Above 0 the job ends earlier than foreseen, below 0 later. The line of the Join begins above the chart.", lines)
	return nil
}

// nearest returns the error of the sample closest to a part of the run.
func nearest(at, err []float64, part float64) float64 {
	best, value := math.Inf(1), math.NaN()
	for i, t := range at {
		if d := math.Abs(t - part); d < best {
			best, value = d, err[i]
		}
	}
	return value
}

func checkWordCount(r *Recorder, at, errs [][]float64) {
	var good, early float64
	for i := range at {
		n := 0
		for _, e := range errs[i] {
			if math.Abs(e) < 0.05 {
				n++
			}
		}
		good += 100 * float64(n) / float64(len(errs[i])) / float64(len(at))
		early += 100 * nearest(at[i], errs[i], 0.1) / float64(len(at))
	}
	r.between("8: WordCount, samples with an error below 5 %, %", "most of the run", good, 80, 100, "mean over runs")
	r.between("8: WordCount, error at 10 % of the run, %", "pessimistic at first", early, 0, inf, "above 0 is pessimistic; that the first wave is slow is built into the workload")
}

func checkSimulator(r *Recorder, at, errs [][]float64) {
	for _, part := range []float64{0.1, 0.25, 0.5, 0.75} {
		worst := math.Inf(-1)
		for i := range at {
			worst = max(worst, nearest(at[i], errs[i], part))
		}
		r.between(fmt.Sprintf("9: Simulator, error at %.0f %% of the run, %% (largest)", 100*part), "optimistic", 100*worst, -100, 0, "below 0 is optimistic; of all runs the error nearest to pessimistic")
	}
	earliest := 1.0
	for i := range at {
		good := 1.0
		for k := len(at[i]) - 1; k >= 0 && math.Abs(errs[i][k]) < 0.1; k-- {
			good = at[i][k]
		}
		earliest = min(earliest, good)
	}
	r.between("9: Simulator, part of the run from which the error stays below 10 %", "towards the end", earliest, 0.7, 1, "earliest of all runs; 1 is the end")
}

func checkJoin(r *Recorder, at, errs [][]float64) {
	ratio := 0.0
	for i := range at {
		var start, end []float64
		for k, t := range at[i] {
			switch {
			case t < 0.25:
				start = append(start, math.Abs(errs[i][k]))
			case t >= 0.5:
				end = append(end, math.Abs(errs[i][k]))
			}
		}
		if len(start) > 0 && len(end) > 0 {
			ratio += mean(start) / mean(end) / float64(len(at))
		}
	}
	r.between("10: Join, mean error of the first quarter over that of the second half", "far better in the second half", ratio, 3, inf, "absolute errors; mean over runs of the quotient")
}
