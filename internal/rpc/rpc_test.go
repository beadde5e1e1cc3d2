package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace/millrace/internal/wire"
)

// After a refusal net/http lets the other side read it for half a second, whatever Close says.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

type ask struct{ Text string }

type told struct{ Text string }

// start serves what setup registers and returns the address and a client.
func start(t testing.TB, cfg ServerConfig, setup func(s *Server)) (string, *Client) {
	t.Helper()
	s := NewServer(cfg)
	setup(s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	c := NewClient(ClientConfig{User: "ann", Node: "n1"})
	t.Cleanup(func() {
		c.Close()
		s.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), c
}

func echo(s *Server) {
	Handle(s, Method[ask, told]{"echo", Users}, func(_ context.Context, c Caller, r ask) (told, error) {
		if r.Text == "fail" {
			return told{}, wire.Errorf(wire.NotFound, "nothing called %q for %s", r.Text, c.User)
		}
		if r.Text == "panic" {
			panic("on purpose")
		}
		return told(r), nil
	})
}

func TestCallsOfManyGoroutines(t *testing.T) {
	addr, c := start(t, ServerConfig{}, echo)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 50 {
				text := strings.Repeat(fmt.Sprint(i, "/", j, " "), j*j+1)
				got, err := Call[ask, told](t.Context(), c, addr, "echo", ask{text})
				if err != nil || got.Text != text {
					t.Errorf("call %d of %d: %d bytes, %v", j, i, len(got.Text), err)
					return
				}
			}
		})
	}
	wg.Wait()
	if b := c.Meter().Read()[Peer{addr, Control}]; b.Sent < 64*50 || b.Received < 64*50 {
		t.Errorf("counted %+v", b)
	}
}

func TestErrorsKeepTheirKind(t *testing.T) {
	panics := make(chan string, 1)
	addr, c := start(t, ServerConfig{MaxMessage: 4096, Panicked: func(m string, v any, _ []byte) { panics <- fmt.Sprint(m, " ", v) }}, echo)
	for text, want := range map[string]wire.Kind{
		"fail": wire.NotFound, "panic": wire.Internal,
	} {
		if _, err := Call[ask, told](t.Context(), c, addr, "echo", ask{text}); wire.KindOf(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got := <-panics; got != "echo on purpose" {
		t.Errorf("panic reported as %q", got)
	}
	if _, err := Call[ask, told](t.Context(), c, addr, "nosuch", ask{}); wire.KindOf(err) != wire.Invalid {
		t.Errorf("unknown method: %v", err)
	}
	if _, err := Call[[]int, told](t.Context(), c, addr, "echo", []int{1}); wire.KindOf(err) != wire.Invalid {
		t.Errorf("request of another shape: %v", err)
	}
	// The client's own limit is larger, so that the server has to refuse.
	if _, err := Call[ask, told](t.Context(), c, addr, "echo", ask{strings.Repeat("x", 8192)}); wire.KindOf(err) != wire.Unavailable {
		t.Errorf("request past the server's limit: %v", err)
	}
	if _, err := Call[ask, told](t.Context(), c, addr, "echo", ask{"again"}); err != nil {
		t.Errorf("after that: %v", err)
	}
	if _, err := Call[ask, told](t.Context(), c, "127.0.0.1:1", "echo", ask{}); wire.KindOf(err) != wire.Unavailable {
		t.Errorf("nobody there: %v", err)
	}
}

// TestHandlersHearOfTheEnd: a call that is given up, runs out of time or loses its
// connection ends in its handler too.
func TestHandlersHearOfTheEnd(t *testing.T) {
	ended := make(chan error, 1)
	begun := make(chan bool, 1)
	addr, c := start(t, ServerConfig{}, func(s *Server) {
		Handle(s, Method[ask, told]{"wait", Anyone}, func(ctx context.Context, _ Caller, _ ask) (told, error) {
			begun <- true
			<-ctx.Done()
			ended <- ctx.Err()
			return told{}, ctx.Err()
		})
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	if _, err := Call[ask, told](ctx, c, addr, "wait", ask{}); wire.KindOf(err) != wire.Canceled {
		t.Errorf("given up: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("handler of a call given up: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Call[ask, told](ctx, c, addr, "wait", ask{}); wire.KindOf(err) != wire.Unavailable {
		t.Errorf("out of time: %v", err)
	}
	<-begun
	<-ended
	other := NewClient(ClientConfig{User: "bob"})
	go func() { <-begun; other.Close() }()
	if _, err := Call[ask, told](t.Context(), other, addr, "wait", ask{}); wire.KindOf(err) != wire.Canceled {
		t.Errorf("client closed: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("handler of a lost connection: %v", err)
	}
}

func TestDeathOfAPeerIsSeenAtOnce(t *testing.T) {
	s := NewServer(ServerConfig{})
	release := make(chan bool)
	Handle(s, Method[ask, told]{"wait", Anyone}, func(ctx context.Context, _ Caller, _ ask) (told, error) {
		close(release)
		<-ctx.Done()
		return told{}, ctx.Err()
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	c := NewClient(ClientConfig{})
	defer c.Close()
	gone, err := c.Gone(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-release; s.Close() }()
	if _, err := Call[ask, told](t.Context(), c, l.Addr().String(), "wait", ask{}); err == nil {
		t.Error("a dead server answered")
	}
	<-gone
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestPlainHTTP(t *testing.T) {
	addr, _ := start(t, ServerConfig{MaxMessage: 1000}, echo)
	post := func(user, method, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+Prefix+method, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(userHeader, user)
		tr := &http.Transport{}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, strings.TrimSpace(string(b))
	}
	for _, tt := range []struct {
		user, method, body string
		status             int
		answer             string
	}{
		{"ann", "echo", `{"Text":"hello"}`, 200, `{"Text":"hello"}`},
		{"ann", "echo", `{"Text":"fail"}`, 404, `{"kind":2,"text":"nothing called \"fail\" for ann"}`},
		{"", "echo", `{}`, 403, `{"kind":4,"text":"an unknown caller may not do this: it is for known users"}`},
		{"ann", "ohce", `{}`, 400, `{"kind":1,"text":"there is no method \"ohce\" here"}`},
		{"ann", "echo", strings.Repeat("x", 2000), 413, `{"kind":11,"text":"request of 2000 bytes, the limit is 1000"}`},
	} {
		if status, answer := post(tt.user, tt.method, tt.body); status != tt.status || answer != tt.answer {
			t.Errorf("%s %s: %d %s, want %d %s", tt.method, tt.body[:min(20, len(tt.body))], status, answer, tt.status, tt.answer)
		}
	}
}

func TestStreamsAndFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	content := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	meter := &Meter{}
	addr, c := start(t, ServerConfig{Meter: meter}, func(s *Server) {
		HandleStream(s, "double", Nodes, func(_ context.Context, _ Caller, a ask, st *Stream) {
			b, err := io.ReadAll(io.LimitReader(st, 3))
			fmt.Fprintf(st, "%s %s%s %v", a.Text, b, b, err)
		})
		s.HandleHTTP("GET /file", Nodes, Block, func(w http.ResponseWriter, r *http.Request, _ Caller) { http.ServeFile(w, r, name) })
	})
	st, err := c.Stream(t.Context(), addr, "double", ask{"twice"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(st, "abc")
	if b, err := io.ReadAll(st); string(b) != "twice abcabc <nil>" || err != nil {
		t.Errorf("stream said %q, %v", b, err)
	}
	st.Close()
	if _, err := c.Stream(t.Context(), addr, "nosuch", ask{}); wire.KindOf(err) != wire.NotFound {
		t.Errorf("unknown stream: %v", err)
	}
	resp, err := c.Get(t.Context(), addr, "/file")
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || string(b) != content {
		t.Errorf("file came as %d bytes, %v", len(b), err)
	}
	if sent := meter.Read()[Peer{"n1", Block}].Sent; sent < int64(len(content)) {
		t.Errorf("counted %d bytes to n1", sent)
	}
	if _, err := c.Get(t.Context(), addr, "/elsewhere"); err == nil {
		t.Error("a page that is not there was found")
	}
}

// TestEveryRouteHasARule walks the server's own list.
func TestEveryRouteHasARule(t *testing.T) {
	s := NewServer(ServerConfig{})
	echo(s)
	for _, bad := range []func(){
		func() { echo(s) },
		func() { s.HandleHTTP("GET /x", noRule, Block, nil) },
		func() { HandleStream[ask](s, "x", noRule, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a route without a rule was taken")
				}
			}()
			bad()
		}()
	}
	if r := s.Routes(); len(r) != 1 || r[0].Path != Prefix+"echo" || r[0].Rule != Users || r[0].Req == nil {
		t.Errorf("routes %v", r)
	}
}

// TestThisMachine: a page of the web that makes its own name mean this machine is not believed; addresses cannot be made to
// mean something else.
func TestThisMachine(t *testing.T) {
	for host, ok := range map[string]bool{
		"127.0.0.1:7070": true, "127.0.0.1": true, "[::1]:7070": true, "[::1]": true, "localhost:7070": true, "localhost": true,
		"evil.example:7070": false, "evil.example": false, "127.0.0.1.evil.example:7070": false, "": false, "localhost.evil.example": false,
	} {
		r := &http.Request{Host: host, Header: http.Header{userHeader: {"ann"}}}
		c, err := ThisMachine(r)
		if (err == nil) != ok || ok && (c.User != "ann" || !c.Admin) || !ok && !errors.Is(err, wire.Denied) {
			t.Errorf("a request for %q is from %+v, %v", host, c, err)
		}
	}
}

// TestLocal: a call without a connection goes through the same rules and forms.
func TestLocal(t *testing.T) {
	s := NewServer(ServerConfig{})
	defer s.Close()
	echo(s)
	var got told
	if err := s.Local(t.Context(), Caller{User: "ann"}, "echo", ask{Text: "x"}, &got); err != nil || got.Text != "x" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := s.Local(t.Context(), Caller{}, "echo", ask{}, &got); !errors.Is(err, wire.Denied) {
		t.Errorf("a stranger: %v", err)
	}
	if err := s.Local(t.Context(), Caller{User: "ann"}, "echo", ask{Text: "fail"}, &got); !errors.Is(err, wire.NotFound) {
		t.Errorf("a method that fails: %v", err)
	}
	if err := s.Local(t.Context(), Caller{User: "ann"}, "echo", ask{Text: "panic"}, &got); !errors.Is(err, wire.Internal) {
		t.Errorf("a method that panics: %v", err)
	}
	if err := s.Local(t.Context(), Caller{User: "ann"}, "echo", ask{Text: "x"}, new(int)); !errors.Is(err, wire.Corrupt) {
		t.Errorf("an answer of another shape: %v", err)
	}
	if err := s.Local(t.Context(), Caller{User: "ann"}, "eco", ask{}, &got); !errors.Is(err, wire.Invalid) {
		t.Errorf("a method that is not there: %v", err)
	}
	if err := s.Local(t.Context(), Caller{User: "ann"}, "echo", func() {}, &got); !errors.Is(err, wire.Invalid) {
		t.Errorf("what cannot be said: %v", err)
	}
}

// TestLocalFresh: an answer that is made for the one who asks is handed over as it is, after the same rules; a panic is an error.
func TestLocalFresh(t *testing.T) {
	called := 0
	s := NewServer(ServerConfig{Called: func(Caller, string, any, error) { called++ }, Audited: func(string) bool { return true }})
	defer s.Close()
	rows := []string{"a row"}
	HandleFresh(s, Method[ask, []string]{"rows", Users}, func(_ context.Context, _ Caller, a ask) ([]string, error) {
		if a.Text == "panic" {
			panic("as asked")
		}
		if a.Text == "fail" {
			return nil, wire.Errorf(wire.NotFound, "no rows")
		}
		return rows, nil
	})
	ann := Caller{User: "ann"}
	var got []string
	if err := s.Local(t.Context(), ann, "rows", ask{Text: "x"}, &got); err != nil || len(got) != 1 || &got[0] != &rows[0] || called != 1 {
		t.Errorf("%q, %v, called %d", got, err, called)
	}
	for _, tt := range []struct {
		c    Caller
		req  any
		want wire.Kind
	}{{Caller{}, ask{}, wire.Denied}, {ann, ask{Text: "panic"}, wire.Internal}, {ann, ask{Text: "fail"}, wire.NotFound}, {ann, told{}, wire.Invalid}} {
		if err := s.Local(t.Context(), tt.c, "rows", tt.req, &got); wire.KindOf(err) != tt.want {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

func TestRules(t *testing.T) {
	callers := []Caller{{}, {User: "ann"}, {User: "ann", Admin: true}, {Node: "n1"}, {User: "ann", Job: "j1"}}
	for rule, want := range map[Rule]string{
		Anyone: "yyyyy", Users: "nyyyn", Nodes: "nnnyn", Admins: "nnyyn", Tasks: "nnnyy", Files: "nyyyy", noRule: "nnnnn",
	} {
		var got strings.Builder
		for _, c := range callers {
			if rule.Check(c) == nil {
				got.WriteString("y")
			} else {
				got.WriteString("n")
			}
		}
		if got.String() != want {
			t.Errorf("%s: %s, want %s", rule, got.String(), want)
		}
	}
}

func TestRetry(t *testing.T) {
	for _, tt := range []struct {
		fail wire.Kind
		want int
	}{{wire.Unavailable, 3}, {wire.NotFound, 1}} {
		calls := 0
		err := Retry{First: time.Millisecond}.Do(t.Context(), func() error {
			if calls++; calls == 3 {
				return nil
			}
			return tt.fail
		})
		if calls != tt.want || (err == nil) != (tt.want == 3) {
			t.Errorf("%v: %d calls, %v", tt.fail, calls, err)
		}
	}
}

// TestBrokenConnectionsAreForgotten: of a peer that went, and comes back at another address, a client keeps nothing.
func TestBrokenConnectionsAreForgotten(t *testing.T) {
	c := NewClient(ClientConfig{Node: "n1"})
	defer c.Close()
	for range 3 {
		s := NewServer(ServerConfig{})
		echo(s)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- s.Serve(l) }()
		addr := l.Addr().String()
		if _, err := Call[ask, told](t.Context(), c, addr, "echo", ask{"here"}); err != nil {
			t.Fatal(err)
		}
		gone, err := c.Gone(t.Context(), addr)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		<-done
		<-gone
		if _, err := Call[ask, told](t.Context(), c, addr, "echo", ask{"nobody"}); wire.KindOf(err) != wire.Unavailable {
			t.Fatalf("nobody is there: %v", err)
		}
	}
	left := -1
	for range 200 {
		c.mu.Lock()
		left = len(c.conns)
		c.mu.Unlock()
		if left == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d connections are remembered, of which all are broken", left)
}
