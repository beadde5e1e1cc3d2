package secure

import (
	"crypto/ed25519"
	"crypto/rand"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// The owner of a user's valid certificate can get a new one for the same user, without the cluster's key and without
// revealing a key: the new key is made where it is used, and only its public half is sent.

// A Renewal is a request for a certificate.
type Renewal struct {
	priv ed25519.PrivateKey
	ask  wire.RenewRequest
}

// NewRenewal makes a new key for a user.
func NewRenewal() (*Renewal, error) {
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return &Renewal{priv, wire.RenewRequest{Public: pub}}, nil
}

// Request returns the request for the master.
func (r *Renewal) Request() wire.RenewRequest { return r.ask }

// PEM returns the answer as a text for FromPEM.
func (r *Renewal) PEM(got *wire.Renewed) ([]byte, error) {
	return textOf(got.Cert, r.priv, got.Authorities)
}

// Ends returns when the certificate in such a text ends, and whether half of its life is over.
func Ends(text []byte, now time.Time) (end time.Time, half bool, err error) {
	c, err := leafOf(text)
	if err != nil {
		return end, false, err
	}
	life := c.NotAfter.Sub(c.NotBefore)
	return c.NotAfter, now.After(c.NotAfter.Add(-life / 2)), nil
}

// Renew makes a new certificate for a user whose present one is valid. now is the time of day.
func (k *Key) Renew(c rpc.Caller, r wire.RenewRequest, now time.Time) (wire.Renewed, error) {
	role := User
	if c.Admin {
		role = Admin
	}
	switch {
	case c.Node != "" || c.Job != "" || c.User == "":
		return wire.Renewed{}, wire.Errorf(wire.Denied, "only certificates of users are renewed: nodes make theirs with the key, and those of tasks end with their job")
	case len(r.Public) != ed25519.PublicKeySize:
		return wire.Renewed{}, wire.Errorf(wire.Invalid, "a public key of %d bytes: must be %d", len(r.Public), ed25519.PublicKeySize)
	case now.Unix() > c.Issued+int64(lives[role]/time.Second): // its connection has outlived it
		return wire.Renewed{}, wire.Errorf(wire.Denied, "the certificate of user %s has ended: ask an administrator for a new one", c.User)
	}
	if err := k.refuses(c); err != nil {
		return wire.Renewed{}, err
	}
	a := k.current()
	der, err := a.sign(role, c.User, "", r.Public, now)
	return wire.Renewed{Cert: der, Authorities: a.raw()}, err
}
