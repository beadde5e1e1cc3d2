package rpc

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// ClientConfig says who a client is and how it reaches others.
type ClientConfig struct {
	User  string // on whose behalf calls are made
	Node  string // our name if we are a node
	At    string // the node we run on if we are not a node, for its counts
	Token string // a task's token
	// Dial reaches an address; nil means TCP with a timeout of 3 s.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// TLS, if set, is spoken on every connection.
	TLS *tls.Config
	// MaxMessage bounds requests and responses; 0 means 16 MiB.
	MaxMessage int
	Meter      *Meter
	Shaper     Shaper
}

// A Client makes calls. It keeps one connection to each address it has called.
type Client struct {
	cfg  ClientConfig
	http *http.Client
	ctx  context.Context // ends with the client
	stop context.CancelFunc

	mu     sync.Mutex // guards the fields below
	conns  map[string]*clientConn
	closed bool
	wg     sync.WaitGroup
}

// NewClient returns a client without connections.
func NewClient(cfg ClientConfig) *Client {
	if cfg.Dial == nil {
		d := &net.Dialer{Timeout: 3 * time.Second}
		cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
	}
	if cfg.MaxMessage == 0 {
		cfg.MaxMessage = DefaultMaxMessage
	}
	if cfg.Meter == nil {
		cfg.Meter = &Meter{}
	}
	c := &Client{cfg: cfg, conns: map[string]*clientConn{}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.http = &http.Client{Transport: &http.Transport{
		DialContext:         c.dialBulk,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     30 * time.Second,
		DisableCompression:  true,
		WriteBufferSize:     64 << 10,
		ReadBufferSize:      64 << 10,
	}}
	return c
}

// Meter counts what this client has sent and received, by address.
func (c *Client) Meter() *Meter { return c.cfg.Meter }

func (c *Client) dial(ctx context.Context, peer Peer) (net.Conn, error) {
	return c.dialWith(ctx, peer, func(net.Conn) {})
}

func (c *Client) dialWith(ctx context.Context, peer Peer, prepare func(net.Conn)) (net.Conn, error) {
	raw, err := c.cfg.Dial(ctx, peer.Name)
	if err != nil {
		return nil, wire.Errorf(wire.Unavailable, "%s cannot be reached: %w", peer.Name, err)
	}
	prepare(raw)
	var conn net.Conn = countConn(raw, c.cfg.Meter, c.cfg.Shaper, peer)
	if c.cfg.TLS != nil {
		conn = tls.Client(conn, c.cfg.TLS)
	}
	return conn, nil
}

// dialBulk makes a connection for Get. It does TLS itself, and HTTP need not know.
func (c *Client) dialBulk(ctx context.Context, _, addr string) (net.Conn, error) {
	return c.dialWith(ctx, Peer{addr, Control}, widen)
}

func (c *Client) introduce(h http.Header) {
	for k, v := range map[string]string{userHeader: c.cfg.User, nodeHeader: c.cfg.Node, atHeader: c.cfg.At, tokenHeader: c.cfg.Token} {
		if v != "" {
			h.Set(k, v)
		}
	}
}

// Get requests bulk data by HTTP. The path begins with a slash; the caller closes the body. A status other than 200
// and 206 is an error of its kind.
func (c *Client) Get(ctx context.Context, addr, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return nil, wire.Errorf(wire.Invalid, "GET %s from %s: %w", path, addr, err)
	}
	c.introduce(req.Header)
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, wire.Errorf(wire.Unavailable, "GET %s from %s: %w", path, addr, err)
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent {
		err := ReadError(resp)
		resp.Body.Close()
		return nil, fmt.Errorf("from %s: %w", addr, err)
	}
	return resp, nil
}

// Call makes a call and waits for the answer. If a peer cannot be reached, or dies meanwhile, it is
// wire.Unavailable: the call may or may not have been carried out.
func Call[Req, Resp any](ctx context.Context, c *Client, addr, method string, req Req) (Resp, error) {
	var resp Resp
	body, f, err := encode(&req, true)
	if err != nil {
		return resp, wire.Errorf(wire.Invalid, "%s: request cannot be encoded: %w", method, err)
	}
	cc, err := c.connTo(ctx, addr)
	if err != nil {
		return resp, err
	}
	a, err := cc.call(ctx, method, body, f|answers(&resp))
	if err != nil {
		return resp, err
	}
	if err := decode(a.payload, a.form, &resp); err != nil {
		return resp, wire.Errorf(wire.Corrupt, "%s: answer of %s is not understood: %w", method, addr, err)
	}
	return resp, nil
}

// connTo returns the connection to an address, and makes it if needed. Other callers meanwhile wait for the same
// connection.
func (c *Client) connTo(ctx context.Context, addr string) (*clientConn, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	cc := c.conns[addr]
	if cc == nil || cc.broken() {
		cc = &clientConn{addr: addr, ready: make(chan struct{}), gone: make(chan struct{}), pending: map[uint64]chan answer{}}
		c.conns[addr] = cc
		c.wg.Go(func() { c.connect(cc) })
	}
	c.mu.Unlock()
	select {
	case <-cc.ready:
		return cc, cc.failure()
	case <-ctx.Done():
		return nil, ctxError(ctx, addr)
	}
}

// connectTimeout bounds dialling and the handshake together.
const connectTimeout = 5 * time.Second

// connect makes the connection of cc and then reads its answers until it breaks.
func (c *Client) connect(cc *clientConn) {
	ctx, cancel := context.WithTimeout(c.ctx, connectTimeout)
	defer cancel()
	conn, in, err := c.upgrade(ctx, Peer{cc.addr, Control}, framesPath, framesProto, nil)
	if err == nil {
		cc.attach(newFrameConn(conn, in, c.cfg.MaxMessage))
	} else {
		cc.fail(err)
	}
	close(cc.ready)
	if err == nil {
		cc.readAll()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns[cc.addr] == cc { // nobody may ever call there again
		delete(c.conns, cc.addr)
	}
}

// upgrade dials and asks HTTP to hand over the connection.
func (c *Client) upgrade(ctx context.Context, peer Peer, path, proto string, args []byte) (net.Conn, *bufio.Reader, error) {
	addr := peer.Name
	conn, err := c.dial(ctx, peer)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	in, err := c.handshake(conn, addr, path, proto, args)
	if !stop() && err == nil {
		err = wire.Errorf(wire.Unavailable, "%s did not answer in time", addr)
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, in, nil
}

func (c *Client) handshake(conn net.Conn, addr, path, proto string, args []byte) (*bufio.Reader, error) {
	req, err := http.NewRequest(http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return nil, wire.Errorf(wire.Invalid, "address %q: %w", addr, err)
	}
	c.introduce(req.Header)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", proto)
	if args != nil {
		req.Header.Set(argsHeader, string(args))
	}
	if err := req.Write(conn); err != nil {
		return nil, unanswered(addr, err)
	}
	in := bufio.NewReaderSize(conn, 64<<10)
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		return nil, unanswered(addr, err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		defer resp.Body.Close()
		return nil, ReadError(resp)
	}
	return in, nil
}

// ErrClosed is the error of calls on a closed client: retrying is useless.
var ErrClosed = wire.Errorf(wire.Canceled, "the client is closed")

// Close breaks all connections, including those being made, and waits for their readers. It may be called twice.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	for _, cc := range c.conns {
		cc.fail(ErrClosed)
	}
	c.mu.Unlock()
	c.stop()
	c.http.CloseIdleConnections()
	c.wg.Wait()
	return nil
}
