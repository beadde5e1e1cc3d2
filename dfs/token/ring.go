package token

import (
	"crypto/hmac"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// A Key signs tokens and verifies them.
type Key struct {
	id     uint64
	secret []byte
}

// NewKey returns a key. Ids are never used twice in a cluster; the secret is 32 random bytes.
func NewKey(id uint64, secret []byte) *Key { return &Key{id, secret} }

// Holder returns the name that a token has for its caller: a node, a task's job with its user, or a user.
func Holder(c rpc.Caller) string {
	switch {
	case c.Node != "":
		return "node " + c.Node
	case c.Job != "":
		return "job " + c.Job + " " + c.User
	}
	return "user " + c.User
}

// maxKeys bounds how many keys a ring remembers. The oldest goes first.
const maxKeys = 16

// A Ring is the keys that a block service knows. Its methods may be called concurrently.
type Ring struct {
	mu   sync.Mutex // guards keys
	keys []known    // in the order they came
}

type known struct {
	Key
	born time.Duration // when it was made, by the clock of Add and Check; may be negative
	life time.Duration // after this age nothing that it signed is valid
}

// Add adds keys that the name service sent. now is any clock that does not jump, the same for all calls.
func (r *Ring) Add(keys []wire.BlockKey, now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range keys {
		if slices.ContainsFunc(r.keys, func(o known) bool { return o.id == k.ID }) {
			continue
		}
		r.keys = append(r.keys, known{Key{k.ID, k.Secret}, now - k.Age, k.Life})
	}
	r.keys = slices.DeleteFunc(r.keys, func(k known) bool { return now-k.born > k.life })
	r.keys = slices.Clone(r.keys[max(0, len(r.keys)-maxKeys):])
}

// Newest returns the highest id among the keys, or 0.
func (r *Ring) Newest() (id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.keys {
		id = max(id, k.id)
	}
	return id
}

func (r *Ring) find(id uint64) (known, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.keys, func(k known) bool { return k.id == id })
	if i < 0 {
		return known{}, false
	}
	return r.keys[i], true
}

// Check returns nil if the token lets the caller do op with the block at its generation. A node may present
// another holder's token, since it passes a pipeline on. An unknown key is Unavailable, because the next beat
// may bring it. An expired token is Stale, because the name service gives a new one to whoever may have it. All
// else is Denied.
func (r *Ring) Check(text string, b wire.Block, op Op, c rpc.Caller, now time.Duration) error {
	if text == "" {
		return wire.Errorf(wire.Denied, "%s of %s: no token: the name service gives one with the block's places", op, b.ID)
	}
	p, ok := parse(text)
	if !ok {
		return wire.Errorf(wire.Denied, "%s of %s: what should be a token is none", op, b.ID)
	}
	k, ok := r.find(p.key)
	switch {
	case !ok:
		return wire.Errorf(wire.Unavailable, "%s of %s: the key of this token is not known here, or not yet", op, b.ID)
	case !hmac.Equal(k.code(p.body, b.ID, b.Gen), p.mac):
		return wire.Errorf(wire.Denied, "%s of %s: the token is not for generation %d of this block", op, b.ID, b.Gen)
	case !p.Op.allows(op):
		return wire.Errorf(wire.Denied, "%s of %s: the token is for %s", op, b.ID, p.Op)
	case c.Node == "" && p.Holder != Holder(c):
		return wire.Errorf(wire.Denied, "%s of %s: the token belongs to another", op, b.ID)
	case now-k.born > p.Until:
		return wire.Errorf(wire.Stale, "%s of %s: the token has ended; ask the name service again", op, b.ID)
	}
	return nil
}
