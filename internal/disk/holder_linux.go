package disk

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Holder returns the process that holds a lock on a file, or 0 if there is none, or the kernel does not say.
func Holder(name string) int {
	want, err := os.Stat(name)
	if err != nil {
		return 0
	}
	sys, ok := want.Sys().(*syscall.Stat_t)
	table, err := os.ReadFile("/proc/locks")
	if !ok || err != nil {
		return 0
	}
	for line := range strings.Lines(string(table)) {
		if pid := lockOf(line, sys.Ino); pid > 0 && hasOpen(pid, want) {
			return pid
		}
	}
	return 0
}

// lockOf parses a line of /proc/locks, such as "1: FLOCK  ADVISORY  WRITE 712 fe:00:3021 0 EOF". It returns the
// process that locks a file with this inode number on some disk, or 0. A line with an arrow waits for a lock.
func lockOf(line string, inode uint64) int {
	f := strings.Fields(line)
	if len(f) < 8 || f[1] != "FLOCK" || f[3] != "WRITE" || !strings.HasSuffix(f[5], ":"+strconv.FormatUint(inode, 10)) {
		return 0
	}
	pid, err := strconv.Atoi(f[4])
	if err != nil {
		return 0
	}
	return pid
}

// hasOpen reports whether a process has a file open.
func hasOpen(pid int, want os.FileInfo) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	list, _ := os.ReadDir(dir) // it may be gone
	for _, e := range list {
		if st, err := os.Stat(dir + "/" + e.Name()); err == nil && os.SameFile(st, want) {
			return true
		}
	}
	return false
}
