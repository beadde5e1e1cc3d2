package storage

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// onThread runs f on a thread of its own, which first takes on the user's rights and ends afterwards. So there is
// nothing to give back, and a failure leaves nothing behind. Only the effective ids change, so that the user cannot
// signal or trace the thread. Without an effective id of 0 the kernel removes all capabilities.
func (d *DiskAs) onThread(f func()) error {
	done := make(chan error)
	go d.thread(f, done)
	return <-done
}

func (d *DiskAs) thread(f func(), done chan<- error) {
	runtime.LockOSThread() // and never unlock: the thread ends with this goroutine
	if unix.Gettid() == unix.Getpid() {
		// The first thread never ends, and in /proc its rights are the process's, so leave it alone.
		nested := make(chan error)
		go d.thread(f, nested)
		err := <-nested
		runtime.UnlockOSThread()
		done <- err
		return
	}
	err := d.takeOn()
	if err == nil {
		f()
	}
	done <- err
}

// takeOn changes the rights of the calling thread only. The calls of package syscall would change all threads.
func (d *DiskAs) takeOn() error {
	groups := make([]uint32, 0, len(d.groups)+1)
	for _, g := range d.groups {
		groups = append(groups, uint32(g))
	}
	groups = append(groups, uint32(d.gid))
	const keep = ^uintptr(0)
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0); e != 0 {
		return fmt.Errorf("set groups: %w", e)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, keep, uintptr(d.gid), keep); e != 0 {
		return fmt.Errorf("set group: %w", e)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(d.uid), keep); e != 0 {
		return fmt.Errorf("set user: %w", e)
	}
	return nil
}
