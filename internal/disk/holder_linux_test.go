package disk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHolder: the process that has a lock is found, as long as it has it; whoever only has the file open is not.
func TestHolder(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "lock")
	if got := Holder(name); got != 0 {
		t.Errorf("before there is a file, process %d holds it", got)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if got := Holder(name); got != 0 || err != nil || !hasOpen(os.Getpid(), info) {
		t.Errorf("an open file is held by process %d, %v", got, err)
	}
	if err := f.Close(); err != nil || hasOpen(os.Getpid(), info) {
		t.Errorf("a closed file is open, %v", err)
	}
	l, err := LockDir(dir, "w")
	if err != nil {
		t.Fatal(err)
	}
	if got := Holder(name); got != os.Getpid() {
		t.Errorf("held by process %d, not %d", got, os.Getpid())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := Holder(name); got != 0 {
		t.Errorf("a lock that was given back is held by process %d", got)
	}
}

func TestLockOf(t *testing.T) {
	for line, want := range map[string]int{
		"1: FLOCK  ADVISORY  WRITE 712 fe:00:3021 0 EOF":    712,
		"1: -> FLOCK  ADVISORY  WRITE 712 fe:00:3021 0 EOF": 0, // it waits
		"1: POSIX  ADVISORY  WRITE 712 fe:00:3021 0 EOF":    0,
		"1: FLOCK  ADVISORY  READ 712 fe:00:3021 0 EOF":     0,
		"1: FLOCK  ADVISORY  WRITE 712 fe:00:13021 0 EOF":   0,
		"1: FLOCK  ADVISORY  WRITE x fe:00:3021 0 EOF":      0,
		"1: FLOCK  ADVISORY  WRITE 712 fe:00:3021 0":        0,
	} {
		if got := lockOf(line, 3021); got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
}

func FuzzLockOf(f *testing.F) {
	f.Add("1: FLOCK  ADVISORY  WRITE 712 fe:00:3021 0 EOF")
	f.Add("1: -> FLOCK  ADVISORY  WRITE 712 fe:00:3021 0 EOF")
	f.Fuzz(func(t *testing.T, line string) {
		if pid := lockOf(line, 3021); pid > 0 && !strings.Contains(line, "FLOCK") {
			t.Errorf("%q: %d", line, pid)
		}
	})
}
