package nas

import "math"

// TrafficThreshold is equation (3.3) of spec/nas 2.5: the map output that may be in the making on one
// node, m times the mean output of a map over all submitted jobs. Without maps
// there is no threshold.
func TrafficThreshold(containers, shuffleBytes, maps float64) float64 {
	if maps <= 0 {
		return math.Inf(1)
	}
	return containers * shuffleBytes / maps
}

// CompletionThreshold is equation (3.5) of spec/nas 2.5: the fraction of done maps from which the reduces
// of a job that shuffles s bytes may start. It falls from tMax for the smallest
// shuffle to tMin for the largest; with logarithmic it falls with log(1+s) (spec/nas 3.7).
// If all shuffles are equal it is tMin.
func CompletionThreshold(s, sMin, sMax, tMin, tMax float64, logarithmic bool) float64 {
	if logarithmic {
		s, sMin, sMax = math.Log1p(s), math.Log1p(sMin), math.Log1p(sMax)
	}
	if sMax <= sMin {
		return tMin
	}
	t := tMax - (tMax-tMin)*(s-sMin)/(sMax-sMin) // (spec/nas 3.5), rearranged: large sizes close together cancel
	return min(max(t, min(tMin, tMax)), max(tMin, tMax))
}

// ReduceNum is equation (3.4) of spec/nas 2.5 rounded up: how many of a job's reduces belong in a rack
// that holds portion of its map output.
func ReduceNum(reduces int32, portion float64) int32 {
	return int32(math.Ceil(float64(reduces)*portion - slack))
}

// slack allows for rounding in products and quotients.
const slack = 1e-9
