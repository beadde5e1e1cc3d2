package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitsOfIPC bound what a program keeps in its own namespace. The kernel holds it outside any process, where
// nothing counts it. Together they allow some 20 MiB.
var limitsOfIPC = map[string]string{
	"shmall": "4096",           // pages of shared memory
	"msgmni": "16",             // queues of messages, each of 16 KiB
	"sem":    "250 4096 32 16", // of a set, of all sets, in a call, sets
}

// ownIPC gives this thread, and what it starts, System V objects and POSIX message queues of its own, which end
// with the last process. If the kernel refuses, removeIPC cleans up later.
func ownIPC() {
	if unix.Unshare(unix.CLONE_NEWIPC) != nil {
		return
	}
	for name, value := range limitsOfIPC {
		_ = os.WriteFile("/proc/sys/kernel/"+name, []byte(value), 0) // a read-only /proc leaves the kernel's own limits
	}
}

// removeIPC removes what a user without processes has left outside of files: shared memory, semaphores, message
// queues.
func removeIPC(uid uint32) error {
	var errs []error
	for _, k := range []struct {
		table   string
		call    uintptr
		command [3]uintptr // arguments after the id
	}{
		{"shm", unix.SYS_SHMCTL, [3]uintptr{unix.IPC_RMID}},
		{"msg", unix.SYS_MSGCTL, [3]uintptr{unix.IPC_RMID}},
		{"sem", unix.SYS_SEMCTL, [3]uintptr{0, unix.IPC_RMID}},
	} {
		b, err := os.ReadFile("/proc/sysvipc/" + k.table)
		errs = append(errs, unlessNone(err))
		for _, id := range idsOf(string(b), uid) {
			_, _, errno := unix.Syscall6(k.call, uintptr(id), k.command[0], k.command[1], k.command[2], 0, 0)
			if errno != 0 && errno != unix.EIDRM && errno != unix.EINVAL { // gone meanwhile
				errs = append(errs, fmt.Errorf("remove %s %d of user %d: %w", k.table, id, uid, errno))
			}
		}
	}
	for _, dir := range []string{"/dev/shm", "/dev/mqueue"} {
		errs = append(errs, removeOwned(dir, uid))
	}
	return errors.Join(errs...)
}

// unlessNone returns err, unless the kernel does not have the object or does not show it.
func unlessNone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// idsOf lists what a user owns or made, from a table of /proc/sysvipc, whose first line names its columns.
func idsOf(table string, uid uint32) (ids []int) {
	lines := strings.Split(table, "\n")
	header := strings.Fields(lines[0])
	owner, maker := slices.Index(header, "uid"), slices.Index(header, "cuid")
	if owner < 0 || maker < 0 {
		return nil
	}
	want := strconv.FormatUint(uint64(uid), 10)
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		if len(f) < len(header) || f[owner] != want && f[maker] != want { // both columns: at least two
			continue
		}
		if id, err := strconv.Atoi(f[1]); err == nil { // the second column: shmid, msqid, semid
			ids = append(ids, id)
		}
	}
	return ids
}

// removeOwned removes what a user owns in a directory that everybody may write to.
func removeOwned(dir string, uid uint32) error {
	list, err := os.ReadDir(dir)
	errs := []error{unlessNone(err)}
	for _, e := range list {
		st, err := e.Info()
		if err != nil {
			continue
		}
		if s, ok := st.Sys().(*syscall.Stat_t); !ok || s.Uid != uid {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
