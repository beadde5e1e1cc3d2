package worker

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestHierarchies: where the groups of a controller are, and whether the process is in the first of those that it sees.
func TestHierarchies(t *testing.T) {
	const mount = "31 24 0:27 %s /sys/fs/cgroup/%s rw,relatime shared:9 - cgroup cgroup rw,%s\n"
	for _, tt := range []struct {
		name, mounts, groups string
		want                 map[string]hierarchy
	}{
		{"a bare machine", fmt.Sprintf(mount, "/", "memory", "memory"), "4:memory:/\n0::/\n", map[string]hierarchy{"memory": {"/sys/fs/cgroup/memory", ""}}},
		{
			"a manager of groups", fmt.Sprintf(mount, "/", "memory", "memory"), "4:memory:/system.slice/millrace.service\n",
			map[string]hierarchy{"memory": {"/sys/fs/cgroup/memory", "system.slice/millrace.service"}},
		},
		{
			"two controllers in one", fmt.Sprintf(mount, "/", "cpu,cpuacct", "cpu,cpuacct") + fmt.Sprintf(mount, "/", "systemd", "xattr,name=systemd"),
			"2:cpu,cpuacct:/x\n1:name=systemd:/y\n",
			map[string]hierarchy{"cpu": {"/sys/fs/cgroup/cpu,cpuacct", "x"}},
		},
		{"a container", fmt.Sprintf(mount, "/docker/1f", "memory", "memory"), "4:memory:/docker/1f\n", map[string]hierarchy{"memory": {"/sys/fs/cgroup/memory", ""}}},
		{"a group in a container", fmt.Sprintf(mount, "/docker/1f", "memory", "memory"), "4:memory:/docker/1f/a\n", map[string]hierarchy{"memory": {"/sys/fs/cgroup/memory", "a"}}},
		{"another's name", fmt.Sprintf(mount, "/docker/1f", "memory", "memory"), "4:memory:/docker/1f2\n", map[string]hierarchy{"memory": {"/sys/fs/cgroup/memory", ""}}},
		{"version 2", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,memory\n", "0::/\n", map[string]hierarchy{}},
		{"another file system's option", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,memory\n", "4:memory:/\n0::/\n", map[string]hierarchy{}},
		{"nonsense", "x - cgroup\n - \n\nmemory", "::\nx\n4:memory", map[string]hierarchy{}},
	} {
		got := hierarchies(tt.mounts, tt.groups, "memory", "cpu", "pids")
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// oldJail is a jail with groups of version 1 of its own in all hierarchies.
func oldJail(t *testing.T, controllers ...string) *jail {
	t.Helper()
	j := testJail(t)
	j.close()
	j.cfg.TaskCgroup, j.cfg.Speed = "/millrace-test-"+rand.Text(), 0.5 // with a controller of processors
	j.openGroups()
	t.Cleanup(func() {
		j.close()
		for _, dir := range j.old.dirs {
			if err := os.Remove(filepath.Dir(dir)); err != nil {
				t.Errorf("a group is left: %v", err)
			}
		}
	})
	for _, c := range controllers {
		if j.old == nil || j.old.dirs[c] == "" {
			t.Skipf("skipped: no controller %s of cgroups version 1 here, or this process may not use it", c)
		}
	}
	return j
}

func enterWith(t *testing.T, j *jail, l limits) *sandbox {
	t.Helper()
	c, err := j.enter(t.TempDir(), "sandbox-test", l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.leave(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestOldCgroupsBoundMemory: what a program forks is born into its group, whoever forks it, and the kernel itself holds all of them together to the
// limit: it ends a child that takes 200 MB of 64, at once, and leaves one alone that takes 20.
func TestOldCgroupsBoundMemory(t *testing.T) {
	const hoards = "(head -c %d000000 /dev/zero | tail | wc -c) & wait; echo on; cat /proc/self/cgroup" // tail keeps what has no end of line
	for mb, want := range map[int]bool{20: false, 200: true} {
		j := oldJail(t, "memory")
		c := enterWith(t, j, limits{memory: 64 << 20, processors: 2})
		out := sh(t, c, fmt.Sprintf(hoards, mb))
		if !strings.Contains(out, "on\n") || !strings.Contains(out, ":memory:"+j.cfg.TaskCgroup+"/millrace-"+strconv.Itoa(os.Getpid())+"/sandbox-test-") {
			t.Errorf("%d MB: it did not go on, or not in its group: %q", mb, out)
		}
		if whole := strings.Contains(out, fmt.Sprint(mb*1_000_000)); c.overran() != want || whole == want {
			t.Errorf("%d MB under 64: ended by the kernel: %v; %q", mb, c.overran(), out)
		}
		b, err := os.ReadFile(filepath.Join(c.old.dirs["memory"], "memory.max_usage_in_bytes"))
		if most, _ := strconv.Atoi(strings.TrimSpace(string(b))); err != nil || most == 0 || most > 64<<20 {
			t.Errorf("%d MB: %d bytes were held at most, %v", mb, most, err)
		}
	}
}

// TestOldCgroupsBoundProcessors: processes of a program get together what it may have, here so little that they are held back on the busiest machine.
func TestOldCgroupsBoundProcessors(t *testing.T) {
	j := oldJail(t, "cpu")
	c := enterWith(t, j, limits{memory: 1 << 30, processors: 0.01})
	sh(t, c, "for p in 1 2; do (i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done) & done; wait")
	b, err := os.ReadFile(filepath.Join(c.old.dirs["cpu"], "cpu.stat"))
	if err != nil || !strings.Contains(string(b), "nr_throttled") || strings.Contains(string(b), "nr_throttled 0\n") {
		t.Errorf("nobody was held back: %s, %v", b, err)
	}
}

// TestOldCgroupsEnd: groups of attempts that have ended are gone, also those of a worker that was killed, and a program that is killed takes with
// it all that is in its group.
func TestOldCgroupsEnd(t *testing.T) {
	j := oldJail(t, "pids")
	dead := filepath.Join(filepath.Dir(j.old.dirs["pids"]), "millrace-999999999")
	if err := os.MkdirAll(filepath.Join(dead, "sandbox-of-old"), 0o755); err != nil {
		t.Fatal(err)
	}
	j.openGroups() // as the next worker does
	if _, err := os.Stat(dead); err == nil {
		t.Error("the groups of a dead worker are left")
	}
	j.noPIDs.Store(true) // a program would take its processes with it by itself
	c, err := j.enter(t.TempDir(), "sandbox-test", limits{memory: 1 << 30, processors: 2})
	if err != nil {
		t.Fatal(err)
	}
	sh(t, c, "(setsid sleep 100 </dev/null >/dev/null 2>&1 &); sleep 0.05")
	if n := len(c.old.processes()); n != 1 {
		t.Errorf("%d processes are in the group: the test does not bite", n)
	}
	c.old.kill()
	for begin := time.Now(); len(living(t, c.uid)) > 0; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("%v are left", living(t, c.uid))
		}
	}
	group := c.old.dirs["pids"]
	if err := c.leave(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(group); err == nil {
		t.Error("the group is left")
	}
}
