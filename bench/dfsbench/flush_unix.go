//go:build unix

package dfsbench

import "syscall"

// flushDisks has the kernel write what it holds back, so that the next measurement does not pay for it.
func flushDisks() { syscall.Sync() }
