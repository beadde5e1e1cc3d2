//go:build !linux

package disk

import (
	"fmt"
	"os"
	"strings"
)

// Holder finds the process that holds a lock on a file of [LockDir]; 0 if none does. No table of locks tells it on this system: what the
// holder has written there does.
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
