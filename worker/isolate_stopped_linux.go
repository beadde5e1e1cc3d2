package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/limited"
)

// ableStopped returns why programs cannot be stopped before they begin, or nil: a system may forbid tracing.
// The process that it starts never runs.
func ableStopped() error {
	return behind(func() error {
		cmd := exec.Cmd{Path: "/proc/self/exe", SysProcAttr: &syscall.SysProcAttr{Ptrace: true}}
		if err := cmd.Start(); err != nil {
			return err
		}
		err := cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		return err
	})
}

func (j *jail) openTraces() {
	err := ableStopped()
	if j.traces = err == nil; !j.traces {
		j.cfg.Log.Info("programs of users begin as this executable, which lowers their limits: nobody may trace them", "reason", err)
	}
}

// begin starts a command in this thread, which ends afterwards. A traced command stops before its first
// instruction, gets its limits, and continues without a tracer, or never does.
func (c *sandbox) begin(cmd *exec.Cmd) error {
	err := cmd.Start()
	if err != nil || !cmd.SysProcAttr.Ptrace {
		return err
	}
	pid := cmd.Process.Pid
	if err = stopped(pid); err == nil {
		err = c.as(func() error { return limit(pid, c.bounds()) })
	}
	if err == nil {
		err = unix.PtraceDetach(pid)
	}
	if err != nil {
		_ = cmd.Process.Kill() // it has not begun
		_ = cmd.Wait()         // the reason is known
		return fmt.Errorf("limits of a program: %w", err)
	}
	return nil
}

// stopped waits until a process that this thread traces has stopped. The process ends with the thread while it
// is traced. If somebody has killed it, it stays for those who wait for its end.
func stopped(pid int) error {
	var info unix.Siginfo
	err := error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		err = unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
	}
	if err != nil {
		return err
	}
	return unix.PtraceSetOptions(pid, unix.PTRACE_O_EXITKILL)
}

// as runs fn in this thread as a user who may limit the sandbox's user. For that the kernel looks only at the
// real user id, or at a capability that workers in containers lack. Nothing else runs as that user meanwhile:
// its only process is stopped.
func (c *sandbox) as(fn func() error) error {
	if c.uid == 0 {
		return fn()
	}
	if err := setReal(int(c.uid), int(c.uid)); err != nil {
		return err
	}
	err := fn()
	return errors.Join(err, setReal(os.Getuid(), os.Getgid()))
}

// setReal sets the real user and group of this thread only.
func setReal(uid, gid int) error {
	const same = ^uintptr(0)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(gid), same, same); errno != 0 {
		return errno
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), same, same); errno != 0 {
		return errno
	}
	return nil
}

// limit lowers the limits of another process, which has this one's.
func limit(pid int, limits []limited.Limit) error {
	for _, b := range limits {
		var l unix.Rlimit
		if err := unix.Getrlimit(b.Resource, &l); err != nil {
			return err
		}
		l.Cur, l.Max = min(l.Cur, b.Most), min(l.Max, b.Most)
		if err := unix.Prlimit(pid, b.Resource, &l, nil); err != nil {
			return fmt.Errorf("%d=%d: %w", b.Resource, b.Most, err)
		}
	}
	return nil
}
