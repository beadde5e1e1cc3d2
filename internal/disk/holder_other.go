//go:build !linux

package disk

import (
	"fmt"
	"os"
	"strings"
)

// Holder returns the process that holds a lock on a file of [LockDir], or 0. This system has no
// table of locks, so Holder reads what the holder has written to the file.
func Holder(name string) int {
	f, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	if free, err := TryLock(f, true); free || err != nil {
		return 0
	}
	var pid int
	_, note, _ := strings.Cut(readNote(f), ", process ")
	if _, err := fmt.Sscan(note, &pid); err != nil {
		return 0
	}
	return pid
}
