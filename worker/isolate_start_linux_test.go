package worker

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/emulate"
)

// bareJail is of a worker that keeps nobody from anything.
func bareJail(t *testing.T) *jail {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Dir, cfg.Isolation = t.TempDir(), IsolationNone
	j, err := newJail(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// eachJail runs a test in all ways to keep programs that this machine has.
func eachJail(t *testing.T, test func(t *testing.T, j *jail)) {
	t.Helper()
	for name, open := range map[string]func(t *testing.T) *jail{
		IsolationNone:     bareJail,
		IsolationLandlock: func(t *testing.T) *jail { return cageJail(t, t.TempDir(), t.TempDir()) },
		IsolationUser:     testJail,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// TestProgramsBeginInTheirDirectory: however programs are kept, they begin in the directory that is theirs, and of what an earlier attempt of the same
// name has left there is nothing.
func TestProgramsBeginInTheirDirectory(t *testing.T) {
	eachJail(t, func(t *testing.T, j *jail) {
		parent := t.TempDir()
		old := filepath.Join(parent, "sandbox-test", "side", "old")
		if err := errors.Join(os.MkdirAll(filepath.Dir(old), 0o700), os.WriteFile(old, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		c, err := j.enter(parent, "sandbox-test", limits{memory: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		out := sh(t, c, "ls . side; echo here >mine; cd / && cat $HOME/mine; echo x >$TMPDIR/other")
		if out != ".:\nside\n\nside:\nhere\n" {
			t.Errorf("%q", out)
		}
		for _, name := range []string{"mine", "other"} {
			if _, err := os.Stat(filepath.Join(c.dir, name)); err != nil {
				t.Error(err)
			}
		}
		if err := c.leave(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
			t.Errorf("%v are left, %v", left, err)
		}
	})
}

// TestPlacesOfPrograms: a program calls its directory by its name where it may pass the ones above, else by a place that it sees it at, or by the file
// that it has inherited; it can work there by either.
func TestPlacesOfPrograms(t *testing.T) {
	j := testJail(t)
	c, parent := enter(t, j)
	defer c.leave()
	for _, x := range []struct {
		uid         uint32
		open        bool
		place, want string
	}{
		{0, false, "/place", c.dir},
		{c.uid, true, "/place", c.dir},
		{c.uid, false, "/place", "/place"},
		{c.uid, false, "", "/proc/self/fd/4"},
	} {
		s := &sandbox{j: &jail{place: x.place}, uid: x.uid, dir: c.dir}
		if x.open {
			s.dir = "/proc/x"
			x.want = s.dir
		} else if err := os.Chmod(parent, 0o700); err != nil {
			t.Fatal(err)
		}
		if got := s.path(); got != x.want {
			t.Errorf("%+v: %s", x, got)
		}
	}
	j.place = ""
	if out := sh(t, c, "echo $HOME; echo own >$HOME/own && cat own"); out != "/proc/self/fd/4\nown\n" {
		t.Errorf("without a place: %q", out)
	}
}

// TestSideFilesOfPrograms: side files are in the directory of the program, which may execute them whatever rights they came with.
func TestSideFilesOfPrograms(t *testing.T) {
	eachJail(t, func(t *testing.T, j *jail) {
		from := t.TempDir()
		store := filepath.Join(t.TempDir(), "0123")
		if err := errors.Join(os.WriteFile(store, []byte("#!/bin/sh\necho ran $1\n"), 0o600), os.Symlink(store, filepath.Join(from, "tool"))); err != nil {
			t.Fatal(err)
		}
		c, _ := enter(t, j)
		if err := errors.Join(c.link(""), c.link(from)); err != nil {
			t.Fatal(err)
		}
		other := t.TempDir()
		if far := fmt.Sprint("/dev/shm/millrace-test-", os.Getpid()); os.Mkdir(far, 0o700) == nil { // another disk
			t.Cleanup(func() { _ = os.RemoveAll(far) }) // it is in memory
			other = far
		}
		if err := errors.Join(os.WriteFile(filepath.Join(other, "far"), []byte("#!/bin/sh\necho came $1\n"), 0o600), c.link(other)); err != nil {
			t.Fatal(err)
		}
		if out := sh(t, c, "side/tool well; side/far far"); out != "ran well\ncame far\n" {
			t.Errorf("%q", out)
		}
		if st, err := os.Stat(store); err != nil || st.Mode().Perm() != 0o755 {
			t.Errorf("%v, %v", st, err)
		}
		if err := os.Remove(store); err != nil {
			t.Fatal(err)
		}
		for what, dir := range map[string]string{"a link to nowhere": from, "no directory": filepath.Join(from, "absent")} {
			if err := c.link(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := c.leave(); err != nil {
			t.Error(err)
		}
	})
}

// TestTakenFilesAreTheWorkers: what a program has made becomes the worker's; what somebody else has put there is not taken.
func TestTakenFilesAreTheWorkers(t *testing.T) {
	j := testJail(t)
	c, parent := enter(t, j)
	defer c.leave()
	sh(t, c, "echo out >out; chmod 666 out")
	if err := os.WriteFile(filepath.Join(c.dir, "roots"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := c.take("roots", parent); err == nil || !strings.Contains(err.Error(), "roots is not a plain file of the program's own") {
		t.Errorf("%q, %v", got, err)
	}
	got, err := c.take("/some/where/out", parent)
	var st unix.Stat_t
	if err := errors.Join(err, unix.Stat(got, &st)); err != nil || st.Uid != 0 || st.Gid != 0 || st.Mode&0o777 != 0o600 {
		t.Errorf("%s of %d:%d, mode %o, %v", got, st.Uid, st.Gid, st.Mode, err)
	}
}

// TestRoomOfPrograms: an attempt may write what the worker is told, else its part of what is free and not reserved, and never nothing.
func TestRoomOfPrograms(t *testing.T) {
	dir := t.TempDir()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	free := int64(st.Bavail) * st.Bsize
	for _, x := range []struct {
		disk, reserve                     int64
		containers, maps, reduces, vcores int32
		places                            int64 // 0: exactly want
		want                              int64
	}{
		{5, 0, 4, 0, 0, 0, 0, 5},
		{0, 1 << 62, 4, 0, 0, 0, 0, 1 << 20},
		{0, 0, 4, 0, 0, 0, 4, 0},
		{0, 0, 0, 2, 1, 0, 3, 0},
		{0, 0, 1, 0, 0, 8, 8, 0},
		{0, 0, 0, 0, 0, 0, 1, 0},
		{0, free / 2, 1, 0, 0, 0, 2, 0},
	} {
		cfg := DefaultConfig()
		cfg.TaskDisk, cfg.Reserve = x.disk, x.reserve
		cfg.Capacity.Containers, cfg.Capacity.MapSlots, cfg.Capacity.ReduceSlots, cfg.Capacity.VCores = x.containers, x.maps, x.reduces, x.vcores
		got := roomFor(dir, &cfg)
		if x.places == 0 && got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
		if part := free / max(1, x.places); x.places > 0 && (got < part*9/10 || got > part*11/10) { // others write meanwhile
			t.Errorf("%+v: %d, want about %d", x, got, part)
		}
	}
	cfg := DefaultConfig()
	if got := roomFor(filepath.Join(dir, "absent"), &cfg); got != 0 {
		t.Errorf("of a disk that cannot be asked: %d", got)
	}
}

// TestFilesOfPrograms: a program has its links and its gate, each if it needs it, and after one another.
func TestFilesOfPrograms(t *testing.T) {
	for _, x := range []struct {
		network string
		links   bool
		gate    int
		want    string
	}{
		{NetworkAll, false, 0, ""},
		{NetworkAll, true, 0, "file 6\n"},
		{NetworkCluster, false, 6, "socket 6\n"},
		{NetworkCluster, true, 7, "file 6\nsocket 7\n"},
	} {
		j := testJail(t)
		if err := behind(noNetwork); err != nil {
			t.Skipf("skipped: %v", err)
		}
		j.cfg.TaskNetwork = x.network
		c, parent := enter(t, j)
		if x.links {
			file := filepath.Join(parent, "links")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			lent, err := c.lend(&emulate.Setting{File: file})
			if err != nil || lent.FD != 6 || lent.File != "" {
				t.Fatal(lent, err)
			}
		}
		fd, err := c.openGate()
		if err != nil || fd != x.gate {
			t.Errorf("%+v: gate %d, %v", x, fd, err)
		}
		out := sh(t, c, "for n in 6 7 8; do [ -f /proc/self/fd/$n ] && echo file $n; [ -S /proc/self/fd/$n ] && echo socket $n; done; grep -c : /proc/net/dev")
		net, err := os.ReadFile("/proc/thread-self/net/dev")
		if err != nil {
			t.Fatal(err)
		}
		devices := bytes.Count(net, []byte(":"))
		if x.network != NetworkAll {
			devices = 1 // it sees itself
		}
		if want := fmt.Sprint(x.want, devices, "\n"); out != want {
			t.Errorf("%+v: %q, want %q", x, out, want)
		}
		if err := c.leave(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoLinksToLend: who has no links lends none, who has the worker's user gets them by name, and a file that is gone is an error.
func TestNoLinksToLend(t *testing.T) {
	s := &emulate.Setting{File: filepath.Join(t.TempDir(), "gone")}
	own, other := &sandbox{}, &sandbox{uid: 7}
	for _, c := range []*sandbox{own, other} {
		if got, err := c.lend(nil); got != nil || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
	if got, err := own.lend(s); got != s || err != nil || own.links != nil {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := other.lend(s); !errors.Is(err, os.ErrNotExist) || other.links != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// starved runs fn with room for so many files in this process.
func starved(t *testing.T, files uint64, fn func()) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	few := was
	few.Cur = files
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	}()
	fn()
}

func openNow(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestWorkersOutOfFiles: a worker that has no more files says so of the programs that it cannot start, at whatever step that is, and has none more open
// afterwards; with room again it starts them.
func TestWorkersOutOfFiles(t *testing.T) {
	eachJail(t, func(t *testing.T, j *jail) {
		for _, traces := range []bool{true, false} {
			j.traces = traces
			parent := t.TempDir()
			exe, err := os.Open("/bin/true")
			if err != nil {
				t.Fatal(err)
			}
			before, failed, ran := openNow(t), 0, false
			for files := uint64(4); files < 100 && !ran; files++ {
				var err, left error
				cmd := exec.Command("/bin/true")
				starved(t, files, func() {
					var c *sandbox
					if c, err = j.enter(parent, "sandbox-test", limits{memory: 1 << 30}); err != nil {
						return
					}
					cmd.Env = c.environment()
					if err = c.start(cmd, exe, os.Stderr); err == nil {
						err = cmd.Wait()
						ran = err == nil
					}
					left = c.leave()
				})
				if left != nil && !errors.Is(left, unix.EMFILE) {
					t.Errorf("room for %d: %v", files, left)
				}
				if !ran {
					failed++
				}
				if err == nil != ran || err != nil && !errors.Is(err, unix.EMFILE) && !strings.Contains(err.Error(), "no user id") {
					t.Errorf("room for %d: %v", files, err)
				}
			}
			if after := openNow(t); !ran || failed == 0 || after != before {
				t.Errorf("traces %v: it ran %v after %d tries, and %d files are open, before %d", traces, ran, failed, after, before)
			}
			if err := exe.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestNobodyIsOverlooked: a worker that has no files to look who is left of a user says so and keeps the id, and does not take it that nobody is.
func TestNobodyIsOverlooked(t *testing.T) {
	j := testJail(t)
	c, _ := enter(t, j)
	cmd := exec.Command("sleep", "100")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.uid, Gid: c.uid}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go cmd.Wait() // as the machine's first process does for orphans
	failed, ended := 0, false
	for files := uint64(0); files < 100 && !ended; files++ {
		var err error
		starved(t, files, func() { err = killUser(c.uid) })
		if ended = err == nil; ended {
			break
		}
		if failed++; !errors.Is(err, unix.EMFILE) || len(living(t, c.uid)) != 1 {
			t.Errorf("room for %d: %v; living are %v", files, err, living(t, c.uid))
		}
	}
	if !ended || failed < 2 || len(living(t, c.uid)) != 0 {
		t.Errorf("after %d tries: ended %v", failed, ended)
	}
	var err error
	if starved(t, 0, func() { err = removeIPC(c.uid) }); !errors.Is(err, unix.EMFILE) {
		t.Errorf("what is left outside of files is not looked for: %v", err)
	}
	for dir, want := range map[string]error{filepath.Join(t.TempDir(), "absent"): nil, "/proc/self/exe": unix.ENOTDIR} {
		if err := removeOwned(dir, c.uid); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	j.noPIDs.Store(true) // it ends by its user alone
	sh(t, c, "true")
	if starved(t, 0, func() { err = c.leave() }); !errors.Is(err, unix.EMFILE) {
		t.Errorf("it leaves: %v", err)
	}
	lease := filepath.Join(j.leases, fmt.Sprint(c.uid))
	if b, err := os.ReadFile(lease); err != nil || string(b) != "used\n" {
		t.Errorf("of an id of which something may be left the lease says %q, %v", b, err)
	}
	if j.reclaim(); os.RemoveAll(c.dir) != nil {
		t.Error("its directory cannot be removed")
	}
	if b, err := os.ReadFile(lease); err != nil || len(b) > 0 {
		t.Errorf("the next worker leaves %q, %v", b, err)
	}
}

// TestTracesOutOfFiles: where no process can be started at all, none can be stopped before it begins, and the worker says so.
func TestTracesOutOfFiles(t *testing.T) {
	var said bytes.Buffer
	cfg := DefaultConfig()
	cfg.Log = slog.New(slog.NewTextHandler(&said, nil))
	j := &jail{cfg: &cfg, traces: true}
	starved(t, 0, j.openTraces)
	if j.traces || !strings.Contains(said.String(), "nobody may trace them") || !strings.Contains(said.String(), "too many open files") {
		t.Errorf("traces %v; it says %q", j.traces, &said)
	}
	said.Reset()
	if j.openTraces(); j.traces != (said.Len() == 0) {
		t.Errorf("traces %v; it says %q", j.traces, &said)
	}
}

// TestLeasesOfOthers: a worker clears the ids of its range whose worker was killed, notes what is used, and touches no id of others.
func TestLeasesOfOthers(t *testing.T) {
	j := testJail(t)
	j.leases = t.TempDir()
	lease := func(uid uint32) string { return filepath.Join(j.leases, fmt.Sprint(uid)) }
	first, last := j.cfg.TaskUsers.First, j.cfg.TaskUsers.Last
	for _, uid := range []uint32{first - 1, first, last, last + 1} {
		if err := os.WriteFile(lease(uid), []byte("used\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stranger := exec.Command("sleep", "100")
	stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: first + 1, Gid: first + 1}}
	if err := errors.Join(os.WriteFile(lease(first+1), nil, 0o600), stranger.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stranger.Process.Kill()
		_ = stranger.Wait() // it was killed
	}()
	var said bytes.Buffer
	j.cfg.Log = slog.New(slog.NewTextHandler(&said, nil))
	if j.reclaim(); len(living(t, first+1)) != 1 {
		t.Error("what runs under an id that no worker has used is ended")
	}
	for uid, want := range map[uint32]string{first - 1: "used\n", first: "", last: "", last + 1: "used\n"} {
		if b, err := os.ReadFile(lease(uid)); err != nil || string(b) != want {
			t.Errorf("%d: %q, %v", uid, b, err)
		}
	}
	if said.Len() > 0 {
		t.Errorf("it complains: %s", &said)
	}
	uid, f, err := j.lease()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(lease(uid)); err != nil || string(b) != "used\n" {
		t.Errorf("the lease says %q, %v", b, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	c, _ := enter(t, j)
	if err := c.leave(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(lease(c.uid)); err != nil || len(b) > 0 || c.uid == uid {
		t.Errorf("of what was given back the lease says %q, %v; the uids are %d and %d", b, err, uid, c.uid)
	}
	if err := os.WriteFile(filepath.Join(j.leases, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if j.reclaim(); !strings.Contains(said.String(), "uid=notes") {
		t.Errorf("of a file that is no lease it says %q", &said)
	}
	for _, x := range []struct{ dir, want string }{{filepath.Join(j.leases, "absent"), "lease a user id"}, {"/proc/self", "lease a user id"}} {
		j.leases = x.dir
		said.Reset()
		if _, _, err := j.lease(); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", x.dir, err)
		}
	}
	j.leases = filepath.Join(t.TempDir(), "absent")
	if j.reclaim(); !strings.Contains(said.String(), "cannot be looked for") {
		t.Errorf("it says %q", &said)
	}
}
