package rpc

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/memnet"
	"github.com/millrace/millrace/internal/wire"
)

// A rig is a server on a network in memory, in virtual time.
type rig struct {
	t *testing.T
	n *memnet.Network
	s *Server
}

// inMemory runs a test against a server with echo and, for as long as let is open, wait.
func inMemory(t *testing.T, cfg ServerConfig, test func(t *testing.T, r *rig, let chan struct{})) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New(1)
		l, err := n.Host("10.0.0.1").Listen("10.0.0.1:7")
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t, n, NewServer(cfg)}
		echo(r.s)
		let := make(chan struct{})
		Handle(r.s, Method[ask, told]{"wait", Users}, func(ctx context.Context, _ Caller, a ask) (told, error) {
			select {
			case <-let:
			case <-ctx.Done():
			}
			return told(a), nil
		})
		done := make(chan error, 1)
		go func() { done <- r.s.Serve(l) }()
		test(t, r, let)
		r.s.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute) // of the net/http server's own goroutines, in virtual time
		if b := r.s.books; len(b.accounts) > 0 || b.large != 0 {
			t.Errorf("left in the books: %v, %d", b.accounts, b.large)
		}
		if d := r.s.door; d.waiting.Len() > 0 || len(d.byHost) > 0 {
			t.Errorf("left at the door: %d, %v", d.waiting.Len(), d.byHost)
		}
	})
}

func (r *rig) dial(host string) net.Conn {
	r.t.Helper()
	c, err := r.n.Host(host).Dial(r.t.Context(), "10.0.0.1:7")
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) client(user string) *Client {
	return NewClient(ClientConfig{User: user, Dial: func(ctx context.Context, addr string) (net.Conn, error) {
		return r.n.Host("10.0.0.2").Dial(ctx, addr)
	}})
}

// post sends the beginning of a request.
func (r *rig) post(user, method string, length int, body string) net.Conn {
	c := r.dial("10.0.0.3")
	fmt.Fprintf(c, "POST /api/v1/%s HTTP/1.1\r\nHost: x\r\nMillrace-User: %s\r\nContent-Length: %d\r\n\r\n%s", method, user, length, body)
	return c
}

// status reads an answer and returns its code, or 0 if the connection ended without one.
func status(c net.Conn) int {
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// TestRuleBeforeBody: who may not call, and who says too much, hears so before anything of the body is read.
func TestRuleBeforeBody(t *testing.T) {
	inMemory(t, ServerConfig{Budget: Budget{Message: 5000, Bytes: 9000}}, func(t *testing.T, r *rig, _ chan struct{}) {
		begin := time.Now()
		for _, tt := range []struct {
			user, method string
			length, want int
		}{{"", "echo", 1000, 403}, {"ann", "nosuch", 1000, 400}, {"ann", "echo", 6000, 413}, {"ann", "echo", 4900, 503}} {
			c := r.post(tt.user, tt.method, tt.length, "")
			if got := status(c); got != tt.want {
				t.Errorf("%+v: %d", tt, got)
			}
			c.Close()
		}
		c := r.dial("10.0.0.3")
		fmt.Fprintf(c, "GET /rpc/frames HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: millrace-frames/1\r\n\r\n")
		if got := status(c); got != 101 {
			t.Fatal(got)
		}
		frame := appendFrame(nil, header{id: 7, kind: callFrame}, "echo", bytes.Repeat([]byte("x"), 4000))
		if _, err := c.Write(frame[:headerSize+4]); err != nil {
			t.Fatal(err)
		}
		h, _, err := readFrame(c, 1000)
		if err != nil || h.kind != errorFrame || h.id != 7 {
			t.Errorf("%+v, %v", h, err)
		}
		c.Close()
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestSlowMessages: bodies and frames that come by drops end, and so do connections on which nothing happens; a call
// that waits does not.
func TestSlowMessages(t *testing.T) {
	frame := string(appendFrame(nil, header{id: 1, kind: callFrame}, "echo", make([]byte, 1000)))
	const upgrade = "GET /rpc/frames HTTP/1.1\r\nHost: x\r\nMillrace-User: ann\r\nConnection: Upgrade\r\nUpgrade: millrace-frames/1\r\n\r\n"
	inMemory(t, ServerConfig{}, func(t *testing.T, r *rig, let chan struct{}) {
		cl := r.client("ann")
		answered := make(chan error, 1)
		go func() {
			_, err := Call[ask, told](t.Context(), cl, "10.0.0.1:7", "wait", ask{"x"})
			answered <- err
		}()
		for _, tt := range []struct {
			what, first, drops string
			within             time.Duration
		}{
			{"body", "POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nMillrace-User: ann\r\nContent-Length: 1000\r\n\r\n", frame, 13 * time.Second},
			{"chunks", "POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nMillrace-User: ann\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n", frame, 13 * time.Second},
			{"body of a page", "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", frame, 2 * time.Second},
			{"header", "", "POST /api/v1/echo HTTP/1.1\r\n", 13 * time.Second},
			{"header of a frame", upgrade, frame[:headerSize], 13 * time.Second},
			{"frame", upgrade + frame[:headerSize], frame[headerSize:], 13 * time.Second},
			{"silence", upgrade, "", 6 * time.Minute},
		} {
			c := r.dial("10.0.0.3")
			begin := time.Now()
			fmt.Fprint(c, tt.first)
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = io.Copy(io.Discard, c) }) // ends with the connection
			go drip(c, tt.drops)
			wg.Wait()
			if took := time.Since(begin); took > tt.within {
				t.Errorf("%s: open for %s", tt.what, took)
			}
			c.Close()
		}
		time.Sleep(time.Hour)
		close(let)
		if err := <-answered; err != nil {
			t.Errorf("a call that waited: %v", err)
		}
		cl.Close()
	})
}

func drip(w io.Writer, s string) {
	for i := range s {
		if _, err := io.WriteString(w, s[i:i+1]); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// TestBudgets: a caller who has too much under way is refused, and nobody else; what ends counts no more.
func TestBudgets(t *testing.T) {
	cfg := ServerConfig{Budget: Budget{Conns: 8, Calls: 5, Bytes: 1 << 20}}
	inMemory(t, cfg, func(t *testing.T, r *rig, let chan struct{}) {
		ann, bob := r.client("ann"), r.client("bob")
		call := func(c *Client, method, text string) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := Call[ask, told](ctx, c, "10.0.0.1:7", method, ask{text})
			return err
		}
		refused := func(what string, err error) {
			t.Helper()
			if wire.KindOf(err) != wire.Unavailable || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
			if err := call(bob, "echo", strings.Repeat("x", 100<<10)); err != nil {
				t.Errorf("bob, while ann has too many %s: %v", what, err)
			}
		}
		refused("bytes", call(ann, "echo", strings.Repeat("x", 600<<10)))
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := call(ann, "wait", "x"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		refused("calls", call(ann, "echo", "x"))
		close(let)
		wg.Wait()
		synctest.Wait() // the server gives a call's place back after its answer
		if err := call(ann, "echo", "x"); err != nil {
			t.Errorf("after they have ended: %v", err)
		}
		var conns []net.Conn
		for range 7 { // and one for her calls
			c := r.post("ann", "echo", 2, "{}")
			if got := status(c); got != 200 {
				t.Errorf("connection %d: %d", len(conns), got)
			}
			conns = append(conns, c)
		}
		more := r.post("ann", "echo", 2, "{}")
		if got := status(more); got != 503 {
			t.Errorf("one connection too many: %d", got)
		}
		for _, c := range append(conns, more) {
			c.Close()
		}
		synctest.Wait()
		again := r.post("ann", "echo", 2, "{}")
		if got := status(again); got != 200 {
			t.Errorf("after they have ended: %d", got)
		}
		again.Close()
		ann.Close()
		bob.Close()
	})
}

// TestPaddedCalls: waiting calls whose requests are large are few.
func TestPaddedCalls(t *testing.T) {
	inMemory(t, ServerConfig{Budget: Budget{Bytes: 400 << 10, Message: 100 << 10}}, func(t *testing.T, r *rig, let chan struct{}) {
		cl := r.client("ann")
		var mu sync.Mutex
		var wg sync.WaitGroup
		kinds := map[wire.Kind]int{}
		for range 100 {
			wg.Go(func() {
				_, err := Call[ask, told](t.Context(), cl, "10.0.0.1:7", "wait", ask{strings.Repeat("x", 90<<10)})
				mu.Lock()
				defer mu.Unlock()
				kinds[wire.KindOf(err)]++
			})
		}
		synctest.Wait()
		if held := r.s.books.accounts[account{name: "user ann"}]; held.bytes > 400<<10 || held.calls > 2 {
			t.Errorf("held: %+v", held)
		}
		close(let)
		wg.Wait()
		if kinds[wire.Unavailable] < 90 {
			t.Errorf("%v", kinds)
		}
		cl.Close()
	})
}

// TestDoor: connections that say nothing cannot keep others out.
func TestDoor(t *testing.T) {
	inMemory(t, ServerConfig{Budget: Budget{Strangers: 16}}, func(t *testing.T, r *rig, _ chan struct{}) {
		neighbour := r.dial("10.0.0.4")
		synctest.Wait()
		var mute []net.Conn
		for range 100 {
			mute = append(mute, r.dial("10.0.0.3"))
		}
		synctest.Wait()
		if n := r.s.door.waiting.Len(); n > 16 {
			t.Errorf("%d strangers", n)
		}
		for _, host := range []string{"10.0.0.3", "10.0.0.4"} {
			c := neighbour
			if host == "10.0.0.3" {
				c = r.dial(host)
			}
			fmt.Fprint(c, "POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nMillrace-User: bob\r\nContent-Length: 2\r\n\r\n{}")
			if got := status(c); got != 200 {
				t.Errorf("%s: %d", host, got)
			}
			c.Close()
		}
		for _, c := range mute {
			c.Close()
		}
	})
}

// TestUnreadAnswers: a caller that does not take its answers loses its connection.
func TestUnreadAnswers(t *testing.T) {
	addr, _ := start(t, ServerConfig{Budget: Budget{Grace: 50 * time.Millisecond, Rate: 1 << 30}}, echo)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /rpc/frames HTTP/1.1\r\nHost: x\r\nMillrace-User: ann\r\nConnection: Upgrade\r\nUpgrade: millrace-frames/1\r\n\r\n")
	if got := status(c); got != 101 {
		t.Fatal(got)
	}
	call := appendFrame(nil, header{id: 1, kind: callFrame}, "echo", []byte(`{"Text":"`+strings.Repeat("x", 100<<10)+`"}`))
	for err == nil { // it would stand still if the server waited for ever
		_, err = c.Write(call)
	}
}
