package admission

import (
	"math"
	"strconv"
)

// r3 rounds to three decimals as C's printf does: the exact binary value, ties
// to even (spec/marp 2.6).
func r3(x float64) float64 {
	var buf [32]byte
	y, err := strconv.ParseFloat(string(strconv.AppendFloat(buf[:0], x, 'f', 3, 64)), 64)
	if err != nil {
		return x // infinite or not a number: no controller makes one
	}
	return y + 0 // no negative zero
}

// r0 rounds to an integer, ties to even (spec/marp 2.6).
func r0(x float64) int { return int(math.RoundToEven(x)) }

// ipart truncates to an integer (spec/marp 2.6).
func ipart(x float64) int { return int(x) }

// clamp keeps a MARP in [0, 1]; the scripts had no bound (spec/marp 3.0).
func clamp(marp float64) float64 { return min(max(marp, 0), 1) }
