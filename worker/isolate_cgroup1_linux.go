package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A hierarchy is where the kernel mounts the groups of one controller of version 1.
type hierarchy struct {
	mount string
	own   string // group of this process below it; empty: the root
}

// hierarchies finds the hierarchies of controllers in texts of the form of /proc/self/mountinfo and
// /proc/self/cgroup.
func hierarchies(mounts, groups string, controllers ...string) map[string]hierarchy {
	own := map[string]string{}
	for line := range strings.Lines(groups) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 {
			for c := range strings.SplitSeq(f[1], ",") {
				own[c] = f[2]
			}
		}
	}
	out := map[string]hierarchy{}
	for line := range strings.Lines(mounts) {
		place, kind, ok := strings.Cut(strings.TrimSpace(line), " - ")
		p, k := strings.Fields(place), strings.Fields(kind)
		if !ok || len(p) < 5 || len(k) < 3 || k[0] != "cgroup" {
			continue
		}
		for c := range strings.SplitSeq(k[2], ",") {
			if group, ok := own[c]; ok && slices.Contains(controllers, c) {
				out[c] = hierarchy{p[4], below(group, p[3])}
			}
		}
	}
	return out
}

// below returns a group's path below the mounted group. A group outside it cannot be seen. The mounted group is
// then the worker's own, as in a container.
func below(group, mounted string) string {
	if mounted == "/" {
		return strings.Trim(group, "/")
	}
	rest, ok := strings.CutPrefix(group+"/", mounted+"/")
	if !ok {
		return ""
	}
	return strings.Trim(rest, "/")
}

// oldCgroups is the worker's part of the hierarchies of version 1, with one group for each attempt.
type oldCgroups struct {
	dirs map[string]string // by controller
}

// openOldCgroups makes the worker's groups: below the named group, or, without a name, in each hierarchy in
// whose root the process is. Other groups belong to others, such as systemd, that expect no more groups in
// them.
func openOldCgroups(all map[string]hierarchy, group string, pid int) (*oldCgroups, error) {
	g := &oldCgroups{dirs: map[string]string{}}
	var errs []error
	for c, h := range all {
		base := filepath.Join(h.mount, filepath.Join("/", group)) // stays below the mount
		if group == "" && h.own != "" {
			errs = append(errs, fmt.Errorf("%s: the worker is in the group /%s, which is not its own: give --task-cgroup", c, h.own))
			continue
		}
		dir, err := ownDir(base, pid)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c, err))
			continue
		}
		g.dirs[c] = dir
	}
	return g, errors.Join(errs...)
}

// ownDir makes the group of a worker below another group.
func ownDir(base string, pid int) (string, error) {
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", err
	}
	sweep(base)
	dir := filepath.Join(base, "millrace-"+strconv.Itoa(pid))
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}

func (g *oldCgroups) remove() {
	for _, dir := range g.dirs {
		for _, d := range append(subdirs(dir), dir) {
			_ = os.Remove(d) // fails, and leaves it, if something is left in it
		}
	}
}

// An oldCgroup holds one attempt.
type oldCgroup struct {
	g    *oldCgroups
	dirs map[string]string // by controller
}

// create makes a group with limits in each hierarchy.
func (g *oldCgroups) create(name string, l limits, processes int) (*oldCgroup, error) {
	c := &oldCgroup{g, map[string]string{}}
	var errs []error
	for controller, dir := range g.dirs {
		d := filepath.Join(dir, name)
		if err := os.Mkdir(d, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			errs = append(errs, err)
			continue
		}
		c.dirs[controller] = d
		errs = append(errs, c.limit(controller, l, processes))
	}
	if err := errors.Join(errs...); err != nil {
		c.close()
		return nil, fmt.Errorf("cgroup: %w", err)
	}
	return c, nil
}

func (c *oldCgroup) limit(controller string, l limits, processes int) error {
	switch controller {
	case "memory":
		err := c.set(controller, "memory.limit_in_bytes", l.memory)
		_ = c.set(controller, "memory.memsw.limit_in_bytes", l.memory) // the kernel may not count swapped memory
		return err
	case "pids":
		return c.set(controller, "pids.max", int64(processes))
	}
	return errors.Join(c.set(controller, "cpu.cfs_period_us", cpuPeriod), c.set(controller, "cpu.cfs_quota_us", int64(l.processors*cpuPeriod)))
}

// cpuPeriod is the period, in microseconds, to which a quota applies: the kernel's default.
const cpuPeriod = 100_000

func (c *oldCgroup) set(controller, file string, n int64) error {
	return os.WriteFile(filepath.Join(c.dirs[controller], file), strconv.AppendInt(nil, n, 10), 0)
}

// within runs fn in a thread that is in the group; what fn starts stays in it. The caller has locked the
// thread, which afterwards is in the worker's own group. within opens the files before fn, which may give up
// the right to.
func (c *oldCgroup) within(fn func() error) error {
	if c == nil {
		return fn()
	}
	var in, out []*os.File
	defer func() {
		for _, f := range append(in, out...) {
			_ = f.Close() // all was written at once, or not at all
		}
	}()
	for controller, dir := range c.dirs {
		for d, list := range map[string]*[]*os.File{dir: &in, c.g.dirs[controller]: &out} {
			f, err := os.OpenFile(filepath.Join(d, "tasks"), os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			*list = append(*list, f)
		}
	}
	if err := moveTo(in); err != nil {
		return err
	}
	err := fn()
	_ = moveTo(out) // the thread ends soon, and then leaves the group anyway
	return err
}

// moveTo puts this thread into groups.
func moveTo(tasks []*os.File) error {
	for _, f := range tasks {
		if _, err := f.WriteString("0"); err != nil {
			return fmt.Errorf("cgroup: %w", err)
		}
	}
	return nil
}

// kill ends all processes in the group, and those that they start meanwhile: version 1 cannot end all at once.
func (c *oldCgroup) kill() {
	told := map[int]bool{}
	for found := true; found; {
		found = false
		for _, p := range c.processes() {
			if !told[p] {
				told[p], found = true, true
				_ = unix.Kill(p, unix.SIGKILL) // it may be gone
			}
		}
	}
}

// processes lists the processes in the group except the worker, of which a thread is there while it starts the
// program.
func (c *oldCgroup) processes() (out []int) {
	for _, dir := range c.dirs {
		b, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // it may be gone
		for f := range strings.FieldsSeq(string(b)) {
			if p, err := strconv.Atoi(f); err == nil && p > 0 && p != os.Getpid() {
				out = append(out, p)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// overran reports whether the kernel has killed a process for lack of memory.
func (c *oldCgroup) overran() bool {
	return killedIn(filepath.Join(c.dirs["memory"], "memory.oom_control"))
}

func (c *oldCgroup) close() {
	for _, dir := range c.dirs {
		_ = os.Remove(dir) // the worker tries again when it ends
	}
}
