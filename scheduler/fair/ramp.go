package fair

import (
	"time"

	"github.com/millrace/millrace/scheduler"
)

// needy returns the job, other than j, whose map is next: the one farthest below its share.
func (s *Shares) needy(j *job) scheduler.Needy {
	for i := range s.Len(scheduler.Map) {
		line := s.At(scheduler.Map, i)
		for at := range line.Len() {
			if b := line.At(at); b != j {
				return scheduler.Needy{Job: b, Owed: s.order}
			}
		}
	}
	return scheduler.Needy{Owed: s.order}
}

// owed reports whether a, with more containers and after giving b one, would still hold as much for its weight as b
// with one more. Users, pools or queues are compared if a and b have different ones, jobs otherwise.
func (s *Shares) owed(a *job, more int32, b *job, free int32) bool {
	if ga, gb := s.groupOf(a), s.groupOf(b); ga != gb {
		return float64(ga.Held()+more-1)/s.weight(ga) >= float64(gb.Held()+free+1)/s.weight(gb)
	}
	if s.cfg.Inside == "fifo" && s.cfg.Key != "job" {
		return b.Priority() > a.Priority() || b.Priority() == a.Priority() && b.Seq() < a.Seq()
	}
	return float64(a.Held()+more-1)/a.Weight() >= float64(b.Held()+free+1)/b.Weight()
}

// kill implements Kill for both policies: with rampup, reduces that wait give way to maps.
func (s *Shares) kill(now time.Duration, v *scheduler.View) (scheduler.Victim, bool) {
	if s.cfg.Reduces.Ramp <= 0 {
		return scheduler.Victim{}, false
	}
	return s.cfg.Reduces.GiveBack(now, v, s.needy(nil))
}

// Kill implements scheduler.Killer.
func (p *Policy) Kill(now time.Duration, v *scheduler.View) (scheduler.Victim, bool) {
	return p.kill(now, v)
}

// Kill implements scheduler.Killer.
func (d *Delay) Kill(now time.Duration, v *scheduler.View) (scheduler.Victim, bool) {
	return d.kill(now, v)
}
