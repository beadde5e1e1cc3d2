//go:build !linux

package require

import "testing"

// Tmpfs requires a file system in memory, which only Linux mounts this way.
func Tmpfs(t testing.TB, _ string) string {
	t.Helper()
	missing(t, "tmpfs", "file systems in memory are Linux's")
	return ""
}
