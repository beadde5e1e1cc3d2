package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// An Op is what a token allows. The numbers are signed, so only append.
type Op uint8

// The operations. A token to write a block at a generation also allows reading it.
const (
	Read Op = iota + 1
	Write
)

func (o Op) String() string {
	switch o {
	case Read:
		return "read"
	case Write:
		return "write"
	}
	return "nothing"
}

// A Claim is what a token says.
type Claim struct {
	Block  wire.BlockID
	Gen    uint64
	Op     Op
	Holder string // as Holder makes it
	// Until is when the token expires, counted from when its key was made.
	Until time.Duration
}

// The form of a token: version, key, seconds, operation, length of the holder, holder, authentication code.
const (
	version   = 1
	macBytes  = 16
	fixed     = 1 + 8 + 4 + 1 + 1
	maxHolder = 255
	maxText   = (fixed+maxHolder+macBytes)*4/3 + 4
)

// Sign makes a token. If the holder is longer than 255 bytes, nobody can use it.
func (k *Key) Sign(c Claim) string {
	holder := c.Holder[:min(len(c.Holder), maxHolder)]
	b := make([]byte, 0, fixed+len(holder)+macBytes)
	b = append(b, version)
	b = binary.BigEndian.AppendUint64(b, k.id)
	b = binary.BigEndian.AppendUint32(b, uint32(c.Until/time.Second))
	b = append(b, byte(c.Op), byte(len(holder)))
	b = append(b, holder...)
	b = append(b, k.code(b, c.Block, c.Gen)...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// code authenticates the contents of a token and its block, which the caller must name.
func (k *Key) code(body []byte, id wire.BlockID, gen uint64) []byte {
	m := hmac.New(sha256.New, k.secret)
	var block [16]byte
	binary.BigEndian.PutUint64(block[:], uint64(id))
	binary.BigEndian.PutUint64(block[8:], gen)
	_, _ = m.Write(block[:]) // never fails
	_, _ = m.Write(body)
	return m.Sum(nil)[:macBytes]
}

// A parsed token has not been verified yet.
type parsed struct {
	Claim
	key  uint64
	body []byte // what is signed, apart from the block
	mac  []byte
}

// parse splits a token into its fields.
func parse(text string) (p parsed, ok bool) {
	if len(text) > maxText {
		return p, false
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < fixed+macBytes || b[0] != version || len(b) != fixed+int(b[fixed-1])+macBytes {
		return p, false
	}
	p.key = binary.BigEndian.Uint64(b[1:])
	p.Until = time.Duration(binary.BigEndian.Uint32(b[9:])) * time.Second
	p.Op, p.Holder = Op(b[13]), string(b[fixed:len(b)-macBytes])
	p.body, p.mac = b[:len(b)-macBytes], b[len(b)-macBytes:]
	return p, true
}

// allows reports whether a token for o allows other.
func (o Op) allows(other Op) bool { return o == other || o == Write && other == Read }
