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

// ParseUint128 reads what String writes; upper-case digits and leading zeros are
// accepted too.
func ParseUint128(s string) (Uint128, error) {
	if len(s) == 0 || len(s) > 32 {
		return Uint128{}, fmt.Errorf("parse 128-bit number %q: want 1 to 32 hexadecimal digits", s)
	}
	cut := max(0, len(s)-16)
	lo, err := strconv.ParseUint(s[cut:], 16, 64)
	if err != nil {
		return Uint128{}, fmt.Errorf("parse 128-bit number %q: %w", s, err)
	}
	if cut == 0 {
		return Uint128{Lo: lo}, nil
	}
	hi, err := strconv.ParseUint(s[:cut], 16, 64)
	if err != nil {
		return Uint128{}, fmt.Errorf("parse 128-bit number %q: %w", s, err)
	}
	return Uint128{Hi: hi, Lo: lo}, nil
}
