package blocks

import (
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/disk"
)

// startWriteback asks the system to start writing a part of a file to disk, so that the final sync has little
// left to wait for. It guarantees nothing and its error does not matter: the sync decides.
func startWriteback(f disk.File, off, n int64) {
	of, ok := disk.OSFile(f)
	if !ok {
		return
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SyncFileRange(int(fd), off, n, unix.SYNC_FILE_RANGE_WRITE)
	})
}
