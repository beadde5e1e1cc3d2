package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// systemDirs are what programs without a user of their own may read: what a machine offers to all its users.
var systemDirs = []string{
	"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/opt", "/nix", "/gnu", "/proc", "/sys", "/dev",
	"/run/systemd/resolve", // where /etc/resolv.conf may lead
}

// ableCage returns why a worker without rights cannot keep programs from files, or nil.
func ableCage() error {
	if landlockVersion() < 1 {
		return errors.New("this kernel has no Landlock (5.13 or later, unless it is switched off)")
	}
	return nil
}

// openCage determines what programs in a cage may read: nothing that is the worker's own, wherever it is.
func (j *jail) openCage() error {
	hidden := append([]string{j.cfg.Dir}, j.cfg.Data...)
	if j.cfg.Key != nil {
		hidden = append(hidden, j.cfg.Key.File())
	}
	var real []string
	for _, h := range hidden {
		if h == "" {
			continue
		}
		abs, err := filepath.Abs(h)
		if err != nil {
			return err
		}
		real = append(real, abs)
		if to, err := filepath.EvalSymlinks(abs); err == nil { // what does not exist yet has no other name
			real = append(real, to)
		}
	}
	// The right to read below a link includes what it leads to. So a name that is a link, such as /lib to
	// /usr/lib, would reveal what is hidden.
	var system []string
	for _, d := range systemDirs {
		if to, err := filepath.EvalSymlinks(d); err == nil { // not every machine has all
			system = append(system, to)
		}
	}
	j.readable = readable(system, real, func(dir string) (names []string) {
		list, _ := os.ReadDir(dir) // nobody may read what cannot be listed
		for _, e := range list {
			if e.Type() != os.ModeSymlink {
				names = append(names, e.Name())
			}
		}
		return names
	})
	j.mode = IsolationLandlock
	return nil
}

// readable lists paths below which everything may be read. It replaces a directory with something hidden in it by
// its other entries.
func readable(dirs, hidden []string, list func(dir string) []string) (out []string) {
	for _, d := range dirs {
		switch {
		case slices.ContainsFunc(hidden, func(h string) bool { return d == h || strings.HasPrefix(d, h+"/") }):
		case slices.ContainsFunc(hidden, func(h string) bool { return strings.HasPrefix(h, d+"/") }):
			var below []string
			for _, name := range list(d) {
				below = append(below, d+"/"+name)
			}
			out = append(out, readable(below, hidden, list)...)
		default:
			out = append(out, d)
		}
	}
	return out
}

// caged starts a command as the worker's own user, from a thread that has given up for good the ability to gain
// rights, to read what is neither the system's nor its own, to write outside its directory, to look into processes
// or, if the kernel can prevent it, send signals to them, and to make calls that no task needs.
func caged(cmd *exec.Cmd, c *sandbox, exes ...*os.File) error {
	return behind(func() error {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		if err := landlock(c.self, exes, c.j.readable); err != nil {
			return err
		}
		if err := filterCalls(false); err != nil {
			return err
		}
		return c.begin(cmd)
	})
}

// landReadable allows a ruleset to read executables, files, and all below directories. It skips what does not
// exist or cannot be reached.
func landReadable(ruleset int, exes []*os.File, paths []string) error {
	for _, exe := range exes {
		if err := landRule(ruleset, exe, unix.LANDLOCK_ACCESS_FS_READ_FILE); err != nil {
			return err
		}
	}
	for _, p := range paths {
		f, err := os.OpenFile(p, unix.O_PATH, 0)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			continue
		}
		if err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
		access := uint64(unix.LANDLOCK_ACCESS_FS_READ_FILE)
		if st, err := f.Stat(); err == nil && st.IsDir() {
			access |= unix.LANDLOCK_ACCESS_FS_READ_DIR
		}
		err = landRule(ruleset, f, access)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
