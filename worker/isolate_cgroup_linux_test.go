package worker

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// These tests look at what is told to the kernel: directories stand for its hierarchies, so that they run where it has none.

// written reads the files of a directory, as "name: text".
func written(t *testing.T, dir string) (out []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.IsDir() {
			continue
		}
		name := filepath.Join(dir, e.Name())
		if err := os.Chmod(name, 0o600); err != nil { // the kernel's files have rights of their own
			t.Fatal(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.Name()+": "+string(b))
	}
	return out
}

func wantWritten(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := written(t, dir); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", dir, got, want)
	}
}

// mayDo gives a directory what the kernel puts into a group.
func mayDo(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLimitsOfNewCgroups: a group of version 2 has the limits of its attempt, by those controllers that are there; one that cannot be had is an
// error, and leaves no group.
func TestLimitsOfNewCgroups(t *testing.T) {
	half := limits{memory: 64 << 20, processors: 0.5}
	for name, tt := range map[string]struct {
		on   cgroups
		l    limits
		want []string
	}{
		"all":                    {cgroups{memory: true, process: true, cpu: true}, half, []string{"cpu.max: 50000 100000", "memory.max: 67108864", "memory.swap.max: 0", "pids.max: 7"}},
		"more than one":          {cgroups{cpu: true}, limits{processors: 2.5}, []string{"cpu.max: 250000 100000"}},
		"no processors":          {cgroups{memory: true, process: true}, half, []string{"memory.max: 67108864", "memory.swap.max: 0", "pids.max: 7"}},
		"no bound of processors": {cgroups{cpu: true}, limits{memory: 1 << 20}, nil},
		"nothing":                {cgroups{}, half, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tt.on.dir = t.TempDir()
			c, err := tt.on.create("a", tt.l, 7)
			if err != nil {
				t.Fatal(err)
			}
			wantWritten(t, filepath.Join(tt.on.dir, "a"), tt.want...)
			c.close()
			for _, file := range tt.want {
				file, _, _ = strings.Cut(file, ":")
				tt.on.dir = t.TempDir()
				mayDo(t, filepath.Join(tt.on.dir, "a", file), nil) // a directory nobody can write to
				_, err := tt.on.create("a", tt.l, 7)
				if refused := err != nil && strings.Contains(err.Error(), file); refused != (file != "memory.swap.max") {
					t.Errorf("without %s: %v", file, err)
				}
			}
		})
	}
}

// TestLimitsOfOldCgroups is the same for version 1, where each controller has a hierarchy of its own.
func TestLimitsOfOldCgroups(t *testing.T) {
	g := &oldCgroups{dirs: map[string]string{"memory": t.TempDir(), "pids": t.TempDir(), "cpu": t.TempDir()}}
	c, err := g.create("a", limits{memory: 64 << 20, processors: 0.5}, 7)
	if err != nil {
		t.Fatal(err)
	}
	wantWritten(t, c.dirs["memory"], "memory.limit_in_bytes: 67108864", "memory.memsw.limit_in_bytes: 67108864")
	wantWritten(t, c.dirs["pids"], "pids.max: 7")
	wantWritten(t, c.dirs["cpu"], "cpu.cfs_period_us: 100000", "cpu.cfs_quota_us: 50000")
	for controller, file := range map[string]string{"memory": "memory.limit_in_bytes", "pids": "pids.max", "cpu": "cpu.cfs_quota_us"} {
		g.dirs = map[string]string{controller: t.TempDir()}
		mayDo(t, filepath.Join(g.dirs[controller], "a", file), nil)
		if _, err := g.create("a", limits{memory: 1, processors: 1}, 1); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("without %s: %v", file, err)
		}
	}
}

// TestProcessesOfOldCgroups: those that end with an attempt are in some of its groups, and the worker, of which a thread passes through, is none.
func TestProcessesOfOldCgroups(t *testing.T) {
	c := &oldCgroup{dirs: map[string]string{"memory": t.TempDir(), "pids": t.TempDir(), "cpu": filepath.Join(t.TempDir(), "gone")}}
	mayDo(t, c.dirs["memory"], map[string]string{"cgroup.procs": fmt.Sprintf("33\n%d\n11\n", os.Getpid())})
	mayDo(t, c.dirs["pids"], map[string]string{"cgroup.procs": "0\n22\n33\nx\n"}) // 0: of another namespace
	if got := c.processes(); !slices.Equal(got, []int{11, 22, 33}) {
		t.Error(got)
	}
}

// TestWhereNewCgroupsLie: the subtree is below the group of the worker, has the controllers that the kernel gives, and is not made where the kernel cannot
// kill a group.
func TestWhereNewCgroupsLie(t *testing.T) {
	own, err := ownGroup()
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	if !strings.HasPrefix(own, "/") {
		t.Errorf("the worker is in the group %q", own)
	}
	for _, beside := range []string{"", "unified"} {
		root := t.TempDir()
		base := filepath.Join(root, beside, own)
		mayDo(t, filepath.Join(root, beside), map[string]string{"cgroup.controllers": ""})
		mayDo(t, base, map[string]string{"cgroup.procs": ""})
		if g, err := openCgroups(root, os.Getpid(), nil); err == nil || !strings.Contains(err.Error(), "cannot kill") {
			t.Errorf("%+v, %v: want an error", g, err)
		}
		dir := filepath.Join(base, fmt.Sprint("millrace-", os.Getpid()))
		mayDo(t, dir, map[string]string{"cgroup.kill": ""})
		g, err := openCgroups(root, os.Getpid(), []string{"memory", "cpu"})
		if err != nil || *g != (cgroups{dir: dir, memory: true, cpu: true}) {
			t.Fatalf("%+v, %v", g, err)
		}
		wantWritten(t, dir, "cgroup.kill: ", "cgroup.subtree_control: +cpu")
		if err := os.Remove(filepath.Join(dir, "cgroup.subtree_control")); err != nil {
			t.Fatal(err)
		}
		mayDo(t, filepath.Join(dir, "cgroup.subtree_control"), nil)
		if g, err := openCgroups(root, os.Getpid(), []string{"memory", "pids", "cpu"}); err != nil || *g != (cgroups{dir: dir}) {
			t.Errorf("where the kernel refuses: %+v, %v", g, err)
		}
	}
}

// TestWhereOldCgroupsLie: groups of attempts are below the group that the worker was given, or below the first one if it is in that; a group of
// somebody else gets none.
func TestWhereOldCgroupsLie(t *testing.T) {
	for _, tt := range []struct{ own, given, want string }{
		{"", "", "millrace-1"},
		{"", "/a/b", "a/b/millrace-1"},
		{"system.slice/x", "a", "a/millrace-1"},
		{"", "../../a", "a/millrace-1"}, // it stays below
		{"system.slice/x", "", ""},
	} {
		root := t.TempDir()
		g, err := openOldCgroups(map[string]hierarchy{"memory": {root, tt.own}}, tt.given, 1)
		want := map[string]string{}
		if tt.want != "" {
			want["memory"] = filepath.Join(root, tt.want)
		}
		if !maps.Equal(g.dirs, want) || (err != nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), "--task-cgroup") {
			t.Errorf("%+v: %v, %v", tt, g.dirs, err)
		}
		list, err := os.ReadDir(root)
		if err != nil || (len(list) > 0) != (tt.want != "") {
			t.Errorf("%+v: %v, %v", tt, list, err)
		}
	}
}

// TestStandBack: programs together have the weight of as many nice processes as may run at once, and never more than one that is not nice.
func TestStandBack(t *testing.T) {
	for containers, want := range map[int32][2]string{2: {"cpu.shares: 220", "cpu.weight: 21"}, 40: {"cpu.shares: 1024", "cpu.weight: 100"}} {
		cfg := DefaultConfig()
		cfg.Capacity.Containers = containers
		old, unified := t.TempDir(), t.TempDir()
		j := &jail{cfg: &cfg, old: &oldCgroups{map[string]string{"cpu": old}}, groups: &cgroups{dir: unified, cpu: true}}
		j.standBack()
		wantWritten(t, old, want[0])
		wantWritten(t, unified, want[1])
	}
}

// TestSweptCgroups: groups of workers that are gone go, with those of their attempts; those of one that lives, and of others, stay.
func TestSweptCgroups(t *testing.T) {
	base := t.TempDir()
	lives := fmt.Sprint("millrace-", os.Getpid())
	for _, name := range []string{"millrace-999999999/sandbox-1", "millrace-999999999/sandbox-2", "millrace-999999998", lives + "/sandbox-1", "other/x", "xmillrace-999999999"} {
		mayDo(t, filepath.Join(base, name), nil)
	}
	mayDo(t, filepath.Join(base, "millrace-999999997", "busy"), map[string]string{"x": ""}) // not removed as a group is in which something runs
	sweep(base)
	var left []string
	for _, dir := range append(subdirs(base), subdirs(filepath.Join(base, lives))...) {
		left = append(left, strings.TrimPrefix(dir, base+"/"))
	}
	if want := []string{lives, "millrace-999999997", "other", "xmillrace-999999999", lives + "/sandbox-1"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
	mayDo(t, base, map[string]string{"file": ""})
	if got := subdirs(base); len(got) != 4 {
		t.Errorf("groups are %q", got)
	}
	if got := subdirs(filepath.Join(base, "absent")); len(got) != 0 {
		t.Errorf("of nowhere they are %q", got)
	}
}

// TestEndsOfCgroups: a group is told to kill, is gone when it is closed, and so are those of a worker that ends; of an attempt that could not have
// all its limits none is left.
func TestEndsOfCgroups(t *testing.T) {
	g := &cgroups{dir: filepath.Join(t.TempDir(), "millrace-1")}
	mayDo(t, g.dir, nil)
	for range 2 { // one that is there already is used
		if _, err := g.create("a", limits{}, 7); err != nil {
			t.Fatal(err)
		}
	}
	c, err := g.create("b", limits{}, 7)
	if err != nil {
		t.Fatal(err)
	}
	c.kill()
	wantWritten(t, c.dir, "cgroup.kill: 1")
	if err := os.Remove(filepath.Join(c.dir, "cgroup.kill")); err != nil {
		t.Fatal(err)
	}
	c.close()
	if got := subdirs(g.dir); len(got) != 1 {
		t.Errorf("left are %q", got)
	}
	if _, err := c.fd.Stat(); err == nil {
		t.Error("its directory is still open")
	}
	if g.remove(); len(subdirs(filepath.Dir(g.dir))) != 1 {
		t.Error("the group of a worker is gone while one of its attempts is there")
	}
	if err := os.Remove(filepath.Join(g.dir, "a")); err != nil {
		t.Fatal(err)
	}
	if g.remove(); len(subdirs(filepath.Dir(g.dir))) != 0 {
		t.Error("the group of a worker is left")
	}
	if _, err := g.create("c", limits{}, 7); err == nil {
		t.Error("a group was made below one that is gone")
	}
	old := &oldCgroups{dirs: map[string]string{"memory": filepath.Join(t.TempDir(), "millrace-1"), "pids": filepath.Join(t.TempDir(), "gone")}}
	mayDo(t, filepath.Join(old.dirs["memory"], "of an attempt that is over"), nil)
	if _, err := old.create("a", limits{memory: 1}, 7); err == nil || !strings.Contains(err.Error(), "cgroup: ") {
		t.Errorf("one of two controllers: %v", err)
	}
	for _, f := range []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"} {
		_ = os.Remove(filepath.Join(old.dirs["memory"], "a", f)) // the kernel's go with their group
	}
	if old.remove(); len(subdirs(filepath.Dir(old.dirs["memory"]))) != 0 {
		t.Errorf("left are %q", subdirs(old.dirs["memory"]))
	}
}

// TestWithinOldCgroups: the thread is in all groups of an attempt while a program is started and in the worker's own afterwards; if it cannot get into
// one, nothing is started. Without groups it is.
func TestWithinOldCgroups(t *testing.T) {
	for missing, starts := range map[string]bool{"": true, "memory/a": false, "memory": false, "pids/a": false} {
		root := t.TempDir()
		g := &oldCgroups{dirs: map[string]string{"memory": filepath.Join(root, "memory"), "pids": filepath.Join(root, "pids")}}
		c := &oldCgroup{g, map[string]string{"memory": filepath.Join(root, "memory", "a"), "pids": filepath.Join(root, "pids", "a")}}
		for _, dir := range []string{"memory", "pids", "memory/a", "pids/a"} {
			mayDo(t, filepath.Join(root, dir), nil)
			if dir != missing {
				mayDo(t, filepath.Join(root, dir), map[string]string{"tasks": ""})
			}
		}
		tasks := func() (out []string) {
			for _, dir := range []string{"memory/a", "pids/a", "memory", "pids"} {
				b, err := os.ReadFile(filepath.Join(root, dir, "tasks"))
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, string(b))
			}
			return out
		}
		ran := false
		err := c.within(func() error {
			ran = true
			if got := strings.Join(tasks(), ","); got != "0,0,," {
				t.Errorf("while it starts: %q", got)
			}
			return os.ErrProcessDone
		})
		if ran != starts || starts && !errors.Is(err, os.ErrProcessDone) || !starts && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("without tasks of %q: started %v, %v", missing, ran, err)
		}
		if starts && strings.Join(tasks(), ",") != "0,0,0,0" {
			t.Errorf("afterwards: %q", tasks())
		}
	}
	if err := (*oldCgroup)(nil).within(func() error { return os.ErrProcessDone }); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	closed, err := os.Create(filepath.Join(t.TempDir(), "tasks"))
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := moveTo([]*os.File{closed}); err == nil || !strings.Contains(err.Error(), "cgroup: ") {
		t.Errorf("a group that takes nobody: %v", err)
	}
}
