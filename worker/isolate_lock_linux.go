package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// taskNice is the niceness of users' programs. It keeps many tasks from delaying the reports and blocks of the
// daemons.
const taskNice = 10

// behind runs fn in a thread with niceness taskNice, which ends afterwards. What fn starts inherits the
// niceness.
func behind(fn func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if unix.Gettid() == os.Getpid() {
			// The first thread never ends, and others take what it gives up for the process's: a program in its
			// cage could look into the worker. While this goroutine holds that thread, another goroutine gets
			// another.
			err := behind(fn)
			runtime.UnlockOSThread()
			done <- err
			return
		}
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, taskNice) // a higher niceness stays
		done <- fn()
	}()
	return <-done
}

// confined starts a command from a thread that has given up for good the ability to gain rights, to write outside
// one directory, to share System V and POSIX objects, to make calls that no task needs and, if configured, to use a
// network.
func confined(cmd *exec.Cmd, c *sandbox) error {
	return behind(func() error { return c.old.within(func() error { return startConfined(cmd, c) }) })
}

func startConfined(cmd *exec.Cmd, c *sandbox) error {
	ownIPC()
	if c.j.cfg.TaskNetwork != NetworkAll {
		if err := noNetwork(); err != nil {
			return err
		}
	}
	if c.path() == c.j.place {
		if err := showAt(c.dir, c.j.place); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := landlock(c.self, nil, nil); err != nil {
		return err
	}
	if err := filterCalls(cmd.SysProcAttr.UseCgroupFD); err != nil { // a process is born into a cgroup by clone3
		return err
	}
	return c.begin(cmd)
}

// sandboxPlace is where a program finds its directory if it may not pass the directories above it.
const sandboxPlace = "/run/millrace/sandbox"

// placeForSandboxes makes sandboxPlace, or returns "" if the worker may not change what a program sees of the
// file system.
func placeForSandboxes() string {
	if err := os.MkdirAll(sandboxPlace, 0o711); err != nil || os.Chmod(filepath.Dir(sandboxPlace), 0o711) != nil || !reachable(sandboxPlace) {
		return ""
	}
	if behind(func() error { return showAt(os.TempDir(), sandboxPlace) }) != nil {
		return ""
	}
	return sandboxPlace
}

// showAt gives this thread, and what it starts, a view of the file system in which a directory has a second
// name. Nobody else sees it.
func showAt(dir, place string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("an own view of files: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("an own view of files: %w", err)
	}
	if err := unix.Mount(dir, place, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("show %s at %s: %w", dir, place, err)
	}
	return nil
}

const (
	landWrites = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	landReads  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landScopes = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
)

// landlockVersion is that of the kernel's interface, or 0 if it is missing or not allowed in this container.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// landlock lets this thread write only below one directory, and signal only its own processes. With a list of
// readable paths it may read only those, its directory and its executables. Without landlock, only the user's lack
// of rights helps.
func landlock(dir *os.File, exes []*os.File, readable []string) error {
	version := landlockVersion()
	if version == 0 {
		return nil
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: landWrites}
	if readable != nil {
		attr.Handled_access_fs |= landReads
	}
	if version >= 2 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 6 {
		attr.Scoped = landScopes
	}
	// Fields that an older kernel does not know are zero, which it accepts.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	defer unix.Close(int(fd))
	err := landRule(int(fd), dir, attr.Handled_access_fs)
	if err == nil && readable != nil {
		err = landReadable(int(fd), exes, readable)
	}
	if err == nil {
		err = landNull(int(fd))
	}
	if err != nil {
		return err
	}
	if _, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

// landNull allows a ruleset to write to /dev/null.
func landNull(ruleset int) error {
	null, err := os.OpenFile(os.DevNull, unix.O_PATH, 0)
	if err != nil {
		return nil //nolint:nilerr // a bare container does not have it
	}
	return errors.Join(landRule(ruleset, null, unix.LANDLOCK_ACCESS_FS_WRITE_FILE), null.Close())
}

func landRule(ruleset int, place *os.File, access uint64) error {
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(place.Fd())}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("landlock: %s: %w", place.Name(), errno)
	}
	return nil
}
