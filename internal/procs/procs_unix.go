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

// A Group is a process and what it starts, unless that leaves on purpose.
type Group struct{ first int }

// Start starts a command as the first of a group, which ends with this process at the latest.
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

// Kill ends the whole group. It may be called at any time, also twice.
func (g *Group) Kill() {
	_ = syscall.Kill(-g.first, syscall.SIGKILL) // it may be gone already
	unwatch(g.first)
}

// Detach lets a command that is not started yet outlive this process and its terminal.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// Alive reports whether there is such a process, and it has not ended. Of one that has, the system keeps the number until its parent takes
// leave of it.
func Alive(pid int) bool { return pid > 0 && syscall.Kill(pid, 0) == nil && !left(pid) }

// left reports whether only the number of a process is left. Where no file tells, it is taken to run.
func left(pid int) bool {
	f := stat(pid)
	return len(f) > 0 && (f[0] == "Z" || f[0] == "X")
}

// stat is what Linux says of a process, from its state on; nil where no file tells.
func stat(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // behind the name, which may have any bytes
}

// Born tells processes apart that have a number one after the other: when it began, since which start of the machine. It is "" where
// nobody knows.
func Born(pid int) string {
	const begun = 19 // clock ticks since the machine started
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	f := stat(pid)
	if err != nil || len(f) <= begun {
		return ""
	}
	return f[begun] + " " + strings.TrimSpace(string(boot))
}

// Ended reports whether a process has ended, and takes leave of it if it was a child of this one.
func Ended(pid int) bool {
	var st syscall.WaitStatus
	got, err := syscall.Wait4(pid, &st, syscall.WNOHANG, nil)
	return err == nil && got == pid || !Alive(pid)
}

// Stop asks a process to end, which may be gone already.
func Stop(pid int) { _ = syscall.Kill(pid, syscall.SIGTERM) }

// Kill ends a process at once. One that is gone is no error.
func Kill(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// Shell is a command line as the user's shell runs it.
func Shell(line string) *exec.Cmd { return exec.Command("/bin/sh", "-c", line) }

// Broken reports whether a write failed because nobody reads the pipe any more.
func Broken(err error) bool { return errors.Is(err, syscall.EPIPE) }
