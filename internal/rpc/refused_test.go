package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/memnet"
	"github.com/millrace/millrace/internal/wire"
)

// heard is what a server's owner is told of calls.
type heard struct {
	mu    sync.Mutex // guards calls
	calls []string
}

func (h *heard) called(c Caller, route string, req any, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, fmt.Sprintf("%s: %s %v %v", c.User, route, req != nil, wire.KindOf(err)))
}

// take returns what was heard since, sorted by time.
func (h *heard) take() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	got := strings.Join(h.calls, ", ")
	h.calls = nil
	return got
}

// TestRefusalsAreHeard: of every call that is refused the owner of a server hears once, whichever way it came; of what is done, and of
// what fails otherwise, not.
func TestRefusalsAreHeard(t *testing.T) {
	var h heard
	var s *Server
	cfg := ServerConfig{Called: h.called, Audited: func(m string) bool { return m == "kept" }, Revoked: func(c Caller) error {
		if c.User == "eve" {
			return wire.Errorf(wire.Denied, "eve is not served any more")
		}
		return nil
	}}
	addr, ann := start(t, cfg, func(made *Server) {
		s = made
		echo(s)
		Handle(s, Method[ask, told]{"kept", Users}, func(context.Context, Caller, ask) (told, error) { return told{}, nil })
		Handle(s, Method[ask, told]{"mine", Users}, func(_ context.Context, c Caller, _ ask) (told, error) {
			return told{}, wire.Errorf(wire.Denied, "not of %s", c.User)
		})
		Handle(s, Method[ask, told]{"nodes", Nodes}, func(context.Context, Caller, ask) (told, error) { return told{}, nil })
		s.HandleHTTP("GET /page", Nodes, Block, func(http.ResponseWriter, *http.Request, Caller) {})
		HandleStream(s, "bytes", Nodes, func(context.Context, Caller, ask, *Stream) {})
	})
	bob, eve := NewClient(ClientConfig{User: "bob"}), NewClient(ClientConfig{User: "eve"})
	defer bob.Close()
	defer eve.Close()
	call := func(c *Client, method string) func() error {
		return func() error {
			_, err := Call[ask, told](t.Context(), c, addr, method, ask{})
			return err
		}
	}
	get := func(c *Client, path string) func() error {
		return func() error {
			resp, err := c.Get(t.Context(), addr, path)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}
	}
	stream := func(c *Client, name string) func() error {
		return func() error {
			st, err := c.Stream(t.Context(), addr, name, ask{})
			if err == nil {
				st.Close()
			}
			return err
		}
	}
	for _, tt := range []struct {
		what string
		do   func() error
		ok   bool
		want string
	}{
		{"a call", call(bob, "echo"), true, ""},
		{"a call to be noted", call(bob, "kept"), true, "bob: kept true 0"},
		{"a call for nodes", call(bob, "nodes"), false, "bob: nodes false " + wire.Denied.Error()},
		{"a call that its handler refuses", call(bob, "mine"), false, "bob: mine true " + wire.Denied.Error()},
		{"no such call", call(bob, "nosuch"), false, ""},
		{"a page for nodes", get(bob, "/page"), false, "bob: GET /page false " + wire.Denied.Error()},
		{"a page by a node", get(ann, "/page"), true, ""},
		{"a page, not served any more", get(eve, "/page"), false, "eve: GET /page false " + wire.Denied.Error()},
		{"a stream for nodes", stream(bob, "bytes"), false, "bob: bytes false " + wire.Denied.Error()},
		{"a stream by a node", stream(ann, "bytes"), true, ""},
		{"no such stream", stream(ann, "nosuch"), false, ""},
		{"a stream, not served any more", stream(eve, "bytes"), false, "eve: bytes false " + wire.Denied.Error()},
		{"here, for nodes", func() error { return s.Local(t.Context(), Caller{User: "bob"}, "nodes", ask{}, &told{}) }, false, "bob: nodes false " + wire.Denied.Error()},
		{"here, not served any more", func() error { return s.Local(t.Context(), Caller{User: "eve"}, "echo", ask{}, &told{}) }, false, "eve: echo false " + wire.Denied.Error()},
	} {
		err := tt.do()
		if got := h.take(); (err == nil) != tt.ok || got != strings.Replace(tt.want, " 0", " "+fmt.Sprint(wire.KindOf(nil)), 1) {
			t.Errorf("%s: %v; heard %q, want %q", tt.what, err, got, tt.want)
		}
	}
}

// TestNobodyListens: a server whose owner does not want to hear refuses all the same.
func TestNobodyListens(t *testing.T) {
	addr, _ := start(t, ServerConfig{}, func(s *Server) {
		Handle(s, Method[ask, told]{"nodes", Nodes}, func(context.Context, Caller, ask) (told, error) { return told{}, nil })
		s.HandleHTTP("GET /page", Nodes, Block, func(http.ResponseWriter, *http.Request, Caller) {})
		HandleStream(s, "bytes", Nodes, func(context.Context, Caller, ask, *Stream) {})
	})
	bob := NewClient(ClientConfig{User: "bob"})
	defer bob.Close()
	_, call := Call[ask, told](t.Context(), bob, addr, "nodes", ask{})
	_, page := bob.Get(t.Context(), addr, "/page")
	_, stream := bob.Stream(t.Context(), addr, "bytes", ask{})
	for what, err := range map[string]error{"call": call, "page": page, "stream": stream} {
		if !errors.Is(err, wire.Denied) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestArgumentsOfAStream: a stream is not opened for arguments that are none.
func TestArgumentsOfAStream(t *testing.T) {
	addr, _ := start(t, ServerConfig{}, func(s *Server) {
		HandleStream(s, "bytes", Anyone, func(context.Context, Caller, ask, *Stream) {})
	})
	for args, want := range map[string]int{`{"Text":"x"}`: 101, `{"Text":`: 400, "": 400} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET /rpc/stream/bytes HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %s\r\n\r\n", streamProto, argsHeader, args)
		if got := status(c); got != want {
			t.Errorf("%q: %d, want %d", args, got, want)
		}
		c.Close()
	}
}

// TestUsersSayLess: what a user may say at once is bounded by the budget, what nodes and tasks may by what the server reads at all.
func TestUsersSayLess(t *testing.T) {
	cfg := ServerConfig{MaxMessage: 20_000, Budget: Budget{Message: 5000}}
	cfg.Authenticate = func(r *http.Request) (Caller, error) {
		c, err := Trusting(r)
		if c.User == "task" {
			c.Job = "j1"
		}
		return c, err
	}
	addr, _ := start(t, cfg, func(s *Server) {
		Handle(s, Method[ask, told]{"count", Anyone}, func(context.Context, Caller, ask) (told, error) { return told{}, nil })
	})
	for _, tt := range []struct {
		who  ClientConfig
		want map[int]bool
	}{
		{ClientConfig{User: "ann"}, map[int]bool{4000: true, 6000: false, 30_000: false}},
		{ClientConfig{}, map[int]bool{4000: true, 6000: false}},
		{ClientConfig{Node: "n1"}, map[int]bool{6000: true, 15_000: true, 30_000: false}},
		{ClientConfig{User: "task"}, map[int]bool{6000: true, 15_000: true, 30_000: false}},
	} {
		for size, want := range tt.want {
			c := NewClient(tt.who)
			_, err := Call[ask, told](t.Context(), c, addr, "count", ask{strings.Repeat("x", size)})
			if (err == nil) != want {
				t.Errorf("%+v with %d bytes: %v", tt.who, size, err)
			}
			c.Close()
		}
	}
}

// silence opens a connection for frames, and serves it until it ends. The server has wait, which takes so long.
func silence(t *testing.T, idle time.Duration, test func(t *testing.T, c net.Conn, over chan error)) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		l, err := n.Host("10.0.0.1").Listen("10.0.0.1:7")
		if err != nil {
			t.Fatal(err)
		}
		s := NewServer(ServerConfig{Budget: Budget{Idle: idle}})
		over := make(chan error, 9)
		Handle(s, Method[ask, told]{"wait", Anyone}, func(ctx context.Context, _ Caller, a ask) (told, error) {
			d, _ := time.ParseDuration(a.Text) // none: it waits for nothing
			select {
			case <-time.After(d):
			case <-ctx.Done():
			}
			over <- ctx.Err()
			context.AfterFunc(ctx, func() { over <- ctx.Err() })
			return told{}, nil
		})
		served := make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		c, err := n.Host("10.0.0.2").Dial(t.Context(), "10.0.0.1:7")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", framesPath, framesProto)
		if got := status(c); got != 101 {
			t.Fatal(got)
		}
		test(t, c, over)
		c.Close()
		s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute) // of the net/http server's own goroutines, in virtual time
	})
}

func callWait(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := c.Write(appendFrame(nil, header{id: 7, kind: callFrame}, "wait", []byte(`{"Text":"`+text+`"}`))); err != nil {
		t.Fatal(err)
	}
}

// TestSilentConnections: a connection on which nothing is under way is closed after Budget.Idle, or at most twice as long, and not
// before; one whose call takes longer is kept.
func TestSilentConnections(t *testing.T) {
	silence(t, time.Minute, func(t *testing.T, c net.Conn, over chan error) {
		begin := time.Now()
		time.Sleep(59 * time.Second)
		callWait(t, c, "150s")
		if h, _, err := readFrame(c, 1000); err != nil || h.kind != replyFrame {
			t.Errorf("%+v, %v", h, err)
		}
		if err := <-over; err != nil {
			t.Errorf("a call that took longer: %v", err)
		}
		if took := time.Since(begin); took != 209*time.Second {
			t.Errorf("the answer came after %v", took)
		}
		if n, err := io.Copy(io.Discard, c); n != 0 || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes more, %v", n, err)
		}
		if took := time.Since(begin); took < 269*time.Second || took > 329*time.Second {
			t.Errorf("closed after %v", took)
		}
	})
}

// TestCallsEndWithTheirConnection: what a call was given ends with its answer; where its connection breaks before, at once.
func TestCallsEndWithTheirConnection(t *testing.T) {
	silence(t, time.Minute, func(t *testing.T, c net.Conn, over chan error) {
		callWait(t, c, "1s")
		if h, _, err := readFrame(c, 1000); err != nil || h.kind != replyFrame {
			t.Errorf("%+v, %v", h, err)
		}
		if err := <-over; err != nil {
			t.Errorf("ended before its time: %v", err)
		}
		if synctest.Wait(); len(over) != 1 || !errors.Is(<-over, context.Canceled) {
			t.Error("the call is answered, and what it was given did not end")
		}
		callWait(t, c, "1h")
		synctest.Wait()
		begin := time.Now()
		c.Close()
		if err := <-over; !errors.Is(err, context.Canceled) || time.Since(begin) > time.Second {
			t.Errorf("%v, %v after the connection broke", err, time.Since(begin))
		}
	})
}

// routed sends large answers another way, and notes what it is told of each step.
type routed struct {
	mu   sync.Mutex // guards the fields below
	due  []int64    // of answers that were announced
	told []bool
	got  map[string]int // by peer
}

func (r *routed) Receive(p Peer, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.got == nil {
		r.got = map[string]int{}
	}
	r.got[p.Name] += n
}

func (r *routed) Route(p Peer, n int64, together bool) Traffic {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, together)
	if n >= 10_000 {
		return Circuit
	}
	return p.What
}

func (r *routed) Send(_ Peer, _ int, t *Transfer) {
	if t != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.due = append(r.due, t.Due)
	}
}

// TestAnnouncedAnswers: an answer whose length is announced goes, and counts, the way that the network chose for it; the next on the
// same connection is on its own again. The network of who asked is asked, too.
func TestAnnouncedAnswers(t *testing.T) {
	r, meter := &routed{}, &Meter{}
	var s *Server
	addr, c := start(t, ServerConfig{Shaper: r, Meter: meter}, func(made *Server) {
		s = made
		s.HandleHTTP("GET /out/{n}", Anyone, Shuffle, func(w http.ResponseWriter, req *http.Request, _ Caller) {
			size := len(req.PathValue("n"))
			switch size {
			case 1, 2:
				size *= 10_000 / 2
				s.Announce(req, int64(size), size == 5000)
			default:
				size = 300
			}
			_, _ = w.Write(bytes.Repeat([]byte("x"), size))
		})
	})
	s.Announce(&http.Request{}, 5, false) // of no connection of ours: nothing happens
	here := &routed{}
	c.cfg.Shaper = here
	for path, size := range map[string]int64{"/out/x": 5000, "/out/xx": 10_000, "/out/xxx": 300} {
		resp, err := c.Get(t.Context(), addr, path)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
			t.Errorf("%s: %d bytes, %v", path, n, err)
		}
		resp.Body.Close()
	}
	var shuffle, circuit int64
	for range 1000 { // bytes are counted when they have gone
		all := meter.Read()
		if shuffle, circuit = all[Peer{"n1", Shuffle}].Sent, all[Peer{"n1", Circuit}].Sent; shuffle >= 5300 && circuit >= 10_000 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if shuffle < 5300 || shuffle > 6300 || circuit < 10_000 || circuit > 10_300 {
		t.Errorf("counted %d bytes as shuffle and %d by circuit", shuffle, circuit)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.due)
	if len(r.told) != 2 || r.told[0] == r.told[1] || !slices.Equal(slices.Compact(r.due), []int64{5000, 10_000}) {
		t.Errorf("asked for a way %v, told of answers of %v", r.told, r.due)
	}
	here.mu.Lock()
	defer here.mu.Unlock()
	if got := here.got[addr]; got < 15_300 || got > 17_000 {
		t.Errorf("who asked was slowed down for %d bytes of %v", got, here.got)
	}
}

// TestWhoseBytesCount: a node's bytes count for it, those of who runs on a node for that node, and of others for their address; a name
// that is none is not believed.
func TestWhoseBytesCount(t *testing.T) {
	meter := &Meter{}
	addr, _ := start(t, ServerConfig{Meter: meter}, func(s *Server) {
		Handle(s, Method[ask, told]{"tell", Anyone}, func(_ context.Context, _ Caller, a ask) (told, error) { return told(a), nil })
	})
	long := strings.Repeat("w", 255)
	for _, tt := range []struct {
		cfg  ClientConfig
		want string
	}{
		{ClientConfig{Node: "n1", At: "w1"}, "n1"},
		{ClientConfig{User: "ann", At: "w1"}, "w1"},
		{ClientConfig{User: "ann"}, "127.0.0.1"},
		{ClientConfig{At: long}, long},
		{ClientConfig{At: long + "w"}, "127.0.0.1"},
	} {
		c := NewClient(tt.cfg)
		text := strings.Repeat("x", 9000)
		before := meter.Read()[Peer{tt.want, Control}]
		if _, err := Call[ask, told](t.Context(), c, addr, "tell", ask{text}); err != nil {
			t.Error(err)
		}
		if b := meter.Read()[Peer{tt.want, Control}]; b.Received < before.Received+9000 {
			t.Errorf("%.10q at %.10q: %d bytes came from %.10q", tt.cfg.User, tt.cfg.At, b.Received-before.Received, tt.want)
		}
		c.Close()
	}
}
