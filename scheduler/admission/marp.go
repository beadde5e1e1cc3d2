package admission

import "math"

// slack allows for rounding in products such as 0.7*10.
const slack = 1e-9

// Slots returns how many drivers of size am a MARP admits on a queue of the
// given size, both in the same unit (spec/marp 2.3).
func Slots(marp float64, queue, am int64) int64 {
	if am <= 0 {
		return math.MaxInt64
	}
	return int64(math.Floor(marp*float64(queue)/float64(am) + slack))
}

// Smallest returns the smallest multiple of 0.001 that admits the given number
// of drivers: PRJ for a whole batch, mini-batch PRJ for a part of it (spec/marp 3.1). It
// is above 1 if the queue cannot hold them.
func Smallest(jobs int, queue, am int64) float64 {
	if jobs <= 0 || queue <= 0 {
		return 0
	}
	for m := math.Floor(1000 * float64(jobs) * float64(am) / float64(queue)); ; m++ {
		if Slots(m/1000, queue, am) >= int64(jobs) {
			return m / 1000
		}
	}
}

// SafeJobs returns how many running jobs with one reduce each always leave room
// for a map: the largest J with J*(am+reduce) <= queue-mapTask. One more, and
// the slow-start deadlock of spec/marp 2.3 is possible.
func SafeJobs(queue, am, reduce, mapTask int64) int64 {
	if am+reduce <= 0 {
		return math.MaxInt64
	}
	return max(queue-mapTask, 0) / (am + reduce)
}
