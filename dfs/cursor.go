package dfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/dfs/blocks"
	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/wire"
)

// A cursor is a stream from one replica, usually to the end of its block.
type cursor struct {
	block  wire.Block
	place  wire.Place
	off    int64 // position of the next byte in the block
	end    int64 // end of the stream
	in     *pipe.Checked
	cancel context.CancelFunc

	// Starting a new timer for each read would wake another thread each time. Resetting one does not.
	watch *time.Timer
	began atomic.Pointer[time.Time] // start of the read in progress
}

func newCursor(b wire.Block, p wire.Place, off, end int64, in *pipe.Checked, cancel context.CancelFunc, stall time.Duration) *cursor {
	c := &cursor{block: b, place: p, off: off, end: end, in: in, cancel: cancel}
	c.watch = time.AfterFunc(stall, func() {
		if t := c.began.Load(); t != nil && time.Since(*t) >= stall {
			cancel()
		}
	})
	return c
}

func (c *cursor) close() {
	c.watch.Stop()
	c.cancel()
	_ = c.in.Close() // nobody reads the stream any more
}

// read fills p. It gives up a replica that pauses for too long.
func (c *cursor) read(p []byte, stall time.Duration) (n int, err error) {
	defer c.began.Store(nil)
	for n < len(p) && err == nil {
		now := time.Now()
		c.began.Store(&now)
		c.watch.Reset(stall)
		var some int
		some, err = c.in.Read(p[n:])
		n += some
	}
	c.off += int64(n)
	if n == len(p) {
		return n, nil
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = wire.Errorf(wire.Unavailable, "%s on %s ended early", c.block.ID, c.place.Node)
	}
	return n, err
}

// maxIdle is how many streams of a file are kept open for later reads.
const maxIdle = 4

// takeCursor returns an idle stream at this position, or nil.
func (f *File) takeCursor(b wire.Block, off int64) *cursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, c := range f.idle {
		if c.block == b && c.off == off {
			f.idle = slices.Delete(f.idle, i, i+1)
			return c
		}
	}
	return nil
}

func (f *File) keepCursor(c *cursor) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.off == c.end || f.closed {
		c.close()
		return
	}
	f.idle = append(f.idle, c)
	if len(f.idle) > maxIdle {
		f.idle[0].close()
		f.idle = slices.Delete(f.idle, 0, 1)
	}
}

// order puts the replicas that failed most recently last.
func (f *File) order(places []wire.Place) []wire.Place {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(places)
	slices.SortStableFunc(out, func(a, b wire.Place) int {
		return cmp.Compare(f.bad[a.Node].UnixNano(), f.bad[b.Node].UnixNano())
	})
	return out
}

// openCursor opens a stream at the first replica that answers. If one takes long, the next is asked too and the
// first answer wins.
func (f *File) openCursor(b wire.LocatedBlock, off, end int64) (*cursor, error) {
	places := f.order(b.Places)
	if len(places) == 0 {
		return nil, wire.Errorf(wire.Unavailable, "%s has no replica on a live node", b.ID)
	}
	results := make(chan opened, len(places))
	var errs []error
	started, running := 0, 0
	begin := func() {
		p := places[started]
		started, running = started+1, running+1
		f.wg.Go(func() {
			c, err := f.fetch(b, p, off, end)
			results <- opened{c, p, err}
		})
	}
	begin()
	hedge := time.NewTimer(f.c.cfg.Hedge)
	defer hedge.Stop()
	for running > 0 {
		select {
		case <-hedge.C:
			if started < len(places) {
				begin()
				hedge.Reset(f.c.cfg.Hedge)
			}
		case r := <-results:
			running--
			if r.err == nil {
				late := running
				f.wg.Go(func() { closeRest(results, late) })
				return r.c, nil
			}
			f.blame(r.place, b, r.err)
			errs = append(errs, fmt.Errorf("%s: %w", r.place.Node, r.err))
			if started < len(places) {
				begin()
			}
		}
	}
	return nil, failure(b, errs)
}

// failure explains why no replica could be read. The block is corrupt only if all of them are.
func failure(b wire.LocatedBlock, errs []error) error {
	kind := wire.Corrupt
	for _, e := range errs {
		if k := wire.KindOf(e); k != wire.Corrupt {
			kind = wire.Unavailable
		}
	}
	return wire.Errorf(kind, "%s cannot be read from any of %d replicas: %w", b.ID, len(b.Places), errors.Join(errs...))
}

type opened struct {
	c     *cursor
	place wire.Place
	err   error
}

func closeRest(results <-chan opened, n int) {
	for range n {
		if r := <-results; r.err == nil {
			r.c.close()
		}
	}
}

func (f *File) fetch(b wire.LocatedBlock, p wire.Place, off, end int64) (*cursor, error) {
	ctx, cancel := context.WithCancel(f.ctx)
	stall := time.AfterFunc(f.c.cfg.Stall, cancel)
	in, err := pipe.Fetch(ctx, f.c.cfg.Client, p, pipe.Range{Block: b.Block, Off: off, Len: end - off, Token: b.Token})
	if !stall.Stop() && err == nil {
		_ = in.Close() // too late
		err = wire.Errorf(wire.Unavailable, "%s did not answer in %s", p.Node, f.c.cfg.Stall)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return newCursor(b.Block, p, off, end, in, cancel, f.c.cfg.Stall), nil
}

// A localBlock is a block file on this machine. Without a Local it cannot be read here.
type localBlock struct {
	gen uint64
	*blocks.Local
}

func (l *localBlock) close() {
	if l.Local != nil {
		_ = l.Close() // only read
	}
}

// readLocal reads straight from the disk if this node has a replica. It returns 0 if it cannot.
func (f *File) readLocal(p []byte, b wire.LocatedBlock, off int64) int {
	if f.c.cfg.NoLocal || f.c.cfg.Node == "" {
		return 0
	}
	i := slices.IndexFunc(b.Places, func(p wire.Place) bool { return p.Node == f.c.cfg.Node })
	if i < 0 {
		return 0
	}
	l := f.local(b, b.Places[i])
	if l == nil || l.Local == nil {
		return 0
	}
	n, err := l.ReadAt(p, off)
	if err != nil && err != io.EOF { //nolint:errorlint // Local returns it bare; around one that is not, a short file was found
		f.blame(b.Places[i], b, err)
		f.mu.Lock()
		if f.locals != nil {
			f.locals[b.ID] = &localBlock{gen: b.Gen}
		}
		f.mu.Unlock()
		l.close()
	}
	return n
}

// local opens a block file, once.
func (f *File) local(b wire.LocatedBlock, p wire.Place) *localBlock {
	f.mu.Lock()
	l, known := f.locals[b.ID]
	closed := f.closed
	f.mu.Unlock()
	if known && l.gen == b.Gen || closed {
		return l
	}
	l = &localBlock{gen: b.Gen}
	where, err := api.BlockLocal.Call(f.ctx, f.c.cfg.Client, p.Addr, wire.BlockRequest{Block: b.Block, Token: b.Token})
	if err == nil {
		if l.Local, err = blocks.OpenLocal(where.Path, b.Block); err != nil && wire.KindOf(err) == wire.Corrupt {
			f.blame(p, b, err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		l.close()
		return nil
	}
	if other, ok := f.locals[b.ID]; ok && other.gen == b.Gen {
		l.close()
		return other
	}
	f.locals[b.ID] = l
	return l
}
