// Package client talks to a master: jobs, files and nodes. The command line and programs that
// submit themselves use nothing else.
//
//	c, err := client.New(client.Config{Master: "127.0.0.1:7070", User: "ann"})
//	id, err := c.Submit(ctx, spec)
//	status, err := c.Wait(ctx, id, func(s wire.JobStatus) { ... })   // may be called by anybody, later
//	c.DFS()                                                          // the files
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// Config says where the master is and who calls.
type Config struct {
	Master string // host:port, with or without http:// before it
	User   string // empty means the user of this process
	// Umask applies to what this client and its jobs create in the block store; "" means the cluster's, 022.
	Umask wire.Umask
	// Key is the cluster's key, Cert a text made by secure.Key.PEM. A cluster with a key wants one.
	Key  *secure.Key
	Cert []byte
	DFS  func(c *dfs.Config)
	// Patience is how long calls are retried while the master is out of reach; 0 means 10 s.
	Patience time.Duration
}

// A Client is a connection to one cluster.
type Client struct {
	cfg  Config
	rpc  *rpc.Client
	dfs  *dfs.Client
	addr string
}

// Address converts what users write to host:port.
func Address(s string) (string, error) {
	s = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(s, "http://"), "https://"), "/")
	if s == "" {
		return "", errors.New("no master: give --master HOST:PORT or set MILLRACE_MASTER (millrace cluster up starts one here)")
	}
	if _, _, err := net.SplitHostPort(s); err != nil {
		return "", fmt.Errorf("master %q: must be HOST:PORT: %w", s, err)
	}
	return s, nil
}

// New returns a client. It connects on first use.
func New(cfg Config) (*Client, error) {
	addr, err := Address(cfg.Master)
	if err != nil {
		return nil, err
	}
	if len(cfg.Cert) > 0 && cfg.Key == nil { // the certificate says who calls
		cfg.User = cmp.Or(secure.UserOf(cfg.Cert), cfg.User)
	}
	if cfg.User == "" {
		cfg.User = CurrentUser()
	}
	if cfg.Patience == 0 {
		cfg.Patience = 10 * time.Second
	}
	rc, err := cfg.identity()
	if err != nil {
		return nil, err
	}
	rc.User = cfg.User
	c := &Client{cfg: cfg, rpc: rpc.NewClient(rc), addr: addr}
	dc := dfs.Config{Master: addr, Client: c.rpc, User: cfg.User, Umask: cfg.Umask, Patience: cfg.Patience}
	if cfg.DFS != nil {
		cfg.DFS(&dc)
	}
	c.dfs = dfs.NewClient(dc)
	return c, nil
}

// FromEnv reads the key or the certificate from the files that MILLRACE_KEY and MILLRACE_CERT name.
func (c *Config) FromEnv() (err error) {
	if name := os.Getenv("MILLRACE_KEY"); name != "" {
		c.Key, err = secure.Load(name)
		return err
	}
	if name := os.Getenv("MILLRACE_CERT"); name != "" {
		c.Cert, err = os.ReadFile(name)
	}
	return err
}

// identity returns how the client identifies itself. With the cluster's key it may do everything.
func (c *Config) identity() (rpc.ClientConfig, error) {
	switch {
	case c.Key != nil:
		return c.Key.Client(secure.Admin, c.User, "")
	case len(c.Cert) > 0:
		return secure.FromPEM(c.Cert)
	}
	return rpc.ClientConfig{}, nil
}

// CurrentUser returns the user of this process.
func CurrentUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "nobody"
}

// DFS returns the block store.
func (c *Client) DFS() *dfs.Client { return c.dfs }

// User returns the user on whose behalf calls are made.
func (c *Client) User() string { return c.cfg.User }

// As returns a client of the same cluster for another user. It needs the key, unless the cluster has none.
func (c *Client) As(user string) (*Client, error) {
	cfg := c.cfg
	cfg.User = user
	return New(cfg)
}

// Addr returns the master's address.
func (c *Client) Addr() string { return c.addr }

// Close ends the connection. It may be called twice.
func (c *Client) Close() error { return errors.Join(c.dfs.Close(), c.rpc.Close()) }

// call calls the master and retries while it is out of reach.
func call[Req, Resp any](ctx context.Context, c *Client, method rpc.Method[Req, Resp], req Req) (resp Resp, err error) {
	err = rpc.Retry{For: c.cfg.Patience}.Do(ctx, func() (err error) {
		resp, err = method.Call(ctx, c.rpc, c.addr, req)
		return stopping(ctx, err)
	})
	if err != nil && wire.KindOf(err) == wire.Unavailable && !errors.Is(err, rpc.ErrStranger) && ctx.Err() == nil {
		err = fmt.Errorf("%w (is the master at %s running?)", err, c.addr)
	}
	return resp, err
}

// stopping turns a call that a stopping master has cancelled into one that it did not answer: the caller has not
// cancelled it.
func stopping(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && wire.KindOf(err) == wire.Canceled && !errors.Is(err, rpc.ErrClosed) {
		return wire.Errorf(wire.Unavailable, "the master is stopping: %v", err)
	}
	return err
}

// Call makes any call of the API, for callers that know its messages.
func (c *Client) Call(ctx context.Context, method string, req, resp any) error {
	body, err := rpc.Call[any, json.RawMessage](ctx, c.rpc, c.addr, method, req)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, resp); err != nil {
		return wire.Errorf(wire.Corrupt, "%s: answer of %s is not understood: %w", method, c.addr, err)
	}
	return nil
}

type none = struct{}
