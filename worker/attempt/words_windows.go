package attempt

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// wordsEnv names the handle for words. Handles have no numbers that both sides know.
const wordsEnv = "MILLRACE_TASK_WORDS"

// Attach lets a command inherit the file on which it speaks to the worker, and names its handle.
func Attach(cmd *exec.Cmd, words *os.File) error {
	h := windows.Handle(words.Fd())
	if err := windows.SetHandleInformation(h, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT); err != nil {
		return os.NewSyscallError("SetHandleInformation", err)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.AdditionalInheritedHandles = append(cmd.SysProcAttr.AdditionalInheritedHandles, syscall.Handle(h))
	cmd.Env = append(cmd.Env, wordsEnv+"="+strconv.FormatUint(uint64(h), 10))
	return nil
}

// words returns the file on which this process speaks to its worker.
func words() *os.File {
	h, _ := strconv.ParseUint(os.Getenv(wordsEnv), 10, 64) // without one, writing fails with an error
	return os.NewFile(uintptr(h), "worker")
}
