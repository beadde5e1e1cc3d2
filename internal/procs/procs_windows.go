package procs

import (
	"errors"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A Group is a process and what it starts: a job object. What the process starts in the moment before it is in there stays outside.
type Group struct {
	mu  sync.Mutex // guards job
	job windows.Handle
}

// Start starts a command as the first of a group, which ends with this process at the latest.
func Start(cmd *exec.Cmd) (*Group, error) {
	job, err := newJob()
	if err != nil {
		return nil, err
	}
	g := &Group{job: job}
	if err := cmd.Start(); err != nil {
		g.Kill()
		return nil, err
	}
	// A process that has ended already cannot be put there, and need not be.
	_ = cmd.Process.WithHandle(func(h uintptr) { _ = windows.AssignProcessToJobObject(job, windows.Handle(h)) })
	return g, nil
}

// newJob makes a job object that ends with its last handle, and all that is in it.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		return 0, errors.Join(err, windows.CloseHandle(job))
	}
	return job, nil
}

// Kill ends the whole group. It may be called at any time, also twice.
func (g *Group) Kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1) // closing does it, too
		_ = windows.CloseHandle(g.job)
		g.job = 0
	}
}

// Detach lets a command that is not started yet outlive this process and its terminal.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}

// Alive reports whether there is such a process.
func Alive(pid int) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if pid <= 0 || err != nil {
		return false
	}
	defer windows.CloseHandle(h)
	event, err := windows.WaitForSingleObject(h, 0)
	return err == nil && event == uint32(windows.WAIT_TIMEOUT)
}

// Born tells processes apart that have a number one after the other: when it began. It is "" where nobody knows.
func Born(pid int) string {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if pid <= 0 || err != nil {
		return ""
	}
	defer windows.CloseHandle(h)
	var begun, ended, kernel, user windows.Filetime
	if windows.GetProcessTimes(h, &begun, &ended, &kernel, &user) != nil {
		return ""
	}
	return strconv.FormatInt(begun.Nanoseconds(), 10)
}

// Ended reports whether a process has ended.
func Ended(pid int) bool { return !Alive(pid) }

// Stop ends a process: this system has no way to ask one that has no window. Daemons are made to be killed.
func Stop(pid int) { _ = Kill(pid) }

// Kill ends a process at once. One that is gone is no error.
func Kill(pid int) error {
	h, err := windows.OpenProcess(windows.PROCESS_TERMINATE, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return nil
	}
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	if err := windows.TerminateProcess(h, 1); err != nil && Alive(pid) {
		return err
	}
	return nil
}

// Shell is a command line as the user's shell runs it: sh, if there is one (Git brings it), otherwise the system's.
func Shell(line string) *exec.Cmd {
	if sh, err := exec.LookPath("sh"); err == nil {
		return exec.Command(sh, "-c", line)
	}
	cmd := exec.Command("cmd.exe")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /S /C "` + line + `"`} // as it stands: cmd has quotes of its own
	return cmd
}

// Broken reports whether a write failed because nobody reads the pipe any more.
func Broken(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
