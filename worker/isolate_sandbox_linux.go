package worker

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/emulate"
	"github.com/millrace/millrace/worker/attempt"
)

// A sandbox is where one attempt of users' code runs: a directory that nobody else can enter and, if the worker
// may, a user of its own and a group of processes.
type sandbox struct {
	j     *jail
	dir   string
	self  *os.File // the directory
	uid   uint32   // 0: the worker's own
	lease *os.File
	links *os.File // the file of the emulated links, if any
	gate  *gate    // to the cluster, if it has no network
	group *cgroup
	old   *oldCgroup
	disk  int64 // bytes that it may use
	pid   int
	apart bool // in a namespace of process ids that ends with its first process

	looked time.Time // when the guard last checked the disk
}

// Files that a program in a sandbox inherits.
const (
	wordsFD = 3 + iota
	sandboxFD
	exeFD
	linksFD // or the gate, where there are no links
)

// enter makes a sandbox below a directory of the worker's. Call leave in any case.
func (j *jail) enter(parent, name string, l limits) (*sandbox, error) {
	c := &sandbox{j: j, dir: filepath.Join(parent, name)}
	if err := c.open(l, name); err != nil {
		return nil, errors.Join(fmt.Errorf("room for a program: %w", err), c.leave())
	}
	return c, nil
}

func (c *sandbox) open(l limits, name string) (err error) {
	if err := os.RemoveAll(c.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(c.dir, "side"), 0o700); err != nil {
		return err
	}
	c.disk = roomFor(c.dir, c.j.cfg)
	if c.j.mode == IsolationUser {
		if c.uid, c.lease, err = c.j.lease(); err != nil {
			return err
		}
		for _, d := range []string{c.dir, filepath.Join(c.dir, "side")} {
			if err := os.Chown(d, int(c.uid), int(c.uid)); err != nil {
				return err
			}
		}
		c.bound(fmt.Sprint(name, "-", c.uid), l)
	}
	c.self, err = os.Open(c.dir)
	return err
}

// bound makes the groups that enforce the program's limits.
func (c *sandbox) bound(name string, l limits) {
	var err1, err2 error
	if g := c.j.groups; g != nil && (g.memory || g.process || c.j.noPIDs.Load()) {
		c.group, err1 = g.create(name, l, c.j.cfg.TaskProcesses)
	}
	if g := c.j.old; g != nil {
		c.old, err2 = g.create(name, l, c.j.cfg.TaskProcesses)
	}
	if err := errors.Join(err1, err2); err != nil {
		c.j.cfg.Log.Warn("a program runs without a cgroup", "error", err)
	}
}

// roomFor returns how much an attempt may write: its share of the free space.
func roomFor(dir string, cfg *Config) int64 {
	_, free, err := disk.Free(dir)
	if cfg.TaskDisk > 0 || err != nil {
		return cfg.TaskDisk
	}
	places := max(cfg.Capacity.Containers, cfg.Capacity.MapSlots+cfg.Capacity.ReduceSlots, cfg.Capacity.VCores, 1)
	return max(1<<20, (free-cfg.Reserve)/int64(places))
}

// path returns the program's own name for its directory. A user who may not pass the directories above it sees it at
// another place. If the worker cannot arrange that, the program gets there through an inherited file, but cannot
// find full names there, as Python wants to.
func (c *sandbox) path() string {
	if c.uid != 0 && !reachable(c.dir) {
		return cmp.Or(c.j.place, fmt.Sprintf("/proc/self/fd/%d", sandboxFD))
	}
	return c.dir
}

// lend gives the program the emulated links. Their file is the worker's, so a program with a user of its own
// inherits it open.
func (c *sandbox) lend(s *emulate.Setting) (_ *emulate.Setting, err error) {
	if s == nil || c.uid == 0 && !c.caged() {
		return s, nil
	}
	if c.links, err = os.OpenFile(s.File, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	return &emulate.Setting{FD: linksFD, Rates: s.Rates}, nil
}

// openGate makes a gate if the program has no network. It returns the file descriptor that the program will
// have.
func (c *sandbox) openGate() (fd int, err error) {
	if c.uid == 0 || c.j.cfg.TaskNetwork == NetworkAll {
		return 0, nil
	}
	if c.gate, err = openGate(c.j.reach); err != nil {
		return 0, err
	}
	if c.links != nil {
		return linksFD + 1, nil
	}
	return linksFD, nil
}

// reachable reports whether all users may pass the directories above a path.
func reachable(path string) bool {
	for d := filepath.Dir(path); ; d = filepath.Dir(d) {
		st, err := os.Stat(d)
		if err != nil || st.Mode().Perm()&0o001 == 0 {
			return false
		}
		if d == filepath.Dir(d) {
			return true
		}
	}
}

// files returns what the program inherits, after the file of its words.
func (c *sandbox) files(exe *os.File) []*os.File {
	out := []*os.File{c.self, exe}
	if c.links != nil {
		out = append(out, c.links)
	}
	if c.gate != nil {
		out = append(out, c.gate.theirs)
	}
	return out
}

// start runs a program in the sandbox. It inherits words, on which it speaks to the worker.
func (c *sandbox) start(cmd *exec.Cmd, exe, words *os.File) error {
	cmd.ExtraFiles = c.files(exe)
	if err := attempt.Attach(cmd, words); err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal, into which a program could type
	var err error
	switch {
	case c.uid != 0:
		// Another user may not get there by name.
		err = c.bounded(cmd, fmt.Sprintf("/proc/self/fd/%d", exeFD), func(...*os.File) error { return c.startAs(cmd) })
	case c.caged():
		cmd.Dir = c.dir
		err = c.bounded(cmd, cmd.Path, func(self ...*os.File) error { return caged(cmd, c, append(self, exe)...) })
	default:
		cmd.Dir = c.dir
		err = behind(cmd.Start)
	}
	if err == nil {
		c.pid, c.apart = cmd.Process.Pid, cmd.SysProcAttr.Cloneflags != 0
	}
	return err
}

// startAs starts a command as the user of the sandbox.
func (c *sandbox) startAs(cmd *exec.Cmd) error {
	cmd.Dir = fmt.Sprintf("/proc/self/fd/%d", c.self.Fd()) // entered before files get their new numbers
	if c.path() == c.j.place {
		cmd.Dir = c.j.place
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.uid, Gid: c.uid}
	if c.group != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(c.group.fd.Fd())
	}
	if !c.j.noPIDs.Load() {
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID // everything in it ends with its first process
	}
	err := confined(cmd, c)
	if err == nil || cmd.Process != nil || !(errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL)) || cmd.SysProcAttr.Cloneflags == 0 {
		return err
	}
	c.j.cfg.Log.Info("no process id namespaces: processes are found by their user", "reason", err)
	c.j.noPIDs.Store(true)
	again := exec.Cmd{
		Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr,
		ExtraFiles: cmd.ExtraFiles, SysProcAttr: cmd.SysProcAttr, WaitDelay: cmd.WaitDelay,
	}
	again.SysProcAttr.Cloneflags = 0
	*cmd = again
	return confined(cmd, c)
}

// caged reports whether the program runs as the worker's user without access to its files.
func (c *sandbox) caged() bool { return c.j != nil && c.j.mode == IsolationLandlock }

// kill ends the program and everything it has started, whatever sessions and groups they made.
func (c *sandbox) kill() {
	if c.group != nil {
		c.group.kill()
	}
	if c.old != nil {
		c.old.kill()
	}
	if c.pid != 0 {
		for _, p := range children(c.pid) {
			_ = syscall.Kill(p, syscall.SIGKILL) // likewise
		}
		_ = syscall.Kill(-c.pid, syscall.SIGKILL) // it may be gone already
	}
}

// overran reports whether the kernel has killed the program for lack of memory.
func (c *sandbox) overran() bool {
	return c.group != nil && c.group.overran() || c.old != nil && c.old.overran()
}

// owns reports whether a file is the program's own and has only one name.
func (c *sandbox) owns(st os.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && sys.Nlink == 1 && (c.uid == 0 || sys.Uid == c.uid)
}

// sweep ends whatever a program that has ended left running.
func (c *sandbox) sweep() error {
	if c.pid == 0 || c.apart {
		return nil // its name space has ended with it
	}
	c.kill()
	if c.uid == 0 {
		return nil
	}
	return killUser(c.uid)
}

// leave removes the sandbox. The caller has waited for the program, if it was started.
func (c *sandbox) leave() error {
	err := c.sweep()
	if c.self != nil {
		_ = c.self.Close() // it was not written to
	}
	if c.links != nil {
		_ = c.links.Close() // only the program writes to it
	}
	c.gate.close()
	if c.group != nil {
		c.group.close()
	}
	if c.old != nil {
		c.old.close()
	}
	if c.lease != nil {
		if err == nil {
			err = removeIPC(c.uid)
		}
		if err == nil {
			err = c.lease.Truncate(0) // the id has left nothing
		}
		err = errors.Join(err, c.lease.Close())
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}
