package admission

import "slices"

// ema is the progress-delta estimator of the scripts (spec/marp 3.3): a recursive filter
// whose earlier term is already smoothed and rounded.
type ema struct {
	current, previous float64
	progress          float64 // P of the last measurement
	delta             int     // D of the last measurement
}

// next returns P and D of a measurement without taking it.
func (e *ema) next(mean float64) (progress float64, delta int) {
	raw := r3(mean - e.progress)
	return mean, r0(r3(r3(e.current*raw) + r3(e.previous*float64(e.delta))))
}

// smoother is what CBTwS and CBTwAT share: the lockout that alternates
// measuring and housekeeping, and the jobs that count in the mean.
type smoother struct {
	loop
	ema
	apps    []jobID
	lockout bool
	half    bool // the lockout sleep is over; housekeeping follows
}

func newSmoother(cfg Config) smoother {
	return smoother{loop: loop{cfg: cfg}, ema: ema{current: cfg.Current, previous: cfg.Previous}}
}

// Init implements Controller.
func (s *smoother) Init(batch []jobID, marp float64) Act {
	s.apps, s.lockout, s.half = slices.Clone(batch), false, false
	s.progress, s.delta = 0, 0
	return s.loop.Init(batch, marp)
}

// Track implements Controller.
func (s *smoother) Track(j jobID, on bool) {
	s.loop.Track(j, on)
	if s.apps = without(s.apps, j); on {
		s.apps = append(s.apps, j)
	}
}

// step runs one round: measure, or keep house (spec/marp 3.4, lines 1-2 and 13-18).
func (s *smoother) step(o Obs, measure func(mean float64, o Obs) Act) Act {
	switch {
	case s.half:
		s.half = false
		return s.housekeep(o)
	case s.over(o):
		return s.end()
	case s.idle(o) && !s.lockout:
		s.lockout = true
		mean, ok := s.mean(o)
		if !ok {
			return Act{} // nothing to measure (spec/marp 7.17)
		}
		s.running = o.Running
		return measure(mean, o)
	case s.lockout:
		s.lockout, s.half = false, true
		return Act{Sleep: s.cfg.Lockout, Resume: true}
	}
	return s.housekeep(o)
}

// mean returns P: the mean progress of the jobs that have some. ok is false if
// none has, unless jobs wait and nothing runs, when it is 0.
func (s *smoother) mean(o Obs) (p float64, ok bool) {
	sum, n := 0.0, 0
	for _, a := range s.apps {
		if p := o.Prog(a); ipart(p) > 0 {
			sum = r3(sum + p)
			n++
		}
	}
	if n == 0 {
		return 0, o.Running == 0 && o.Pending > 0
	}
	return r3(sum / float64(n)), true
}

// Measured returns P and D of the last measurement taken (spec/marp 3.3).
func (s *smoother) Measured() (progress float64, delta int) { return s.progress, s.delta }

func (s *smoother) housekeep(o Obs) Act {
	s.apps = slices.DeleteFunc(s.apps, func(j jobID) bool { return ipart(o.Prog(j)) == 100 })
	return s.write(s.dropped(o))
}
