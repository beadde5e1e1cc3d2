package dfs

import (
	"context"
	"errors"
	"slices"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// An outBlock is a block on its way to its replicas.
type outBlock struct {
	block  wire.Block // Len is the most that it may grow to
	hops   []pipe.Hop
	sender sender       // nil if there is none
	off    int64        // end of what was passed to the sender
	window []inFlight   // passed to the sender and not yet acknowledged
	last   bool         // the last packet was passed to the sender
	broken *pipe.Broken // why the pipeline must be mended
	acked  int64
	token  string
}

// A sender is the writer's side of a pipeline.
type sender interface {
	Send(p *pipe.Packet) error
	Wait(off int64, done bool) error
	State() (acked int64, done bool, err *pipe.Broken)
	Close() (released bool) // if false, packets that were sent may still be read
}

type inFlight struct {
	buf *pipe.Buffer
	p   pipe.Packet
}

func newOutBlock(pl wire.Pipeline, size int64) *outBlock {
	b := &outBlock{block: pl.Block, token: pl.Token}
	b.block.Len = size
	for _, p := range pl.Places {
		b.hops = append(b.hops, pipe.Hop{Place: p})
	}
	return b
}

// open opens the pipeline and sends again what was not acknowledged.
func (b *outBlock) open(w *Writer, resume bool) error {
	err := b.connect(w, resume)
	if err == nil {
		err = b.resend()
	}
	if err == nil {
		return nil
	}
	br, ok := errors.AsType[*pipe.Broken](err)
	if !ok {
		br = &pipe.Broken{At: 0, Kind: wire.KindOf(err), Text: err.Error()}
	}
	b.broken = br
	b.close()
	return br
}

// connect connects to the first replica, which may be in this process.
func (b *outBlock) connect(w *Writer, resume bool) error {
	cfg := &w.c.cfg
	args := pipe.WriteArgs{Block: b.block, Start: b.acked, Resume: resume, From: b.hops[0].From, Next: b.hops[1:], Token: b.token}
	if cfg.Own != nil && cfg.Node != "" && b.hops[0].Node == cfg.Node {
		h, err := cfg.Own(w.ctx, args)
		if err == nil {
			b.sender = h
		}
		return err
	}
	s, err := pipe.Open(w.ctx, cfg.Client, b.hops[0].Place, args, cfg.Timing, nil)
	if err == nil {
		b.sender = s
	}
	return err
}

func (b *outBlock) resend() error {
	for i := range b.window {
		if err := b.sender.Send(&b.window[i].p); err != nil {
			return err
		}
	}
	if b.last && len(b.window) == 0 { // all bytes are there, but some replica has not finished
		p := new(pipe.Buffer).Seal(0, b.acked, true)
		return b.sender.Send(&p)
	}
	return nil
}

func (b *outBlock) close() {
	if b.sender == nil {
		return
	}
	b.acked, _, _ = b.sender.State()
	if !b.sender.Close() {
		for i := range b.window {
			b.window[i].buf = nil
		}
	}
	b.sender = nil
	b.trim(nil)
}

// trim drops packets that all replicas have.
func (b *outBlock) trim(w *Writer) {
	i := 0
	for i < len(b.window) && b.window[i].p.End() <= b.acked {
		if w != nil && b.window[i].buf != nil && len(w.spare) < w.c.cfg.Window {
			w.spare = append(w.spare, b.window[i].buf)
		}
		i++
	}
	b.window = slices.Delete(b.window, 0, i)
}

// send gives a packet to the pipeline and waits while too many are in flight.
func (b *outBlock) send(w *Writer, buf *pipe.Buffer, p pipe.Packet) error {
	b.window = append(b.window, inFlight{buf, p})
	b.off, b.last = p.End(), p.Last
	err := b.sender.Send(&p)
	for err == nil {
		b.acked, _, _ = b.sender.State()
		if b.trim(w); len(b.window) < w.c.cfg.Window {
			return nil
		}
		err = b.sender.Wait(b.window[0].p.End(), false)
	}
	return b.mend(w, err)
}

// finish waits until the block is on disk on all replicas and returns where they are.
func (b *outBlock) finish(w *Writer) (wire.Block, []wire.NodeName, error) {
	for {
		err := b.sender.Wait(b.off, true)
		if err == nil {
			break
		}
		if err := b.mend(w, err); err != nil {
			return wire.Block{}, nil, err
		}
	}
	b.close()
	nodes := make([]wire.NodeName, len(b.hops))
	for i, h := range b.hops {
		nodes[i] = h.Node
	}
	done := b.block
	done.Len = b.off
	return done, nodes, nil
}

// mend replaces the replica that broke the pipeline.
func (b *outBlock) mend(w *Writer, err error) error {
	br, ok := errors.AsType[*pipe.Broken](err)
	if !ok {
		return err
	}
	b.close()
	b.broken = br
	return b.recover(w)
}

// recover drops the replica that failed, asks for a new generation and perhaps other nodes, and opens the pipeline
// again, until that works or no replica is left with what was acknowledged. If nothing was, any node can start over.
func (b *outBlock) recover(w *Writer) error {
	alive := slices.Clone(b.hops)
	first := b.broken
	for range maxTries {
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		if at := b.broken.At; at < len(b.hops) {
			bad := b.hops[at].Node
			w.bad = append(w.bad, bad)
			alive = slices.DeleteFunc(alive, func(h pipe.Hop) bool { return h.Node == bad })
		}
		if b.acked > 0 && len(alive) == 0 {
			break
		}
		if err := b.bump(w, alive); err != nil {
			return err
		}
		if b.open(w, b.acked > 0) == nil {
			return nil
		}
	}
	return wire.Errorf(wire.Unavailable, "%s: no replica is left (first: %w; last: %w)", b.block.ID, first, b.broken)
}

// bump gets the block's next generation. The live replicas write it, and behind them new nodes that first fetch
// what the others have.
func (b *outBlock) bump(w *Writer, alive []pipe.Hop) error {
	names := make([]wire.NodeName, len(alive))
	for i, h := range alive {
		names[i] = h.Node
	}
	pl, err := call(w.ctx, w.c, api.DFSBump, wire.BumpRequest{
		File: w.file.ID, Holder: w.c.holder, Block: b.block, Alive: names, Exclude: w.bad,
	})
	if err != nil {
		return err
	}
	b.block.Gen, b.token = pl.Block.Gen, pl.Token
	b.hops = b.hops[:0:0]
	for _, h := range alive {
		b.hops = append(b.hops, pipe.Hop{Place: h.Place})
	}
	for _, p := range pl.Places {
		if slices.Contains(names, p.Node) {
			continue
		}
		h := pipe.Hop{Place: p}
		if b.acked > 0 {
			h.From = &alive[0].Place
		}
		b.hops = append(b.hops, h)
	}
	return nil
}

func rpcCall[Req, Resp any](ctx context.Context, c *Client, method rpc.Method[Req, Resp], req Req) (Resp, error) {
	return method.Call(ctx, c.cfg.Client, c.cfg.Master, req)
}
