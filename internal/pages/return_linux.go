package pages

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Return gives the whole pages behind b back to the system; they read as zeros from now on, and pages that b shares with others stay.
// It reports whether that worked: if not, the collector does it later.
func Return(b []byte) bool {
	page := os.Getpagesize()
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % uintptr(page))
	n := (len(b) - skip) &^ (page - 1)
	return n > 0 && unix.Madvise(b[skip:skip+n], unix.MADV_DONTNEED) == nil
}
