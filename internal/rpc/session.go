package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
)

// A session answers the calls of one upgraded connection.
type session struct {
	s     *Server
	c     Caller
	a     account
	limit int // of a request
	f     *frameConn
	calls *callTable
	crew  *crew
	slots chan struct{} // one is taken by each call under way
	busy  atomic.Int32  // how many are taken
}

// serveFrames answers the calls of one upgraded connection until it breaks. Then their contexts end.
func (s *Server) serveFrames(w http.ResponseWriter, r *http.Request) {
	c, err := s.identify(r, Control)
	if err != nil {
		refuse(w, err)
		return
	}
	conn, in, ok := s.upgrade(w, r, framesProto)
	if !ok {
		return
	}
	defer s.release(conn)
	ctx, cancel := context.WithCancel(s.base)
	defer cancel()
	v := &session{
		s: s, c: c, a: accountOf(c), limit: s.cfg.Budget.limit(c, s.cfg.MaxMessage),
		f:     newFrameConn(conn, in, s.cfg.MaxMessage),
		calls: &callTable{cancels: map[uint64]context.CancelFunc{}},
		crew:  newCrew(), slots: make(chan struct{}, s.cfg.MaxCalls),
	}
	v.f.patience = s.cfg.Budget.allowed
	defer v.crew.close()
	defer cancel()
	for v.wait() == nil && v.next(ctx) == nil {
	}
}

// wait returns when the first byte of a frame has arrived. A connection without a call under way may be silent only
// for a while.
func (v *session) wait() error {
	for v.f.in.Buffered() == 0 {
		idle := v.busy.Load() == 0
		_ = v.f.conn.SetReadDeadline(time.Now().Add(v.s.cfg.Budget.Idle)) // an error shows when it is read
		if _, err := v.f.in.Peek(1); err != nil && (idle || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return err
		}
	}
	return nil
}

// hurry sets the deadline for n more bytes.
func (v *session) hurry(n int) {
	if v.f.in.Buffered() < n {
		_ = v.f.conn.SetReadDeadline(time.Now().Add(v.s.cfg.Budget.allowed(n))) // likewise
	}
}

// next reads one frame and acts on it.
func (v *session) next(ctx context.Context) error {
	v.hurry(headerSize)
	h, raw, err := readHeader(v.f.in, v.f.limit)
	if err != nil {
		return err
	}
	v.hurry(int(h.length))
	switch h.kind {
	case cancelFrame:
		if _, err := readPayload(v.f.in, h, int(h.length), headerSum(raw)); err != nil {
			return err
		}
		v.calls.cancel(h.id)
		return nil
	case callFrame:
		return v.call(ctx, h, raw)
	}
	return wire.Errorf(wire.Invalid, "a server gets no replies")
}

// call reads a call, if the caller may make it, and answers it in another goroutine.
func (v *session) call(ctx context.Context, h header, raw [headerSize]byte) error {
	name, err := v.f.in.Peek(int(h.nameLen))
	if err != nil {
		return err
	}
	sum, size := codec.AddSum(headerSum(raw), name), int(h.length)-len(name)
	m, taken, err := v.judge(name, size)
	_, _ = v.f.in.Discard(len(name)) // it is buffered
	if err != nil {
		v.send(h, nil, 0, err)
		_, err = io.CopyN(io.Discard, v.f.in, int64(size))
		return err
	}
	body, err := readPayload(v.f.in, h, size, sum)
	if err != nil {
		v.s.books.give(v.a, taken)
		return err
	}
	v.slots <- struct{}{}
	v.busy.Add(1)
	if !m.quick {
		ctx = v.calls.begin(ctx, h) // now, since its cancellation may be the next frame
	}
	v.crew.do(func() {
		v.answer(ctx, h, m, body)
		if !m.quick {
			v.calls.end(h.id)
		}
		v.s.books.give(v.a, taken)
		v.busy.Add(-1)
		<-v.slots
	})
	return nil
}

// judge returns why a call may not be made: because of the rule of its method or the budget of its caller.
func (v *session) judge(name []byte, size int) (method, holding, error) {
	m, err := v.s.find(v.c, name)
	if err == nil && size > v.limit {
		err = wire.Errorf(wire.TooLarge, "request of %d bytes, the limit is %d", size, v.limit)
	}
	h := message(size, 2)
	h.calls = 1
	if err == nil {
		err = v.s.books.take(v.a, h)
	}
	return m, h, err
}

func (v *session) answer(ctx context.Context, h header, m method, body []byte) {
	resp, form, err := v.s.run(ctx, v.c, m, body, h.form)
	if err == nil && len(resp) > v.f.limit {
		err = wire.Errorf(wire.TooLarge, "response of %d bytes, the limit is %d", len(resp), v.f.limit)
	}
	taken := message(len(resp), 1)
	if err == nil {
		if err = v.s.books.take(v.a, taken); err == nil {
			defer v.s.books.give(v.a, taken)
		}
	}
	v.send(h, resp, form, err)
}

func (v *session) send(h header, resp []byte, form form, err error) {
	kind := replyFrame
	if err != nil {
		kind, form = errorFrame, 0
		if resp, err = json.Marshal(wire.ToError(err)); err != nil {
			resp = []byte(`{"kind":0,"text":"error cannot be encoded"}`)
		}
	}
	_ = v.f.send(header{id: h.id, kind: kind, form: form}, "", resp) // if it fails, the connection's reader notices
}
