package worker

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/secure"
)

// TestNetworkWhereTheWorkerCan: with a key, programs that have users of their own reach the cluster only; what was asked for is had.
func TestNetworkWhereTheWorkerCan(t *testing.T) {
	j := testJail(t)
	if err := behind(noNetwork); err != nil {
		t.Skipf("skipped: %v", err)
	}
	for _, x := range []struct {
		asked, isolation string
		key              bool
		want             string
	}{
		{NetworkAuto, IsolationUser, true, NetworkCluster},
		{NetworkAuto, IsolationAuto, true, NetworkCluster},
		{NetworkAuto, IsolationUser, false, NetworkAll},
		{NetworkAuto, IsolationAuto, false, NetworkAll},
		{NetworkAuto, IsolationNone, true, NetworkAll},
		{NetworkAuto, IsolationLandlock, true, NetworkAll},
		{NetworkAll, IsolationUser, true, NetworkAll},
		{NetworkCluster, IsolationUser, false, NetworkCluster},
		{NetworkNone, IsolationUser, true, NetworkNone},
	} {
		cfg := *j.cfg
		cfg.TaskNetwork, cfg.Isolation, cfg.Key = x.asked, x.isolation, nil
		if x.key {
			cfg.Key = new(secure.Key)
		}
		if err := settleNetwork(&cfg); err != nil || cfg.TaskNetwork != x.want {
			t.Errorf("%+v: %s, %v", x, cfg.TaskNetwork, err)
		}
	}
}

// deprived runs fn in a thread without a capability, or without being root.
func deprived(capability uint, root bool, fn func() error) error {
	return behind(func() error {
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		if err := unix.Capget(&head, &data[0]); err != nil {
			return err
		}
		data[capability/32].Effective &^= 1 << (capability % 32)
		if err := unix.Capset(&head, &data[0]); err != nil {
			return err
		}
		if !root {
			const same = ^uintptr(0)
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, 65534, same); errno != 0 {
				return errno
			}
		}
		return fn()
	})
}

// TestWorkersWithoutRights: a worker that lacks one of the rights says which if users of their own were asked for, and otherwise runs programs as its own
// user, in a cage where the cluster has a key.
func TestWorkersWithoutRights(t *testing.T) {
	j := testJail(t)
	if err := ableCage(); err != nil {
		t.Skipf("skipped: %v", err)
	}
	key, err := secure.Parse(secure.Generate())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(needed, 0) {
		why := fmt.Sprintf("capability %d is missing", c)
		if c == 0 {
			why = "the worker does not run as root"
		}
		for _, x := range []struct {
			isolation string
			key       *secure.Key
			mode      string
		}{{IsolationUser, key, ""}, {IsolationAuto, key, IsolationLandlock}, {IsolationAuto, nil, IsolationNone}, {IsolationLandlock, nil, IsolationLandlock}} {
			var said bytes.Buffer
			cfg := *j.cfg
			cfg.Isolation, cfg.Key, cfg.TaskNetwork, cfg.Log = x.isolation, x.key, NetworkAuto, slog.New(slog.NewTextHandler(&said, nil))
			var got *jail
			err := deprived(c, c != 0, func() (err error) { got, err = newJail(&cfg); return err })
			switch {
			case x.mode == "":
				if err == nil || err.Error() != `isolation is "user": `+why {
					t.Errorf("%+v: %v", x, err)
				}
			case err != nil || got.mode != x.mode || cfg.TaskNetwork != NetworkAll:
				t.Errorf("%s, %+v: %+v, network %s, %v", why, x, got, cfg.TaskNetwork, err)
			case x.isolation != IsolationLandlock && !strings.Contains(said.String(), "isolation="+x.mode+" reason=\""+why):
				t.Errorf("%s, %+v: it says %s", why, x, &said)
			}
		}
	}
}

// TestHardened: the main program of a worker that starts other users' programs is closed to them: nobody looks into it, it leaves no core files, and
// what it starts cannot multiply without end. One that starts none is left as it is.
func TestHardened(t *testing.T) {
	require.Root(t)
	whole, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(whole))
	of := func(what string) string {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{sandboxedEnv + "=" + what}
		cmd.Stderr = t.Output() // where a program that counts coverage warns, too
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return string(out)
	}
	plain, hard := of("hardened not"), of("hardened")
	processes := strings.Fields(plain)[2]
	if len(f) == 3 && f[0] == "0" && f[1] == "0" {
		processes = "77"
	}
	if want := "0 0 " + processes + "\nready\n"; hard != want {
		t.Errorf("%q, want %q", hard, want)
	}
	if !strings.HasPrefix(plain, "1 ") || strings.Contains(plain, " 77\n") {
		t.Errorf("without programs of others: %q", plain)
	}
}

// harden is what TestHardened has a process of its own do.
func harden(isolation string) error {
	cfg := DefaultConfig()
	cfg.Isolation, cfg.TaskProcesses = isolation, 77
	if err := Harden(&cfg); err != nil {
		return err
	}
	look, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		return err
	}
	var core, processes unix.Rlimit
	if err := errors.Join(unix.Getrlimit(unix.RLIMIT_CORE, &core), unix.Getrlimit(unix.RLIMIT_NPROC, &processes)); err != nil {
		return err
	}
	fmt.Println(look, core.Max, processes.Max)
	return nil
}

// TestMemoryIsWatchedWhereNobodyBoundsIt: a worker says so once at its start, with the reasons, if no group of the kernel bounds memory, and says nothing if
// one does.
func TestMemoryIsWatchedWhereNobodyBoundsIt(t *testing.T) {
	j := testJail(t)
	j.close()
	groups := t.TempDir()
	for _, cgroup := range []string{"", "/millrace-test-" + strconv.Itoa(os.Getpid())} {
		var said bytes.Buffer
		cfg := *j.cfg
		cfg.Log, cfg.TaskCgroup = slog.New(slog.NewTextHandler(&said, nil)), cgroup
		k := &jail{cfg: &cfg}
		k.openGroups()
		old := k.old != nil && k.old.dirs["memory"] != ""
		if bound := old || k.groups != nil && k.groups.memory; strings.Contains(said.String(), "it is watched instead") == bound {
			t.Errorf("group %q, bound %v: it says %q", cgroup, bound, &said)
		}
		k.close()
		if k.old == nil || cgroup == "" {
			continue
		}
		for _, dir := range k.old.dirs {
			if err := os.Remove(filepath.Dir(dir)); err != nil {
				t.Errorf("a group is left: %v", err)
			}
		}
	}
	// Without a controller of processors nothing is told to it.
	t.Chdir(groups)
	for _, k := range []*jail{{cfg: j.cfg}, {cfg: j.cfg, old: &oldCgroups{dirs: map[string]string{}}, groups: &cgroups{dir: groups}}} {
		k.standBack()
		wantWritten(t, groups)
	}
	var none *jail
	none.close()
}
