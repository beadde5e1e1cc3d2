package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// leaseDir returns where the workers of a machine agree on who uses which user id: below run. A container
// without run has one worker, which needs no agreement.
func leaseDir(dir, run string) (string, error) {
	d := filepath.Join(dir, "users")
	if st, err := os.Stat(run); err == nil && st.IsDir() {
		d = filepath.Join(run, "millrace", "users")
	}
	return d, os.MkdirAll(d, 0o700)
}

// lease takes a user id that nobody on this machine uses. The lock ends with the file, at the latest with the
// worker.
func (j *jail) lease() (uint32, *os.File, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.cfg.TaskUsers
	for range r.Last - r.First + 1 {
		uid := j.next
		if j.next++; j.next > r.Last {
			j.next = r.First
		}
		f, err := os.OpenFile(filepath.Join(j.leases, strconv.FormatUint(uint64(uid), 10)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return 0, nil, fmt.Errorf("lease a user id: %w", err)
		}
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			err = occupy(f, uid)
		}
		if err == nil {
			return uid, f, nil
		}
		_ = f.Close() // nothing was written
		if !errors.Is(err, unix.EWOULDBLOCK) {
			j.cfg.Log.Warn("a user id for programs cannot be used", "uid", uid, "error", err)
		}
	}
	return 0, nil, fmt.Errorf("no user id of %s is free: give the worker a larger --task-user range", r.String())
}

// reclaim ends the programs that killed workers left running: those whose user id is marked as used and not
// locked.
func (j *jail) reclaim() {
	list, err := os.ReadDir(j.leases)
	if err != nil {
		j.cfg.Log.Warn("programs that another worker has left cannot be looked for", "error", err)
		return
	}
	for _, e := range list {
		uid, err := strconv.ParseUint(e.Name(), 10, 31)
		if err == nil && uint32(uid) >= j.cfg.TaskUsers.First && uint32(uid) <= j.cfg.TaskUsers.Last {
			err = vacate(filepath.Join(j.leases, e.Name()), uint32(uid))
		}
		if err != nil {
			j.cfg.Log.Warn("what a user id has left cannot be removed", "uid", e.Name(), "error", err)
		}
	}
}

// vacate clears an id whose last user was killed along with its worker.
func vacate(lease string, uid uint32) error {
	f, err := os.OpenFile(lease, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil // its worker lives
	}
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return err
	}
	if err := clearUser(uid); err != nil {
		return err
	}
	return f.Truncate(0)
}

// occupy marks an id as used in the file of its lease. If it is marked already, its last user was killed with the
// worker, and occupy first ends what that left running.
func occupy(f *os.File, uid uint32) error {
	st, err := f.Stat()
	if err == nil && st.Size() > 0 {
		err = clearUser(uid)
	}
	if err == nil {
		_, err = f.WriteAt([]byte("used\n"), 0)
	}
	return err
}

// clearUser ends everything that runs under an id and removes what it keeps outside its directory.
func clearUser(uid uint32) error {
	if err := killUser(uid); err != nil {
		return err
	}
	return removeIPC(uid)
}

// killUser ends every process of a user, however it was started, and waits until none is left. It forbids those
// it finds to start more processes, so that a fork bomb dies out. That needs CAP_SYS_RESOURCE. Without it,
// killUser is faster than they are: the limits with which they began keep them few.
func killUser(uid uint32) error {
	var unlimited error
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		pids, err := ofUser(uid)
		if err != nil || len(pids) == 0 {
			return err
		}
		if time.Since(begin) > 10*time.Second {
			return errors.Join(fmt.Errorf("%d processes of user %d do not die", len(pids), uid), unlimited)
		}
		for _, pid := range pids {
			if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{}, nil); err != nil && !errors.Is(err, unix.ESRCH) {
				unlimited = fmt.Errorf("they may start more: %w", err)
			}
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL) // it may be gone
		}
	}
}

// ofUser lists the living processes of a user. An error means that /proc could not be read, not that the user
// has none.
func ofUser(uid uint32) (pids []int, err error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		// Root owns the files of a process that cannot be traced, so read its status instead.
		b, err := os.ReadFile("/proc/" + name + "/status")
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) { // it has ended
			return nil, err
		}
		if hasUser(b, uid) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// hasUser reports whether a status file is that of a living process with this real or effective id.
func hasUser(status []byte, uid uint32) bool {
	for line := range bytes.Lines(status) {
		f := bytes.Fields(line)
		switch {
		case len(f) > 1 && string(f[0]) == "State:" && (f[1][0] == 'Z' || f[1][0] == 'X'):
			return false
		case len(f) > 2 && string(f[0]) == "Uid:":
			want := strconv.FormatUint(uint64(uid), 10)
			return string(f[1]) == want || string(f[2]) == want
		}
	}
	return false
}
