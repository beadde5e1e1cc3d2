package blocks

import (
	"context"
	"sync"
	"time"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/wire"
)

// A writer names the nodes of its pipeline. A service connects only to nodes that the name service knows.
// Otherwise anyone who may write a block could make it call any address of its network.

const (
	// membersFor is how long an answer of the name service is believed.
	membersFor = time.Minute
	// membersPause is the least time between two questions, however many addresses are unknown.
	membersPause = 200 * time.Millisecond
	// membersPatience is how long an answer may take.
	membersPatience = 500 * time.Millisecond
)

// members are the addresses of block services, as the name service last listed them.
type members struct {
	begin time.Time

	asking sync.Mutex // held by whoever asks the name service
	mu     sync.Mutex // guards the fields below
	addrs  map[string]bool
	asked  time.Duration // when the last question was; negative if there was none
}

// knows reports whether an address is known, and whether the name service was asked since then.
func (m *members) knows(addr string, since time.Duration) (known, asked bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.addrs[addr], m.asked >= since
}

// learn replaces the known addresses.
func (m *members) learn(list []wire.StoreNode) {
	addrs := make(map[string]bool, len(list))
	for i := range list {
		addrs[list[i].Addr] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addrs = addrs
}

// ask asks the name service, unless somebody else has since then. If there is no answer, nothing changes.
func (m *members) ask(ctx context.Context, names Names, since time.Duration) {
	m.asking.Lock()
	defer m.asking.Unlock()
	m.mu.Lock()
	last := m.asked
	m.mu.Unlock()
	if last >= since {
		return
	}
	select {
	case <-time.After(last + membersPause - time.Since(m.begin)):
	case <-ctx.Done():
		return
	}
	m.mu.Lock()
	m.asked = time.Since(m.begin)
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, membersPatience)
	defer cancel()
	if list, err := names.Nodes(ctx); err == nil {
		m.learn(list)
	}
}

// checkPlaces refuses a pipeline through, or bytes from, a node that is no member.
func (s *Service) checkPlaces(ctx context.Context, a *pipe.WriteArgs) error {
	places := make([]*wire.Place, 0, 1+2*len(a.Next))
	places = append(places, a.From)
	for i := range a.Next {
		places = append(places, &a.Next[i].Place, a.Next[i].From)
	}
	for _, p := range places {
		if p != nil && !s.Member(ctx, p.Addr) {
			return wire.Errorf(wire.Denied, "%s at %.100q is no node of this cluster's block store: pipelines go through nodes that the master has named", p.Node, p.Addr)
		}
	}
	return nil
}

// Member reports whether addr belongs to a block service of this cluster. It asks the name service if it does
// not know.
func (s *Service) Member(ctx context.Context, addr string) bool {
	if addr == s.cfg.Addr {
		return true
	}
	now := time.Since(s.begin)
	since := now // an unknown node may have joined just now
	known, fresh := s.members.knows(addr, now-membersFor)
	if known {
		since = now - membersFor
	}
	if !known || !fresh {
		s.members.ask(ctx, s.cfg.Names, since)
	}
	known, _ = s.members.knows(addr, 0)
	return known
}
