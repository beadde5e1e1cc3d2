package sim

import (
	"errors"
	"time"
)

// SetLoad scales the times of arrival so that the work of the jobs uses the given share of the containers between the
// first arrival and the last. Deadlines keep their distance.
func SetLoad(jobs []*Job, containers int, share float64) error {
	if len(jobs) == 0 {
		return nil
	}
	first, last := jobs[0].Spec.Submit, jobs[0].Spec.Submit
	var work time.Duration
	for _, j := range jobs {
		first, last = min(first, j.Spec.Submit), max(last, j.Spec.Submit)
		work += j.Spec.Work
	}
	if last == first || work <= 0 {
		return errors.New("a load needs jobs that come at different times and have work")
	}
	factor := work.Seconds() / (share * float64(containers) * (last - first).Seconds())
	stretch(jobs, first, factor)
	return nil
}

// Spread multiplies the times between arrivals by a factor: at 0.5 twice as many jobs arrive in an hour. Deadlines keep
// their distance.
func Spread(jobs []*Job, factor float64) {
	if len(jobs) == 0 {
		return
	}
	first := jobs[0].Spec.Submit
	for _, j := range jobs {
		first = min(first, j.Spec.Submit)
	}
	stretch(jobs, first, factor)
}

func stretch(jobs []*Job, first time.Duration, factor float64) {
	for _, j := range jobs {
		s := j.Spec
		moved := first + time.Duration(float64(s.Submit-first)*factor)
		if s.Deadline > 0 {
			s.Deadline += moved - s.Submit
		}
		s.Submit = moved
	}
}
