package gensort

import (
	"fmt"
	"math/bits"
	"strconv"
)

// Uint128 is an unsigned integer of 128 bits; arithmetic wraps at 2^128.
type Uint128 struct {
	Hi, Lo uint64
}

// Add returns x + y.
func (x Uint128) Add(y Uint128) Uint128 {
	lo, carry := bits.Add64(x.Lo, y.Lo, 0)
	hi, _ := bits.Add64(x.Hi, y.Hi, carry)
	return Uint128{Hi: hi, Lo: lo}
}

// Mul returns x * y.
func (x Uint128) Mul(y Uint128) Uint128 {
	hi, lo := bits.Mul64(x.Lo, y.Lo)
	return Uint128{Hi: hi + x.Hi*y.Lo + x.Lo*y.Hi, Lo: lo}
}

// IsZero reports whether x is 0.
func (x Uint128) IsZero() bool { return x.Hi|x.Lo == 0 }

// String returns x in lower-case hexadecimal without leading zeros, as valsort
// and TeraValidate print a checksum.
func (x Uint128) String() string {
	if x.Hi == 0 {
		return strconv.FormatUint(x.Lo, 16)
	}
	return fmt.Sprintf("%x%016x", x.Hi, x.Lo)
}
