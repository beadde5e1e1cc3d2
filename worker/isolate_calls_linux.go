package worker

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// deniedCalls are system calls that no task needs. Most need rights that programs have only in a user namespace
// of their own. The filter keeps programs from the kernel code behind these calls, whatever rights they obtain.
var deniedCalls = []uint32{
	// Other views of files, processes and networks.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	// The kernel itself.
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_SYSLOG,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, // makes calls that no filter sees
	// The machine.
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	// Other processes.
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_GETFD,
}

// newSpaces are the namespaces that a program may not create with clone. The worker itself creates that of
// process ids behind the filter; a program lacks the right to.
const newSpaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// deniedArguments are calls that are denied because of an argument. The filter compares its low half, which is
// all that the kernel looks at in these calls.
var deniedArguments = []struct {
	call, argument uint32
	test           bpf.JumpTest
	value          uint32
}{
	{unix.SYS_CLONE, 0, bpf.JumpBitsSet, newSpaces},
	{unix.SYS_PTRACE, 0, bpf.JumpEqual, unix.PTRACE_ATTACH}, // a program's own child asks for that by itself
	{unix.SYS_PTRACE, 0, bpf.JumpEqual, unix.PTRACE_SEIZE},
	{unix.SYS_SOCKET, 0, bpf.JumpEqual, unix.AF_VSOCK}, // leads out of a virtual machine from any namespace
	{unix.SYS_SOCKET, 0, bpf.JumpEqual, unix.AF_ALG},
	{unix.SYS_SOCKET, 2, bpf.JumpEqual, unix.NETLINK_NETFILTER}, // no other family that programs may use has a protocol of this number
}

// Where the kernel shows a filter the call, and the bit of calls of amd64's x32 variant.
const (
	callAt, archAt, argumentsAt = 0, 4, 16
	x32                         = 0x40000000
)

// callFilter returns a filter of system calls for an architecture. It ends programs of another one, whose calls have
// other numbers. The arguments of clone3 are in memory, where no filter looks, so programs are told that it does not
// exist, as in older kernels, and use clone.
func callFilter(arch uint32, clone3 bool) []bpf.Instruction {
	const denied = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	const absent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	call := bpf.LoadAbsolute{Off: callAt, Size: 4}
	out := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		call,
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: x32, SkipFalse: 1},
		bpf.RetConstant{Val: absent},
	}
	if !clone3 {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE3, SkipFalse: 1}, bpf.RetConstant{Val: absent})
	}
	for _, nr := range deniedCalls {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: 1}, bpf.RetConstant{Val: denied})
	}
	for _, d := range deniedArguments {
		out = append(out,
			call,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: d.call, SkipFalse: 3},
			bpf.LoadAbsolute{Off: argumentsAt + 8*d.argument, Size: 4},
			bpf.JumpIf{Cond: d.test, Val: d.value, SkipFalse: 1},
			bpf.RetConstant{Val: denied})
	}
	return append(out, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
}

// filterCalls filters the system calls of this thread and of what it starts, permanently. Without filters, only the
// user's lack of rights helps.
func filterCalls(clone3 bool) error {
	arch := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	kill := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&kill)))
	if arch == 0 || errno != 0 {
		return nil //nolint:nilerr // not supported, or not allowed in this container
	}
	raw, err := bpf.Assemble(callFilter(arch, clone3))
	if err != nil {
		return fmt.Errorf("filter of system calls: %w", err)
	}
	// An instruction of the package has the kernel's form.
	program := unix.SockFprog{Len: uint16(len(raw)), Filter: (*unix.SockFilter)(unsafe.Pointer(&raw[0]))}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("filter of system calls: %w", errno)
	}
	return nil
}
