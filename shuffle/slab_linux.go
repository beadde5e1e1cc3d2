package shuffle

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHuge asks for huge pages for the aligned part of b. It is only advice: if the kernel cannot follow it, only
// speed suffers.
func adviseHuge(b []byte) {
	const huge = 2 << 20
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % huge)
	if n := (len(b) - skip) &^ (huge - 1); n > 0 {
		_ = unix.Madvise(b[skip:skip+n], unix.MADV_HUGEPAGE) // advice only
	}
}
