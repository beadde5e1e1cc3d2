package gensort

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

var modulus = new(big.Int).Lsh(big.NewInt(1), 128)

func toBig(x Uint128) *big.Int {
	n := new(big.Int).SetUint64(x.Hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(x.Lo))
}

func drawUint128(t *rapid.T, label string) Uint128 {
	return Uint128{
		Hi: rapid.Uint64().Draw(t, label+".hi"),
		Lo: rapid.Uint64().Draw(t, label+".lo"),
	}
}

func TestArithmeticAgreesWithBigInt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := drawUint128(t, "x"), drawUint128(t, "y")
		sum := new(big.Int).Add(toBig(x), toBig(y))
		if got := toBig(x.Add(y)); got.Cmp(sum.Mod(sum, modulus)) != 0 {
			t.Fatalf("%v + %v = %x, want %x", x, y, got, sum)
		}
		product := new(big.Int).Mul(toBig(x), toBig(y))
		if got := toBig(x.Mul(y)); got.Cmp(product.Mod(product, modulus)) != 0 {
			t.Fatalf("%v * %v = %x, want %x", x, y, got, product)
		}
	})
}

func TestUint128Text(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawUint128(t, "x")
		if rapid.Bool().Draw(t, "small") {
			x.Hi = 0
		}
		if got, want := x.String(), toBig(x).Text(16); got != want {
			t.Fatalf("String of %#x = %q, want %q", x, got, want)
		}
	})
}

// The values are entries of the table printed in gensort's rand16.c.
func TestPowersAgreeWithPublishedTable(t *testing.T) {
	published := map[int]affine{
		1:  {Uint128{0x17bce35bdf69743c, 0x529ed9eb20e0ae99}, Uint128{0x95e0e48262b3edfe, 0x04479485c755b646}},
		10: {Uint128{0xae4f079d54fbece1, 0x478331d3c6bef001}, Uint128{0x991965329dccb28d, 0x581199ab18c5fc00}},
		32: {Uint128{0x433bef4314f16a94, 0x53cd8fbc00000001}, Uint128{0x158c62f2b31e496d, 0xfd71a97f00000000}},
		64: {Uint128{0x5f0ba18c53cd8fbc, 1}, Uint128{0xf0b1944bfd71a97f, 0}},
		91: {Uint128{0x629e6c7de0000000, 1}, Uint128{0x5feb8d4bf8000000, 0}},
	}
	for i, want := range published {
		if powers[i] != want {
			t.Errorf("power 2^%d = %v, want %v", i, powers[i], want)
		}
	}
}

func TestSkipAgreesWithStepping(t *testing.T) {
	var x Uint128
	for n := range uint64(5000) {
		if got := skip(Uint128{Lo: n}); got != x {
			t.Fatalf("skip(%d) = %v, stepping gives %v", n, got, x)
		}
		x = step.apply(x)
	}
}

// Beyond the reach of stepping from 0, one more row is still one more step.
func TestSkipOneFurther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawUint128(t, "n")
		if got, want := skip(n.Add(Uint128{Lo: 1})), step.apply(skip(n)); got != want {
			t.Fatalf("skip(%v + 1) = %v, want %v", n, got, want)
		}
	})
}
