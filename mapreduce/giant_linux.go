package mapreduce

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// returnPages: the whole pages of b read as zeros from now on. It is advice; without it the collector does the work later.
func returnPages(b []byte) {
	page := os.Getpagesize()
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % uintptr(page))
	if n := (len(b) - skip) &^ (page - 1); n > 0 {
		_ = unix.Madvise(b[skip:skip+n], unix.MADV_DONTNEED)
	}
}
