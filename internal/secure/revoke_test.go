package secure_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// TestRevoke: who is revoked is refused, on a connection from before, too, with all certificates of then, by the key file alone;
// others are not, nor are tasks, so that jobs go on; and a certificate that is made later is good.
func TestRevoke(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(secure.Generate()), 0o600); err != nil {
		t.Fatal(err)
	}
	k := must[*secure.Key](t)(secure.Load(file))
	addr := serve(t, k)
	who := func(c *rpc.Client) error {
		_, err := rpc.Call[struct{}, rpc.Caller](t.Context(), c, addr, "who", struct{}{})
		return err
	}
	clients := map[string]*rpc.Client{}
	for name, pem := range map[string][]byte{
		"ann": must[[]byte](t)(k.PEM(secure.User, "ann", "")), "task of ann": must[[]byte](t)(k.PEM(secure.Task, "job-1", "ann")),
		"ann as administrator": must[[]byte](t)(k.PEM(secure.Admin, "ann", "")), "bob": must[[]byte](t)(k.PEM(secure.User, "bob", "")),
		"node ann": must[[]byte](t)(k.PEM(secure.Node, "ann", "")),
	} {
		clients[name] = rpc.NewClient(must[rpc.ClientConfig](t)(secure.FromPEM(pem)))
		defer clients[name].Close()
		if err := who(clients[name]); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if err := secure.Revoke(file, "ann", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := k.Replace(string(must[[]byte](t)(os.ReadFile(file)))); err != nil {
		t.Fatal(err)
	}
	for name, c := range clients {
		err := who(c)
		if refused := strings.HasPrefix(name, "ann"); refused != (wire.KindOf(err) == wire.Denied && err != nil) {
			t.Errorf("%s afterwards: %v", name, err)
		}
	}
	if err := k.Replace(string(must[[]byte](t)(os.ReadFile(file))) + "revoked ann 2020-01-01T00:00:00Z\n"); err != nil {
		t.Fatal(err)
	}
	if err := who(clients["ann"]); err == nil {
		t.Error("an older line makes her good again")
	}
	for _, bad := range []string{"", "a b", "a\nb", strings.Repeat("x", 300)} {
		if err := secure.Revoke(file, bad, time.Now()); err == nil {
			t.Errorf("%q is a user", bad)
		}
	}
	if err := k.Replace(string(must[[]byte](t)(os.ReadFile(file))) + "revoked ann yesterday\n"); err == nil {
		t.Error("a line that is not understood is taken")
	}
}

// TestNamesOfUsers: who may have a certificate can be revoked, and is a part of paths.
func TestNamesOfUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(secure.Generate()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, good := range []string{"ann", "ann@example.org", "Ängström", "日本", "a-b_c.d", "...", strings.Repeat("x", 255)} {
		if err := errors.Join(secure.CheckUser(good), secure.Revoke(file, good, time.Now())); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	must[*secure.Key](t)(secure.Load(file)) // every line is understood
	for bad, why := range map[string]string{
		"": "has 0 bytes, must have 1 to 255", strings.Repeat("x", 256): "has 256 bytes", "a/b": "is no part of a path", "..": "is no part of a path", "*": "stands for all users", "a b": "has a blank",
	} {
		if err := secure.CheckUser(bad); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", bad, err, why)
		}
	}
	if err := secure.Revoke(file+".absent", "ann", time.Now()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a file that is not there: %v", err)
	}
	for _, bad := range []string{"", "a b", "n\nm", "\tn", ".", "..", "../x", "q/../../bob", "/", "*", "a\x1b[2J", "a\u202eb", "a\u00a0b", "\xff", strings.Repeat("x", 256)} {
		if err := secure.CheckUser(bad); err == nil {
			t.Errorf("%q is a user", bad)
		}
	}
}

// TestNewCertificateAfterRevoke: one that is made later than the revocation is good.
func TestNewCertificateAfterRevoke(t *testing.T) {
	text := secure.Generate() + "\nrevoked ann " + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) + "\n"
	k := must[*secure.Key](t)(secure.Parse(text))
	c, err := ask(t, serve(t, k), must[rpc.ClientConfig](t)(secure.FromPEM(must[[]byte](t)(k.PEM(secure.User, "ann", "")))))
	if err != nil || c.User != "ann" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestCertificatesAreRenewed: a daemon has a certificate that is good, however long it runs.
func TestCertificatesAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(27 * 365 * 24 * time.Hour) // from 2000, where such a test begins, into the life of the authority
		k := key(t)
		server := must[rpc.ServerConfig](t)(k.Server("m1"))
		for range 400 {
			c, err := server.TLS.GetCertificate(nil)
			if err != nil {
				t.Fatal(err)
			}
			leaf := must[*x509.Certificate](t)(x509.ParseCertificate(c.Certificate[0]))
			if left := time.Until(leaf.NotAfter); left < 14*24*time.Hour {
				t.Fatalf("%s is left of it", left)
			}
			time.Sleep(24 * time.Hour)
		}
	})
}

// TestRevokedAreBounded: a key file names ten thousand users that are revoked, and not one more; the latest time of each counts.
func TestRevokedAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(secure.Generate() + "\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "revoked u%d 2026-01-02T15:04:05Z\n", i)
	}
	if _, err := secure.Parse(b.String()); err != nil {
		t.Errorf("ten thousand: %v", err)
	}
	if _, err := secure.Parse(b.String() + "revoked another 2026-01-02T15:04:05Z\n"); err == nil || !strings.Contains(err.Error(), "of at most 10000") {
		t.Errorf("one more: %v", err)
	}
}
