package secure

import (
	"bytes"
	"context"
	"crypto/tls"
	"os"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/tick"
)

// A key can be changed while the cluster works, in three steps, each on all nodes before the next: the new key is
// added behind the old one, and from then on accepted; it is moved to the front, and used; the old one is removed.
// Open connections stay open.

func (k *Key) current() *authority {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// Replace replaces the text of the key. An invalid text changes nothing.
func (k *Key) Replace(text string) error {
	a, err := parse(text)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = a
	close(k.changed)
	k.changed = make(chan struct{})
	return nil
}

// Changed returns a channel that is closed when the key is replaced.
func (k *Key) Changed() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changed
}

// An Issuer has a certificate for one holder, and makes a new one when it is due.
type Issuer struct {
	key      *Key
	role     Role
	name, on string

	mu   sync.Mutex // guards the fields below
	by   *authority
	cert tls.Certificate
	made time.Time
}

// Issuer returns one for a role; name and on are as for Issue.
func (k *Key) Issuer(r Role, name, on string) *Issuer {
	return &Issuer{key: k, role: r, name: name, on: on}
}

// Certificate returns a certificate: a new one if the key has changed, or if by the wall clock half of the last one's life
// is over or it was made in the future. It is asked for each handshake, so after one that failed for the dates, too. Only
// the wall clock will do: peers judge certificates by theirs, and the monotonic one does not notice that a machine's time
// has been set.
func (i *Issuer) Certificate() (*tls.Certificate, error) {
	c, _, err := i.present()
	return &c, err
}

// Text returns the certificate as a text for Hold.
func (i *Issuer) Text() ([]byte, error) {
	c, by, err := i.present()
	if err != nil {
		return nil, err
	}
	return textOf(c.Certificate[0], c.PrivateKey, by.raw())
}

func (i *Issuer) present() (tls.Certificate, *authority, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.key.clock()
	if a := i.key.current(); a != i.by || now.Before(i.made) || now.Sub(i.made) > lives[i.role]/2 {
		c, err := a.issue(i.role, i.name, i.on, now)
		if err != nil {
			return c, nil, err
		}
		i.by, i.cert, i.made = a, c, now
	}
	return i.cert, i.by, nil
}

// Follow replaces the key when its file changes, until ctx ends, and calls tell with the result. It looks at this
// interval.
func (k *Key) Follow(ctx context.Context, every time.Duration, tell func(error)) {
	if k.file == "" {
		return
	}
	used, refused := k.text, "" // the text in effect, and why the file's text is refused
	for range tick.Every(ctx, every) {
		b, err := os.ReadFile(k.file)
		if err != nil || bytes.Equal(b, used) {
			continue // it may be being replaced
		}
		if _, err = Load(k.file); err == nil { // also checks who may read the file
			err = k.Replace(string(b))
		}
		if err != nil && err.Error() == refused {
			continue // already reported; it is tried again until somebody corrects it
		}
		if refused = ""; err == nil {
			used = b
		} else {
			refused = err.Error()
		}
		tell(err)
	}
}
