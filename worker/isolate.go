package worker

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/millrace/millrace/task"
)

// How attempts that run users' code are isolated from the worker and from each other.
const (
	// IsolationAuto is user if the worker has the rights for it. Otherwise it is landlock if the cluster has a
	// key and the kernel supports it, else none.
	IsolationAuto = "auto"
	// IsolationNone runs them as the worker's own user: they can do what the worker can.
	IsolationNone = "none"
	// IsolationLandlock runs them as the worker's user, without its files, its memory, and calls that no task needs.
	IsolationLandlock = "landlock"
	// IsolationUser gives each a user of its own, limits, and one writable directory.
	IsolationUser = "user"
)

// sayBare logs, once, that programs can do what the worker can, and why.
func sayBare(cfg *Config, why error) {
	cfg.Log.Info("programs of users run as the worker's user", "isolation", IsolationNone, "reason", why)
}

// What attempts with a user of their own can reach.
const (
	// NetworkAuto is NetworkCluster if the cluster has a key, so that strangers may share it, and the worker
	// supports it; otherwise NetworkAll.
	NetworkAuto = "auto"
	// NetworkAll is everything that the worker can reach.
	NetworkAll = "all"
	// NetworkCluster is the master and workers of this cluster, for programs. Commands of streaming jobs reach
	// nothing.
	NetworkCluster = "cluster"
	// NetworkNone is nothing. Commands run as with NetworkCluster. Programs, which need the cluster, are
	// refused.
	NetworkNone = "none"
)

// limits are what the processes of an attempt may use together.
type limits struct {
	memory     int64
	processors float64 // 0: no limit
}

// A UserRange is the user ids for attempts, one for each attempt at a time. The group of each has the same
// number.
type UserRange struct{ First, Last uint32 }

// ParseUsers parses FIRST-LAST.
func ParseUsers(s string) (UserRange, error) {
	a, b, ok := strings.Cut(s, "-")
	first, err1 := strconv.ParseUint(a, 10, 31)
	last, err2 := strconv.ParseUint(b, 10, 31)
	if !ok || err1 != nil || err2 != nil || first == 0 || last < first {
		return UserRange{}, fmt.Errorf("task users %q: give a range of user ids without 0, as 60600-60855", s)
	}
	return UserRange{uint32(first), uint32(last)}, nil
}

// String, Set and Type make it a flag.
func (r *UserRange) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

// Set parses FIRST-LAST.
func (r *UserRange) Set(s string) (err error) {
	*r, err = ParseUsers(s)
	return err
}

// Type names the kind of value in help texts.
func (*UserRange) Type() string { return "range" }

// take moves a file that the program has made out of the sandbox and makes the worker its owner. Nothing may
// still run in the sandbox. take refuses anything but a plain file of the program's own, since a link could
// lead anywhere.
func (c *sandbox) take(name, to string) (string, error) {
	name = filepath.Base(name)
	from, to := filepath.Join(c.dir, name), filepath.Join(to, name)
	st, err := os.Lstat(from)
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() || !c.owns(st) {
		return "", fmt.Errorf("%s is not a plain file of the program's own", name)
	}
	if c.uid != 0 {
		if err := errors.Join(os.Chown(from, 0, 0), os.Chmod(from, 0o600)); err != nil {
			return "", err
		}
	}
	return to, os.Rename(from, to)
}

// link makes side files available in the sandbox.
func (c *sandbox) link(from string) error {
	if from == "" {
		return nil
	}
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range list {
		file, err := filepath.EvalSymlinks(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.Chmod(file, 0o755); err != nil { // the hash of a file does not cover its mode
			return err
		}
		to := filepath.Join(c.dir, "side", e.Name())
		if err := os.Link(file, to); err != nil {
			if err := task.CopyFile(file, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// environment returns what a program in the sandbox sees of the worker's.
func (c *sandbox) environment() []string {
	env := []string{"HOME=" + c.path(), "TMPDIR=" + c.path(), "PATH=" + cmp.Or(os.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin")}
	names := []string{"LANG", "LC_ALL", "TZ"}
	if runtime.GOOS == "windows" {
		env = append(env, "USERPROFILE="+c.path(), "TEMP="+c.path(), "TMP="+c.path())
		names = append(names, "COMSPEC", "PATHEXT", "SYSTEMROOT", "WINDIR") // few programs start without these
	}
	for _, name := range names {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
