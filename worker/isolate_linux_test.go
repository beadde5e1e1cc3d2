package worker

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/secure"
)

func TestParseUsers(t *testing.T) {
	for text, ok := range map[string]bool{
		"60600-60855": true, "5-5": true, "0-5": false, "9-5": false, "60600": false, "": false, "a-b": false, "1-99999999999": false,
	} {
		var r UserRange
		if err := r.Set(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
		if ok && r.String() != text {
			t.Errorf("%q became %q", text, r.String())
		}
	}
}

func TestMappedUsers(t *testing.T) {
	users := UserRange{60600, 60855}
	for table, want := range map[string]bool{
		"         0          0 4294967295\n":   true,
		"0 1000 1\n1 100000 65536\n":           true,
		"0 1000 1\n":                           false,
		"0 100000 60700\n":                     false, // not the whole range
		"":                                     false,
		"nonsense":                             false,
		"0 1000 1\n1 100000 100\n101 9 60754":  false,
		"0 1000 1\n60600 9 100\n60600 9 256\n": true,
	} {
		if got := mapped(table, users); got != want {
			t.Errorf("%q: %v", table, got)
		}
	}
}

func TestHasUser(t *testing.T) {
	const status = "Name:\tsh\nState:\t%s (x)\nPid:\t7\nUid:\t60600\t60601\t1\t1\n"
	for _, tt := range []struct {
		state string
		uid   uint32
		want  bool
	}{{"S", 60600, true}, {"R", 60601, true}, {"S", 1, false}, {"Z", 60600, false}} {
		if got := hasUser(fmt.Appendf(nil, status, tt.state), tt.uid); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// testJail has user ids that no worker uses.
func testJail(t *testing.T) *jail {
	t.Helper()
	require.Root(t)
	first := uint32(1_000_000 + 8*os.Getpid()) // other processes that run these tests have others
	cfg := DefaultConfig()
	cfg.Dir, cfg.TaskUsers, cfg.Isolation = t.TempDir(), UserRange{first, first + 3}, IsolationUser
	if err := able(cfg.TaskUsers); err != nil {
		t.Skipf("skipped: %v", err)
	}
	j, err := newJail(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		j.close()
		for uid := first; uid <= first+3; uid++ {
			_ = os.Remove(filepath.Join(j.leases, fmt.Sprint(uid))) // it may not have been used
		}
	})
	return j
}

// sh runs a command in a sandbox and returns what it prints.
func sh(t *testing.T, c *sandbox, command string) string {
	t.Helper()
	exe, err := os.Open("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	var out strings.Builder
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.environment(), &out, &out, 100*time.Millisecond
	if err := c.start(cmd, exe, os.Stderr); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the output says more
	return out.String()
}

func enter(t *testing.T, j *jail) (*sandbox, string) {
	t.Helper()
	parent := t.TempDir()
	c, err := j.enter(parent, "sandbox-test", limits{memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	return c, parent
}

// living lists the processes of a user.
func living(t *testing.T, uid uint32) []int {
	t.Helper()
	pids, err := ofUser(uid)
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// TestNobodyIsLeft: what a program starts ends with it, with and without the kernel's means for that.
func TestNobodyIsLeft(t *testing.T) {
	for _, noPIDs := range []bool{false, true} {
		for _, noGroups := range []bool{false, true} {
			j := testJail(t)
			j.noPIDs.Store(noPIDs)
			if noGroups {
				j.close()
				j.groups, j.old = nil, nil
			}
			c, _ := enter(t, j)
			// In a session of its own, without a parent, and with its files closed.
			sh(t, c, "(setsid sh -c 'sleep 100 & sleep 100' </dev/null >/dev/null 2>&1 &) ; sleep 0.05")
			if n := len(living(t, c.uid)); noPIDs && n == 0 {
				t.Errorf("nothing was left to kill: the test does not bite")
			}
			if err := c.leave(); err != nil {
				t.Error(err)
			}
			if left := living(t, c.uid); len(left) > 0 {
				t.Errorf("ids of processes %v, groups %v: left %v", !noPIDs, !noGroups, left)
			}
			if _, err := os.Lstat(c.dir); err == nil {
				t.Error("the directory is left")
			}
		}
	}
}

// TestProgramsOfKilledWorkersEnd: two programs run when their worker is killed, and one whose worker lives: the next worker ends the two
// before it does anything else, and leaves the third alone.
func TestProgramsOfKilledWorkersEnd(t *testing.T) {
	j := testJail(t)
	var uids []uint32
	var leases []*os.File
	for range 3 {
		uid, f, err := j.lease()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sleep", "100")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go cmd.Wait() // as the machine's first process does for orphans
		t.Cleanup(func() { _ = killUser(uid) })
		uids, leases = append(uids, uid), append(leases, f)
	}
	for _, f := range leases[:2] {
		if err := f.Close(); err != nil { // as the death of the worker does
			t.Fatal(err)
		}
	}
	next, err := newJail(j.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer next.close()
	for i, uid := range uids {
		if got, want := len(living(t, uid)), i/2; got != want {
			t.Errorf("program %d: %d processes, want %d", i, got, want)
		}
	}
	if err := leases[2].Close(); err != nil {
		t.Error(err)
	}
}

// TestSandbox: a program can write to its directory and nowhere else, has no rights, and a bounded number of files and processes.
func TestSandbox(t *testing.T) {
	j := testJail(t)
	c, parent := enter(t, j)
	for _, name := range []string{"LANG", "LC_ALL", "TZ"} {
		t.Setenv(name, "C")
	}
	t.Setenv("MILLRACE_KEY", "not for programs")
	open := t.TempDir()
	for d := open; d != filepath.Clean(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	out := sh(t, c, `id -u; id -G; grep NoNewPrivs /proc/self/status; ulimit -c; echo hello >mine && cat mine; echo x >/dev/null && echo null
echo there >`+open+`/there && echo outside; env | cut -d= -f1 | sort | tr '\n' ' '`)
	if want := fmt.Sprintf("%d\n%d\nNoNewPrivs:\t1\n0\nhello\nnull\n", c.uid, c.uid); !strings.HasPrefix(out, want) {
		t.Errorf("got %q, want %q first", out, want)
	}
	if !strings.HasSuffix(out, "HOME LANG LC_ALL PATH PWD TMPDIR TZ ") {
		t.Errorf("another environment: %q", out)
	}
	if strings.Contains(out, "outside") {
		t.Logf("this kernel has no landlock: programs can write where everybody can")
	}
	if got, err := c.take("mine", parent); err != nil || got != filepath.Join(parent, "mine") {
		t.Errorf("%q, %v", got, err)
	}
	if st, err := os.Stat(filepath.Join(parent, "mine")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if err := c.leave(); err != nil {
		t.Error(err)
	}
}

// TestWhatProgramsInherit: programs have the descriptors that they are given and none of those that the worker has got from whoever
// started it, and stand back behind the daemons; with and without isolation.
func TestWhatProgramsInherit(t *testing.T) {
	leak, err := unix.FcntlInt(0, unix.F_DUPFD, 100) // as a shell would leave it: open for whoever is started
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak) //nolint:errcheck // nothing was written
	if starved(t, 0, func() { err = keepListed() }); !errors.Is(err, unix.EMFILE) {
		t.Errorf("on an old kernel, where they cannot be listed: %v", err)
	}
	if err := keepListed(); err != nil {
		t.Fatal(err)
	}
	for fd, want := range map[int]int{0: 0, leak: unix.FD_CLOEXEC} {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags != want {
			t.Errorf("on an old kernel file %d has the flags %d, %v", fd, flags, err)
		}
	}
	if _, err := unix.FcntlInt(uintptr(leak), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	none := DefaultConfig()
	none.Dir, none.Isolation = t.TempDir(), IsolationNone
	bare, err := newJail(&none)
	if err != nil {
		t.Fatal(err)
	}
	jails := map[string]*jail{"none": bare}
	if os.Geteuid() == 0 {
		jails["user"] = testJail(t)
	}
	for name, j := range jails {
		c, _ := enter(t, j)
		out := sh(t, c, fmt.Sprintf("[ -e /proc/self/fd/%d ] && echo leaked; set -- $(cat /proc/self/stat); echo nice ${19}", leak))
		if want := fmt.Sprintf("nice %d\n", taskNice); out != want {
			t.Errorf("isolation %s: %q, want %q", name, out, want)
		}
		if err := c.leave(); err != nil {
			t.Error(err)
		}
	}
}

// TestTakeRefusesLinks: a program must not make the worker give it, or serve, a file that it cannot read.
func TestTakeRefusesLinks(t *testing.T) {
	j := testJail(t)
	c, parent := enter(t, j)
	sh(t, c, "ln -s /etc/shadow soft; echo a >one; ln one two; mkdir dir")
	for _, name := range []string{"soft", "one", "dir", "absent", "../sandbox-test"} {
		if got, err := c.take(name, parent); err == nil {
			t.Errorf("%s was taken as %s", name, got)
		}
	}
	if err := c.leave(); err != nil {
		t.Error(err)
	}
}

// TestLease: no two attempts have the same user, and one that was given back is used again.
func TestLease(t *testing.T) {
	j, other := testJail(t), testJail(t)
	seen := map[uint32]*os.File{}
	for i := range 4 {
		from := []*jail{j, other}[i%2]
		uid, f, err := from.lease()
		if err != nil || seen[uid] != nil {
			t.Fatalf("lease %d: %d, %v", i, uid, err)
		}
		seen[uid] = f
	}
	if _, _, err := j.lease(); err == nil || !strings.Contains(err.Error(), "--task-user") {
		t.Errorf("a fifth of four: %v", err)
	}
	for _, f := range seen {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, f, err := j.lease(); err != nil || f.Close() != nil {
		t.Errorf("after they were given back: %v", err)
	}
}

// TestLeasesAreInOnePlace: all workers of a machine have their leases in one directory, and one that is alone in a container without that its own.
func TestLeasesAreInOnePlace(t *testing.T) {
	run, dir := t.TempDir(), t.TempDir()
	file := filepath.Join(run, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{run: filepath.Join(run, "millrace", "users"), filepath.Join(run, "none"): filepath.Join(dir, "users"), file: filepath.Join(dir, "users")} {
		got, err := leaseDir(dir, in)
		if st, err2 := os.Stat(want); err != nil || err2 != nil || got != want || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %s, want %s; %v, %v", in, got, want, err, err2)
		}
	}
	if _, err := leaseDir(file, file); err == nil {
		t.Error("there can be no directory, and nobody says so")
	}
}

// TestReachable: a path below a directory that others may not pass is not.
func TestReachable(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if reachable(filepath.Join(dir, "x", "y")) {
		t.Error("a private directory is passed")
	}
	if !reachable("/proc") {
		t.Error("the root directory is not passed")
	}
}

// TestNetworkOfPrograms: what auto means depends on the key and on how programs are kept apart; where the worker cannot, auto is all, and what was asked for is refused.
func TestNetworkOfPrograms(t *testing.T) {
	nobody := UserRange{math.MaxUint32, math.MaxUint32} // no namespace has it
	for _, x := range []struct {
		asked, isolation string
		key              bool
		want             string // "": it is refused
	}{
		{NetworkAuto, IsolationUser, false, NetworkAll},
		{NetworkAuto, IsolationNone, true, NetworkAll},
		{NetworkAuto, IsolationLandlock, true, NetworkAll},
		{NetworkAuto, IsolationUser, true, NetworkAll},
		{NetworkAll, IsolationUser, true, NetworkAll},
		{NetworkAll, IsolationNone, false, NetworkAll},
		{NetworkCluster, IsolationNone, true, ""},
		{NetworkCluster, IsolationLandlock, true, ""},
		{NetworkCluster, IsolationUser, true, ""},
		{NetworkNone, IsolationUser, false, ""},
	} {
		cfg := DefaultConfig()
		cfg.TaskNetwork, cfg.Isolation, cfg.TaskUsers = x.asked, x.isolation, nobody
		if x.key {
			cfg.Key = new(secure.Key)
		}
		err := settleNetwork(&cfg)
		if (err == nil) != (x.want != "") || err == nil && cfg.TaskNetwork != x.want || err != nil && !strings.Contains(err.Error(), "task network is") {
			t.Errorf("%+v: %s, %v", x, cfg.TaskNetwork, err)
		}
	}
}
