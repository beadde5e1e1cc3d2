package names

import (
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// reportPatience is how long the next page of a report may take.
const reportPatience = 30 * time.Second

// Register introduces a block service: a new one, or one that was restarted or taken for dead. Only its report tells
// what it holds.
func (s *Service) Register(r wire.RegisterRequest) (wire.RegisterResponse, error) {
	return do(s, func() (none wire.RegisterResponse, err error) {
		if r.Cluster != "" && r.Cluster != s.cluster {
			return none, wire.Errorf(wire.Invalid, "node %s belongs to cluster %s, this is %s", r.Node, r.Cluster, s.cluster)
		}
		if why := badName(string(r.Node)); why != "" {
			return none, wire.Errorf(wire.Invalid, "node name %.40q: %s", r.Node, why)
		}
		if r.Rack == "" {
			r.Rack = "default"
		}
		if err := s.meet(r.Node, r.Seen); err != nil {
			return none, err
		}
		s.hear()
		racks := s.liveRacks()
		n := s.byName[r.Node]
		if n == nil {
			n = s.newNode(r.Node)
		}
		moved := n.rack != r.Rack || n.machine != r.Machine
		s.session++
		n.rack, n.addr, n.machine, n.volumes = r.Rack, r.Addr, r.Machine, r.Volumes
		n.session, n.last, n.reported, n.report = s.session, s.cfg.Now(), false, nil
		n.dead, n.draining = false, s.draining[r.Node]
		s.forgetCommands(n)
		if moved {
			s.rebuild()
		}
		if racks == 1 && s.liveRacks() > 1 {
			s.settleAll() // blocks in one rack can be spread now
		}
		return wire.RegisterResponse{Cluster: s.cluster, Epoch: s.self.Epoch, Name: s.self.Name, Session: n.session}, s.broken
	})
}

func (s *Service) newNode(name wire.NodeName) *node {
	n := &node{name: name, blocks: map[*block]struct{}{}, budget: float64(s.cfg.CopyBytesPerSecond), budgetAt: s.cfg.Now()}
	n.id = topologyID(len(s.nodes))
	s.nodes = append(s.nodes, n)
	s.byName[name] = n
	if s.session == 0 {
		s.session = s.self.Epoch << 20 // sessions of different openings differ
	}
	return n
}

// inSession returns the node with this session, or nil if it must register.
func (f *fleet) inSession(name wire.NodeName, session uint64) *node {
	if n := f.byName[name]; n != nil && n.session == session && !n.dead {
		return n
	}
	return nil
}

// Report takes a page of a full block report.
func (s *Service) Report(r wire.ReportRequest) error {
	_, err := do(s, func() (none struct{}, err error) {
		n := s.inSession(r.Node, r.Session)
		if n == nil {
			return none, wire.Errorf(wire.Stale, "node %s: session %d is not known; register", r.Node, r.Session)
		}
		now := s.cfg.Now()
		n.last = now
		if r.Page == 0 {
			n.report = &reporting{seen: map[*block]struct{}{}}
		}
		if n.report == nil || r.Page != n.report.next {
			return none, wire.Errorf(wire.Invalid, "node %s: page %d of a report does not follow; begin with page 0", r.Node, r.Page)
		}
		n.report.next++
		n.report.at = now
		for _, b := range r.Blocks {
			s.found(n, b)
		}
		if r.Last {
			s.endReport(n)
		}
		return none, nil
	})
	return err
}

// endReport forgets the replicas that a complete report did not list.
func (s *Service) endReport(n *node) {
	seen := n.report.seen
	n.report, n.reported = nil, true
	gone := map[*block]struct{}{}
	for b := range n.blocks {
		if _, ok := seen[b]; !ok {
			gone[b] = struct{}{}
		}
	}
	for _, b := range sorted(gone) {
		s.lose(b, n)
		s.settle(b)
	}
}

// Beat takes the beat of a block service and answers with what the node should do.
func (s *Service) Beat(r wire.BeatRequest) (wire.BeatResponse, error) {
	return do(s, func() (wire.BeatResponse, error) {
		out := wire.BeatResponse{Epoch: s.self.Epoch, Name: s.self.Name}
		if err := s.meet(r.Node, r.Seen); err != nil {
			return out, err
		}
		n := s.inSession(r.Node, r.Session)
		if n == nil {
			out.Register = true
			return out, nil
		}
		now := s.cfg.Now()
		n.last = now
		s.hear()
		failed := n.failedVolumes()
		if n.volumes = r.Volumes; n.failedVolumes() > failed {
			n.reported, n.report = false, nil // what was on them is gone: ask
		}
		err := s.news(n, &r, now)
		if n.report != nil && now-n.report.at > reportPatience {
			n.report = nil
		}
		out.Report = !n.reported && n.report == nil
		if !s.safe.on {
			out.Delete = s.takeDeletes(n, now)
			out.Copy = n.takeCopies(now, s.cfg.CopyTimeout)
			out.Recover, n.recover = n.recover, nil
		}
		return out, err
	})
}

// news processes what a beat reports.
func (s *Service) news(n *node, r *wire.BeatRequest, now time.Duration) error {
	for _, b := range r.Deleted {
		s.deleted(n, b)
	}
	for _, b := range r.Received {
		s.found(n, b)
	}
	for _, b := range r.Corrupt {
		s.accuse(n, b.Block)
	}
	for _, w := range r.Failed {
		s.failed(n, w, now)
	}
	for _, d := range r.Done {
		if err := s.recovered(d); err != nil {
			return err
		}
	}
	return nil
}
