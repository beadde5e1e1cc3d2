// Package secure secures a cluster with a key. Whoever has the key can derive the cluster's certificate authority
// from it, and so a certificate for any node, user or task. A caller that has only a certificate is whom the
// certificate names. Every connection is mutually authenticated TLS. There is nothing to configure but the key.
//
//	k, err := secure.Load("cluster.key")
//	server := k.Server("w1")                       // for rpc.ServerConfig
//	client := k.Client(secure.Node, "w1", "")      // for rpc.ClientConfig
package secure

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// A Key is the secret of a cluster. It can be replaced while in use: see Replace.
type Key struct {
	file  string           // the file it was loaded from, or ""
	text  []byte           // the content of that file
	clock func() time.Time // the wall clock, by which certificates are made and judged

	mu      sync.Mutex // guards the fields below
	now     *authority
	changed chan struct{} // closed when now is replaced
}

// An authority is derived from the text of a key. The first secret in the text makes certificates. Those of all its
// secrets are accepted.
type authority struct {
	secrets [][]byte
	cas     []*x509.Certificate
	caKey   ed25519.PrivateKey // of the first
	roots   *x509.CertPool
	revoked map[string]int64 // time of issue, in seconds, up to which a user's certificates are refused
}

const (
	keyBytes = 32
	prefix   = "millrace-key-1:"
)

// Generate makes the text of a new key.
func Generate() string {
	b := make([]byte, keyBytes)
	_, _ = rand.Read(b) // never fails
	return prefix + base64.StdEncoding.EncodeToString(b)
}

// Parse parses the text of a key: one line, or several while the key is being changed.
func Parse(text string) (*Key, error) { return ParseAt(text, wallClock) }

// ParseAt is Parse for a key that makes and judges certificates by another clock than this machine's.
func ParseAt(text string, clock func() time.Time) (*Key, error) {
	a, err := parse(text)
	if err != nil {
		return nil, err
	}
	return &Key{clock: clock, now: a, changed: make(chan struct{})}, nil
}

// wallClock returns the time of day without the monotonic clock, which differences of times would use.
func wallClock() time.Time { return time.Now().Round(0) }

// maxKeys is how many keys a file may hold.
const maxKeys = 8

func parse(text string) (*authority, error) {
	a := &authority{roots: x509.NewCertPool(), revoked: map[string]int64{}}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if isRevocation, err := a.revocation(line); err != nil {
			return nil, err
		} else if isRevocation {
			continue
		}
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), prefix)
		b, err := base64.StdEncoding.DecodeString(rest)
		if !ok || err != nil || len(b) != keyBytes {
			return nil, errors.New("not a cluster key: it begins with " + prefix + " (millrace cluster keygen makes one)")
		}
		a.secrets = append(a.secrets, b)
	}
	if len(a.secrets) == 0 || len(a.secrets) > maxKeys {
		return nil, fmt.Errorf("%d cluster keys: there must be 1 to %d, a line each (millrace cluster keygen makes one)", len(a.secrets), maxKeys)
	}
	return a, a.derive()
}

// Load reads a key file. It refuses one that others may read.
func Load(name string) (*Key, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("cluster key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("cluster key %s can be read by others (mode %v): chmod 600 it", name, info.Mode().Perm())
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cluster key: %w", err)
	}
	k, err := Parse(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	k.file, k.text = name, b
	return k, nil
}

// File returns the file that the key was loaded from, or "".
func (k *Key) File() string { return k.file }

// sub derives a secret for one purpose.
func sub(secret []byte, purpose string, n int) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, nil, "millrace "+purpose, n)
}

// Gossip returns the keys of the cluster's gossip. The first one encrypts; the others are only understood.
func (k *Key) Gossip() (out [][]byte, err error) {
	for _, s := range k.current().secrets {
		b, err := sub(s, "gossip", 32)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// The authority must be the same whenever it is derived, so its times are fixed.
var (
	caFrom = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	caTo   = time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC)
)

func (a *authority) derive() error {
	for i, secret := range a.secrets {
		seed, err := sub(secret, "authority", ed25519.SeedSize)
		if err != nil {
			return err
		}
		key := ed25519.NewKeyFromSeed(seed)
		t := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "millrace"}, NotBefore: caFrom, NotAfter: caTo,
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}
		der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
		if err != nil {
			return err
		}
		ca, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		a.cas = append(a.cas, ca)
		a.roots.AddCert(ca)
		if i == 0 {
			a.caKey = key
		}
	}
	return nil
}

// A Role is what a certificate is for.
type Role string

// The roles.
const (
	Node  Role = "node"  // a master or worker
	User  Role = "user"  // a person
	Admin Role = "admin" // a person who may change the cluster
	Task  Role = "task"  // an attempt: its name is its job's id
)

// lives is how long certificates are valid. An Issuer makes a new one at half of that.
var lives = map[Role]time.Duration{Node: 30 * day, User: 365 * day, Admin: 365 * day, Task: 7 * day}

const day = 24 * time.Hour

// skew is how far apart the clocks of a cluster may be: a certificate is valid on a machine whose clock is that far
// behind the issuer's.
const skew = 24 * time.Hour

// Issue makes a certificate. on is the user on whose behalf a task works.
func (k *Key) Issue(r Role, name, on string) (tls.Certificate, error) {
	return k.current().issue(r, name, on, k.clock())
}

func (a *authority) issue(r Role, name, on string, now time.Time) (tls.Certificate, error) {
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := a.sign(r, name, on, pub, now)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: priv}, nil
}

// sign makes a certificate for the owner of a public key.
func (a *authority) sign(r Role, name, on string, pub ed25519.PublicKey, now time.Time) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	subject := pkix.Name{CommonName: name, OrganizationalUnit: []string{string(r)}}
	if on != "" {
		subject.Organization = []string{on}
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: subject, NotBefore: now.Add(-skew), NotAfter: now.Add(lives[r]),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	return x509.CreateCertificate(rand.Reader, t, a.cas[0], pub, a.caKey)
}

// verify returns the check of a peer's certificate against an authority; want, if not empty, is the role it must
// have. Names of machines are not checked: a node is known by its certificate, wherever it runs.
func verify(roots func() *x509.CertPool, clock func() time.Time, want Role) func(tls.ConnectionState) error {
	return func(cs tls.ConnectionState) error {
		if len(cs.PeerCertificates) == 0 {
			return errors.New("the peer shows no certificate")
		}
		leaf, now := cs.PeerCertificates[0], clock()
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
			return fmt.Errorf("%w: is --key, or MILLRACE_KEY, the key of its cluster?", rpc.ErrStranger)
		}
		if bad, ok := errors.AsType[x509.CertificateInvalidError](err); ok && bad.Reason == x509.Expired {
			return fmt.Errorf("the peer's certificate is good from %s until %s, and here it is %s: if one of the two clocks is wrong, set it",
				leaf.NotBefore.Format(time.RFC3339), leaf.NotAfter.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
		}
		if err != nil {
			return fmt.Errorf("the peer does not belong to this cluster: %w", err)
		}
		if want != "" && roleOf(leaf) != want {
			return fmt.Errorf("the peer is a %s, not a %s", roleOf(leaf), want)
		}
		return nil
	}
}

func roleOf(c *x509.Certificate) Role {
	if len(c.Subject.OrganizationalUnit) != 1 {
		return ""
	}
	return Role(c.Subject.OrganizationalUnit[0])
}

// Server returns how a node of this name serves.
func (k *Key) Server(node string) (rpc.ServerConfig, error) {
	own := k.Issuer(Node, node, "")
	if _, err := own.Certificate(); err != nil {
		return rpc.ServerConfig{}, err
	}
	return rpc.ServerConfig{Authenticate: identify, Revoked: k.refuses, TLS: &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own.Certificate() },
		MinVersion:     tls.VersionTLS13, ClientAuth: tls.RequireAnyClientCert,
		VerifyConnection: verify(k.roots, k.clock, ""), NextProtos: []string{"http/1.1"},
	}}, nil
}

// Client returns how a role calls nodes.
func (k *Key) Client(r Role, name, on string) (rpc.ClientConfig, error) {
	own := k.Issuer(r, name, on)
	if _, err := own.Certificate(); err != nil {
		return rpc.ClientConfig{}, err
	}
	return clientConfig(own.Certificate, k.roots, k.clock), nil
}

func (k *Key) roots() *x509.CertPool { return k.current().roots }

func clientConfig(cert func() (*tls.Certificate, error), roots func() *x509.CertPool, clock func() time.Time) rpc.ClientConfig {
	return rpc.ClientConfig{TLS: &tls.Config{
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert() },
		MinVersion:           tls.VersionTLS13, NextProtos: []string{"http/1.1"},
		InsecureSkipVerify: true, // the name of the machine; verify checks everything else
		VerifyConnection:   verify(roots, clock, Node),
	}}
}

// identify identifies callers by their certificates, which the handshake has verified.
func identify(r *http.Request) (rpc.Caller, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return rpc.Caller{}, wire.Errorf(wire.Denied, "no certificate")
	}
	leaf := r.TLS.PeerCertificates[0]
	c := rpc.Caller{Addr: r.RemoteAddr, Issued: leaf.NotBefore.Add(skew).Unix()}
	switch name := leaf.Subject.CommonName; roleOf(leaf) {
	case Node:
		c.Node = name
	case User:
		c.User = name
	case Admin:
		c.User, c.Admin = name, true
	case Task:
		c.Job = name
		if len(leaf.Subject.Organization) == 1 {
			c.User = leaf.Subject.Organization[0]
		}
	default:
		return c, wire.Errorf(wire.Denied, "a certificate of no known role")
	}
	return c, nil
}
