package disk

import (
	"strings"
	"testing"
)

func FuzzLockOf(f *testing.F) {
	f.Add("1: FLOCK  ADVISORY  WRITE 712 fe:00:3021 0 EOF")
	f.Add("1: -> FLOCK  ADVISORY  WRITE 712 fe:00:3021 0 EOF")
	f.Fuzz(func(t *testing.T, line string) {
		if pid := lockOf(line, 3021); pid > 0 && !strings.Contains(line, "FLOCK") {
			t.Errorf("%q: %d", line, pid)
		}
	})
}
