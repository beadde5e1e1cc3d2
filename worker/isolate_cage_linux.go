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

// systemDirs are what programs may read that have no user of their own: what a machine has for all its users.
var systemDirs = []string{
	"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/opt", "/nix", "/gnu", "/proc", "/sys", "/dev",
	"/run/systemd/resolve", // to which /etc/resolv.conf may lead
}

// ableCage reports why a worker without rights cannot keep programs from files.
func ableCage() error {
	if landlockVersion() < 1 {
		return errors.New("this kernel has no Landlock (5.13 or later, unless it is switched off)")
	}
	return nil
}

// openCage settles what programs in a cage may read: not what is the worker's own, wherever it lies.
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
		if to, err := filepath.EvalSymlinks(abs); err == nil { // what is not there yet has no other name
			real = append(real, to)
		}
	}
	// Who may read below a link may read below where it leads, so names that are links would bring back what is hidden: /lib leads to /usr/lib.
	var system []string
	for _, d := range systemDirs {
		if to, err := filepath.EvalSymlinks(d); err == nil { // not every machine has all
			system = append(system, to)
		}
	}
	j.readable = readable(system, real, func(dir string) (names []string) {
		list, _ := os.ReadDir(dir) // what cannot be listed nobody may read
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

// readable lists paths that may be read with all that is below them, so that nothing hidden is: of a directory with something hidden in it,
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

// caged starts a command, as the worker's own user, from a thread that has given up, for good, the means to gain rights, to read what is not
// the system's or its own, to write outside its directory, to look into processes or, where the kernel can, send signals to
// them, and to make calls that no task needs.
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

// landReadable allows a ruleset the reading of executables, of files, and of all below directories. What is not there, or not to be reached, is passed over.
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
