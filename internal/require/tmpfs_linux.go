package require

import (
	"syscall"
	"testing"
)

// Tmpfs mounts a file system of that size in memory, which is removed when the test ends, and returns its directory.
// It requires root, and a machine that allows root to mount.
func Tmpfs(t testing.TB, options string) string {
	t.Helper()
	Root(t)
	dir := t.TempDir()
	if err := syscall.Mount("millrace-test", dir, "tmpfs", 0, options); err != nil {
		missing(t, "tmpfs", "cannot mount a tmpfs: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}
