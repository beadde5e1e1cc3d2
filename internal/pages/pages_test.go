package pages_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/millrace/millrace/internal/pages"
)

// TestReturn: what is given back reads as zeros, and neighbours on the same pages keep their bytes.
func TestReturn(t *testing.T) {
	t.Parallel()
	all := bytes.Repeat([]byte{7}, 3<<20)
	mid := all[100 : 2<<20]
	if got := pages.Return(mid); got != (runtime.GOOS == "linux") {
		t.Fatalf("Return says %v on %s", got, runtime.GOOS)
	}
	for i, b := range all {
		if (i < 100 || i >= 2<<20) && b != 7 {
			t.Fatalf("byte %d, which was not given back, is %d", i, b)
		}
	}
	if runtime.GOOS == "linux" && mid[1<<20] != 0 {
		t.Error("the middle of what was given back is still there")
	}
	if pages.Return(nil) || pages.Return(make([]byte, 10)) {
		t.Error("less than a page was given back")
	}
}

// TestSpare: a buffer is used again, but a large one not for a little.
func TestSpare(t *testing.T) {
	for name, c := range map[string]struct {
		have, want, kept int
	}{
		"small":           {100, 50, 100},
		"large for large": {2 * pages.Large, pages.Large, 2 * pages.Large},
		"large for small": {2 * pages.Large, pages.Large - 1, 0},
		"nothing":         {0, 10, 0},
	} {
		if got := pages.Spare(make([]byte, c.have), c.want); len(got) != 0 || cap(got) != c.kept {
			t.Errorf("%s: %d bytes, of which %d are used", name, cap(got), len(got))
		}
	}
}
