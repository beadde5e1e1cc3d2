package worker

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// TestNotStarted: that a machine has no more processes or files is not the job's fault; that a program is none is.
func TestNotStarted(t *testing.T) {
	for err, lost := range map[error]bool{
		syscall.EAGAIN: true, syscall.ENOMEM: true, syscall.EMFILE: true, syscall.EPERM: true,
		syscall.ENOEXEC: false, syscall.ENOENT: false, syscall.EACCES: false, syscall.E2BIG: false,
	} {
		e := notStarted(wire.AttemptID{Try: 3}, fmt.Errorf("start: %w", &exec.Error{Name: "p", Err: err}))
		if e.Lost != lost || e.Final == lost || e.OK || e.ID.Try != 3 || e.Error == "" {
			t.Errorf("%v: %+v", err, e)
		}
	}
}
