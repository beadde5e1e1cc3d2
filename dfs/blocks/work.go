package blocks

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/api"

	"golang.org/x/time/rate"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/wire"
)

// copy sends a replica to other nodes on behalf of the name service.
func (s *Service) copy(ctx context.Context, w wire.CopyWork) {
	select {
	case s.copies <- struct{}{}:
		defer func() { <-s.copies }()
	case <-ctx.Done():
		return
	}
	if err := s.send(ctx, w); err != nil {
		s.cfg.Event(Event{"copy failed", w.Block.ID, err})
		for _, t := range w.Targets {
			s.store.changes.failed(wire.DoneWork{Block: w.Block, Target: t.Node, Why: err.Error()})
		}
	}
}

// send streams a finished replica down a pipeline. If it turns out to be damaged it is quarantined, and no receiver
// keeps it.
func (s *Service) send(ctx context.Context, w wire.CopyWork) error {
	if len(w.Targets) == 0 {
		return wire.Errorf(wire.Invalid, "%s: the copy has no destination", w.Block.ID)
	}
	rd, err := s.store.Open(w.Block.ID, w.Block.Gen)
	if err != nil {
		return err
	}
	defer rd.Close()
	b := rd.Block
	table, err := rd.Table(0, b.Len)
	if err != nil {
		return err
	}
	args := pipe.WriteArgs{Block: b, Token: w.Token}
	for _, p := range w.Targets[1:] {
		args.Next = append(args.Next, pipe.Hop{Place: p})
	}
	out, err := pipe.Open(ctx, s.cfg.Client, w.Targets[0], args, s.cfg.Timing, nil)
	if err != nil {
		return err
	}
	defer out.Close()
	crcs, buf := decodeTable(table), new(pipe.Buffer)
	for at := int64(0); at < b.Len || at == 0; at += pipe.ChunkSize {
		n := int(min(pipe.ChunkSize, b.Len-at))
		if err := s.copied.WaitN(ctx, s.weight(n)); err != nil {
			return err
		}
		if err := readAt(rd, buf.Room()[:n], at); err != nil {
			s.readFailed(b.ID, err)
			return err
		}
		p := buf.Seal(n, at, at+int64(n) == b.Len)
		if n > 0 && p.CRC != crcs[at/pipe.ChunkSize] {
			return s.suspectSelf(b.ID, at)
		}
		if err := out.Send(&p); err != nil {
			return err
		}
	}
	return out.Wait(b.Len, true)
}

func (s *Service) suspectSelf(id wire.BlockID, at int64) error {
	s.suspect(id)
	return wire.Errorf(wire.Corrupt, "%s: chunk at %d is damaged at the source", id, at)
}

// recover brings the replicas of an abandoned block to one length and generation. In the newest one, a finished
// replica decides, else the shortest that is not empty.
func (s *Service) recover(ctx context.Context, w wire.RecoverWork) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	type found struct {
		place wire.Place
		r     wire.Replica
	}
	var all []found
	var gen uint64
	for _, p := range w.Places {
		r, err := s.inspect(ctx, p, w)
		if err != nil || r.Gen >= w.NewGen || r.Len == 0 {
			continue
		}
		all = append(all, found{p, r})
		gen = max(gen, r.Gen)
	}
	length, whole := int64(-1), false
	for _, f := range all {
		switch {
		case f.r.Gen != gen:
		case f.r.Finished && !whole: // a finished replica has the length that the writer meant
			length, whole = f.r.Len, true
		case f.r.Finished == whole && (length < 0 || f.r.Len < length):
			length = f.r.Len
		}
	}
	b := wire.Block{ID: w.Block.ID, Gen: w.NewGen, Len: length}
	var stored []wire.NodeName
	for _, f := range all {
		if f.r.Gen == gen && f.r.Len >= length && s.settle(ctx, f.place, wire.BlockRequest{Block: b, Token: w.Token}) == nil {
			stored = append(stored, f.place.Node)
		}
	}
	if len(stored) == 0 {
		b.Len = 0
	}
	done := wire.Recovered{Block: b, Stored: stored}
	if w.Sum {
		done.CRC, done.HasCRC = s.sumFile(ctx, w, b, stored)
	}
	s.store.changes.recovered(done)
}

func (s *Service) inspect(ctx context.Context, p wire.Place, w wire.RecoverWork) (wire.Replica, error) {
	if p.Node == s.cfg.Node {
		return s.store.Inspect(w.Block.ID)
	}
	r := wire.BlockRequest{Block: wire.Block{ID: w.Block.ID, Gen: w.NewGen}, Token: w.Token}
	return api.BlockInspect.Call(ctx, s.cfg.Client, p.Addr, r)
}

func (s *Service) settle(ctx context.Context, p wire.Place, r wire.BlockRequest) error {
	if p.Node == s.cfg.Node {
		return s.store.settle(r.Block)
	}
	_, err := api.BlockSettle.Call(ctx, s.cfg.Client, p.Addr, r)
	if err != nil {
		return fmt.Errorf("settle %s on %s: %w", r.Block.ID, p.Node, err)
	}
	return nil
}

// scrub slowly reads every replica once a period, to find rot in what nobody reads.
func (s *Service) scrub(ctx context.Context) {
	limit := rate.NewLimiter(rate.Limit(s.cfg.ScrubRate), max(pipe.ChunkSize, int(s.cfg.ScrubRate/4)))
	t := time.NewTimer(s.cfg.ScrubPeriod / 4)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		begin := time.Now()
		for _, b := range s.store.List() {
			err := s.store.Verify(b.ID, func(n int) { _ = limit.WaitN(ctx, n) }) // an error means that ctx has ended
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				s.cfg.Event(Event{"quarantined", b.ID, err})
			}
		}
		t.Reset(max(s.cfg.ScrubPeriod-time.Since(begin), s.cfg.ScrubPeriod/10))
	}
}
