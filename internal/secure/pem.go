package secure

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"sync"

	"github.com/millrace/millrace/internal/rpc"
)

// PEM returns a certificate with its key and the authority's certificate as text, for somebody who does not have the
// cluster's key.
func (k *Key) PEM(r Role, name, on string) ([]byte, error) {
	a := k.current()
	cert, err := a.issue(r, name, on, k.clock())
	if err != nil {
		return nil, err
	}
	return textOf(cert.Certificate[0], cert.PrivateKey, a.raw())
}

// raw lists the certificates of the authorities.
func (a *authority) raw() (out [][]byte) {
	for _, ca := range a.cas {
		out = append(out, ca.Raw)
	}
	return out
}

// textOf encodes a certificate, its key and the authorities' certificates.
func textOf(cert []byte, priv any, cas [][]byte) ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		return nil, err
	}
	var out []byte
	blocks := []*pem.Block{{Type: "CERTIFICATE", Bytes: cert}, {Type: "PRIVATE KEY", Bytes: key}}
	for _, ca := range cas {
		blocks = append(blocks, &pem.Block{Type: "CERTIFICATE", Bytes: ca})
	}
	for _, b := range blocks {
		out = append(out, pem.EncodeToMemory(b)...)
	}
	return out, nil
}

// UserOf returns the person for whom such a text is, or "" if it is for nobody in particular or invalid.
func UserOf(text []byte) string {
	c, err := leafOf(text)
	if err != nil || roleOf(c) != User && roleOf(c) != Admin {
		return ""
	}
	return c.Subject.CommonName
}

// leafOf returns the certificate in such a text.
func leafOf(text []byte) (*x509.Certificate, error) {
	b, _ := pem.Decode(text)
	if b == nil {
		return nil, errNoCert
	}
	return x509.ParseCertificate(b.Bytes)
}

var errNoCert = errors.New("not a certificate of a cluster (millrace cluster cert makes one)")

// FromPEM returns how the owner of such a text calls nodes.
func FromPEM(text []byte) (rpc.ClientConfig, error) {
	h, err := Hold(text)
	if err != nil {
		return rpc.ClientConfig{}, err
	}
	return h.Client(), nil
}

// A Holder has such a text, which may be replaced while it is in use.
type Holder struct {
	mu    sync.Mutex // guards the fields below
	cert  *tls.Certificate
	roots *x509.CertPool
}

// Hold returns the holder of a text.
func Hold(text []byte) (*Holder, error) {
	h := &Holder{}
	return h, h.Replace(text)
}

// Replace takes another text for connections to come. A bad one changes nothing.
func (h *Holder) Replace(text []byte) error {
	cert, roots, err := fromText(text)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cert, h.roots = cert, roots
	return nil
}

// Client returns how the holder calls nodes.
func (h *Holder) Client() rpc.ClientConfig {
	return clientConfig(func() (*tls.Certificate, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.cert, nil
	}, func() *x509.CertPool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.roots
	}, wallClock)
}

// fromText returns the certificate and the authorities of a text.
func fromText(text []byte) (*tls.Certificate, *x509.CertPool, error) {
	cert, roots := &tls.Certificate{}, x509.NewCertPool()
	for {
		b, rest := pem.Decode(text)
		if b == nil {
			break
		}
		text = rest
		switch {
		case b.Type == "CERTIFICATE" && len(cert.Certificate) == 0:
			cert.Certificate = [][]byte{b.Bytes}
		case b.Type == "CERTIFICATE":
			ca, err := x509.ParseCertificate(b.Bytes)
			if err != nil {
				return nil, nil, fmt.Errorf("the authority's certificate: %w", err)
			}
			roots.AddCert(ca)
		case b.Type == "PRIVATE KEY":
			key, err := x509.ParsePKCS8PrivateKey(b.Bytes)
			if err != nil {
				return nil, nil, fmt.Errorf("the private key: %w", err)
			}
			cert.PrivateKey = key
		}
	}
	if len(cert.Certificate) == 0 || cert.PrivateKey == nil {
		return nil, nil, errNoCert
	}
	return cert, roots, nil
}
