package tracker

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// forecastJobs is how many of the last jobs of a name and user make a forecast.
const forecastJobs = 10

// recur fills in what is expected of a recurring job from jobs of its name and user that have succeeded: means of the
// last ten, with the shuffle scaled to the input where both are known. What the job itself says stands.
func (c *Tracker) recur(s *wire.JobSpec) {
	if !s.Recurring || s.Stages != 1 {
		return
	}
	last := c.lessonsOf(s.Name, s.User)
	if len(last) == 0 {
		return
	}
	e, f := &s.Expect, forecastOf(last, s.Expect.Input)
	for _, v := range []struct{ into, from *int64 }{{&e.Input, &f.Input}, {&e.Shuffle, &f.Shuffle}, {&e.MapMillis, &f.MapMillis}, {&e.ReduceMillis, &f.ReduceMillis}} {
		if *v.into == 0 {
			*v.into = *v.from
		}
	}
}

// lessonsOf returns the last lessons of a name and user.
func (c *Tracker) lessonsOf(name, user string) (last []*scheduler.Lesson) {
	for _, l := range c.lessons() {
		if l.Name == name && l.User == user {
			last = append(last, l)
		}
	}
	return last[max(0, len(last)-forecastJobs):]
}

// recall is recur for a stage of a chain, from earlier stages of that number. It uses the stage's own input if its plan
// has told it.
func (c *Tracker) recall(spec *scheduler.JobSpec) {
	last := c.lessonsOf(spec.Name, spec.User)
	if len(last) == 0 {
		return
	}
	f := forecastOf(last, spec.Input.Bytes)
	if !spec.Input.Known {
		spec.Input = sizeOf(f.Input)
	}
	if !spec.Shuffle.Known {
		spec.Shuffle = sizeOf(f.Shuffle)
	}
	if spec.MapTime == 0 {
		spec.MapTime = time.Duration(f.MapMillis) * time.Millisecond
	}
	if spec.ReduceTime == 0 {
		spec.ReduceTime = time.Duration(f.ReduceMillis) * time.Millisecond
	}
}

// stageName returns the name of a stage, under which its lessons are kept.
func stageName(job string, stages, stage int) string {
	if stages > 1 {
		return fmt.Sprintf("%s/%d", job, stage)
	}
	return job
}

// Forecast returns what is known of jobs of a name and user, stage by stage.
func (c *Tracker) Forecast(name, user string) (wire.Forecast, error) {
	f := wire.Forecast{Name: name, User: user}
	for _, stages := range []int{1, maxForecastStages} {
		for i := range stages {
			last := c.lessonsOf(stageName(name, stages, i), user)
			if len(last) == 0 {
				break
			}
			f.Stages = append(f.Stages, spreadOf(stageName(name, stages, i), last))
		}
	}
	if len(f.Stages) == 0 {
		return f, wire.Errorf(wire.NotFound, "no job called %q of %s has succeeded here: run one (--name), or see millrace job history for names and users", name, user)
	}
	return f, nil
}

// maxForecastStages bounds the stages of a chain that Forecast looks for.
const maxForecastStages = 1000

// spreadOf returns the means and deviations over jobs.
func spreadOf(name string, last []*scheduler.Lesson) wire.StageForecast {
	of := func(value func(l *scheduler.Lesson) float64) wire.Spread {
		x := make([]float64, len(last))
		for i, l := range last {
			x[i] = value(l)
		}
		s := wire.Spread{Mean: stats.Mean(x)}
		if len(x) > 1 {
			s.Deviation = stats.Deviation(x)
		}
		return s
	}
	each := func(sum time.Duration, tasks int32) float64 {
		return float64(sum) / float64(time.Millisecond) / float64(max(tasks, 1))
	}
	return wire.StageForecast{
		Name: name, Jobs: len(last),
		Maps:         of(func(l *scheduler.Lesson) float64 { return float64(l.Maps) }),
		Reduces:      of(func(l *scheduler.Lesson) float64 { return float64(l.Reduces) }),
		Input:        of(func(l *scheduler.Lesson) float64 { return float64(l.Input) }),
		Shuffle:      of(func(l *scheduler.Lesson) float64 { return float64(l.Shuffle) }),
		MapMillis:    of(func(l *scheduler.Lesson) float64 { return each(l.MapTime, l.Maps) }),
		ReduceMillis: of(func(l *scheduler.Lesson) float64 { return each(l.ReduceWork, l.Reduces) }),
	}
}

// forecastOf returns the means of lessons, for a job with that input; 0 means unknown.
func forecastOf(last []*scheduler.Lesson, input int64) (f wire.Expected) {
	var in, shuffle float64
	var maps, reduces int64
	var mapTime, reduceTime time.Duration
	for _, l := range last {
		in, shuffle = in+float64(l.Input), shuffle+float64(l.Shuffle)
		maps, reduces = maps+int64(l.Maps), reduces+int64(l.Reduces)
		mapTime, reduceTime = mapTime+l.MapTime, reduceTime+l.ReduceWork
	}
	n := float64(len(last))
	f.Input = int64(in / n)
	if f.Shuffle = int64(shuffle / n); input > 0 && in > 0 {
		f.Shuffle = int64(min(shuffle/in*float64(input), absurdBytes))
	}
	f.MapMillis, f.ReduceMillis = millisEach(mapTime, maps), millisEach(reduceTime, reduces)
	return f
}

// millisEach returns the mean time of a task in milliseconds, at least one if there was a task: 0 would mean unknown.
func millisEach(sum time.Duration, tasks int64) int64 {
	if tasks == 0 {
		return 0
	}
	return max(1, (sum / time.Duration(tasks)).Milliseconds())
}
