package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// objectTables are those of the kernel's System V objects.
var objectTables = []string{"shm", "msg", "sem"}

// makeObjects makes one object of each kind as another user, who owns them: a program whose worker was killed would leave them so.
func makeObjects(uid uint32) error {
	return behind(func() error {
		const same = ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), same); errno != 0 {
			return errno
		}
		for _, call := range [][3]uintptr{{unix.SYS_SHMGET, 4096, unix.IPC_CREAT | 0o600}, {unix.SYS_MSGGET, unix.IPC_CREAT | 0o600, 0}, {unix.SYS_SEMGET, 1, unix.IPC_CREAT | 0o600}} {
			if _, _, errno := unix.RawSyscall(call[0], unix.IPC_PRIVATE, call[1], call[2]); errno != 0 {
				return errno
			}
		}
		return nil
	})
}

func countObjects(t *testing.T, uid uint32) (out []int) {
	t.Helper()
	for _, table := range objectTables {
		b, err := os.ReadFile("/proc/sysvipc/" + table)
		if err != nil {
			t.Skipf("skipped: no System V objects: %v", err)
		}
		out = append(out, len(idsOf(string(b), uid)))
	}
	return out
}

// TestAllKindsOfObjectsAreRemoved of a user who is gone: shared memory, queues and semaphores, and files that everybody may leave there; not those of
// another.
func TestAllKindsOfObjectsAreRemoved(t *testing.T) {
	j := testJail(t)
	gone, other := j.cfg.TaskUsers.First, j.cfg.TaskUsers.Last
	var files []string
	for _, uid := range []uint32{gone, other} {
		countObjects(t, uid)
		if err := makeObjects(uid); err != nil {
			t.Fatal(err)
		}
		if got := countObjects(t, uid); !slices.Equal(got, []int{1, 1, 1}) {
			t.Fatalf("of %v were made %v", objectTables, got)
		}
		dir := filepath.Join("/dev/shm", fmt.Sprint("millrace-test-of-", uid))
		if os.MkdirAll(filepath.Join(dir, "deep"), 0o700) == nil && os.Chown(dir, int(uid), int(uid)) == nil { // else there is no such place
			files = append(files, dir)
		}
	}
	if err := clearUser(gone); err != nil {
		t.Error(err)
	}
	if left, others := countObjects(t, gone), countObjects(t, other); !slices.Equal(left, []int{0, 0, 0}) || !slices.Equal(others, []int{1, 1, 1}) {
		t.Errorf("of %v are left %v, and of another's %v", objectTables, left, others)
	}
	for i, dir := range files {
		if _, err := os.Stat(dir); (err == nil) != (i == 1) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if err := clearUser(other); err != nil {
		t.Error(err)
	}
}

// TestObjectsGoWithTheirSandbox: where a program could leave objects beside its own, they go when its room is left.
func TestObjectsGoWithTheirSandbox(t *testing.T) {
	j := testJail(t)
	c, _ := enter(t, j)
	countObjects(t, c.uid)
	if err := makeObjects(c.uid); err != nil {
		t.Fatal(err)
	}
	if err := c.leave(); err != nil {
		t.Error(err)
	}
	if left := countObjects(t, c.uid); !slices.Equal(left, []int{0, 0, 0}) {
		t.Errorf("of %v are left %v", objectTables, left)
	}
}

// TestTablesOfObjects: what a user owns or has made is found by the names of the columns, whichever order they have.
func TestTablesOfObjects(t *testing.T) {
	for table, want := range map[string][]int{
		"key shmid perms uid gid cuid cgid\n 0 7 600 5 1 5 1\n 0 8 600 6 1 6 1\n 0 9 600 6 1 5 1\n 0 10 600 5 1 6 1\n": {7, 9, 10},
		"key msqid cuid uid\n 0 3 5 0\n 0 4 0 5\n 0 5 55 50\n":                                                         {3, 4},
		"key semid uid\n 0 3 5\n":                          nil, // no column of makers
		"key semid cuid\n 0 3 5\n":                         nil,
		"key shmid uid cuid\n 0 3 5\n 0 x 5 5\n 0 6 5 5\n": {6},
		"uid cuid\n5 5\n":                                  {5},
		"cuid uid\n5 5\n":                                  {5},
	} {
		if got := idsOf(table, 5); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", table, got, want)
		}
	}
}

// TestOwnObjectsAreBounded: a thread with objects of its own is within the limits that programs have, and others are not.
func TestOwnObjectsAreBounded(t *testing.T) {
	testJail(t)
	read := func() (out []string) {
		for _, name := range []string{"shmall", "msgmni", "sem"} {
			b, err := os.ReadFile("/proc/sys/kernel/" + name)
			if err != nil {
				t.Skipf("skipped: %v", err)
			}
			out = append(out, string(b))
		}
		return out
	}
	before := read()
	var inside []string
	if err := behind(func() error {
		ownIPC()
		inside = read()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"4096\n", "16\n", "250\t4096\t32\t16\n"}; !slices.Equal(inside, want) {
		t.Errorf("inside %q, want %q", inside, want)
	}
	if after := read(); !slices.Equal(before, after) {
		t.Errorf("the worker's own were %q and are %q", before, after)
	}
}
