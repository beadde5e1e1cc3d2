package blocks

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/tick"
	"github.com/millrace/millrace/internal/wire"
)

// reportPage is the number of blocks in one message of a full report.
const reportPage = 20_000

// Run registers with the name service, reports to it and does what it asks, until ctx ends or the data
// directories have failed. It then waits for what it started. The routes must be served before Run is called.
func (s *Service) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.wg.Wait()
	defer cancel()
	failed := make(chan error, 1)
	s.wg.Go(func() { s.scrub(ctx) })
	s.wg.Go(func() { s.probe(ctx, failed) })
	registered := false
	for ctx.Err() == nil {
		wait := s.cfg.BeatEvery
		if !registered {
			err := s.introduce(ctx)
			if wire.KindOf(err) == wire.Invalid && err != nil {
				return err // such as the wrong cluster
			}
			if registered = err == nil; !registered {
				wait = s.cfg.BeatEvery / 4
			}
		}
		if registered {
			registered = s.beat(ctx)
		}
		if err := s.pause(ctx, wait, registered, failed); err != nil {
			s.farewell()
			return err
		}
	}
	return nil
}

// pause waits for the next beat, news, or the failure of the disks.
func (s *Service) pause(ctx context.Context, d time.Duration, listen bool, failed <-chan error) error {
	t := time.NewTimer(d)
	defer t.Stop()
	wake := s.wake
	if !listen {
		wake = nil
	}
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
	case err := <-failed:
		return err
	}
	return nil
}

// farewell tells the name service that the disks have failed, so that it need not wait for silence.
func (s *Service) farewell() {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.BeatEvery)
	defer cancel()
	s.beat(ctx)
}

// introduce registers and sends a full report.
func (s *Service) introduce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	list := s.store.List()
	resp, err := s.cfg.Names.Register(ctx, wire.RegisterRequest{
		Node: s.cfg.Node, Rack: s.cfg.Rack, Addr: s.cfg.Addr, Machine: s.cfg.Machine,
		Cluster: s.store.Cluster(), Volumes: s.store.Volumes(), Blocks: int64(len(list)), Seen: s.store.Reign(),
	})
	if err == nil {
		err = s.store.Obey(wire.Reign{Epoch: resp.Epoch, Name: resp.Name})
	}
	if err != nil {
		s.disobey(err)
		return err
	}
	s.keys.Add(resp.Keys, time.Since(s.begin))
	if err := s.store.Join(resp.Cluster); err != nil {
		return err
	}
	s.mu.Lock()
	s.session = resp.Session
	s.mu.Unlock()
	if err := s.store.tellQuarantined(); err != nil {
		s.cfg.Event(Event{"quarantine cannot be read", 0, err})
	}
	return s.report(ctx, resp.Session)
}

// disobey says once why a master is not obeyed.
func (s *Service) disobey(err error) {
	s.mu.Lock()
	told := s.refusal == err.Error()
	if wire.KindOf(err) == wire.Stale && !told {
		s.refusal = err.Error()
	}
	s.mu.Unlock()
	if wire.KindOf(err) == wire.Stale && !told {
		s.cfg.Event(Event{"the master is not obeyed", 0, err})
	}
}

// report sends all finished replicas. That list covers what came and went before it was made, so those changes
// are dropped.
func (s *Service) report(ctx context.Context, session uint64) error {
	old := s.store.changes.take()
	list := s.store.List()
	old.Received, old.Deleted = nil, nil
	s.store.changes.putBack(old)
	for page := 0; ; page++ {
		part := list[:min(len(list), reportPage)]
		list = list[len(part):]
		err := s.cfg.Names.Report(ctx, wire.ReportRequest{
			Node: s.cfg.Node, Session: session, Page: page, Last: len(list) == 0, Blocks: part,
		})
		if err != nil || len(list) == 0 {
			return err
		}
	}
}

// beat sends one beat and does what the answer says. It is false if the service must register again.
func (s *Service) beat(ctx context.Context) bool {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	n := s.store.changes.take()
	bctx, cancel := context.WithTimeout(ctx, 10*s.cfg.BeatEvery)
	defer cancel()
	resp, err := s.cfg.Names.Beat(bctx, wire.BeatRequest{
		Node: s.cfg.Node, Session: session, Volumes: s.store.Volumes(),
		Received: n.Received, Deleted: n.Deleted, Corrupt: n.Corrupt, Failed: n.Failed, Done: n.Done, Key: s.keys.Newest(), Seen: s.store.Reign(),
	})
	if err != nil {
		s.store.changes.putBack(n)
		return wire.KindOf(err) != wire.Stale
	}
	if err := s.store.Obey(wire.Reign{Epoch: resp.Epoch, Name: resp.Name}); err != nil {
		s.disobey(err)
		return true
	}
	s.keys.Add(resp.Keys, time.Since(s.begin))
	if resp.Register {
		s.store.changes.putBack(n)
		return false
	}
	if resp.Report {
		if err := s.report(ctx, session); err != nil {
			return wire.KindOf(err) != wire.Stale
		}
	}
	s.obey(ctx, resp)
	return true
}

// obey does or starts what the name service asks for.
func (s *Service) obey(ctx context.Context, r wire.BeatResponse) {
	for _, b := range r.Delete {
		if err := s.store.Delete(b); err != nil {
			s.cfg.Event(Event{"delete failed", b.ID, err})
		}
	}
	for _, w := range r.Copy {
		s.wg.Go(func() { s.copy(ctx, w) })
	}
	for _, w := range r.Recover {
		s.wg.Go(func() { s.recover(ctx, w) })
	}
}

// probe tests the disks until too many have failed.
func (s *Service) probe(ctx context.Context, failed chan<- error) {
	for range tick.Every(ctx, s.cfg.ProbeEvery) {
		s.store.sweep(time.Since(s.begin) - s.cfg.LeftFor)
		if err := s.store.Probe(); err != nil {
			failed <- err
			return
		}
	}
}
