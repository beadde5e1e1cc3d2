package worker

import (
	"context"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/membership"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// gossip joins the cluster's gossip as soon as the master says where, and stays in it.
func (w *Worker) gossip(session string) {
	var info wire.Gossip
	err := rpc.Retry{First: w.cfg.Pause, For: 1 << 62, Stubborn: true}.Do(w.ctx, func() (err error) {
		info, err = w.askGossip()
		return err
	})
	if err != nil || info.Addr == "" {
		return // stopped, or there is no gossip
	}
	var keys [][]byte
	if w.cfg.Key != nil {
		if keys, err = w.cfg.Key.Gossip(); err != nil {
			w.cfg.Log.Error("gossip", "error", err)
			return
		}
	}
	seeds := &seeds{w: w, addr: info.Addr}
	l, err := membership.Start(membership.Config{
		Member: membership.Member{Name: string(w.cfg.Node), Role: "worker", Rack: w.cfg.Rack, Addr: w.addr, Session: session},
		Bind:   w.cfg.Gossip, Keys: keys, Label: info.Label, Seeds: seeds.list, Log: w.cfg.Log,
	})
	if err != nil {
		w.cfg.Log.Error("gossip", "error", err)
		return
	}
	if w.cfg.Key != nil {
		if err := l.Follow(w.ctx, w.cfg.Key.Changed, w.cfg.Key.Gossip); err != nil {
			w.cfg.Log.Error("gossip keeps its key", "error", err)
		}
	}
	<-w.ctx.Done()
	if err := l.Close(); err != nil {
		w.cfg.Log.Warn("gossip", "error", err)
	}
}

func (w *Worker) askGossip() (wire.Gossip, error) {
	ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
	defer cancel()
	return api.ClusterGossip.Call(ctx, w.client, w.cfg.Master, struct{}{})
}

// seeds is the master's address for gossip, asked for again when it is missing: it may have restarted.
type seeds struct {
	w    *Worker
	mu   sync.Mutex // guards addr
	addr string
}

func (s *seeds) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if info, err := s.w.askGossip(); err == nil && info.Addr != "" {
		s.addr = info.Addr
	}
	return []string{s.addr}
}
