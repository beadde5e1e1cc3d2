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

// issuer returns a function that makes a certificate, and a new one when the key has changed or half of its life is
// over.
func (k *Key) issuer(r Role, name, on string) func() (*tls.Certificate, error) {
	var mu sync.Mutex // guards by, cert and renew
	var by *authority
	var cert tls.Certificate
	var renew time.Time
	return func() (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if a := k.current(); a != by || time.Now().After(renew) {
			c, err := a.issue(r, name, on)
			if err != nil {
				return nil, err
			}
			by, cert, renew = a, c, time.Now().Add(lives[r]/2)
		}
		c := cert
		return &c, nil
	}
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
