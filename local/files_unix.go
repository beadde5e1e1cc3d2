//go:build unix

package local

import "golang.org/x/sys/unix"

// fileLimit is how many files this process may have open; 0 if nobody says.
func fileLimit() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return limit.Cur
}
