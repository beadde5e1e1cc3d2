package nas

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// traceFile finds the FB-2010 trace beside the repository, or skips.
func traceFile(t *testing.T) *os.File {
	t.Helper()
	dir := os.Getenv("MILLRACE_TRACES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "traces")
	}
	f, err := os.Open(filepath.Join(dir, "FB-2010_samples_24_times_1hr_0.tsv"))
	if err != nil {
		t.Skipf("the FB-2010 trace is not here (set MILLRACE_TRACES): %v", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// spec/nas 4.1 and 5, item 1: the job mix of FB-2010, exactly, with MB = 2^20.
func TestJobMix(t *testing.T) {
	limits := DefaultClasses()
	var byClass [3]int
	small, jobs, maps, shuffled := 0, 0, int64(0), 0.0
	for in := bufio.NewScanner(traceFile(t)); in.Scan(); jobs++ {
		f := strings.Split(in.Text(), "\t")
		input, err1 := strconv.ParseFloat(f[3], 64)
		shuffle, err2 := strconv.ParseFloat(f[4], 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("line %d: %v %v", jobs+1, err1, err2)
		}
		byClass[limits.Of(shuffle)]++
		if limits.Small(input) {
			small++
		}
		maps += max(1, (int64(input)+128<<20-1)/(128<<20))
		shuffled += shuffle
	}
	if jobs != 24442 || small != 12226 || byClass != [3]int{16792, 3074, 4576} {
		t.Errorf("%d jobs, %d small, light/medium/heavy %v; want 24442, 12226, [16792 3074 4576]", jobs, small, byClass)
	}
	// spec/nas 3.4, note: over the whole trace, 6 containers give a threshold of 325 MB.
	if got := TrafficThreshold(6, shuffled, float64(maps)) / 1e6; got < 324 || got > 326 {
		t.Errorf("traffic threshold of the trace %.1f MB, want 325", got)
	}
}
