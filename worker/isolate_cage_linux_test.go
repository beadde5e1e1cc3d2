package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/secure"
)

// TestReadable: what is hidden stays so wherever it lies, and all beside it can be read.
func TestReadable(t *testing.T) {
	tree := map[string][]string{"/etc": {"passwd", "millrace", "millrace2"}, "/etc/millrace": {"key", "topology"}, "/opt": {"data"}}
	list := func(dir string) []string { return tree[dir] }
	for _, tt := range []struct{ hidden, want string }{
		{"/root/key", "/etc /opt /usr /run/resolve"},
		{"/etc/millrace/key", "/etc/passwd /etc/millrace/topology /etc/millrace2 /opt /usr /run/resolve"},
		{"/etc/millrace", "/etc/passwd /etc/millrace2 /opt /usr /run/resolve"},
		{"/etc/millrace2", "/etc/passwd /etc/millrace /opt /usr /run/resolve"},
		{"/opt/data", "/etc /usr /run/resolve"},
		{"/opt", "/etc /usr /run/resolve"},
		{"/run", "/etc /opt /usr"},
		{"/usr/share/w1 /etc/passwd", "/etc/millrace /etc/millrace2 /opt /run/resolve"},
		{"", "/etc /opt /usr /run/resolve"},
	} {
		if got := strings.Join(readable([]string{"/etc", "/opt", "/usr", "/run/resolve"}, strings.Fields(tt.hidden), list), " "); got != tt.want {
			t.Errorf("without %q: %s, want %s", tt.hidden, got, tt.want)
		}
	}
}

// cageJail is a worker's that keeps programs by Landlock alone, with its directories and a key in a file.
func cageJail(t *testing.T, dir, keys string, data ...string) *jail {
	t.Helper()
	if err := ableCage(); err != nil {
		t.Skipf("skipped: %v", err)
	}
	cfg := DefaultConfig()
	cfg.Dir, cfg.Data, cfg.Isolation = dir, data, IsolationLandlock
	name := filepath.Join(keys, "cluster.key")
	if err := os.WriteFile(name, []byte(secure.Generate()), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if cfg.Key, err = secure.Load(name); err != nil {
		t.Fatal(err)
	}
	j, err := newJail(&cfg)
	if err != nil || j.mode != IsolationLandlock {
		t.Fatal(j, err)
	}
	return j
}

// TestCage: a program with the worker's user reads what is the system's and its own, and neither the key nor files of the worker or of others; it
// writes to its directory only, and can neither gain rights nor look into the worker. What tasks do, it can.
func TestCage(t *testing.T) {
	j := cageJail(t, t.TempDir(), t.TempDir())
	c, err := j.enter(j.cfg.Dir, "sandbox-test", limits{memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	others := filepath.Join(t.TempDir(), "others")
	for _, name := range []string{others, filepath.Join(j.cfg.Dir, "block")} {
		if err := os.WriteFile(name, []byte("secret\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tries := map[string]string{
		"key":     "cat " + j.cfg.Key.File(),
		"block":   "cat " + j.cfg.Dir + "/block",
		"list":    "ls " + j.cfg.Dir,
		"others":  "cat " + others,
		"write":   "echo x >>" + others,
		"make":    "echo x >" + filepath.Dir(others) + "/new",
		"environ": fmt.Sprintf("cat /proc/%d/environ", os.Getpid()),
		"kill":    fmt.Sprintf("kill -0 %d", os.Getpid()),
		"space":   "unshare -U true",
	}
	if landlockVersion() < 6 {
		delete(tries, "kill")
	}
	if os.Geteuid() == 0 {
		delete(tries, "environ") // newer kernels show it to CAP_PERFMON, which a worker that needs a cage has not
	}
	var script strings.Builder
	for name, command := range tries {
		fmt.Fprintf(&script, "if (%s) >/dev/null 2>&1; then echo got %s; fi\n", command, name)
	}
	script.WriteString("grep NoNewPrivs /proc/self/status; echo hello >mine && cat mine; mkdir d && ls; cat /etc/passwd >/dev/null && echo etc; echo x >/dev/null && echo null; sh -c 'echo sub' | cat\n")
	const want = "NoNewPrivs:\t1\nhello\nd\nmine\nside\netc\nnull\nsub\n"
	if out := sh(t, c, script.String()); out != want {
		t.Errorf("%q, want %q", out, want)
	}
	if err := c.leave(); err != nil {
		t.Error(err)
	}
	// All these it would get otherwise.
	j.mode = IsolationNone
	if c, err = j.enter(j.cfg.Dir, "sandbox-test", limits{memory: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	var missed []string
	for name, command := range tries {
		if out := sh(t, c, "("+command+") >/dev/null 2>&1 && echo got"); out != "got\n" {
			missed = append(missed, name)
		}
	}
	if slices.Sort(missed); len(missed) > 0 {
		t.Logf("without a cage these do not work either: %v", missed)
	}
	if len(missed) > 2 {
		t.Errorf("the test does not bite: %v", missed)
	}
	if err := c.leave(); err != nil {
		t.Error(err)
	}
}

// TestCageBelowWhatAllRead: the same if what is the worker's lies where everybody may read, also by another name; what lies beside it can be read.
func TestCageBelowWhatAllRead(t *testing.T) {
	base, err := os.MkdirTemp("/dev/shm", "millrace-test-") //nolint:usetesting // it must lie where everybody may read
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	for _, d := range []string{"real", "data", "keys", "others"} {
		if err := errors.Join(os.Mkdir(filepath.Join(base, d), 0o755), os.WriteFile(filepath.Join(base, d, "file"), []byte(d), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(base, "real"), dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("keys", filepath.Join(base, "alias")); err != nil { // whoever may read below it may read the key
		t.Fatal(err)
	}
	j := cageJail(t, dir, filepath.Join(base, "keys"), filepath.Join(base, "data"))
	c, err := j.enter(t.TempDir(), "sandbox-test", limits{memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	if out := sh(t, c, "cd "+base+" && cat real/file data/file keys/cluster.key alias/cluster.key keys/file others/file 2>/dev/null"); out != "keysothers" {
		t.Errorf("it reads %q", out)
	}
	if err := c.leave(); err != nil {
		t.Error(err)
	}
	// Of what a link of the system leads to, as of /lib, the worker's part is not readable either.
	for _, d := range systemDirs {
		if to, err := filepath.EvalSymlinks(d); err == nil && to != d {
			j.cfg.Dir = filepath.Join(to, "millrace", "w1")
			if err := j.openCage(); err != nil || slices.Contains(j.readable, d) || slices.Contains(j.readable, to) {
				t.Errorf("with a worker at %s: %q, %v", j.cfg.Dir, j.readable, err)
			}
		}
	}
}

// TestWhoIsCaged: without rights for users of their own, programs are in a cage where the cluster has a key; who asks for a cage and an own network
// hears that it does not go together.
func TestWhoIsCaged(t *testing.T) {
	if err := ableCage(); err != nil {
		t.Skipf("skipped: %v", err)
	}
	key, err := secure.Parse(secure.Generate())
	if err != nil {
		t.Fatal(err)
	}
	for want, k := range map[string]*secure.Key{IsolationNone: nil, IsolationLandlock: key} {
		cfg := DefaultConfig()
		cfg.Dir, cfg.Key = t.TempDir(), k
		j := &jail{cfg: &cfg, mode: IsolationNone}
		if err := j.withoutUsers(os.ErrPermission); err != nil || j.mode != want {
			t.Errorf("with a key: %v: %s, %v", k != nil, j.mode, err)
		}
	}
	cfg := DefaultConfig()
	cfg.Dir, cfg.Isolation, cfg.TaskNetwork = t.TempDir(), IsolationLandlock, NetworkCluster
	if _, err := newJail(&cfg); err == nil || !strings.Contains(err.Error(), "needs isolation") {
		t.Errorf("%v", err)
	}
}

// TestFirstThreadStaysFree: what threads give up for programs the first one never does: others would take it for the whole worker.
func TestFirstThreadStaysFree(t *testing.T) {
	first := 0
	for range 300 {
		err := behind(func() error {
			if unix.Gettid() == os.Getpid() {
				return errors.New("the first thread")
			}
			return nil
		})
		if err != nil {
			first++
		}
	}
	if first > 0 {
		t.Errorf("%d of 300 times", first)
	}
}
