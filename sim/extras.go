package sim

import (
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/netmon"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// startExtras plans what not every run has: the monitor of a network, changes of settings, the timeline, plans.
func (s *simulation) startExtras(rng *rand.Rand) {
	s.rng = rand.New(rand.NewPCG(s.cfg.Seed, 0x657874))
	if _, ok := s.cfg.Model.(Carrier); ok {
		s.startMonitor()
	}
	s.setGate()
	for i, c := range s.cfg.Switches {
		s.agenda.add(c.At, happening{what: swap, job: int32(i)})
	}
	for i, c := range s.cfg.Changes {
		s.agenda.add(c.At+s.reload(), happening{what: change, job: int32(i)})
	}
	if s.cfg.Timeline > 0 {
		s.agenda.add(s.cfg.Timeline, happening{what: point})
	}
	s.announce(rng)
}

// setGate makes the model ask the policy before shuffles if the policy holds them back, and removes the gate if not.
func (s *simulation) setGate() {
	g, gated := s.cfg.Model.(Gated)
	if !gated {
		return
	}
	if !s.drive.Gated() {
		g.SetGate(nil)
		return
	}
	g.SetGate(s.drive.Release)
}

// swap puts other policies in place.
func (s *simulation) swap(to *Switch) {
	s.cfg.Policy, s.cfg.Admission, s.abstains = to.Policy, to.Admission, nil
	s.drive.SetPolicy(s.now, to.Policy)
	s.drive.SetAdmission(s.now, to.Admission)
	s.setGate()
	s.moved = s.now
}

// reload draws how long a written setting takes to count.
func (s *simulation) reload() time.Duration {
	if span := s.cfg.ReloadMax - s.cfg.ReloadMin; span > 0 {
		return s.cfg.ReloadMin + time.Duration(s.rng.Int64N(int64(span)+1))
	}
	return s.cfg.ReloadMin
}

func (s *simulation) startMonitor() {
	if s.cfg.Monitor == (netmon.Config{}) {
		s.cfg.Monitor = netmon.DefaultConfig()
	}
	m, err := netmon.New(s.cfg.Topology, s.cfg.Monitor)
	if err != nil {
		s.err = err
		return
	}
	m.Sample(0)
	s.monitor = m
	s.counted = make([][2]float64, s.cfg.Topology.NumRacks())
	s.agenda.add(s.cfg.Monitor.Interval, happening{what: watch})
}

func (s *simulation) extra(h happening) {
	switch h.what {
	case watch:
		s.watch()
	case point:
		s.point()
		s.agenda.add(s.now+s.cfg.Timeline, h)
	case change:
		s.feed(scheduler.ConfigChanged(s.cfg.Changes[h.job].Text))
	case swap:
		s.swap(&s.cfg.Switches[h.job])
	case expect:
		s.plan(s.now, s.now+s.cfg.PlanHorizon)
	}
}

// watch tells the monitor what crossed the racks' links, and the policies what has changed by that.
func (s *simulation) watch() {
	c := s.cfg.Model.(Carrier)
	for r := range s.counted {
		up, down := c.RackBytes(s.now, topology.RackID(r))
		was := &s.counted[r]
		// The monitor gets whole bytes; the rest follows next time.
		du, dd := max(0, int64(up-was[0])), max(0, int64(down-was[1]))
		s.monitor.Background(topology.RackID(r), du, dd)
		was[0] += float64(du)
		was[1] += float64(dd)
	}
	s.monitor.Sample(s.now)
	v := s.drive.View()
	for r, rack := range s.monitor.Racks() {
		if old := v.Net(r); old.Up != rack.Up || old.Down != rack.Down || old.Congested != rack.Congested {
			s.feed(scheduler.NetSample(r, rack.Up, rack.Down, rack.Congested))
		}
	}
	s.agenda.add(s.now+s.cfg.Monitor.Interval, happening{what: watch})
}

// point adds a sample to the timeline.
func (s *simulation) point() {
	v := s.drive.View()
	use := v.ClusterUsed()
	p := Sample{At: s.now, Maps: use.Tasks[scheduler.Map], Reduces: use.Tasks[scheduler.Reduce], Jobs: v.Jobs().Len()}
	if s.monitor != nil {
		for _, rack := range s.monitor.Racks() {
			p.Uplinks += rack.Utilisation() / float64(len(s.counted))
		}
		p.Congested = s.monitor.Summary().Racks
	}
	s.res.Timeline = append(s.res.Timeline, p)
}

// logged keeps an ended attempt if Config.LogAttempts is set.
func (s *simulation) logged(a Attempt, ok bool) {
	if s.cfg.LogAttempts && a.Task.Kind != scheduler.Driver {
		s.res.Log = append(s.res.Log, AttemptLog{Attempt: a, End: s.now, OK: ok})
	}
}
