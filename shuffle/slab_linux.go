package shuffle

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHuge asks for huge pages behind the aligned part of b. It is advice: a kernel
// that cannot follow it changes nothing but speed.
func adviseHuge(b []byte) {
	const huge = 2 << 20
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % huge)
	if n := (len(b) - skip) &^ (huge - 1); n > 0 {
		_ = unix.Madvise(b[skip:skip+n], unix.MADV_HUGEPAGE) // advice only
	}
}

// returnMemory gives the pages behind a block back to the system; what was on them reads
// as zeros from now on. It reports whether that worked: if not, the block
// is to be forgotten. Pages that the block shares with others stay.
func returnMemory(b []byte) bool {
	page := os.Getpagesize()
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % uintptr(page))
	n := (len(b) - skip) &^ (page - 1)
	return n > 0 && unix.Madvise(b[skip:skip+n], unix.MADV_DONTNEED) == nil
}
