package rpc

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// certified are the two sides of TLS with a certificate of their own.
func certified(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"m1"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	known, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(known)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, &tls.Config{RootCAs: pool, ServerName: "m1"}
}

// page answers a path as it says, and a stream with what it was asked.
func page(s *Server) {
	echo(s)
	s.HandleHTTP("GET /page/{what}", Anyone, Block, func(w http.ResponseWriter, r *http.Request, _ Caller) {
		switch r.PathValue("what") {
		case "whole":
			fmt.Fprint(w, "whole")
		case "part":
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "part")
		case "gone":
			WriteError(w, wire.Errorf(wire.Stale, "it has gone"))
		case "teapot":
			w.WriteHeader(http.StatusTeapot)
		case "slow":
			<-r.Context().Done()
		}
	})
	HandleStream(s, "say", Anyone, func(_ context.Context, _ Caller, a ask, st *Stream) { fmt.Fprint(st, a.Text) })
}

// ways are the three ways to ask a server that has page.
func ways(t *testing.T, c *Client, addr string) map[string]error {
	_, call := Call[ask, told](t.Context(), c, addr, "echo", ask{Text: "x"})
	resp, get := c.Get(t.Context(), addr, "/page/whole")
	if get == nil {
		if b, err := io.ReadAll(resp.Body); string(b) != "whole" || err != nil {
			t.Errorf("the page is %q, %v", b, err)
		}
		resp.Body.Close()
	}
	st, stream := c.Stream(t.Context(), addr, "say", ask{Text: "x"})
	if stream == nil {
		if b, err := io.ReadAll(st); string(b) != "x" && err == nil {
			t.Errorf("the stream says %q", b)
		}
		st.Close()
	}
	return map[string]error{"call": call, "get": get, "stream": stream}
}

// TestBothSpeakTLS: with a key on both sides calls, pages and streams go; with one on one side all three end as a stranger's, who need
// not try again, and say which side has none.
func TestBothSpeakTLS(t *testing.T) {
	server, client := certified(t)
	secret, _ := start(t, ServerConfig{TLS: server}, page)
	open, _ := start(t, ServerConfig{}, page)
	for _, tt := range []struct {
		addr string
		tls  *tls.Config
		want string
	}{{secret, client, ""}, {open, nil, ""}, {secret, nil, "it has a key"}, {open, client, "it has no key"}} {
		c := NewClient(ClientConfig{User: "ann", TLS: tt.tls})
		for what, err := range ways(t, c, tt.addr) {
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || what != "get" && (!strings.Contains(err.Error(), ErrStranger.Error()+": "+tt.want) || wire.KindOf(err).Retryable() && !errors.Is(err, ErrStranger))) {
				t.Errorf("%s: %v, want %q", what, err, tt.want)
			}
		}
		c.Close()
	}
}

// TestWhatGetSays: a page that is refused is an error of its kind; one that says nothing of itself is told by its status; who gives up
// hears why.
func TestWhatGetSays(t *testing.T) {
	addr, c := start(t, ServerConfig{}, page)
	for path, want := range map[string]string{"whole": "whole", "part": "part"} {
		resp, err := c.Get(t.Context(), addr, "/page/"+path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if b, err := io.ReadAll(resp.Body); string(b) != want || err != nil {
			t.Errorf("%s: %q, %v", path, b, err)
		}
		resp.Body.Close()
	}
	for path, want := range map[string]wire.Kind{"/page/gone": wire.Stale, "/page/teapot": wire.Internal, "/nowhere": wire.Internal, "x y": wire.Invalid, "/\x7f": wire.Invalid} {
		if _, err := c.Get(t.Context(), addr, path); wire.KindOf(err) != want || err == nil {
			t.Errorf("%q: %v", path, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Get(ctx, addr, "/page/slow"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("out of time: %v", err)
	}
	nobody := NewClient(ClientConfig{Dial: func(context.Context, string) (net.Conn, error) { return nil, errors.New("no road") }})
	defer nobody.Close()
	for what, err := range ways(t, nobody, "10.0.0.1:7") {
		if wire.KindOf(err) != wire.Unavailable || !strings.Contains(err.Error(), "10.0.0.1:7 cannot be reached: no road") {
			t.Errorf("%s to nobody: %v", what, err)
		}
	}
}

// TestWhoAsks: user, node, where it runs and the token of a client go with each way to ask.
func TestWhoAsks(t *testing.T) {
	var seen []string
	cfg := ServerConfig{Authenticate: func(r *http.Request) (Caller, error) {
		h := r.Header
		seen = append(seen, fmt.Sprint(h.Get(userHeader), h.Get(nodeHeader), h.Get(atHeader), h.Get(tokenHeader), len(h[tokenHeader])))
		return Trusting(r)
	}}
	addr, _ := start(t, cfg, page)
	for _, tt := range []struct {
		cfg  ClientConfig
		want string
	}{{ClientConfig{User: "ann", At: "w1", Token: "secret"}, "annw1secret1"}, {ClientConfig{Node: "n1"}, "n10"}} {
		c := NewClient(tt.cfg)
		seen = nil
		for what, err := range ways(t, c, addr) {
			if err != nil && (what != "call" || tt.cfg.User != "") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if len(seen) != 3 || seen[0] != tt.want || seen[1] != tt.want || seen[2] != tt.want {
			t.Errorf("asked as %q, want %q", seen, tt.want)
		}
		c.Close()
	}
}

// TestBrokenAnswers: what a client makes of answers that no server of ours gives.
func TestBrokenAnswers(t *testing.T) {
	reply := func(kind frameKind, body string) string {
		return string(appendFrame(nil, header{id: 1, kind: kind}, "", []byte(body)))
	}
	const upgraded = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + framesProto + "\r\n\r\n"
	for _, tt := range []struct {
		what, says string
		want       wire.Kind
		text       string
	}{
		{"an answer", upgraded + reply(replyFrame, `{"Text":"x"}`), 0, ""},
		{"after one to nobody", upgraded + string(appendFrame(nil, header{id: 9, kind: replyFrame}, "", []byte("?"))) + reply(replyFrame, `{"Text":"x"}`), 0, ""},
		{"no answer that is understood", upgraded + reply(replyFrame, `"x"`), wire.Corrupt, "not understood"},
		{"an error", upgraded + reply(errorFrame, `{"kind":2,"text":"nothing here"}`), wire.NotFound, "nothing here"},
		{"no error that is understood", upgraded + reply(errorFrame, "nonsense"), wire.Corrupt, "error of 10.0.0.1:7 is not understood"},
		{"no frame", upgraded + strings.Repeat("x", 100), wire.Unavailable, "connection to 10.0.0.1:7"},
		{"half of a frame", upgraded + reply(replyFrame, `{"Text":"x"}`)[:30], wire.Unavailable, "connection to 10.0.0.1:7: frame cut short: unexpected EOF"},
		{"half of a header", upgraded + reply(replyFrame, `{"Text":"x"}`)[:10], wire.Unavailable, "connection to 10.0.0.1:7: unexpected EOF"},
		{"nothing", upgraded, wire.Unavailable, "connection to 10.0.0.1:7: EOF"},
		{"another protocol", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", wire.Internal, "200"},
		{"a refusal", "HTTP/1.1 403 Forbidden\r\nContent-Length: 25\r\n\r\n" + `{"kind":4,"text":"not you` + `"}`, wire.Internal, "403"},
	} {
		c := NewClient(ClientConfig{Dial: func(context.Context, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				defer there.Close()
				in := bufio.NewReader(there)
				if _, err := http.ReadRequest(in); err != nil {
					return
				}
				head, rest, _ := bytes.Cut([]byte(tt.says), []byte("\r\n\r\n"))
				_, _ = there.Write(append(head, "\r\n\r\n"...)) // who does not read it does not want it
				if strings.HasPrefix(tt.says, upgraded) {
					if _, _, err := readFrame(in, 1000); err != nil {
						return
					}
				}
				_, _ = there.Write(rest) // as above
			}()
			return here, nil
		}})
		got, err := Call[ask, told](t.Context(), c, "10.0.0.1:7", "echo", ask{Text: "x"})
		if tt.text == "" && (err != nil || got.Text != "x") || tt.text != "" && (err == nil || wire.KindOf(err) != tt.want || !strings.Contains(err.Error(), tt.text)) {
			t.Errorf("%s: %+v, %v; want %v, %q", tt.what, got, err, tt.want, tt.text)
		}
		c.Close()
	}
}
