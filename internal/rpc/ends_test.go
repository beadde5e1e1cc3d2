package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestSmallPromises: what is small and promised all the same.
func TestSmallPromises(t *testing.T) {
	if !SameSecret("abc", "abc") || SameSecret("abc", "abd") || SameSecret("abc", "ab") || SameSecret("", "x") || !SameSecret("", "") {
		t.Error("secrets are compared by something else than what they are")
	}
	s := NewServer(ServerConfig{})
	defer s.Close()
	nothing := func(context.Context, Caller, ask) (told, error) { return told{}, nil }
	for _, name := range []string{"b", "c", "a"} {
		Handle(s, Method[ask, told]{name, Users}, nothing)
	}
	HandleStream(s, "z", Nodes, func(context.Context, Caller, ask, *Stream) {})
	s.HandleHTTP("GET /page", Anyone, Block, func(http.ResponseWriter, *http.Request, Caller) {})
	var paths []string
	for _, r := range s.Routes() {
		paths = append(paths, r.Path)
	}
	if len(paths) != 5 || !slices.IsSorted(paths) {
		t.Errorf("routes %q", paths)
	}
	var none *Meter
	none.of(Peer{"a", Block}).sent.Add(1) // is counted nowhere
	var m Meter
	for i := range maxPeers + 9 {
		m.of(Peer{fmt.Sprint(i), Control}).sent.Add(1)
	}
	if all := m.Read(); len(all) != maxPeers || all[Peer{"7", Control}].Sent != 1 {
		t.Errorf("%d peers are counted", len(all))
	}
}

// TestMessagesTooLarge: one that a client does not send, and one that a server does not, is an error of the call alone.
func TestMessagesTooLarge(t *testing.T) {
	addr, _ := start(t, ServerConfig{MaxMessage: 50_000}, func(s *Server) {
		Handle(s, Method[ask, told]{"grow", Users}, func(_ context.Context, _ Caller, a ask) (told, error) {
			return told{strings.Repeat(a.Text, 100)}, nil
		})
	})
	grow := Method[ask, told]{"grow", Users}
	c := NewClient(ClientConfig{User: "ann", MaxMessage: 30_000})
	defer c.Close()
	for size, want := range map[int]string{10: "", 1000: "response of ", 40_000: "message grow of "} {
		got, err := grow.Call(t.Context(), c, addr, ask{strings.Repeat("x", size)})
		if want == "" && (err != nil || len(got.Text) != 100*size) || want != "" && (wire.KindOf(err) != wire.TooLarge || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d: %d bytes, %v, want %q", size, len(got.Text), err, want)
		}
		if _, err := grow.Call(t.Context(), c, addr, ask{"x"}); err != nil {
			t.Errorf("the next call: %v", err)
		}
	}
	if _, err := c.Stream(t.Context(), addr, "any", func() {}); wire.KindOf(err) != wire.Invalid {
		t.Errorf("arguments that cannot be said: %v", err)
	}
	if _, err := grow.Call(t.Context(), c, "not an\x7f address", ask{"x"}); err == nil {
		t.Error("an address that is none was called")
	}
}

// dialFrames opens a connection for frames.
func dialFrames(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nMillrace-User: ann\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", framesPath, framesProto)
	if got := status(c); got != 101 {
		t.Fatal(got)
	}
	return c
}

// TestServersGetNoReplies: who sends a server what only servers send is let go.
func TestServersGetNoReplies(t *testing.T) {
	for _, kind := range []frameKind{replyFrame, errorFrame} {
		addr, _ := start(t, ServerConfig{}, echo)
		c := dialFrames(t, addr)
		if _, err := c.Write(appendFrame(nil, header{id: 1, kind: kind}, "", nil)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("frames of kind %d are answered", kind)
		}
	}
	addr, _ := start(t, ServerConfig{}, echo)
	c := dialFrames(t, addr) // to give up what is not there harms nobody
	frames := append(appendFrame(nil, header{id: 5, kind: cancelFrame}, "", nil), appendFrame(nil, header{id: 6, kind: callFrame}, "echo", []byte(`{"Text":"x"}`))...)
	if _, err := c.Write(frames); err != nil {
		t.Fatal(err)
	}
	if h, p, err := readFrame(c, 1000); err != nil || h.id != 6 || h.kind != errorFrame && string(p) != `{"Text":"x"}` {
		t.Errorf("%+v, %q, %v", h, p, err)
	}
}

// TestRetryStopsWithItsContext: who gives up while it is waited for the next try hears what the last one said, at once.
func TestRetryStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin, calls, why := time.Now(), 0, wire.Errorf(wire.Unavailable, "busy")
		err := Retry{First: 10 * time.Second, Most: time.Minute, For: time.Hour}.Do(ctx, func() error {
			calls++
			return why
		})
		if !errors.Is(err, why) || calls != 1 || time.Since(begin) != 3*time.Second {
			t.Errorf("%v after %v and %d calls", err, time.Since(begin), calls)
		}
	})
}
