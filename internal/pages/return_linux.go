package pages

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Return returns the whole pages in b to the system. They then read as zeros. Pages that b shares with others stay.
// It reports whether that worked; if not, the garbage collector frees them later.
func Return(b []byte) bool {
	page := os.Getpagesize()
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % uintptr(page))
	n := (len(b) - skip) &^ (page - 1)
	return n > 0 && unix.Madvise(b[skip:skip+n], unix.MADV_DONTNEED) == nil
}
