//go:build unix

package emulate

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps the first bytes of a file, shared with all processes that do.
func mapFile(f *os.File, size int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func unmap(mem []byte) error { return unix.Munmap(mem) }

// clock returns a time that all processes of the machine share and that does not jump.
func clock() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return ts.Nano()
}
