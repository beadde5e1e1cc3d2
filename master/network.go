package master

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// netStatus describes the network: what the workers counted, and how long probes took.
func (m *Master) netStatus(ctx context.Context, _ rpc.Caller, _ none) (wire.NetStatus, error) {
	s, err := ask(ctx, m, func(now time.Duration) (wire.NetStatus, error) { return m.jobs.Net(now), nil })
	if err != nil || m.members == nil {
		return s, err
	}
	for i := range s.Nodes {
		if rtt, ok := m.members.RTT(string(s.Nodes[i].Node)); ok {
			s.Nodes[i].RTT = rtt.Microseconds()
		}
	}
	return s, nil
}
