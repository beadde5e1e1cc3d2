package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// self is this program, which the user of an attempt cannot reach by its name.
const self = "/proc/self/exe"

func read() []string {
	_, err := os.ReadFile(*target)
	return verdict(*attack, err)
}

func kill() []string {
	pid, err := strconv.Atoi(*target)
	must(err)
	return verdict("kill", syscall.Kill(pid, syscall.SIGKILL))
}

func network() []string {
	c, err := net.DialTimeout("tcp", *target, 3*time.Second)
	if err == nil {
		must(c.Close())
	}
	return verdict("network", err)
}

// spill looks for files of others in the worker's directory.
func spill() (out []string) {
	own, err := os.Getwd()
	must(err)
	_ = filepath.WalkDir(*target, func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(path, own) || !d.Type().IsRegular() {
			return nil //nolint:nilerr // what it may not see it passes by
		}
		if f, err := os.Open(path); err == nil {
			out = append(out, "got:spill")
			_ = f.Close()
		}
		return nil
	})
	if out == nil {
		out = append(out, "denied:spill")
	}
	return out
}

// fork makes processes that leave the group and the session, as a daemon does.
func fork() []string {
	warmUp()
	for i := range 2000 {
		c := exec.Command(self, "sleep", *target)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil && i == 0 {
			return []string{"unclear:fork: " + err.Error()}
		} else if err != nil {
			return verdict("fork", err)
		}
	}
	return verdict("fork", nil)
}

// warmUp makes the runtime start the threads that it may need while it forks: it gives up if it gets none.
func warmUp() {
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { _ = syscall.Nanosleep(&syscall.Timespec{Nsec: 1e8}, nil) }) // a call that holds a thread
	}
	wg.Wait()
}

// disk fills files, some without a name, until it is stopped.
func disk() []string {
	mb := make([]byte, 1<<20)
	for i := range 4000 {
		f, err := os.Create(fmt.Sprint("fill-", i))
		if err != nil {
			return verdict("disk", err)
		}
		if i%2 == 0 {
			must(os.Remove(f.Name()))
		}
		if _, err := f.Write(mb); err != nil {
			return verdict("disk", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return verdict("disk", nil)
}

// memory makes a child use the memory that the program itself may not, from a thread that is not the first.
func memory() []string { return verdict("memory", exec.Command(self, "hoard", *target).Run()) }

// proc tries to read other processes.
func proc() []string {
	list, err := filepath.Glob("/proc/[0-9]*")
	must(err)
	own, err := os.Readlink("/proc/self")
	must(err)
	for _, dir := range list {
		var st syscall.Stat_t
		if syscall.Stat(dir, &st) != nil || filepath.Base(dir) == own || st.Uid != 0 && st.Uid == uint32(os.Getuid()) {
			continue
		}
		for _, name := range []string{"environ", "maps", "auxv"} {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(b) > 0 { // the kernel's own processes have nothing there
				fmt.Fprintln(os.Stderr, dir, name)
				return verdict("proc", nil)
			}
		}
		if fds, err := os.ReadDir(filepath.Join(dir, "fd")); err == nil && len(fds) > 0 {
			return verdict("proc", nil)
		}
	}
	return verdict("proc", errors.New("nothing to see"))
}

// trace tries to attach to another process, and to open its memory.
func trace() []string {
	pid, err := strconv.Atoi(*target)
	must(err)
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0)
	if errno == 0 {
		return verdict("trace", nil)
	}
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err == nil {
		must(f.Close())
	}
	return verdict("trace", errors.Join(errno, err))
}

// calls asks the kernel for what no task needs but, without a filter, anybody may have: a user name space, in which a
// program has all rights, and a key ring.
func calls() (out []string) {
	c := exec.Command(self, "sleep", "0")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET}
	out = verdict("calls", c.Run())
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
	return append(out, verdict("calls", err)...)
}

// shm looks for shared memory that an attempt before it has left, and leaves some.
func shm() []string {
	key, err := strconv.Atoi(*target)
	must(err)
	if _, err := unix.SysvShmGet(key, 1<<20, 0); err == nil {
		return verdict("shm", nil)
	}
	_, err = unix.SysvShmGet(key, 1<<20, unix.IPC_CREAT|0o666)
	must(err)
	return []string{"denied:shm"}
}

// openFiles looks for a file inherited from the worker among its open files.
func openFiles() []string {
	list, err := os.ReadDir("/proc/self/fd")
	must(err)
	for _, e := range list {
		if name, _ := os.Readlink("/proc/self/fd/" + e.Name()); name == *target {
			return verdict("files", nil)
		}
	}
	return []string{"denied:files"}
}

// beside writes where everybody may.
func beside() []string {
	return verdict("beside", os.WriteFile(filepath.Join(*target, "beside"), []byte("x"), 0o600))
}

// fifo makes a pipe among the logs, at which a reader would wait for ever.
func fifo() []string { return verdict("fifo", syscall.Mkfifo(filepath.Join(*target, "x.log"), 0o666)) }
