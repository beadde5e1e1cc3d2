package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/worker/attempt"
)

// sandboxedEnv makes this binary a program that takes something, says so, and keeps it until its input ends.
const sandboxedEnv = "MILLRACE_TEST_SANDBOXED"

const hoard = 40 << 20

func TestMain(m *testing.M) {
	if os.Getenv(attempt.ChildEnv) != "" { // a worker of the tests has started it
		os.Exit(attempt.ChildOf(func(p *wire.Program) ([]mapreduce.Job, error) { return jobs.Parse(p.Builtin, p.Args) }))
	}
	if what := os.Getenv(sandboxedEnv); what != "" {
		if err := takeInSandbox(what); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test has looked
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// takeInSandbox is what the programs of these tests do.
func takeInSandbox(what string) error {
	switch what {
	case "child of a thread":
		return childOfThread()
	case "memory without a name":
		fd, err := unix.MemfdCreate("hoard", 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), "hoard")
		kept = f
		_, err = f.Write(make([]byte, hoard))
		return err
	case "mapped file without a name":
		return mapNameless()
	case "System V":
		id, err := unix.SysvShmGet(0x6d1, hoard/8, unix.IPC_CREAT|0o600)
		if err != nil {
			return err
		}
		_, err = unix.SysvShmAttach(id, 0, 0)
		return err
	case "denied calls":
		return makeCalls()
	case "hardened":
		return harden(IsolationAuto)
	case "hardened not":
		return harden(IsolationNone)
	case "too much System V":
		_, err := unix.SysvShmGet(0x6d2, hoard, unix.IPC_CREAT|0o600)
		return err
	}
	return fmt.Errorf("unknown: %s", what)
}

var kept any // not collected

// childOfThread starts a shell with a large variable from a thread that is not the first.
func childOfThread() error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // kept: the child is this thread's
		if unix.Gettid() == os.Getpid() {
			go func() { done <- childOfThread() }()
			select {} // the first thread stays here
		}
		c := exec.Command("sh", "-c", fmt.Sprintf("x=$(head -c %d /dev/zero | tr '\\0' x); echo ready; read y", hoard))
		in, _ := c.StdinPipe()
		kept = in
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err == nil {
			_, err = bufio.NewReader(out).ReadString('\n')
		}
		done <- err
		select {}
	}()
	return <-done
}

// mapNameless writes a file through memory that is all that is left of it.
func mapNameless() error {
	f, err := os.Create("gone")
	if err != nil {
		return err
	}
	if err := f.Truncate(hoard); err != nil {
		return err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, hoard, unix.PROT_WRITE|unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	if err := unix.Msync(b, unix.MS_SYNC); err != nil { // the file system gives it blocks
		return err
	}
	kept = b
	return errors.Join(os.Remove(f.Name()), f.Close())
}

// hold runs one of the programs in a sandbox until the returned function is called.
func hold(t *testing.T, c *sandbox, what string) (said string, end func()) {
	t.Helper()
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	cmd := exec.Command(exe.Name())
	cmd.Env = append(c.environment(), sandboxedEnv+"="+what)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := c.start(cmd, exe, os.Stderr); err != nil {
		t.Fatal(err)
	}
	said, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return strings.TrimSpace(said), func() {
		_ = in.Close()
		c.kill()
		_ = cmd.Wait() // it was killed
	}
}

// TestWhatProgramsHold: memory and files count, whoever of a program's threads and children has them, and
// whether they have a name.
func TestWhatProgramsHold(t *testing.T) {
	for _, tt := range []struct {
		what   string
		noPIDs bool
		count  func(*sandbox) int64
	}{
		{"child of a thread", false, (*sandbox).memory},
		{"child of a thread", true, (*sandbox).memory},
		{"memory without a name", false, (*sandbox).memory},
		{"mapped file without a name", false, (*sandbox).written},
	} {
		t.Run(fmt.Sprintf("%s, by user %v", tt.what, tt.noPIDs), func(t *testing.T) {
			j := testJail(t)
			j.noPIDs.Store(tt.noPIDs)
			c, _ := enter(t, j)
			said, end := hold(t, c, tt.what)
			if got := tt.count(c); said != "ready" || got < hoard {
				t.Errorf("%q: %d MB are counted of %d", said, got>>20, hoard>>20)
			}
			end()
			if err := c.leave(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestObjectsOfPrograms: System V objects are a program's own, and bounded.
func TestObjectsOfPrograms(t *testing.T) {
	j := testJail(t)
	c, _ := enter(t, j)
	said, end := hold(t, c, "System V")
	table, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Skipf("skipped: the kernel has no System V objects: %v", err)
	}
	own := len(idsOf(string(table), c.uid)) == 0
	end()
	if said != "ready" || !own {
		t.Errorf("%q; apart: %v", said, own)
	}
	if err := c.leave(); err != nil {
		t.Error(err)
	}
	c, _ = enter(t, j)
	said, end = hold(t, c, "too much System V")
	end()
	if !strings.Contains(said, "no space") {
		t.Errorf("a segment of %d MB: %q", hoard>>20, said)
	}
	if err := c.leave(); err != nil {
		t.Error(err)
	}
}

// TestLeftObjectsAreRemoved: what an id has left is gone before the id is used again, and what is of others is not.
func TestLeftObjectsAreRemoved(t *testing.T) {
	j := testJail(t)
	uid, f, err := j.lease()
	if err != nil {
		t.Fatal(err)
	}
	left, others := leaveObjects(t, uid), leaveObjects(t, uid+2)
	if err := f.Close(); err != nil { // as the death of the worker does
		t.Fatal(err)
	}
	for again := uint32(0); again != uid; {
		if again, f, err = j.lease(); err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	if got := objects(uid); len(got) > 0 {
		t.Errorf("of %q are left %q", left, got)
	}
	if got := objects(uid + 2); len(got) != len(others) {
		t.Errorf("of another's %q are left %q", others, got)
	}
	if err := removeIPC(uid + 2); err != nil {
		t.Error(err)
	}
}

// leaveObjects makes one object of each kind and gives it to a user.
func leaveObjects(t *testing.T, uid uint32) []string {
	t.Helper()
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		t.Skipf("skipped: no System V objects: %v", err)
	}
	var d unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, &d); err != nil {
		t.Fatal(err)
	}
	d.Perm.Uid = uid
	if _, err := unix.SysvShmCtl(id, unix.IPC_SET, &d); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("/dev/shm", fmt.Sprint("millrace-test-", uid))
	if err := os.WriteFile(file, []byte("left"), 0o600); err == nil { // else there is no such directory
		if err := os.Chown(file, int(uid), int(uid)); err != nil {
			t.Fatal(err)
		}
	}
	return objects(uid)
}

func objects(uid uint32) (out []string) {
	b, _ := os.ReadFile("/proc/sysvipc/shm")
	for _, id := range idsOf(string(b), uid) {
		out = append(out, fmt.Sprint("shm ", id))
	}
	files, _ := filepath.Glob(fmt.Sprint("/dev/shm/millrace-test-", uid))
	return slices.Concat(out, files)
}

func FuzzIPCTable(f *testing.F) {
	f.Add("key shmid perms uid gid cuid\n 0 7 600 5 5 5\n")
	f.Add("")
	f.Add("uid\n")
	f.Add("key key cuid uid\n 0 7 5\n") // a name twice, and a line shorter than the names
	f.Fuzz(func(t *testing.T, table string) {
		_ = idsOf(table, 5) // it does not panic
	})
}
