//go:build !linux

package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/millrace/millrace/internal/emulate"
	"github.com/millrace/millrace/internal/procs"
	"github.com/millrace/millrace/worker/attempt"
)

// A jail makes sandboxes, which are only directories here: only Linux has the means for more.
type jail struct {
	mode  string
	reach func(ctx context.Context, addr string) bool // unused
}

// newJail refuses what is not supported here, and logs once what that means.
func newJail(cfg *Config) (*jail, error) {
	if cfg.Isolation == IsolationUser || cfg.Isolation == IsolationLandlock {
		return nil, fmt.Errorf("isolation is %q, which only Linux has: give %s or %s", cfg.Isolation, IsolationAuto, IsolationNone)
	}
	if cfg.TaskNetwork == NetworkAuto {
		cfg.TaskNetwork = NetworkAll
	}
	if cfg.TaskNetwork != NetworkAll {
		return nil, fmt.Errorf("task network is %q, which only Linux has: give %s", cfg.TaskNetwork, NetworkAll)
	}
	sayBare(cfg, fmt.Errorf("%s cannot keep them apart, nor watch their memory and files: only Linux can", runtime.GOOS))
	return &jail{mode: IsolationNone}, nil
}

func (*jail) close() {}

// Harden does nothing where programs are not isolated.
func Harden(*Config) error { return nil }

// openSelf opens the executable of this process.
func openSelf() (*os.File, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// A sandbox is where one attempt of users' code runs: a directory and a group of processes.
type sandbox struct {
	dir   string
	group *procs.Group
	pid   int
	uid   uint32 // 0: the worker's own
	disk  int64  // 0: not watched
}

// openGate makes no gate: programs use the worker's network.
func (*sandbox) openGate() (int, error) { return 0, nil }

// enter makes a sandbox below a directory of the worker's. Call leave in any case.
func (*jail) enter(parent, name string, _ limits) (*sandbox, error) {
	c := &sandbox{dir: filepath.Join(parent, name)}
	err := os.RemoveAll(c.dir)
	if err == nil {
		err = os.MkdirAll(filepath.Join(c.dir, "side"), 0o700)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("room for a program: %w", err), c.leave())
	}
	return c, nil
}

// path returns the program's own name for its directory.
func (c *sandbox) path() string { return c.dir }

// lend gives the program the emulated links, which it may open itself.
func (*sandbox) lend(s *emulate.Setting) (*emulate.Setting, error) { return s, nil }

// start runs a program in the sandbox. It inherits words, on which it speaks to the worker.
func (c *sandbox) start(cmd *exec.Cmd, _, words *os.File) (err error) {
	cmd.Dir = c.dir
	if err := attempt.Attach(cmd, words); err != nil {
		return err
	}
	if c.group, err = procs.Start(cmd); err != nil {
		return err
	}
	c.pid = cmd.Process.Pid
	return nil
}

// kill ends the program and everything it has started.
func (c *sandbox) kill() {
	if c.group != nil {
		c.group.Kill()
	}
}

// owns is always true: on this system all programs run as the worker's user.
func (*sandbox) owns(os.FileInfo) bool { return true }

// sweep ends whatever a program that has ended left running.
func (c *sandbox) sweep() error {
	c.kill()
	return nil
}

// leave removes the sandbox. The caller has waited for the program, if it was started.
func (c *sandbox) leave() error {
	c.kill()
	return os.RemoveAll(c.dir)
}

// memory, written and overran return nothing: this system does not show what processes use.
func (*sandbox) memory() int64  { return 0 }
func (*sandbox) written() int64 { return 0 }
func (*sandbox) overran() bool  { return false }
func (*sandbox) caged() bool    { return false }
