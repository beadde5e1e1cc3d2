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

// A Group is a process and everything it starts: a job object. What the process starts before it is in the job
// object stays outside.
type Group struct {
	mu  sync.Mutex // guards job
	job windows.Handle
}

// Start starts a command as the first process of a group. The group ends with this process at the latest.
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
	// A process that has already ended cannot be added, and need not be.
	_ = cmd.Process.WithHandle(func(h uintptr) { _ = windows.AssignProcessToJobObject(job, windows.Handle(h)) })
	return g, nil
}

// newJob makes a job object that ends with its last handle, as does everything in it.
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

// Kill kills the whole group. It may be called at any time, and twice.
func (g *Group) Kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1) // closing does it, too
		_ = windows.CloseHandle(g.job)
		g.job = 0
	}
}

// Detach makes a command that is not started yet outlive this process and its terminal.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}

// Alive reports whether a process exists.
func Alive(pid int) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if pid <= 0 || err != nil {
		return false
	}
	defer windows.CloseHandle(h)
	event, err := windows.WaitForSingleObject(h, 0)
	return err == nil && event == uint32(windows.WAIT_TIMEOUT)
}

// Born distinguishes processes that have the same number one after another: by when they began. It is "" if unknown.
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

// Stop kills a process: this system cannot ask a process without a window to end. Daemons are built to survive that.
func Stop(pid int) { _ = Kill(pid) }

// Kill kills a process. It is no error if the process is gone.
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

// Shell returns a command that runs line in the user's shell: sh, if there is one (Git brings it), otherwise the
// system's.
func Shell(line string) *exec.Cmd {
	if sh, err := exec.LookPath("sh"); err == nil {
		return exec.Command(sh, "-c", line)
	}
	cmd := exec.Command("cmd.exe")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /S /C "` + line + `"`} // cmd has its own quoting
	return cmd
}

// Broken reports whether a write failed because nobody reads the pipe any more.
func Broken(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
