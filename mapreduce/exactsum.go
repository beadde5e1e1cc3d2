package mapreduce

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// The sum of floats is exact until it is rounded at the end, so it does not depend on the order or on how the values
// were grouped. An accumulator is either one float, in the encoding of [Float64], or a whole number in units of
// 2^-1088: the place of its lowest word, one byte, then its words, little-endian, in two's complement. Of values of
// similar size there are two or three words; of any there are at most 34 and one for carries. What is infinite or not a
// number stays a float.

const (
	unitExp  = 1088 // a unit is 2^-unitExp, so that the least float is a whole number of units
	sumWords = (unitExp+1024+63)/64 + 1
)

// liftFloat turns a float into an accumulator.
func liftFloat(dst, value []byte) []byte { return Float64.Append(dst, mustDecode(Float64, value)) }

// addExact adds one accumulator to another, in place where there is room.
func addExact(acc, value []byte) []byte {
	var x, y float64 // finite for words
	if len(acc) == 8 {
		x, _ = float64Codec{}.Decode(acc)
	}
	if len(value) == 8 {
		y, _ = float64Codec{}.Decode(value)
	}
	if x-x != 0 || y-y != 0 { // infinite or not a number
		return Float64.Append(acc[:0], x+y)
	}
	if len(acc) == 8 {
		acc = appendWords(acc[:0], wordsOf(x))
	}
	if len(value) != 8 {
		return addWords(acc, value)
	}
	w := wordsOf(y)
	if addInside(acc, &w) {
		return acc
	}
	var room [1 + 16]byte
	return addWords(acc, appendWords(room[:0], w))
}

// twoWords is a finite float.
type twoWords struct {
	at     int // the place of the lower one
	lo, hi uint64
}

func wordsOf(f float64) twoWords {
	u := math.Float64bits(f)
	m, exp := u&(1<<52-1), int(u>>52&0x7ff)
	if exp > 0 {
		m |= 1 << 52
	} else {
		exp = 1
	}
	at := exp - 1075 + unitExp
	lo, hi := m<<(at%64), m>>(64-at%64)
	if u&signBit != 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	return twoWords{at / 64, lo, hi}
}

func appendWords(dst []byte, w twoWords) []byte {
	dst = append(dst, byte(w.at))
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, w.lo), w.hi)
}

// addInside adds a float to an accumulator of words if no word but its two changes, as is usual.
func addInside(acc []byte, w *twoWords) bool {
	at := 1 + 8*(w.at-int(acc[0]))
	if at < 1 || at+16 > len(acc) {
		return false
	}
	b := acc[at : at+16 : at+16]
	old := binary.LittleEndian.Uint64(b[8:])
	lo, carry := bits.Add64(binary.LittleEndian.Uint64(b), w.lo, 0)
	hi, carry := bits.Add64(old, w.hi, carry)
	if at+16 == len(acc) {
		if (old^hi)&(w.hi^hi)>>63 != 0 {
			return false
		}
	} else if w.hi>>63 != carry {
		return false
	}
	binary.LittleEndian.PutUint64(b, lo)
	binary.LittleEndian.PutUint64(b[8:], hi)
	return true
}

// addWords adds words to an accumulator of words.
func addWords(acc, value []byte) []byte {
	acc = coverWords(acc, value)
	from, n := int(value[0])-int(acc[0]), len(value)/8
	rest := signWord(value)
	carry := uint64(0)
	for i := from; i < len(acc)/8; i++ {
		v := rest
		if i-from < n {
			v = wordAt(value, i-from)
		} else if v+carry == 0 { // nothing changes from here on
			return acc
		}
		old := wordAt(acc, i)
		sum, c := bits.Add64(old, v, carry)
		binary.LittleEndian.PutUint64(acc[1+8*i:], sum)
		carry = c
		if i == len(acc)/8-1 && (old^sum)&(v^sum)>>63 != 0 { // the sign has been carried away
			acc = binary.LittleEndian.AppendUint64(acc, uint64(int64(old)>>63))
			return acc
		}
	}
	return acc
}

// coverWords makes acc as long as value at both ends.
func coverWords(acc, value []byte) []byte {
	checkWords(acc)
	checkWords(value)
	if n := int(acc[0]) - int(value[0]); n > 0 {
		acc = slices.Insert(acc, 1, make([]byte, 8*n)...)
		acc[0] = value[0]
	}
	rest := signWord(acc)
	for int(acc[0])+len(acc)/8 < int(value[0])+len(value)/8 {
		acc = binary.LittleEndian.AppendUint64(acc, rest)
	}
	return acc
}

func checkWords(b []byte) {
	if len(b)%8 != 1 || len(b) < 9 || int(b[0])+len(b)/8 > sumWords {
		panic(fmt.Sprintf("mapreduce: %d bytes that begin with %.1x are no sum of floats", len(b), b))
	}
}

// wordAt returns word i of an accumulator.
func wordAt(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[1+8*i:]) }

// signWord returns what the words above an accumulator's are: all zeros or all ones.
func signWord(b []byte) uint64 { return uint64(int64(wordAt(b, len(b)/8-1)) >> 63) }

// roundSum appends an accumulator as a float: the nearest, of two the even one.
func roundSum(dst, acc []byte) []byte {
	if len(acc) == 8 {
		return append(dst, acc...)
	}
	checkWords(acc)
	var room [sumWords]uint64
	words := room[:len(acc)/8]
	negative := signWord(acc) != 0
	top, borrow := -1, uint64(0)
	for i := range words {
		words[i] = wordAt(acc, i)
		if negative {
			words[i], borrow = bits.Sub64(0, words[i], borrow)
		}
		if words[i] != 0 {
			top = 64*i + bits.Len64(words[i]) - 1
		}
	}
	f := 0.0
	if top >= 0 {
		f = roundWords(words, top, 64*int(acc[0]))
	}
	if negative {
		f = -f
	}
	return Float64.Append(dst, f)
}

// roundWords returns the float of words of which the highest bit set is top. Bit 0 is at the place shift.
func roundWords(words []uint64, top, shift int) float64 {
	cut := top - 52 // the lowest bit of a float
	if cut <= 0 {
		return math.Ldexp(float64(words[0]), shift-unitExp)
	}
	m := words[cut/64] >> (cut % 64)
	if cut%64 > 0 && cut/64+1 < len(words) {
		m |= words[cut/64+1] << (64 - cut%64)
	}
	half := cut - 1
	if words[half/64]>>(half%64)&1 != 0 {
		exact := words[half/64]&(1<<(half%64)-1) == 0
		for _, w := range words[:half/64] {
			exact = exact && w == 0
		}
		if !exact || m&1 != 0 {
			m++
		}
	}
	return math.Ldexp(float64(m), cut+shift-unitExp)
}
