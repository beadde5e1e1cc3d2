//go:build unix

package dfsbench

import "syscall"

// flushDisks makes the kernel write its dirty pages, so that the next measurement does not pay for them.
func flushDisks() { syscall.Sync() }
