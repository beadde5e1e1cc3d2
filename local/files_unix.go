//go:build unix

package local

import "golang.org/x/sys/unix"

// fileLimit returns how many files this process may have open, or 0 if that is unknown.
func fileLimit() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return limit.Cur
}
