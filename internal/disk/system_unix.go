//go:build unix

package disk

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Free returns the size of the file system of a path and how much of it is free, in bytes.
func Free(path string) (total, free int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	total, free = int64(st.Blocks)*int64(st.Bsize), int64(st.Bavail)*int64(st.Bsize)
	if st.Ffree == 0 && st.Files > 0 {
		return total, 0, nil // without inodes there is no room either
	}
	return total, free, nil
}

// named returns an error for an open file that has lost its name, since it cannot be found again.
func named(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink == 0 {
		return fmt.Errorf("%s was removed while it was in use: %w", f.Name(), fs.ErrNotExist)
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(d *os.File) error { return d.Sync() }

// Ours reports whether a file belongs to the user of this process.
func Ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) == os.Getuid()
}
