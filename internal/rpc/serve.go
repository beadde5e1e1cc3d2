package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// The HTTP server logs what strangers do to it; we do not.
var discardLog = log.New(io.Discard, "", 0)

const (
	framesPath  = "/rpc/frames"
	streamPath  = "/rpc/stream/"
	framesProto = "millrace-frames/1"
	streamProto = "millrace-stream/1"
	argsHeader  = "Millrace-Args"
)

var statusOf = map[wire.Kind]int{
	wire.Invalid: 400, wire.NotFound: 404, wire.Exists: 409, wire.Denied: 403, wire.Quota: 507, wire.NoSpace: 507,
	wire.Unavailable: 503, wire.Stale: 410, wire.Corrupt: 500, wire.Canceled: 499, wire.TooLarge: 413,
}

// WriteError answers a request with an error, its kind as status and in the body.
func WriteError(w http.ResponseWriter, err error) {
	e := wire.ToError(err)
	status := statusOf[e.Kind]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(e) // the connection is the caller's to lose
}

// ReadError makes an error of a response that is not a success.
func ReadError(resp *http.Response) error {
	e := &wire.Error{}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err == nil && json.Unmarshal(body, e) == nil && e.Text != "" {
		return e
	}
	return wire.Errorf(wire.Internal, "%s: HTTP status %s", resp.Request.URL.Path, resp.Status)
}

// serveCall answers POST /api/v1/METHOD.
func (s *Server) serveCall(w http.ResponseWriter, r *http.Request) {
	c, err := s.identify(r, Control)
	if err != nil {
		WriteError(w, err)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.cfg.MaxMessage)))
	if err != nil {
		WriteError(w, wire.Errorf(wire.TooLarge, "request: %w", err))
		return
	}
	resp, _, err := s.run(r.Context(), c, r.PathValue("method"), body, 0)
	if err != nil {
		WriteError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(resp) // as above
}

// upgrade takes the connection over from HTTP after answering 101.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request, proto string) (net.Conn, *bufio.Reader, bool) {
	if r.Header.Get("Upgrade") != proto {
		WriteError(w, wire.Errorf(wire.Invalid, "%s wants Upgrade: %s", r.URL.Path, proto))
		return nil, nil, false
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		WriteError(w, wire.Errorf(wire.Internal, "cannot take over the connection: %w", err))
		return nil, nil, false
	}
	if !s.keep(conn) {
		return nil, nil, false
	}
	_ = conn.SetDeadline(time.Time{}) // HTTP's own; an error shows at the next write
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+proto+"\r\n\r\n"); err != nil {
		s.release(conn)
		return nil, nil, false
	}
	return conn, rw.Reader, true
}

// serveFrames answers the calls of one upgraded connection until it breaks; then their
// contexts end.
func (s *Server) serveFrames(w http.ResponseWriter, r *http.Request) {
	c, err := s.identify(r, Control)
	if err != nil {
		WriteError(w, err)
		return
	}
	conn, in, ok := s.upgrade(w, r, framesProto)
	if !ok {
		return
	}
	defer s.release(conn)
	ctx, cancel := context.WithCancel(s.base)
	defer cancel()
	calls := &callTable{cancels: map[uint64]context.CancelFunc{}}
	crew := newCrew()
	defer crew.close()
	defer cancel()
	f := newFrameConn(conn, in, s.cfg.MaxMessage)
	slots := make(chan struct{}, s.cfg.MaxCalls)
	for {
		h, payload, err := f.read()
		if err != nil {
			return
		}
		switch h.kind {
		case cancelFrame:
			calls.cancel(h.id)
		case callFrame:
			slots <- struct{}{}
			call := ctx
			quick := s.methods[string(payload[:h.nameLen])].quick
			if !quick {
				call = calls.begin(ctx, h) // here: its cancellation may be the next frame
			}
			crew.do(func() {
				s.answer(call, f, c, h, payload)
				if !quick {
					calls.end(h.id)
				}
				<-slots
			})
		default:
			return // a server gets no replies
		}
	}
}

func (s *Server) answer(ctx context.Context, f *frameConn, c Caller, h header, payload []byte) {
	resp, form, err := s.run(ctx, c, string(payload[:h.nameLen]), payload[h.nameLen:], h.form)
	kind := replyFrame
	if err == nil && len(resp) > f.limit {
		err = wire.Errorf(wire.TooLarge, "response of %d bytes, the limit is %d", len(resp), f.limit)
	}
	if err != nil {
		kind, form = errorFrame, 0
		if resp, err = json.Marshal(wire.ToError(err)); err != nil {
			resp = []byte(`{"kind":0,"text":"error cannot be encoded"}`)
		}
	}
	_ = f.send(header{id: h.id, kind: kind, form: form}, "", resp) // the reader of the connection sees it break
}

// A callTable holds what is under way on one connection, so that it can be cancelled.
type callTable struct {
	mu      sync.Mutex // guards cancels
	cancels map[uint64]context.CancelFunc
}

func (t *callTable) begin(ctx context.Context, h header) context.Context {
	var cancel context.CancelFunc
	if h.millis > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(h.millis)*time.Millisecond)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	t.mu.Lock()
	t.cancels[h.id] = cancel
	t.mu.Unlock()
	return ctx
}

func (t *callTable) cancel(id uint64) {
	t.mu.Lock()
	cancel := t.cancels[id]
	t.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

func (t *callTable) end(id uint64) {
	t.cancel(id)
	t.mu.Lock()
	delete(t.cancels, id)
	t.mu.Unlock()
}
