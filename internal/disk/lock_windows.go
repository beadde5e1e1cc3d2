package disk

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// TryLock locks a file until it is closed, exclusively or, with shared, for several. It reports whether it could. It
// locks one byte far behind the end, as bbolt does, because others cannot read locked bytes.
func TryLock(f *os.File, shared bool) (bool, error) {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY | windows.LOCKFILE_EXCLUSIVE_LOCK)
	if shared {
		how = windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	at := windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxUint32}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
