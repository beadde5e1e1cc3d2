package worker

import (
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/limited"
)

// openFiles is how many files a program may have open.
const openFiles = 16 << 10

// beginsWithin is how long a program may take to begin. Another program of its user could stop it before.
const beginsWithin = time.Minute

// bounds returns the limits of the program that no cgroup enforces.
func (c *sandbox) bounds() []limited.Limit {
	out := []limited.Limit{{Resource: unix.RLIMIT_CORE}, {Resource: unix.RLIMIT_NOFILE, Most: openFiles}}
	if c.disk > 0 {
		out = append(out, limited.Limit{Resource: unix.RLIMIT_FSIZE, Most: uint64(c.disk)})
	}
	if c.uid != 0 { // for the worker's own user it would also limit the worker
		out = append(out, limited.Limit{Resource: unix.RLIMIT_NPROC, Most: uint64(c.j.cfg.TaskProcesses)})
	}
	return out
}

// bounded uses run to start the command, as the program at path with lower limits. It returns when the program
// has begun, or why it has not. If the worker may trace, it sets the limits from outside. Otherwise the command
// starts as this executable, which lowers its own limits and then becomes the program; that takes 3 ms of
// processor time.
func (c *sandbox) bounded(cmd *exec.Cmd, path string, run func(self ...*os.File) error) error {
	if c.j.traces {
		cmd.Path, cmd.SysProcAttr.Ptrace = path, true
		return run()
	}
	self, err := openSelf()
	if err != nil {
		return err
	}
	defer self.Close()
	report, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer report.Close()
	n := 3 + len(cmd.ExtraFiles) // after stdin, stdout and stderr
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs, self)
	cmd.Args = limited.Args(n, n+1, c.bounds(), path, cmd.Args)
	cmd.Path = fmt.Sprintf("/proc/self/fd/%d", n+1)
	err = run(self)
	_ = theirs.Close() // so that only the program holds the write end
	if err != nil {
		return err
	}
	_ = report.SetReadDeadline(time.Now().Add(beginsWithin)) // a pipe has deadlines
	if err := limited.Read(report); err != nil {
		_ = cmd.Process.Kill() // it has ended, or something keeps it from beginning
		_ = cmd.Wait()         // the reason is known
		return err
	}
	return nil
}

// ableSelf returns why programs with users of their own cannot be started, or nil: they begin as this
// executable.
func ableSelf() error {
	self, err := openSelf()
	if err != nil {
		return err
	}
	defer self.Close()
	return forAll(self)
}

// forAll returns an error if other users may not execute a file.
func forAll(exe *os.File) error {
	st, err := exe.Stat()
	if err != nil || st.Mode().Perm()&0o001 != 0 {
		return err
	}
	path := exe.Name()
	if to, err := os.Readlink(path); err == nil {
		path = to
	}
	return fmt.Errorf("programs of users begin as %s, which others may not execute: chmod 755 it", path)
}
