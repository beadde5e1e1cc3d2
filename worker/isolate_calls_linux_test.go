package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// judged runs a filter as the kernel would. The machine in the package reads words with the highest byte first, so they are written so.
func judged(t *testing.T, filter []bpf.Instruction, arch, call uint32, arguments ...uint64) uint32 {
	t.Helper()
	vm, err := bpf.NewVM(filter)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, argumentsAt+6*8)
	binary.BigEndian.PutUint32(data[callAt:], call)
	binary.BigEndian.PutUint32(data[archAt:], arch)
	for i, a := range arguments {
		binary.BigEndian.PutUint32(data[argumentsAt+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[argumentsAt+8*i+4:], uint32(a>>32))
	}
	n, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

// TestCallFilter: what tasks need passes, what they do not need is denied by number or argument, and there is no way round by the numbers
// of another machine.
func TestCallFilter(t *testing.T) {
	const here, other = unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_I386
	const pass, eperm, enosys = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	for _, tt := range []struct {
		arch, call uint32
		arguments  []uint64
		want       uint32
	}{
		{here, unix.SYS_READ, nil, pass},
		{here, unix.SYS_EXECVE, nil, pass},
		{here, unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_PIDFD | uint64(unix.SIGCHLD)}, pass},
		{here, unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_FILES}, pass},
		{here, unix.SYS_CLONE, []uint64{unix.CLONE_NEWPID | uint64(unix.SIGCHLD)}, pass},
		{here, unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, eperm},
		{here, unix.SYS_CLONE, []uint64{unix.CLONE_NEWNET}, eperm},
		{here, unix.SYS_CLONE, []uint64{1<<32 | unix.CLONE_NEWNS}, eperm},
		{here, unix.SYS_CLONE3, nil, enosys},
		{here, unix.SYS_MOUNT, nil, eperm},
		{here, unix.SYS_UNSHARE, []uint64{0}, eperm},
		{here, unix.SYS_PROCESS_VM_READV, nil, eperm},
		{here, unix.SYS_PTRACE, []uint64{unix.PTRACE_TRACEME}, pass},
		{here, unix.SYS_PTRACE, []uint64{unix.PTRACE_ATTACH}, eperm},
		{here, unix.SYS_PTRACE, []uint64{7<<32 | unix.PTRACE_SEIZE}, eperm},
		{here, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP}, pass},
		{here, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, pass},
		{here, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, pass}, // the C library asks for addresses by it
		{here, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, eperm},
		{here, unix.SYS_SOCKET, []uint64{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, eperm},
		{here, unix.SYS_SOCKET, []uint64{unix.AF_ALG, unix.SOCK_SEQPACKET, 0}, eperm},
		{here, unix.SYS_SECCOMP, nil, pass},
		{here, x32 | unix.SYS_MOUNT, nil, enosys},
		{here, x32 | unix.SYS_READ, nil, enosys},
		{other, unix.SYS_READ, nil, unix.SECCOMP_RET_KILL_PROCESS},
		{unix.AUDIT_ARCH_AARCH64, unix.SYS_READ, nil, unix.SECCOMP_RET_KILL_PROCESS},
	} {
		if got := judged(t, callFilter(here, false), tt.arch, tt.call, tt.arguments...); got != tt.want {
			t.Errorf("architecture %x, call %d %x: %x, want %x", tt.arch, tt.call, tt.arguments, got, tt.want)
		}
	}
	for _, call := range deniedCalls {
		if got := judged(t, callFilter(here, true), here, call); got != eperm {
			t.Errorf("call %d: %x", call, got)
		}
	}
	if got := judged(t, callFilter(here, true), here, unix.SYS_CLONE3); got != pass {
		t.Errorf("clone3 where the worker needs it: %x", got)
	}
}

// makeCalls makes every call that is denied, with arguments that make no sense: the kernel itself would say so for many of them.
func makeCalls() error {
	var errs []error
	call := func(want unix.Errno, nr, a0, a1, a2 uintptr) {
		const none = ^uintptr(0)
		if _, _, errno := unix.Syscall6(nr, a0, a1, a2, none, none, none); errno != want {
			errs = append(errs, fmt.Errorf("call %d: %d, want %d", nr, errno, want))
		}
	}
	for _, nr := range deniedCalls {
		call(unix.EPERM, uintptr(nr), ^uintptr(0), ^uintptr(0), ^uintptr(0))
	}
	call(unix.EPERM, unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1<<30, 0)
	call(unix.EPERM, unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	call(unix.EPERM, unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER)
	c := exec.Command("/bin/true")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	if err := c.Run(); !errors.Is(err, unix.EPERM) {
		errs = append(errs, fmt.Errorf("a user name space: %w", err))
	}
	return errors.Join(errs...)
}

// oldDoor is a program that ends with 7 by a call of 32-bit machines, as others can make on amd64.
func oldDoor() []byte {
	code := []byte{0xb8, 1, 0, 0, 0, 0xbb, 7, 0, 0, 0, 0xcd, 0x80} // eax = exit, ebx = 7, int 0x80
	const base, size = 0x400000, 64 + 56
	b := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	b = binary.LittleEndian.AppendUint32(b, 2|62<<16) // executable, amd64
	b = binary.LittleEndian.AppendUint32(b, 1)
	for _, n := range []uint64{base + size, 64, 0} { // entry, program headers, no sections
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, n := range []uint16{64, 56, 1, 0, 0, 0} {
		b = binary.LittleEndian.AppendUint16(b, n)
	}
	b = binary.LittleEndian.AppendUint64(b, 1|5<<32) // load, read and execute
	for _, n := range []uint64{0, base, base, uint64(size + len(code)), uint64(size + len(code)), 0x1000} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return append(b, code...)
}

// TestDeniedCalls: a program hears "not permitted" from the kernel where the filter says so, however it asks, and languages
// start threads and processes as ever.
func TestDeniedCalls(t *testing.T) {
	j := testJail(t)
	c, _ := enter(t, j)
	defer c.leave()
	said, end := hold(t, c, "denied calls")
	end()
	if said != "ready" {
		t.Errorf("a program: %s", said)
	}
	if _, err := exec.LookPath("python3"); err == nil {
		const script = `import subprocess, threading; x = []; t = threading.Thread(target=lambda: x.append(subprocess.check_output("echo ran", shell=True))); t.start(); t.join(); print(x[0].decode())`
		if out := sh(t, c, "python3 -c '"+script+"'"); strings.TrimSpace(out) != "ran" {
			t.Errorf("python: %s", out)
		}
	}
	if runtime.GOARCH != "amd64" {
		return
	}
	door := filepath.Join(c.dir, "side", "door")
	if err := os.WriteFile(door, oldDoor(), 0o755); err != nil {
		t.Fatal(err)
	}
	const try = "side/door; echo $?"
	plain := exec.Command("/bin/sh", "-c", try)
	plain.Dir = c.dir
	if out, err := plain.CombinedOutput(); err != nil || string(out) != "7\n" {
		t.Logf("this kernel has no calls of 32-bit machines: %s, %v", out, err)
		return
	}
	if out := sh(t, c, try); !strings.HasSuffix(out, fmt.Sprintln(128+int(unix.SIGSYS))) {
		t.Errorf("calls of 32-bit machines: %s", out)
	}
}

// TestNoTerminal: a program is in a session of its own, so the worker's terminal is not its, and it cannot type there for whoever has started
// the worker; with and without isolation.
func TestNoTerminal(t *testing.T) {
	none := DefaultConfig()
	none.Dir, none.Isolation = t.TempDir(), IsolationNone
	bare, err := newJail(&none)
	if err != nil {
		t.Fatal(err)
	}
	jails := []*jail{bare}
	if os.Geteuid() == 0 {
		jails = append(jails, testJail(t))
	}
	for _, j := range jails {
		c, _ := enter(t, j)
		out := strings.TrimSpace(sh(t, c, "set -- $(cat /proc/self/stat); echo $6"))
		if want := fmt.Sprint(c.pid); out != want {
			t.Errorf("isolation %s: in session %s, want %s", j.mode, out, want)
		}
		if err := c.leave(); err != nil {
			t.Error(err)
		}
	}
}
