package master

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/membership"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// gossip joins the cluster's gossip. Workers ask the master for its address.
func (m *Master) gossip() error {
	if m.cfg.Gossip == "" {
		return nil
	}
	var keys [][]byte
	var err error
	if m.cfg.Key != nil {
		if keys, err = m.cfg.Key.Gossip(); err != nil {
			return err
		}
	}
	m.members, err = membership.Start(membership.Config{
		Member: membership.Member{Name: "master", Role: "master", Addr: m.addr}, Bind: m.cfg.Gossip, Keys: keys,
		Label: m.names.Cluster(), Log: m.cfg.Log, Events: m.heard,
	})
	if err == nil && m.cfg.Key != nil {
		list := m.members
		m.wg.Go(func() {
			if err := list.Follow(m.ctx, m.cfg.Key.Changed, m.cfg.Key.Gossip); err != nil {
				m.cfg.Log.Error("gossip keeps its key", "error", err)
			}
		})
	}
	return err
}

// heard handles what gossip says about workers. The tracker believes in a death only if the worker is silent as well.
func (m *Master) heard(e membership.Event) {
	if e.Member.Role != "worker" {
		return
	}
	if e.Kind == membership.Gone {
		m.cfg.Log.Info("gossip: worker is gone", "node", e.Member.Name)
		m.do(func(time.Duration) { m.jobs.Suspect(wire.NodeName(e.Member.Name), e.Member.Session) })
	}
}

// gossipInfo returns what a worker needs to join the gossip.
func (m *Master) gossipInfo(context.Context, rpc.Caller, none) (wire.Gossip, error) {
	g := wire.Gossip{Label: m.names.Cluster()}
	if m.members != nil {
		g.Addr = m.members.Addr()
	}
	return g, nil
}
