//go:build unix

package local

import (
	"syscall"
	"testing"
)

// TestMergeFactor: merges of all attempts together hold fewer files open than the process may, with some for others; two in any case, and where there
// are enough files it is left to the shuffle.
func TestMergeFactor(t *testing.T) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		limit   uint64
		workers int
		want    int
	}{
		{30, 4, 2},
		{24 + 6*3, 3, 2},
		{24 + 7*3, 3, 3},
		{91, 1, 63},
		{92, 1, 0},
		{1000, 20, 44},
		{1000, 15, 61},
		{1000, 14, 0},
		{1 << 16, 1000, 61},
		{1<<16 + 1, 1000, 0},
	} {
		if x.limit > was.Max {
			t.Logf("this process may not have %d files", x.limit)
			continue
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: x.limit, Max: was.Max}); err != nil {
			t.Fatal(err)
		}
		got := Config{Workers: x.workers}.mergeFactor()
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
		if got != x.want {
			t.Errorf("%d workers and %d files: %d, want %d", x.workers, x.limit, got, x.want)
		}
	}
}
