package master

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/membership"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// gossip joins the cluster's gossip. Workers learn the address by a call.
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

// heard takes in what gossip says about workers. A death is believed when the worker is silent too.
func (m *Master) heard(e membership.Event) {
	if e.Member.Role != "worker" {
		return
	}
	if e.Kind == membership.Gone {
		m.cfg.Log.Info("gossip: worker is gone", "node", e.Member.Name)
		m.do(func(time.Duration) { m.jobs.Suspect(wire.NodeName(e.Member.Name), e.Member.Session) })
	}
}

// A Gossip is how a worker joins.
func (m *Master) gossipInfo(context.Context, rpc.Caller, none) (wire.Gossip, error) {
	g := wire.Gossip{Label: m.names.Cluster()}
	if m.members != nil {
		g.Addr = m.members.Addr()
	}
	return g, nil
}
