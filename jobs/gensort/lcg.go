package gensort

import "math/bits"

// affine is the map x -> mul*x + add modulo 2^128.
type affine struct {
	mul, add Uint128
}

// step is the benchmark's generator. The multiplier is from L'Ecuyer, "Tables of
// linear congruential generators of different sizes and good lattice structure"
// (1999); the increment spells "JimGrayRIP" and only has to be odd.
var step = affine{
	mul: Uint128{Hi: 0x2360ed051fc65da4, Lo: 0x4385df649fccf645},
	add: Uint128{Hi: 0x4a696d4772617952, Lo: 0x4950202020202001},
}

// powers[i] is step applied 2^i times.
var powers = powersOf(step)

func (f affine) apply(x Uint128) Uint128 { return f.mul.Mul(x).Add(f.add) }

// twice returns f after f: a(ax + c) + c = a^2 x + (ac + c).
func (f affine) twice() affine {
	return affine{mul: f.mul.Mul(f.mul), add: f.apply(f.add)}
}

func powersOf(f affine) (p [128]affine) {
	for i := range p {
		p[i] = f
		f = f.twice()
	}
	return p
}

// skip returns the state after n steps from the benchmark's seed, which is 0.
// Powers of one map commute, so the bits may be taken in any order.
func skip(n Uint128) Uint128 {
	var x Uint128
	for w, base := n.Lo, 0; w != 0; w &= w - 1 {
		x = powers[base+bits.TrailingZeros64(w)].apply(x)
	}
	for w, base := n.Hi, 64; w != 0; w &= w - 1 {
		x = powers[base+bits.TrailingZeros64(w)].apply(x)
	}
	return x
}
