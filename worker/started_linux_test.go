package worker

import (
	"fmt"
	"os"
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

// TestFilesAreNotReady: a full disk of a worker is not the job's fault, and a file that nobody has, or another than was shipped, is at once.
func TestFilesAreNotReady(t *testing.T) {
	s := &shipped{dir: t.TempDir(), files: map[string]*shippedFile{}}
	_, err := s.get(t.Context(), nil, "ann", "job-1", wire.Side{Hash: "no hash"})
	if e := notReady(wire.AttemptID{Try: 3}, err); !e.Final || e.Lost {
		t.Errorf("%+v", e)
	}
	for err, want := range map[error]wire.Ended{
		&os.PathError{Op: "write", Path: "p", Err: syscall.ENOSPC}: {Lost: true},
		&os.PathError{Op: "open", Path: "p", Err: syscall.EMFILE}:  {Lost: true},
		wire.NotFound: {Final: true},
		wire.Denied:   {},
		&os.LinkError{Op: "link", Old: "p", New: "a long name", Err: syscall.ENAMETOOLONG}: {},
	} {
		if e := notReady(wire.AttemptID{Try: 3}, fmt.Errorf("fetch p: %w", err)); e.Lost != want.Lost || e.Final != want.Final || e.ID.Try != 3 || e.Error == "" {
			t.Errorf("%v: %+v", err, e)
		}
	}
}
