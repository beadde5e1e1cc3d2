package mapreduce

import (
	"math/bits"
	"strconv"
	"strings"
)

// A Shape is what a job specifies about how its input is divided. Zero values let the engine choose.
type Shape struct {
	SplitBytes     int64
	Reducers       int
	MapOnly, Folds bool
}

// Shape returns what the job specifies.
func (j *Job) Shape() Shape {
	return Shape{SplitBytes: j.SplitBytes, Reducers: j.Reducers, MapOnly: j.MapOnly, Folds: !j.Fold.IsZero()}
}

// Layout returns how a cluster with that many places divides the input of a job, unless the job specifies it: the
// bytes of a split and the number of reduces. Each place gets a few maps, so that the last ones to end leave little
// idle. A map that folds makes a table of all its keys, however little it reads, so each place gets one or two, with
// splits of several blocks. Splits are a power of two, so that they end where blocks do. Nine tenths of the places
// get a reduce.
func (s Shape) Layout(inputBytes int64, places int) (splitBytes int64, reduces int) {
	const least, tiny = 1 << 20, 4 << 20
	places = max(places, 1)
	waves, most := 3, int64(64<<20)
	if s.Folds {
		waves, most = 1, 256<<20
	}
	splitBytes = min(max(powerOfTwo(inputBytes/int64(waves*places)), least), most)
	if s.SplitBytes > 0 {
		splitBytes = s.SplitBytes
	}
	reduces = max(1, places*9/10)
	if inputBytes < tiny {
		reduces = 1
	}
	switch {
	case s.MapOnly:
		reduces = 0
	case s.Reducers > 0:
		reduces = s.Reducers
	}
	return splitBytes, reduces
}

// powerOfTwo returns the largest that is not above n, at least 1.
func powerOfTwo(n int64) int64 { return 1 << (bits.Len64(uint64(max(n, 1))) - 1) }

// CountOf returns n of an input path [CountInput](n). It reports false for other paths.
func CountOf(path string) (n int64, ok bool) {
	digits, ok := strings.CutPrefix(path, countPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n >= 0
}
