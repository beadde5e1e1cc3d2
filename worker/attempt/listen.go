package attempt

import (
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/wire"
)

// listen learns from the master where outputs are.
func (f *fetcher) listen() {
	next, epoch := 0, uint64(0)
	for f.ctx.Err() == nil {
		resp, err := call(f.ctx, f.r, api.StageOutputs,
			wire.OutputsRequest{StageRef: f.r.ref(), From: next, Wait: patience, Node: f.r.Node, Epoch: epoch})
		switch {
		case err != nil:
			f.cancel(err)
			return
		case resp.Gone:
			f.cancel(wire.Errorf(wire.Stale, "%s has ended", f.r.l.ID.Job))
			return
		case resp.Next < next:
			next, epoch = 0, resp.Epoch // another master has a list of its own
			continue
		}
		next, epoch = resp.Next, resp.Epoch
		f.learn(resp.Changes)
	}
}

func (f *fetcher) learn(changes []wire.MapOutput) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range changes {
		in, have := f.have[o.Map]
		switch {
		case have:
			f.compare(in, o)
		case o.Lost:
			delete(f.want, o.Map)
		default:
			f.found(o)
		}
	}
	f.poke.Broadcast()
}

// found notes where an output is now. Its worker may have been restarted, there or elsewhere, and the old
// address would never answer.
func (f *fetcher) found(o wire.MapOutput) {
	h := f.hosts[o.Addr]
	if h == nil {
		h = &host{addr: o.Addr, node: o.Node}
		f.hosts[o.Addr] = h
	}
	if old, again := f.want[o.Map]; again && old.Try == o.Try {
		delete(f.fails, o.Map)
		h.until, h.penalty = time.Time{}, 0
		if was := f.hosts[old.Addr]; was != h && was.giveUp != nil {
			was.giveUp()
		}
	}
	f.want[o.Map] = o
}
