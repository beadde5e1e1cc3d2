package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// discardLog drops what the HTTP server logs about strangers.
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

// WriteError answers a request with an error: its kind as status, and all of it in the body.
func WriteError(w http.ResponseWriter, err error) {
	e := wire.ToError(err)
	status := statusOf[e.Kind]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(e) // the caller may have lost the connection
}

// ReadError returns the error in an unsuccessful response.
func ReadError(resp *http.Response) error {
	e := &wire.Error{}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err == nil && json.Unmarshal(body, e) == nil && e.Text != "" {
		return e
	}
	if wantsKey(resp, body) {
		return wire.Errorf(wire.Denied, "%s: %w: it has a key: set MILLRACE_CERT to the file of your certificate, or MILLRACE_KEY to that of the key (or give millrace --cert or --key)", resp.Request.URL.Host, ErrStranger)
	}
	return wire.Errorf(wire.Internal, "%s: HTTP status %s", resp.Request.URL.Path, resp.Status)
}

// serveHTTP passes a request to its route. Only methods accept a body, since HTTP would wait for the end of one.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 && !strings.HasPrefix(r.URL.Path, Prefix) {
		refuse(w, wire.Errorf(wire.Invalid, "%s %s takes no body", r.Method, r.URL.Path))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// refuse answers and closes the connection. Otherwise HTTP would wait indefinitely for the rest of the request.
func refuse(w http.ResponseWriter, err error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second)) // it may be closed already
	w.Header().Set("Connection", "close")
	WriteError(w, err)
}

// serveCall answers POST /api/v1/METHOD. It first checks whether the caller may make the call.
func (s *Server) serveCall(w http.ResponseWriter, r *http.Request) {
	c, err := s.identify(r, Control)
	if err != nil {
		refuse(w, err)
		return
	}
	m, err := s.find(c, []byte(r.PathValue("method")))
	if err != nil {
		refuse(w, err)
		return
	}
	n := s.cfg.Budget.limit(c, s.cfg.MaxMessage)
	if r.ContentLength > int64(n) {
		refuse(w, wire.Errorf(wire.TooLarge, "request of %d bytes, the limit is %d", r.ContentLength, n))
		return
	}
	if r.ContentLength >= 0 {
		n = int(r.ContentLength)
	}
	a, h := accountOf(c), message(n, 2)
	h.calls = 1
	if err := s.books.take(a, h); err != nil {
		refuse(w, err)
		return
	}
	defer s.books.give(a, h)
	body, err := s.readBody(w, r, n)
	if err != nil {
		refuse(w, err)
		return
	}
	resp, _, err := s.run(r.Context(), c, m, body, 0)
	if err != nil {
		WriteError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(resp) // likewise
}

// readBody reads a request of at most n bytes, which must arrive in time.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, n int) ([]byte, error) {
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(s.cfg.Budget.Grace)) // an error shows when it is read
	p := &paced{r: http.MaxBytesReader(w, r.Body, int64(n)), began: time.Now(), budget: &s.cfg.Budget, conn: conn}
	body, err := io.ReadAll(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, wire.Errorf(wire.Unavailable, "request: %d bytes came in %s, too few", len(body), time.Since(p.began).Round(time.Millisecond))
	}
	if err != nil {
		return nil, wire.Errorf(wire.TooLarge, "request: %w", err)
	}
	return body, conn.SetReadDeadline(time.Time{}) // HTTP waits for the end of the connection
}

// A paced reader extends the deadline of a body as its bytes arrive.
type paced struct {
	r      io.Reader
	began  time.Time
	budget *Budget
	conn   *http.ResponseController
	got    int
}

func (p *paced) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if p.got += n; n > 0 {
		_ = p.conn.SetReadDeadline(p.began.Add(p.budget.allowed(p.got))) // likewise
	}
	return n, err
}

// upgrade takes over the connection from HTTP after answering 101.
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
	_ = conn.SetDeadline(time.Time{}) // set by HTTP; an error shows at the next write
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+proto+"\r\n\r\n"); err != nil {
		s.release(conn)
		return nil, nil, false
	}
	return conn, rw.Reader, true
}

// A callTable holds the calls under way on one connection, so that they can be cancelled.
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
