package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// ServerConfig configures a Server. The zero value trusts its callers.
type ServerConfig struct {
	// Authenticate finds out who calls; nil means Trusting.
	Authenticate Authenticator
	// Revoked, if set, returns why an identified caller is no longer served. It is called for every call, even on
	// older connections.
	Revoked func(Caller) error
	// Called, if set, is told of every call of a method that Audited names, and of every refused call. req is nil if
	// the request was not read. It may be called concurrently.
	Called  func(c Caller, method string, req any, err error)
	Audited func(method string) bool
	// TLS, if set, is required of every connection.
	TLS *tls.Config
	// MaxMessage bounds a request and a response; 0 means 16 MiB. Larger: fewer refusals, but strangers can make the
	// server allocate more.
	MaxMessage int
	// MaxCalls is how many calls of one connection run at a time; 0 means 256. At that number the connection is not
	// read.
	MaxCalls int
	// Budget bounds what callers make the server hold.
	Budget Budget
	Meter  *Meter
	Shaper Shaper
	// Panicked is called with a panic in a handler. The caller gets an internal error.
	Panicked func(method string, v any, stack []byte)
}

// DefaultMaxMessage is the default bound of messages.
const DefaultMaxMessage = 16 << 20

func (c ServerConfig) withDefaults() ServerConfig {
	if c.Authenticate == nil {
		c.Authenticate = Trusting
	}
	if c.MaxMessage == 0 {
		c.MaxMessage = DefaultMaxMessage
	}
	if c.MaxCalls == 0 {
		c.MaxCalls = 256
	}
	c.Budget = c.Budget.withDefaults(c.TLS == nil, c.MaxMessage)
	if c.Meter == nil {
		c.Meter = &Meter{}
	}
	if c.Revoked == nil {
		c.Revoked = func(Caller) error { return nil }
	}
	if c.Panicked == nil {
		c.Panicked = func(string, any, []byte) {}
	}
	return c
}

// A Server answers calls. Register everything before Serve.
type Server struct {
	cfg     ServerConfig
	books   *books
	door    *door
	mux     *http.ServeMux
	http    *http.Server
	methods map[string]method
	streams map[string]stream
	routes  []Route

	stop context.CancelFunc
	base context.Context
	wg   sync.WaitGroup

	mu    sync.Mutex // guards conns
	conns map[net.Conn]bool
}

type method struct {
	name  string
	rule  Rule
	quick bool // it is not told when its call is cancelled
	call  func(ctx context.Context, c Caller, req []byte, f form) ([]byte, form, error)
	here  func(ctx context.Context, c Caller, req, resp any) error // calls it without encoding; nil unless HandleFresh set it
}

// A Route is one way into the server. Tests try every one of them.
type Route struct {
	Path string
	Rule Rule
	Req  reflect.Type // type of the request of a method or stream; nil for plain HTTP
}

// Prefix is the prefix of every method's path.
const Prefix = "/api/v1/"

// NewServer returns a server without methods.
func NewServer(cfg ServerConfig) *Server {
	s := &Server{
		cfg: cfg.withDefaults(), mux: http.NewServeMux(),
		methods: map[string]method{}, streams: map[string]stream{}, conns: map[net.Conn]bool{},
	}
	s.books = &books{budget: s.cfg.Budget, accounts: map[account]holding{}}
	s.door = newDoor(s.cfg.Budget.Strangers, max(1, runtime.GOMAXPROCS(0)/2))
	s.base, s.stop = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serveHTTP),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return s.base },
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ErrorLog:          discardLog,
	}
	s.mux.HandleFunc("POST "+Prefix+"{method}", s.serveCall)
	s.mux.HandleFunc("GET "+framesPath, s.serveFrames)
	s.mux.HandleFunc("GET "+streamPath+"{name}", s.serveStream)
	return s
}

type connKey struct{}

// Handle registers a method. The name must be new; the rule must be one of the rules.
func Handle[Req, Resp any](s *Server, m Method[Req, Resp], fn func(ctx context.Context, c Caller, req Req) (Resp, error)) {
	handle(s, m, false, fn)
}

// HandleQuick is Handle for methods that never wait. They need no context, and do not pay for one.
func HandleQuick[Req, Resp any](s *Server, m Method[Req, Resp], fn func(c Caller, req Req) (Resp, error)) {
	handle(s, m, true, func(_ context.Context, c Caller, req Req) (Resp, error) { return fn(c, req) })
}

// handle registers a method and returns a function that calls it without encoding.
func handle[Req, Resp any](s *Server, m Method[Req, Resp], quick bool, fn func(ctx context.Context, c Caller, req Req) (Resp, error)) func(ctx context.Context, c Caller, req Req) (Resp, error) {
	name, rule := m.Name, m.Rule
	audited := s.cfg.Called != nil && s.cfg.Audited(m.Name)
	if _, taken := s.methods[name]; taken || rule == noRule || len(name) > 255 {
		panic(fmt.Sprintf("rpc: method %q is registered already, or has no rule", name))
	}
	do := func(ctx context.Context, c Caller, req Req) (Resp, error) {
		resp, err := fn(ctx, c, req)
		if audited || err != nil && s.cfg.Called != nil && wire.KindOf(err) == wire.Denied {
			s.cfg.Called(c, name, req, err)
		}
		return resp, err
	}
	s.routes = append(s.routes, Route{Prefix + name, rule, reflect.TypeFor[Req]()})
	s.methods[name] = method{name: name, rule: rule, quick: quick, call: func(ctx context.Context, c Caller, body []byte, f form) ([]byte, form, error) {
		var req Req
		if err := decode(body, f, &req); err != nil {
			return nil, 0, wire.Errorf(wire.Invalid, "%s: request is not understood: %w", name, err)
		}
		resp, err := do(ctx, c, req)
		if err != nil {
			return nil, 0, err
		}
		return encode(&resp, f&binaryReply != 0)
	}}
	return do
}

// HandleHTTP registers a plain HTTP handler under a pattern of http.ServeMux. Its bytes count as what.
func (s *Server) HandleHTTP(pattern string, rule Rule, what Traffic, h func(w http.ResponseWriter, r *http.Request, c Caller)) {
	if rule == noRule {
		panic("rpc: " + pattern + " has no rule")
	}
	s.routes = append(s.routes, Route{pattern, rule, nil})
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		c, err := s.identify(r, what)
		if err == nil {
			err = rule.Check(c)
		}
		if err != nil {
			if s.cfg.Called != nil {
				s.cfg.Called(c, pattern, nil, err)
			}
			WriteError(w, err)
			return
		}
		h(w, r, c)
	})
}

// Refused is for handlers of plain HTTP and streams that decide by themselves whom to refuse. It reports refusals to
// Called and ignores other errors, and none.
func (s *Server) Refused(c Caller, route string, req any, err error) {
	if err != nil && s.cfg.Called != nil && wire.KindOf(err) == wire.Denied {
		s.cfg.Called(c, route, req, err)
	}
}

// Routes lists all routes of the server, sorted.
func (s *Server) Routes() []Route {
	out := slices.Clone(s.routes)
	slices.SortFunc(out, func(a, b Route) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	return out
}

// identify finds out who calls. From then on it counts the connection's bytes for that caller.
func (s *Server) identify(r *http.Request, what Traffic) (Caller, error) {
	c, err := s.cfg.Authenticate(r)
	if err == nil {
		err = s.cfg.Revoked(c)
	}
	if err != nil {
		return c, err
	}
	if cc := connOf(r); cc != nil {
		cc.answer.Store(nil)
		cc.rename(s.cfg.Meter, Peer{peerName(r, c), what})
		err = cc.belongs(accountOf(c))
	}
	return c, err
}

// connOf returns the connection of a request, or nil if it is none of ours.
func connOf(r *http.Request) *countedConn {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	cc, _ := conn.(*countedConn)
	return cc
}

// Announce says, before an answer is written, how many bytes it has, and whether more data counts as one with it:
// the network may then send it another way.
func (s *Server) Announce(r *http.Request, bytes int64, together bool) {
	cc := connOf(r)
	if cc == nil || cc.shaper == nil {
		return
	}
	peer := cc.peer.Load().Peer
	peer.What = cc.shaper.Route(peer, bytes, together)
	cc.rename(s.cfg.Meter, peer)
	cc.answer.Store(&Transfer{Due: bytes})
}

// peerName returns for whom a caller's bytes are counted: its node, or the one on which it claims to run, which is
// believed only here.
func peerName(r *http.Request, c Caller) string {
	if c.Node != "" {
		return c.Node
	}
	if at := r.Header.Get(atHeader); at != "" && len(at) <= 255 {
		return at
	}
	return hostOf(r.RemoteAddr)
}

// Serve answers calls from a listener until Close. It may serve several at once.
func (s *Server) Serve(l net.Listener) error {
	l = doorListener{l, s}
	if s.cfg.TLS != nil {
		l = tls.NewListener(l, s.cfg.TLS)
	}
	err := s.http.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close stops the server and waits for its calls. It may be called twice.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return err
}

// keep remembers, until release, a connection taken over from the HTTP server. It is false if the server has been
// closed.
func (s *Server) keep(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.base.Err() != nil {
		c.Close()
		return false
	}
	s.conns[c] = true
	s.wg.Add(1)
	return true
}

func (s *Server) release(c net.Conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	c.Close()
	s.wg.Done()
}

// find returns a method if the caller may call it.
func (s *Server) find(c Caller, name []byte) (method, error) {
	m, ok := s.methods[string(name)]
	if !ok {
		return m, wire.Errorf(wire.Invalid, "there is no method %q here", name)
	}
	err := s.cfg.Revoked(c)
	if err == nil {
		err = m.rule.Check(c)
	}
	if err != nil && s.cfg.Called != nil {
		s.cfg.Called(c, m.name, nil, err)
	}
	return m, err
}

// run calls a method and turns a panic into an error.
func (s *Server) run(ctx context.Context, c Caller, m method, body []byte, f form) (resp []byte, rf form, err error) {
	defer func() {
		if v := recover(); v != nil {
			resp, rf, err = nil, 0, s.panicked(m, v)
		}
	}()
	return m.call(ctx, c, body, f)
}

func (s *Server) panicked(m method, v any) error {
	s.cfg.Panicked(m.name, v, debug.Stack())
	return wire.Errorf(wire.Internal, "%s: panic: %v", m.name, v)
}

func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}
