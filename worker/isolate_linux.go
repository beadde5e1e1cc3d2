package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A jail makes sandboxes.
type jail struct {
	cfg    *Config
	mode   string // none, landlock or user
	leases string // directory of locks on user ids
	place  string // where programs see a directory that they could not reach otherwise; empty: nowhere
	groups *cgroups
	old    *oldCgroups

	readable []string // by programs in a cage

	traces bool                                        // the worker can stop a program before it begins
	noPIDs atomic.Bool                                 // the kernel refuses namespaces of process ids
	reach  func(ctx context.Context, addr string) bool // whether addr belongs to a daemon of the cluster

	mu   sync.Mutex // guards next
	next uint32     // user id to try first
}

// needed are the capabilities without which no sandbox can be made.
var needed = []uint{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_KILL}

// newJail decides what auto means here and logs it.
func newJail(cfg *Config) (*jail, error) {
	j := &jail{cfg: cfg, mode: IsolationNone, next: cfg.TaskUsers.First}
	if err := keepDescriptors(); err != nil {
		return nil, err
	}
	if err := settleNetwork(cfg); err != nil {
		return nil, err
	}
	if cfg.Isolation == IsolationNone {
		sayBare(cfg, errors.New("it was asked for"))
		return j, nil
	}
	j.openTraces()
	err := able(cfg.TaskUsers)
	if err != nil && cfg.Isolation == IsolationUser {
		return nil, fmt.Errorf("isolation is %q: %w", IsolationUser, err)
	}
	if err != nil || cfg.Isolation == IsolationLandlock {
		return j, j.withoutUsers(err)
	}
	if err := ableSelf(); err != nil {
		return nil, err
	}
	if j.leases, err = leaseDir(cfg.Dir, "/run"); err != nil {
		return nil, err
	}
	j.reclaim()
	j.mode = IsolationUser
	j.place = placeForSandboxes()
	j.openGroups()
	return j, nil
}

// withoutUsers decides how programs run that cannot have users of their own. With a key the cluster may have
// strangers, and programs run in a cage if possible. Without a key the cluster belongs to one person, who may want
// programs to use files of the machine.
func (j *jail) withoutUsers(why error) error {
	err := ableCage()
	if j.cfg.Isolation == IsolationLandlock && err != nil {
		return fmt.Errorf("isolation is %q: %w", IsolationLandlock, err)
	}
	if err == nil && (j.cfg.Isolation == IsolationLandlock || j.cfg.Key != nil) {
		j.cfg.Log.Info("programs of users run as the worker's user, in a cage", "isolation", IsolationLandlock, "reason", why)
		return j.openCage()
	}
	sayBare(j.cfg, errors.Join(why, err))
	return nil
}

// openGroups finds how the kernel can limit programs. Each controller is in one version of cgroups, and both
// versions may exist side by side.
func (j *jail) openGroups() {
	controllers := []string{"memory", "pids"}
	if j.cfg.Speed > 0 { // on a real machine programs may use all idle processors
		controllers = append(controllers, "cpu")
	}
	var err1, err2 error
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	own, err3 := os.ReadFile("/proc/self/cgroup")
	if err1 = errors.Join(err, err3); err1 == nil {
		j.old, err1 = openOldCgroups(hierarchies(string(mounts), string(own), controllers...), j.cfg.TaskCgroup, os.Getpid())
	}
	j.groups, err2 = openCgroups(cgroupRoot, os.Getpid(), controllers)
	j.standBack()
	if j.old != nil && j.old.dirs["memory"] != "" || j.groups != nil && j.groups.memory {
		return
	}
	j.cfg.Log.Info("no cgroups for the memory of programs of users: it is watched instead", "version 1", err1, "version 2", err2)
}

// keepDescriptors keeps programs from inheriting files that this process has inherited.
func keepDescriptors() error {
	if unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	return keepListed() // a kernel before 5.11
}

// keepListed does the same with the files that the kernel lists.
func keepListed() error {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("files that the worker has inherited would be open in programs of users: %w", err)
	}
	for _, e := range list {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// able returns why attempts cannot have users of their own, or nil.
func able(users UserRange) error {
	if os.Geteuid() != 0 {
		return errors.New("the worker does not run as root")
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	for _, c := range needed {
		if data[c/32].Effective&(1<<(c%32)) == 0 {
			return fmt.Errorf("capability %d is missing", c)
		}
	}
	m, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return err
	}
	if !mapped(string(m), users) {
		return fmt.Errorf("user ids %s do not exist in this namespace", users.String())
	}
	return nil
}

// settleNetwork decides what auto means here, and logs it if that is less protection than strangers require.
func settleNetwork(cfg *Config) error {
	if cfg.TaskNetwork != NetworkAuto {
		return ableNetwork(cfg)
	}
	cfg.TaskNetwork = NetworkAll
	if cfg.Key == nil || cfg.Isolation == IsolationNone || cfg.Isolation == IsolationLandlock {
		return nil
	}
	cfg.TaskNetwork = NetworkCluster
	if err := ableNetwork(cfg); err != nil {
		cfg.TaskNetwork = NetworkAll
		cfg.Log.Info("programs of users reach what the worker does", "task-network", NetworkAll, "reason", err)
	}
	return nil
}

// ableNetwork returns why attempts cannot have another network than the worker, if they should, or nil.
func ableNetwork(cfg *Config) error {
	if cfg.TaskNetwork == NetworkAll {
		return nil
	}
	if cfg.Isolation == IsolationNone || cfg.Isolation == IsolationLandlock {
		return fmt.Errorf("task network is %q, which needs isolation: give --isolation %s, or --task-network %s", cfg.TaskNetwork, IsolationUser, NetworkAll)
	}
	err := able(cfg.TaskUsers)
	if err == nil {
		err = behind(noNetwork)
	}
	if err != nil {
		return fmt.Errorf("task network is %q: %w; give the worker root with CAP_SYS_ADMIN, or --task-network %s", cfg.TaskNetwork, err, NetworkAll)
	}
	return nil
}

// mapped reports whether a line of a uid_map (inside, outside, count) holds the whole range.
func mapped(table string, users UserRange) bool {
	for line := range strings.Lines(table) {
		var inside, outside, count uint64
		if n, _ := fmt.Sscan(line, &inside, &outside, &count); n == 3 &&
			uint64(users.First) >= inside && uint64(users.Last) < inside+count {
			return true
		}
	}
	return false
}

// standBack lowers the priority of programs that the kernel weighs as a group, as their niceness would if it
// weighed each by itself.
func (j *jail) standBack() {
	const nice, usual = 110, 1024 // weight of a process with taskNice, and with niceness 0
	weight := int64(min(usual, nice*j.cfg.Capacity.Places()))
	if j.old != nil && j.old.dirs["cpu"] != "" {
		_ = (&cgroup{dir: j.old.dirs["cpu"]}).set("cpu.shares", weight) // else it stays as it was
	}
	if j.groups != nil && j.groups.cpu {
		_ = (&cgroup{dir: j.groups.dir}).set("cpu.weight", max(1, weight*100/usual)) // likewise
	}
}

func (j *jail) close() {
	if j != nil && j.groups != nil {
		j.groups.remove()
	}
	if j != nil && j.old != nil {
		j.old.remove()
	}
}

// Harden protects this process from users' programs. Only root may look into it, and what it starts under
// another user cannot fork without bound or leave core files. It changes the whole process, so only the main
// function of a worker should call it.
func Harden(cfg *Config) error {
	if cfg.Isolation == IsolationNone || able(cfg.TaskUsers) != nil {
		return nil //nolint:nilerr // the worker starts no programs of other users
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the process undumpable: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core files: %w", err)
	}
	m, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return err
	}
	if f := strings.Fields(string(m)); len(f) != 3 || f[0] != "0" || f[1] != "0" {
		return nil // this root is not the machine's: the limit would apply to the worker too
	}
	n := uint64(cfg.TaskProcesses)
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n}); err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	return nil
}

// openSelf opens the executable of this process, even if another file now has its name.
func openSelf() (*os.File, error) { return os.Open("/proc/self/exe") }
