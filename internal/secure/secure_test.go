package secure_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

func key(t *testing.T) *secure.Key {
	t.Helper()
	k, err := secure.Parse(secure.Generate())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// serve answers "who" with what is known about the caller.
func serve(t *testing.T, k *secure.Key) string {
	t.Helper()
	return serveAs(t, must[rpc.ServerConfig](t)(k.Server("m1")))
}

func serveAs(t *testing.T, cfg rpc.ServerConfig) string {
	t.Helper()
	s := rpc.NewServer(cfg)
	rpc.Handle(s, rpc.Method[struct{}, rpc.Caller]{Name: "who", Rule: rpc.Anyone}, func(_ context.Context, c rpc.Caller, _ struct{}) (rpc.Caller, error) {
		c.Addr = ""
		return c, nil
	})
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return l.Addr().String()
}

func ask(t *testing.T, addr string, cfg rpc.ClientConfig) (rpc.Caller, error) {
	t.Helper()
	c := rpc.NewClient(cfg)
	defer c.Close()
	return rpc.Call[struct{}, rpc.Caller](t.Context(), c, addr, "who", struct{}{})
}

func TestCertificatesSayWho(t *testing.T) {
	k := key(t)
	addr := serve(t, k)
	for _, tt := range []struct {
		role     secure.Role
		name, on string
		want     rpc.Caller
	}{
		{secure.Node, "w1", "", rpc.Caller{Node: "w1"}},
		{secure.User, "ann", "", rpc.Caller{User: "ann"}},
		{secure.Admin, "root", "", rpc.Caller{User: "root", Admin: true}},
		{secure.Task, "job-3", "ann", rpc.Caller{Job: "job-3", User: "ann"}},
	} {
		got, err := ask(t, addr, must[rpc.ClientConfig](t)(k.Client(tt.role, tt.name, tt.on)))
		if err != nil || got != tt.want {
			t.Errorf("%s %s: %+v, %v", tt.role, tt.name, got, err)
		}
	}
	pem := must[[]byte](t)(k.PEM(secure.User, "bob", ""))
	if got, err := ask(t, addr, must[rpc.ClientConfig](t)(secure.FromPEM(pem))); err != nil || got.User != "bob" {
		t.Errorf("by PEM: %+v, %v", got, err)
	}
	// What a caller says about itself counts for nothing.
	cfg := must[rpc.ClientConfig](t)(k.Client(secure.User, "ann", ""))
	cfg.Node, cfg.User = "w1", "root"
	if got, err := ask(t, addr, cfg); err != nil || got != (rpc.Caller{User: "ann"}) {
		t.Errorf("a liar is %+v, %v", got, err)
	}
}

func TestStrangersAreRefused(t *testing.T) {
	k, other := key(t), key(t)
	addr := serve(t, k)
	for name, cfg := range map[string]rpc.ClientConfig{
		"of another cluster": must[rpc.ClientConfig](t)(other.Client(secure.Node, "w1", "")),
		"in the clear":       {Node: "w1", User: "root"},
		"of no known role":   must[rpc.ClientConfig](t)(k.Client("guest", "w1", "")),
	} {
		if got, err := ask(t, addr, cfg); err == nil {
			t.Errorf("a caller %s is taken for %+v", name, got)
		}
	}
	// Nor does a client talk to a server of another cluster, or to one that is no node.
	if _, err := ask(t, serve(t, other), must[rpc.ClientConfig](t)(k.Client(secure.User, "ann", ""))); wire.KindOf(err) != wire.Unavailable {
		t.Errorf("called another cluster: %v", err)
	}
	guest := must[tls.Certificate](t)(k.Issue(secure.User, "ann", ""))
	cfg := must[rpc.ServerConfig](t)(k.Server("m1"))
	cfg.TLS.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &guest, nil }
	user := serveAs(t, cfg)
	if _, err := ask(t, user, must[rpc.ClientConfig](t)(k.Client(secure.User, "ann", ""))); err == nil || !strings.Contains(err.Error(), "a user, not a node") {
		t.Errorf("called a user who passes for a node: %v", err)
	}
}

func TestKeyFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "key")
	text := secure.Generate()
	if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secure.Load(name); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := secure.Load(name); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("a key that others can read: %v", err)
	}
	if _, err := secure.Load(name + ".absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key that is not there: %v", err)
	}
	for _, bad := range []string{"", "x", text[:20], text + "x", strings.Replace(text, "key-1", "key-2", 1)} {
		if _, err := secure.Parse(bad); err == nil {
			t.Errorf("%q passes for a key", bad)
		}
	}
	a, b := must[*secure.Key](t)(secure.Parse(text)), must[*secure.Key](t)(secure.Parse(text))
	if !reflect.DeepEqual(must[[][]byte](t)(a.Gossip()), must[[][]byte](t)(b.Gossip())) {
		t.Error("the same key gives different gossip keys")
	}
}

// TestOnlyThisMachineWithoutAKey: a daemon without a key listens where no other machine can call, for calls and for gossip.
func TestOnlyThisMachineWithoutAKey(t *testing.T) {
	for _, tt := range []struct {
		listen, gossip string
		want           bool
	}{
		{"127.0.0.1:7000", "", true},
		{"localhost:7000", "[::1]:7001", true},
		{"127.0.0.1:7000", "10.0.0.1:7001", false},
		{"10.0.0.1:7000", "127.0.0.1:7001", false},
		{":7000", "", false},
		{"0.0.0.0:7000", "", false},
		{"somewhere:7000", "", false},
		{"127.0.0.1", "", false},
		{"127.0.0.1:7000", "127.0.0.1", false},
	} {
		if err := secure.CheckOpen(tt.listen, tt.gossip); (err == nil) != tt.want {
			t.Errorf("%s, gossip %q: %v", tt.listen, tt.gossip, err)
		}
	}
}

// FuzzPEM: no text makes the reader panic.
func FuzzPEM(f *testing.F) {
	k, err := secure.Parse(secure.Generate())
	if err != nil {
		f.Fatal(err)
	}
	good, err := k.PEM(secure.User, "ann", "")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = secure.FromPEM(b) })
}

// TestAllComeBackAtOnce: two hundred nodes of one address, as after a restart of the master, are all let in at their first try.
func TestAllComeBackAtOnce(t *testing.T) {
	k := key(t)
	addr := serve(t, k)
	begin := time.Now()
	var all sync.WaitGroup
	for i := range 200 {
		cfg := must[rpc.ClientConfig](t)(k.Client(secure.Node, fmt.Sprint("w", i), ""))
		all.Go(func() {
			if c, err := ask(t, addr, cfg); err != nil || c.Node != fmt.Sprint("w", i) {
				t.Errorf("w%d: %+v, %v", i, c, err)
			}
		})
	}
	all.Wait()
	t.Logf("after %s", time.Since(begin))
}

// TestKeyTexts: a text has one to eight keys, a line each, with lines of revocations and empty ones between.
func TestKeyTexts(t *testing.T) {
	keys := func(n int) (text string) {
		for range n {
			text += secure.Generate() + " \n\n"
		}
		return text
	}
	const gone = "revoked ann 2026-01-02T15:04:05Z\n"
	for _, x := range []struct {
		text string
		keys int // 0: it is refused
		want string
	}{
		{keys(1), 1, ""},
		{"\n" + keys(2), 2, ""},
		{keys(8), 8, ""},
		{gone + keys(1) + gone + keys(1), 2, ""},
		{keys(9), 0, "9 cluster keys"},
		{" \n", 0, "0 cluster keys"},
		{gone, 0, "0 cluster keys"},
		{keys(1) + "x", 0, "not a cluster key"},
		{keys(1) + "revoked  2026-01-02T15:04:05Z", 0, "should be as"},
		{keys(1) + "revoked ann today", 0, "should be as"},
		{keys(1) + "revoked ann", 0, "should be as"},
	} {
		k, err := secure.Parse(x.text)
		if (err == nil) != (x.keys > 0) || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: %v, want %q", x.text, err, x.want)
		}
		if err != nil {
			continue
		}
		if n := len(must[[][]byte](t)(k.Gossip())); n != x.keys {
			t.Errorf("%q: %d keys, want %d", x.text, n, x.keys)
		}
		before := k.Changed()
		if err := k.Replace("x"); err == nil {
			t.Error("nonsense takes a key's place")
		}
		select {
		case <-before:
			t.Error("a key that was not replaced has changed")
		default:
		}
	}
}

// TestCertificatesLast: a certificate is good from a day before now, for clocks that are late, and for as long as its role says.
func TestCertificatesLast(t *testing.T) {
	const day = 24 * time.Hour
	k := key(t)
	for role, life := range map[secure.Role]time.Duration{secure.Node: 30 * day, secure.User: 365 * day, secure.Admin: 365 * day, secure.Task: 7 * day} {
		text := must[[]byte](t)(k.PEM(role, "x", "ann"))
		block, _ := pem.Decode(text)
		leaf := must[*x509.Certificate](t)(x509.ParseCertificate(block.Bytes))
		if from, to := time.Since(leaf.NotBefore)-day, time.Until(leaf.NotAfter)-life; from.Abs() > time.Minute || to.Abs() > time.Minute {
			t.Errorf("%s: good from %v to %v", role, leaf.NotBefore, leaf.NotAfter)
		}
		want := ""
		if role == secure.User || role == secure.Admin {
			want = "x"
		}
		if got := secure.UserOf(text); got != want {
			t.Errorf("the certificate of a %s is for user %q, want %q", role, got, want)
		}
		for after, want := range map[time.Duration]bool{(life-day)/2 - time.Hour: false, (life-day)/2 + time.Hour: true} {
			if _, half, err := secure.Ends(text, time.Now().Add(after)); half != want || err != nil {
				t.Errorf("%s after %v: half of its life is over: %v, %v", role, after, half, err)
			}
		}
	}
}

// TestWhoIsRefused: certificates of users of the time of a revocation and before are refused; later ones, others, nodes and tasks, which end with their jobs, are not. Who
// shows no certificate is nobody.
func TestWhoIsRefused(t *testing.T) {
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	k := must[*secure.Key](t)(secure.Parse(secure.Generate() + "\nrevoked ann " + at.Format(time.RFC3339)))
	cfg := must[rpc.ServerConfig](t)(k.Server("m1"))
	for c, refused := range map[rpc.Caller]bool{
		{User: "ann", Issued: at.Unix() - 1}: true, {User: "ann", Issued: at.Unix()}: true, {User: "ann", Issued: at.Unix() + 1}: false,
		{User: "ann", Admin: true, Issued: at.Unix()}: true, {User: "ann", Job: "job-1", Issued: at.Unix()}: false,
		{User: "bob", Issued: at.Unix()}: false, {Node: "ann", Issued: at.Unix()}: false, {Node: "w1", User: "ann", Issued: at.Unix()}: false,
	} {
		if err := cfg.Revoked(c); (wire.KindOf(err) == wire.Denied && err != nil) != refused || !refused && err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, state := range []*tls.ConnectionState{nil, {}} {
		r := httptest.NewRequest("GET", "/", nil)
		r.TLS = state
		if c, err := cfg.Authenticate(r); wire.KindOf(err) != wire.Denied || err == nil {
			t.Errorf("without a certificate: %+v, %v", c, err)
		}
	}
}

// TestBrokenCertificates: what is no certificate with its key is refused, and says what is wrong.
func TestBrokenCertificates(t *testing.T) {
	whole := string(must[[]byte](t)(key(t).PEM(secure.User, "ann", "")))
	parts := strings.SplitAfter(whole, "-----END CERTIFICATE-----\n")
	leaf, private, authority := parts[0], parts[1][:strings.Index(parts[1], "-----BEGIN CERT")], parts[1][strings.Index(parts[1], "-----BEGIN CERT"):]
	broken := func(s, kind string) string {
		return "-----BEGIN " + kind + "-----\nAAAA\n-----END " + kind + "-----\n" + s[:0]
	}
	for text, want := range map[string]string{
		whole: "", leaf + private + authority: "", private + leaf + authority: "", "": "not a certificate of a cluster", leaf: "not a certificate of a cluster", private: "not a certificate of a cluster",
		leaf + private + broken(authority, "CERTIFICATE"): "the authority's certificate", leaf + broken(private, "PRIVATE KEY") + authority: "the private key",
	} {
		if _, err := secure.FromPEM([]byte(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q, of\n%s", err, want, text)
		}
	}
	if _, _, err := secure.Ends([]byte("x"), time.Now()); err == nil || secure.UserOf([]byte("x")) != "" {
		t.Errorf("nonsense ends: %v", err)
	}
}
