//go:build unix

package procs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// A Group is a process and everything it starts, unless that leaves on purpose.
type Group struct{ first int }

// Start starts a command as the first process of a group. The group ends with this process at the latest.
func Start(cmd *exec.Cmd) (*Group, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := guarded(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	watch(cmd.Process.Pid)
	return &Group{cmd.Process.Pid}, nil
}

// Kill kills the whole group. It may be called at any time, and twice.
func (g *Group) Kill() {
	_ = syscall.Kill(-g.first, syscall.SIGKILL) // it may be gone already
	unwatch(g.first)
}

// Detach makes a command that is not started yet outlive this process and its terminal.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// Alive reports whether a process exists and has not ended. The system keeps the number of an ended process until
// its parent has waited for it.
func Alive(pid int) bool { return pid > 0 && syscall.Kill(pid, 0) == nil && !left(pid) }

// left reports whether only the number of a process is left. Without a /proc file it reports false.
func left(pid int) bool {
	f := stat(pid)
	return len(f) > 0 && (f[0] == "Z" || f[0] == "X")
}

// stat returns what Linux says of a process, starting with its state, or nil if there is no file.
func stat(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // behind the name, which may contain any bytes
}

// Born distinguishes processes that have the same number one after another: by when they began, and since which
// start of the machine. It is "" if unknown.
func Born(pid int) string {
	const begun = 19 // clock ticks since the machine started
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	f := stat(pid)
	if err != nil || len(f) <= begun {
		return ""
	}
	return f[begun] + " " + strings.TrimSpace(string(boot))
}

// Ended reports whether a process has ended. If it was a child of this process, Ended waits for it.
func Ended(pid int) bool {
	var st syscall.WaitStatus
	got, err := syscall.Wait4(pid, &st, syscall.WNOHANG, nil)
	return err == nil && got == pid || !Alive(pid)
}

// Stop asks a process to end. The process may be gone already.
func Stop(pid int) { _ = syscall.Kill(pid, syscall.SIGTERM) }

// Kill kills a process. It is no error if the process is gone.
func Kill(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// Shell returns a command that runs line in the user's shell.
func Shell(line string) *exec.Cmd { return exec.Command("/bin/sh", "-c", line) }

// Broken reports whether a write failed because nobody reads the pipe any more.
func Broken(err error) bool { return errors.Is(err, syscall.EPIPE) }
