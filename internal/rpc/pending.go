package rpc

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A clientConn is one connection on which many calls are under way.
type clientConn struct {
	addr  string
	ready chan struct{} // closed when the connection is made, or failed
	gone  chan struct{} // closed when it broke

	heard atomic.Int64 // frames read

	mu      sync.Mutex // guards the fields below
	frames  *frameConn // nil until made
	err     error      // why it broke
	next    uint64
	pending map[uint64]chan answer
}

type answer struct {
	payload []byte
	form    form
	err     error
}

func (cc *clientConn) attach(f *frameConn) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.frames = f
	if cc.err != nil { // closed meanwhile
		f.conn.Close()
	}
}

func (cc *clientConn) failure() error {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	return cc.err
}

func (cc *clientConn) broken() bool { return cc.failure() != nil }

// fail ends the connection and every call on it. Only the first error counts.
func (cc *clientConn) fail(err error) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.err != nil {
		return
	}
	cc.err = err
	close(cc.gone)
	if cc.frames != nil {
		cc.frames.conn.Close()
	}
	for _, ch := range cc.pending {
		ch <- answer{err: err}
	}
	cc.pending = nil
}

func (cc *clientConn) readAll() {
	for {
		h, payload, err := cc.frames.read()
		if err != nil {
			cc.fail(wire.Errorf(wire.Unavailable, "connection to %s: %w", cc.addr, err))
			return
		}
		cc.heard.Add(1)
		a := answer{payload: payload, form: h.form}
		if h.kind == errorFrame {
			e := &wire.Error{}
			if json.Unmarshal(payload, e) != nil {
				e = &wire.Error{Kind: wire.Corrupt, Text: "error of " + cc.addr + " is not understood"}
			}
			a = answer{err: e}
		}
		if ch := cc.take(h.id); ch != nil {
			ch <- a
		}
	}
}

// take removes and returns a pending call, or nil if nobody waits for it any more. The channel has room for one
// answer and gets at most one.
func (cc *clientConn) take(id uint64) chan answer {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	ch := cc.pending[id]
	delete(cc.pending, id)
	return ch
}

func (cc *clientConn) begin() (uint64, chan answer, error) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.err != nil {
		return 0, nil, cc.err
	}
	cc.next++
	ch := make(chan answer, 1)
	cc.pending[cc.next] = ch
	return cc.next, ch, nil
}

// mute is how long a connection may carry no answer at all, while a call runs out of time, before it is closed.
// After a cut, TCP may wait as long as the cut lasted before it sends again. A new connection does not.
const mute = 3 * time.Second

func (cc *clientConn) call(ctx context.Context, method string, body []byte, f form) (answer, error) {
	id, ch, err := cc.begin()
	if err != nil {
		return answer{}, err
	}
	begin, heard := time.Now(), cc.heard.Load()
	h := header{id: id, kind: callFrame, form: f}
	if d, ok := ctx.Deadline(); ok {
		h.millis = uint32(max(1, min(int64(time.Until(d)/time.Millisecond), 1<<31)))
	}
	if err := cc.frames.send(h, method, body); err != nil {
		cc.take(id)
		if wire.KindOf(err) != wire.TooLarge {
			err = wire.Errorf(wire.Unavailable, "connection to %s: %w", cc.addr, err)
			cc.fail(err)
		}
		return answer{}, err
	}
	select {
	case a := <-ch:
		return a, a.err
	case <-ctx.Done():
		if cc.take(id) != nil {
			_ = cc.frames.send(header{id: id, kind: cancelFrame}, "", nil) // a courtesy
		}
		if time.Since(begin) >= mute && cc.heard.Load() == heard {
			cc.fail(wire.Errorf(wire.Unavailable, "%s says nothing", cc.addr))
		}
		return answer{}, ctxError(ctx, cc.addr)
	}
}

func ctxError(ctx context.Context, addr string) error {
	if ctx.Err() == context.Canceled {
		return wire.Errorf(wire.Canceled, "call to %s was given up: %w", addr, context.Cause(ctx))
	}
	return wire.Errorf(wire.Unavailable, "%s did not answer in time", addr)
}

// Gone returns a channel that is closed when the connection to addr breaks. It makes the connection if there is
// none. This shows the death of a process at once.
func (c *Client) Gone(ctx context.Context, addr string) (<-chan struct{}, error) {
	cc, err := c.connTo(ctx, addr)
	if err != nil {
		return nil, err
	}
	return cc.gone, nil
}
