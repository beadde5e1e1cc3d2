package textgen

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// RecordsConfig describes a set of records: lines of key, tab and value.
type RecordsConfig struct {
	// Seed chooses one of 2^64 sets over the same keys. Any value is good.
	Seed uint64
	// Keys is how many distinct keys there may be, 1 to 2^24; 0 means 1,000,000
	// (ours). Larger: more groups for a reducer, less to combine.
	Keys int
	// Exponent is the skew of the keys, as in Zipf's law. 0, the default, makes all equally frequent; at 1 the first
	// of a million has 7 per cent.
	Exponent float64
	// Hot is the share of records, 0 to 1, that get the first key beside what Exponent gives it. 0.5: one key has
	// half the bytes.
	Hot float64
	// ValueBytes is the length of a value, 1 to 64 KiB; 0 means 88 (ours: records
	// of about 100 bytes). Larger: fewer records for the same bytes.
	ValueBytes int
}

// DefaultRecordsConfig returns a million keys, evenly drawn, 88-byte values.
func DefaultRecordsConfig() RecordsConfig {
	return RecordsConfig{Keys: 1_000_000, ValueBytes: 88}
}

func (c *RecordsConfig) setDefaults() {
	def := DefaultRecordsConfig()
	if c.Keys == 0 {
		c.Keys = def.Keys
	}
	if c.ValueBytes == 0 {
		c.ValueBytes = def.ValueBytes
	}
}

func (c *RecordsConfig) validate() error {
	switch {
	case c.Keys < 1 || c.Keys > maxChoices:
		return fmt.Errorf("records: %d keys, want 1 to %d", c.Keys, maxChoices)
	case !(c.Hot >= 0 && c.Hot <= 1):
		return fmt.Errorf("records: hot share %v, want 0 to 1", c.Hot)
	case c.ValueBytes < 1 || c.ValueBytes > 64<<10:
		return fmt.Errorf("records: values of %d bytes, want 1 to %d", c.ValueBytes, 64<<10)
	}
	return validateExponent("records", c.Exponent)
}

// keyDigits is the length of a key after its letter, enough for maxChoices keys.
const (
	keyDigits = 8
	keyBytes  = 1 + keyDigits
)

// Records makes the blocks of one set of records.
type Records struct {
	config RecordsConfig
	zipf   alias  // nil if all keys are equally frequent
	hot    uint64 // draws below it give key 0
}

// NewRecords prepares the distribution of the keys: 8 bytes a key, none for
// equally frequent keys.
func NewRecords(c RecordsConfig) (*Records, error) {
	c.setDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	r := &Records{config: c, hot: uint64(c.Hot * (1 << 32))}
	if c.Exponent != 0 {
		r.zipf = newZipf(c.Keys, c.Exponent)
	}
	return r, nil
}

// Fill writes a block of exactly len(dst) bytes: records such as "k00000042<TAB>mjaefg...<LF>". The last value takes
// the rest of the block, less than two records. A block too short for any record is all newlines.
func (r *Records) Fill(dst []byte, block uint64) {
	rng := blockSource(r.config.Seed, block)
	size := keyBytes + 1 + r.config.ValueBytes + 1
	for len(dst) > 0 {
		n := size
		if len(dst) < 2*size {
			n = len(dst)
		}
		r.put(dst[:n], rng)
		dst = dst[n:]
	}
}

// put writes one record that fills dst.
func (r *Records) put(dst []byte, rng *rand.PCG) {
	if len(dst) < keyBytes+2 {
		for i := range dst {
			dst[i] = '\n'
		}
		return
	}
	dst[0] = 'k'
	putDecimal(dst[1:keyBytes], r.key(rng))
	dst[keyBytes] = '\t'
	putLetters(dst[keyBytes+1:len(dst)-1], rng)
	dst[len(dst)-1] = '\n'
}

func (r *Records) key(rng *rand.PCG) uint32 {
	if r.hot != 0 && rng.Uint64()>>32 < r.hot {
		return 0
	}
	x := rng.Uint64()
	if r.zipf != nil {
		return r.zipf.draw(x)
	}
	k, _ := bits.Mul64(x, uint64(r.config.Keys))
	return uint32(k)
}

// putDecimal fills dst with the last digits of x.
func putDecimal(dst []byte, x uint32) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = '0' + byte(x%10)
		x /= 10
	}
}

// putLetters fills dst with letters from a to p, eight for each random number.
func putLetters(dst []byte, rng *rand.PCG) {
	for ; len(dst) >= 8; dst = dst[8:] {
		binary.LittleEndian.PutUint64(dst, letters8(rng.Uint64()))
	}
	var tail [8]byte
	binary.LittleEndian.PutUint64(tail[:], letters8(rng.Uint64()))
	copy(dst, tail[:])
}

func letters8(x uint64) uint64 {
	const ones = 0x0101010101010101
	return x&(15*ones) + 'a'*ones
}
