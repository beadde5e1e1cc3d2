//go:build unix

package attempt

import (
	"os"
	"os/exec"
)

// Attach lets a command inherit the file on which it speaks to the worker, as file descriptor 3.
func Attach(cmd *exec.Cmd, words *os.File) error {
	cmd.ExtraFiles = append([]*os.File{words}, cmd.ExtraFiles...)
	return nil
}

// words returns the file on which this process speaks to its worker.
func words() *os.File { return os.NewFile(3, "worker") }
