package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// cgroupRoot is where cgroups are mounted. unified is that place on machines that still have version 1
// beside version 2.
const cgroupRoot = "/sys/fs/cgroup"

// cgroups is the worker's own subtree of version 2 groups, with one group for each attempt.
type cgroups struct {
	dir                  string
	memory, process, cpu bool // available controllers
}

// openCgroups makes the subtree below the group that this process is in. Even without controllers a group can
// be killed as a whole.
func openCgroups(root string, pid int, controllers []string) (*cgroups, error) {
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err != nil {
		root = filepath.Join(root, "unified")
	}
	own, err := ownGroup()
	if err != nil {
		return nil, err
	}
	base := filepath.Join(root, own)
	if _, err := os.Stat(filepath.Join(base, "cgroup.procs")); err != nil {
		return nil, err
	}
	sweep(base)
	g := &cgroups{dir: filepath.Join(base, "millrace-"+strconv.Itoa(pid))}
	if err := os.Mkdir(g.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(g.dir, "cgroup.kill")); err != nil {
		_ = os.Remove(g.dir)
		return nil, errors.New("the kernel cannot kill a group")
	}
	on := map[string]bool{}
	for _, c := range controllers {
		on[c] = delegate(base, g.dir, c)
	}
	g.memory, g.process, g.cpu = on["memory"], on["pids"], on["cpu"]
	return g, nil
}

// sweep removes the groups of workers that were killed. The kernel keeps groups in which something runs.
func sweep(base string) {
	old, _ := filepath.Glob(filepath.Join(base, "millrace-*")) // the pattern is valid
	for _, dir := range old {
		pid := strings.TrimPrefix(filepath.Base(dir), "millrace-")
		if _, err := os.Stat(filepath.Join("/proc", pid)); err == nil {
			continue
		}
		for _, d := range append(subdirs(dir), dir) {
			_ = os.Remove(d) // or it is in use
		}
	}
}

func subdirs(dir string) (out []string) {
	list, _ := os.ReadDir(dir) // it may be gone
	for _, e := range list {
		if e.IsDir() {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

// delegate enables a controller for the groups of attempts.
func delegate(base, dir, controller string) bool {
	on := []byte("+" + controller)
	// If others are in the group above, the kernel refuses, unless the controller is already enabled.
	_ = os.WriteFile(filepath.Join(base, "cgroup.subtree_control"), on, 0)
	return os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), on, 0) == nil
}

// ownGroup returns the version 2 group of this process.
func ownGroup() (string, error) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return path, nil
		}
	}
	return "", errors.New("no cgroups of version 2")
}

func (g *cgroups) remove() { _ = os.Remove(g.dir) } // fails, and leaves it, if something is left in it

// A cgroup holds one attempt.
type cgroup struct {
	dir string
	fd  *os.File
}

// create makes a group with limits.
func (g *cgroups) create(name string, l limits, processes int) (*cgroup, error) {
	c := &cgroup{dir: filepath.Join(g.dir, name)}
	if err := os.Mkdir(c.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	var errs []error
	if g.memory {
		errs = append(errs, c.set("memory.max", l.memory))
		_ = c.set("memory.swap.max", 0) // there may be no swap
	}
	if g.process {
		errs = append(errs, c.set("pids.max", int64(processes)))
	}
	if g.cpu && l.processors > 0 {
		errs = append(errs, c.write("cpu.max", fmt.Sprintf("%d %d", int64(l.processors*cpuPeriod), cpuPeriod)))
	}
	var err error
	c.fd, err = os.OpenFile(c.dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err := errors.Join(append(errs, err)...); err != nil {
		c.close()
		return nil, fmt.Errorf("cgroup: %w", err)
	}
	return c, nil
}

func (c *cgroup) set(file string, n int64) error {
	return c.write(file, strconv.FormatInt(n, 10))
}

func (c *cgroup) write(file, text string) error {
	return os.WriteFile(filepath.Join(c.dir, file), []byte(text), 0)
}

func (c *cgroup) kill() { _ = c.set("cgroup.kill", 1) } // the group may be empty

// overran reports whether the kernel has killed a process for lack of memory.
func (c *cgroup) overran() bool { return killedIn(filepath.Join(c.dir, "memory.events")) }

// killedIn reports whether a table of the kernel counts any kill.
func killedIn(table string) bool {
	b, err := os.ReadFile(table)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok {
			return n != "0"
		}
	}
	return false
}

func (c *cgroup) close() {
	if c.fd != nil {
		_ = c.fd.Close() // it was not written to
	}
	_ = os.Remove(c.dir) // at once, or never: an empty group costs nothing
}
