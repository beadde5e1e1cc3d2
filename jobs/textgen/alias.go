package textgen

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/millrace/millrace/internal/codec"
)

// maxChoices bounds an alias table, so that weights below fit 64 bits.
const maxChoices = 1 << 24

// alias draws from a fixed discrete distribution in constant time (Walker 1977,
// built as Vose 1991 does). Each column holds its own outcome below the
// threshold and another one above.
type alias []column

type column struct {
	threshold uint32 // in units of 2^-32 of the column's height
	other     uint32
}

// draw maps 64 random bits to an outcome.
func (a alias) draw(x uint64) uint32 {
	i, rest := bits.Mul64(x, uint64(len(a)))
	c := a[i]
	outcome := uint32(i)
	if uint32(rest>>32) >= c.threshold { // a conditional move: no branch to guess
		outcome = c.other
	}
	return outcome
}

// newZipf returns the distribution in which outcome r of n has a weight of
// 1/(r+1)^exponent.
func newZipf(n int, exponent float64) alias {
	weights := make([]uint64, n)
	for r := range weights {
		weights[r] = zipfWeight(r, exponent)
	}
	return newAlias(weights)
}

// zipfWeight is a whole number: the last bit of a float may differ between machines, but the data set must not.
func zipfWeight(r int, exponent float64) uint64 {
	const first = 1 << 38
	if exponent == 1 {
		return max(1, first/uint64(r+1))
	}
	return max(1, uint64(math.Round(first/math.Pow(float64(r+1), exponent))))
}

// newAlias builds the table. Heights are scaled by len(weights), so that the
// mean height of a column is the sum of the weights.
func newAlias(weights []uint64) alias {
	n := uint64(len(weights))
	var mean uint64
	for _, w := range weights {
		mean += w
	}
	heights := make([]uint64, n)
	var low, high []uint32
	for i, w := range weights {
		heights[i] = w * n
		if heights[i] < mean {
			low = append(low, uint32(i))
		} else {
			high = append(high, uint32(i))
		}
	}
	table := fullColumns(len(weights))
	for len(low) > 0 && len(high) > 0 {
		small, large := low[len(low)-1], high[len(high)-1]
		low = low[:len(low)-1]
		table[small] = column{threshold: fraction(heights[small], mean), other: large}
		if heights[large] -= mean - heights[small]; heights[large] < mean {
			high = high[:len(high)-1]
			low = append(low, large)
		}
	}
	return table
}

// fullColumns returns columns that hold nothing but their own outcome.
func fullColumns(n int) alias {
	table := make(alias, n)
	for i := range table {
		table[i] = column{threshold: math.MaxUint32, other: uint32(i)}
	}
	return table
}

// fraction returns part/whole in units of 2^-32; part < whole.
func fraction(part, whole uint64) uint32 {
	hi, lo := bits.Mul64(part, 1<<32)
	q, _ := bits.Div64(hi, lo, whole)
	return uint32(q)
}

// blockSource returns the random source of one block. It mixes neighbouring seeds and indices first.
func blockSource(seed, block uint64) *rand.PCG {
	return rand.NewPCG(codec.Mix(seed), codec.Mix(seed^codec.Mix(block+1)))
}
