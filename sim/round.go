package sim

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// round runs a round of the driver and carries out its decisions. A policy that breaks a rule ends the run.
func (s *simulation) round(r drive.Round) {
	if r.Parts == 0 || s.err != nil {
		return
	}
	if err := s.drive.Round(s.now, r, s.do); err != nil && s.err == nil {
		s.err = fmt.Errorf("at %v: %w", s.now, err)
	}
	started := s.started
	s.started = s.started[:0]
	for _, i := range started {
		s.finishIfComplete(i)
	}
}

// admits returns the part of a round that asks the admission policy. Without such a policy, and if nobody waits, there
// is nothing to ask: admits is called at every event.
func (s *simulation) admits() drive.Part {
	if s.cfg.Admission == nil && s.drive.View().Waiting().Len() == 0 {
		return 0
	}
	return drive.Admit
}

// offer gives a node work until the policy has none for it.
func (s *simulation) offer(n topology.NodeID) {
	if s.reports(n) {
		s.feed(scheduler.Heartbeat(n))
	}
	s.asking[0] = n
	s.round(drive.Round{Parts: drive.Offer, Nodes: s.asking[:], Most: s.cfg.PerHeartbeat})
}

// liveHeartbeat is how often a worker without news reports on a live cluster.
const liveHeartbeat = time.Second

// reports reports whether an offer is a heartbeat of the node. Each is, unless nodes ask again as on a live cluster,
// where heartbeats have an interval of their own.
func (s *simulation) reports(n topology.NodeID) bool {
	if s.cfg.AskAgain == 0 {
		return true
	}
	if s.heartbeatAt == nil {
		s.heartbeatAt = make([]time.Duration, len(s.running))
	}
	due := s.now >= s.heartbeatAt[n]
	if due {
		s.heartbeatAt[n] = s.now - s.now%liveHeartbeat + liveHeartbeat
	}
	return due
}

func (s *simulation) carryOut(d drive.Step) {
	switch d.Do {
	case drive.Launch:
		s.launch(&d)
	case drive.Stop:
		s.moved = s.now
		if mine, ok := s.running[d.Node].find(d.Task); ok {
			s.countStop(&d)
			s.stop(mine)
			s.gotRoom(d.Node)
		}
	case drive.Forget:
		s.moved = s.now
		if d.Task.Kind == scheduler.Map {
			s.cfg.Model.MapsUndone(s.now, s.jobs[s.index(d.Task.Job)])
		}
	case drive.Start, drive.Reject:
		s.judged(&d)
	}
}

// mostStops is how many attempts a policy may stop at one time, in addition to ten for every container. A policy that
// starts again what it has stopped would go on for ever, and no time would pass.
const mostStops = 1000

// countStop counts a stop, and ends a run whose time stands still.
func (s *simulation) countStop(d *drive.Step) {
	if s.stopsAt != s.now {
		s.stopsAt, s.stops = s.now, 0
	}
	v := s.drive.View()
	if s.stops++; s.stops > mostStops+10*int(v.Total().Places()) && s.err == nil {
		s.err = fmt.Errorf("at %v: the policy has stopped %d attempts without any time passing, the last %v: %s (it starts again what it stops)", s.now, s.stops, d.Task, d.Reason.Text(v))
	}
}

// judged records which job was admitted or rejected.
func (s *simulation) judged(d *drive.Step) {
	i := s.index(d.Task.Job)
	s.moved = s.now
	if d.Do == drive.Reject {
		s.res.Jobs[i].Failed = true
		s.res.Jobs[i].Finished = s.now
		s.left--
		return
	}
	s.res.Jobs[i].Admitted = s.now
	if s.jobs[i].Spec.HasDriver {
		s.drivers++
	}
	s.started = append(s.started, i)
}

// tickEvery is how often the simulation looks for deadlocks if no policy asks for ticks.
const tickEvery = 10 * time.Second

// tick lets policies do periodic work, starts second attempts, breaks deadlocks, and plans the next tick.
func (s *simulation) tick() {
	s.round(drive.Round{Parts: drive.Tick})
	next, ok := s.drive.NextTick()
	if g, gated := s.cfg.Model.(Gated); gated {
		g.Ask(s.now)
	}
	soon := func(wanted bool, after time.Duration) {
		if at := s.now + after; wanted && (!ok || at < next) {
			next, ok = at, true
		}
	}
	var parts drive.Part
	if s.cfg.Seconds != nil {
		parts |= drive.Second
	}
	if s.cfg.BreakDeadlocks {
		parts |= drive.Unlock
	}
	s.round(drive.Round{Parts: parts})
	soon(s.cfg.BreakDeadlocks, tickEvery)
	soon(s.cfg.Seconds != nil, s.cfg.secondsEvery())
	soon(s.cfg.AskAgain > 0, s.cfg.AskAgain) // what follows every step
	if ok {
		s.agenda.add(max(next, s.now+1), happening{what: tick})
	}
}
