package names

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// safety is the state of safe mode, in which nothing is copied, deleted or recovered.
type safety struct {
	on       bool
	startup  bool // blocks are still being reported; names cannot be changed
	manual   bool // somebody asked for it; names cannot be changed
	vanished bool // most nodes fell silent at once
	forced   bool // somebody ended it although nodes are silent: do not enter again yet
	since    time.Duration
	ready    bool // the condition to leave has held since then
	then     time.Duration
}

// share returns the share of finished blocks that have a good replica.
func (r *repairs) share() float64 {
	if r.finished == 0 {
		return 1
	}
	return float64(r.counted) / float64(r.finished)
}

// why explains why safe mode is on.
func (m *safety) why(s *Service) string {
	switch why := s.notInCharge(); {
	case why != nil:
		return why.Error()
	case m.manual:
		return "somebody asked for it"
	case m.vanished:
		return fmt.Sprintf("of %d nodes most are silent; no replica is copied or deleted until they are back", len(s.nodes))
	case m.startup && m.ready:
		return "enough blocks are reported; it ends in a moment"
	case m.startup:
		return fmt.Sprintf("%d of %d blocks are reported, %.1f %% are needed", s.counted, s.finished, 100*s.cfg.SafeThreshold)
	}
	return ""
}

// SafeMode describes safe mode. With Set it enters or leaves it by hand.
func (s *Service) SafeMode(r wire.SafeModeRequest) (wire.SafeMode, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	switch r.Set {
	case "":
	case "enter":
		s.safe = safety{on: true, manual: true, since: now}
	case "leave":
		if s.safe.on {
			s.leaveSafeMode(now)
			s.safe.forced = true
		}
	default:
		return wire.SafeMode{}, wire.Errorf(wire.Invalid, "safe mode %q: want enter or leave", r.Set)
	}
	return wire.SafeMode{On: s.safe.on, Manual: s.safe.manual, Reported: s.share(), Why: s.safe.why(s)}, nil
}

// leaveSafeMode restarts all leases and looks at every block.
func (s *Service) leaveSafeMode(now time.Duration) {
	s.safe = safety{}
	for _, l := range s.holders {
		l.renewed = max(l.renewed, now)
	}
	s.settleAll()
}

// settleAll settles every block again.
func (s *Service) settleAll() {
	for _, id := range slices.Sorted(maps.Keys(s.blocks)) {
		s.settle(s.blocks[id])
	}
}

// tickSafeMode enters and leaves safe mode.
func (s *Service) tickSafeMode(now time.Duration) {
	gone := s.mostSilent(now)
	m := &s.safe
	if !gone {
		m.forced = false
	}
	switch {
	case !m.on && gone && !m.forced && s.anyLate(now):
		s.safe = safety{on: true, vanished: true, since: now}
	case !m.on || m.manual:
	case m.vanished:
		s.leaveWhen(!gone, now)
	case s.finished == 0:
		s.leaveSafeMode(now)
	default:
		s.leaveWhen(s.share() >= s.cfg.SafeThreshold, now)
	}
}

// leaveWhen leaves safe mode once ok has held for Config.SafeExtension.
func (s *Service) leaveWhen(ok bool, now time.Duration) {
	m := &s.safe
	if !ok {
		m.ready = false
		return
	}
	if !m.ready {
		m.ready, m.then = true, now
	}
	if now-m.then >= s.cfg.SafeExtension {
		s.leaveSafeMode(now)
	}
}

// mostSilent reports whether more than Config.VanishShare of the nodes that are not dead are silent.
func (s *Service) mostSilent(now time.Duration) bool {
	live, silent := 0, 0
	for _, n := range s.nodes {
		if n.dead {
			continue
		}
		live++
		if s.silent(n, now) {
			silent++
		}
	}
	return silent > 0 && float64(silent) > s.cfg.VanishShare*float64(live)
}

// anyLate reports whether some node is due to be declared dead.
func (s *Service) anyLate(now time.Duration) bool {
	return slices.ContainsFunc(s.nodes, func(n *node) bool { return !n.dead && now-n.last > s.cfg.DeadAfter })
}
