package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// A Listed job is written down by hand. Times are seconds.
type Listed struct {
	Name       string  `yaml:"name" json:"name,omitempty" help:"name"`
	User       string  `yaml:"user" json:"user,omitempty" help:"whose it is"`
	Queue      string  `yaml:"queue" json:"queue,omitempty" help:"its queue"`
	Pool       string  `yaml:"pool" json:"pool,omitempty" help:"its pool"`
	At         float64 `yaml:"at" json:"at" help:"when it comes, in seconds"`
	Maps       int32   `yaml:"maps" json:"maps" help:"number of maps"`
	MapTime    float64 `yaml:"map_time" json:"map_time" help:"of each map, in seconds"`
	Reduces    int32   `yaml:"reduces" json:"reduces,omitempty" help:"number of reduces"`
	ReduceTime float64 `yaml:"reduce_time" json:"reduce_time,omitempty" help:"of each reduce after the last map, in seconds"`
	Deadline   float64 `yaml:"deadline" json:"deadline,omitempty" help:"its goal, in seconds after it comes"` // seconds after it comes; 0 means none
	Weight     float64 `yaml:"weight" json:"weight,omitempty" help:"its share beside others; 0 means 1"`
	Shuffle    int64   `yaml:"shuffle_bytes" json:"shuffle_bytes,omitempty" help:"bytes from maps to reduces"`
}

// What a listed job may ask for.
const (
	maxListedTasks = 1_000_000
	maxListedTime  = 1e8 // seconds, three years
)

// Check refuses impossible jobs.
func (l *Listed) Check() error {
	switch {
	case l.Maps < 1 || l.Maps > maxListedTasks || l.Reduces < 0 || l.Reduces > maxListedTasks:
		return fmt.Errorf("%d maps and %d reduces: a job has 1 to %d maps and at most as many reduces", l.Maps, l.Reduces, maxListedTasks)
	case !lasts(l.At, 0) || !lasts(l.MapTime, 0.001) || !lasts(l.Deadline, 0) || l.Reduces > 0 && !lasts(l.ReduceTime, 0.001):
		return fmt.Errorf("at %v, map_time %v, reduce_time %v, deadline %v: times are seconds, of tasks at least 0.001, all at most %g", l.At, l.MapTime, l.ReduceTime, l.Deadline, maxListedTime)
	case l.Weight < 0 || l.Weight > 1e6 || l.Shuffle < 0:
		return fmt.Errorf("weight %v, shuffle_bytes %d: neither may be below 0, the weight at most 1000000", l.Weight, l.Shuffle)
	}
	return nil
}

func lasts(seconds, least float64) bool { return seconds >= least && seconds <= maxListedTime }

// FromList turns listed jobs into a workload with a block for each map, placed as those of a trace are.
func FromList(list []Listed, cfg WorkloadConfig, rng *rand.Rand) ([]*Job, error) {
	out := make([]*Job, len(list))
	for i := range list {
		l := &list[i]
		if err := l.Check(); err != nil {
			return nil, fmt.Errorf("job %d: %w", i+1, err)
		}
		out[i] = cfg.listed(i, l, rng)
	}
	return out, nil
}

func (c *WorkloadConfig) listed(i int, l *Listed, rng *rand.Rand) *Job {
	length := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	spec := &scheduler.JobSpec{
		ID: scheduler.JobID(i), Name: l.Name, User: l.User, Queue: l.Queue, Pool: l.Pool, Submit: length(l.At), Weight: l.Weight,
		Maps: l.Maps, Reduces: l.Reduces, Slowstart: c.Slowstart, MapTime: length(l.MapTime), ReduceTime: length(l.ReduceTime),
		Input: scheduler.Bytes(int64(l.Maps) * c.BlockBytes), Shuffle: scheduler.Bytes(l.Shuffle),
	}
	if spec.Name == "" {
		spec.Name = fmt.Sprint("job ", i+1)
	}
	if l.Deadline > 0 {
		spec.Deadline = spec.Submit + length(l.Deadline)
	}
	for range l.Maps {
		spec.Splits.Add(c.BlockBytes, c.place(nil, rng)...)
	}
	j := &Job{Spec: spec, Maps: []time.Duration{spec.MapTime}}
	if l.Reduces > 0 {
		j.Reduces = []time.Duration{spec.ReduceTime}
	}
	spec.Work = j.Work()
	return j
}
