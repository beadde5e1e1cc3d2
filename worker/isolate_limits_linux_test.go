package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestLimitsOfPrograms: a program begins with its limits, whatever capabilities the worker has, cannot raise them, and has no files
// more for that.
func TestLimitsOfPrograms(t *testing.T) {
	jails := map[string]*jail{"landlock": cageJail(t, t.TempDir(), t.TempDir())}
	want := map[string]string{"landlock": ""}
	if os.Geteuid() == 0 {
		jails["user"], want["user"] = testJail(t), "77\n"
	}
	for name, j := range jails {
		if err := ableStopped(); err != nil {
			t.Errorf("programs cannot be stopped before they begin: %v", err)
		}
		for _, j.traces = range []bool{true, false} {
			limitsOf(t, j, want[name])
		}
	}
}

func limitsOf(t *testing.T, j *jail, processes string) {
	t.Helper()
	j.cfg.TaskDisk, j.cfg.TaskProcesses = 1<<20, 77
	c, _ := enter(t, j)
	out := sh(t, c, `ulimit -Sn; ulimit -Hn; ulimit -n 16385 2>/dev/null && echo raised; ulimit -f; ulimit -Hf; ulimit -c
for n in 6 7 8 9 10 11; do [ -e /proc/$$/fd/$n ] && echo open $n; done; sed -n 's/^TracerPid:.//p' /proc/self/status
head -c 1048576 /dev/zero >small && echo small; head -c 1048577 /dev/zero 2>/dev/null >large || echo refused; stat -c %s large
sed -n 's/^Max processes  *[0-9]*  *\([0-9]*\) .*/\1/p' /proc/self/limits`)
	// Blocks of a shell's have 512 bytes.
	if first := "16384\n16384\n2048\n2048\n0\n0\nsmall\nrefused\n1048576\n"; !strings.HasPrefix(strings.ReplaceAll(out, "File size limit exceeded\n", ""), first+processes) {
		t.Errorf("isolation %s, traces %v: %q, want %q and %q", j.mode, j.traces, out, first, processes)
	}
	if err := c.leave(); err != nil {
		t.Error(err)
	}
}

// TestProgramsThatCannotBegin: what is no program is named, though another process finds out.
func TestProgramsThatCannotBegin(t *testing.T) {
	jails := []*jail{cageJail(t, t.TempDir(), t.TempDir())}
	if os.Geteuid() == 0 {
		jails = append(jails, testJail(t))
	}
	for _, j := range slices.Repeat(jails, 2) {
		j.traces = !j.traces
		c, _ := enter(t, j)
		for mode, want := range map[os.FileMode]error{0o644: syscall.EACCES, 0o755: syscall.ENOEXEC} {
			name := filepath.Join(t.TempDir(), "program")
			if err := os.WriteFile(name, []byte("no program\n"), mode); err != nil {
				t.Fatal(err)
			}
			exe, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(name)
			cmd.Env = c.environment()
			if err := c.start(cmd, exe, os.Stderr); !errors.Is(err, want) {
				t.Errorf("isolation %s, mode %o: %v, want %v", j.mode, mode, err, want)
			}
			_ = exe.Close() // it was only read
		}
		if err := c.leave(); err != nil {
			t.Error(err)
		}
	}
}

// TestProgramsThatSayTheyCannotBegin: a process that has said why it does not become the program is ended, though it would go on.
func TestProgramsThatSayTheyCannotBegin(t *testing.T) {
	cfg := DefaultConfig()
	c, cmd := &sandbox{j: &jail{cfg: &cfg}}, exec.Command("sh")
	err := c.bounded(cmd, "/bin/sh", func(...*os.File) error {
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "printf '13 exec x' >&3; exec 3>&-; exec sleep 5"}
		return cmd.Start()
	})
	if !errors.Is(err, syscall.EACCES) || !strings.Contains(err.Error(), "exec x") || cmd.ProcessState == nil || cmd.ProcessState.String() != "signal: killed" {
		t.Errorf("%v; the process: %v", err, cmd.ProcessState)
	}
}

// TestExecutableOfAll: a worker whose executable is for its owner alone says so at its start.
func TestExecutableOfAll(t *testing.T) {
	name := filepath.Join(t.TempDir(), "millrace")
	for mode, want := range map[os.FileMode]string{0o700: name + ", which others may not execute", 0o755: "<nil>"} {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Chmod(mode); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(forAll(f)); !strings.Contains(got, want) {
			t.Errorf("mode %o: %s, want %s", mode, got, want)
		}
		_ = f.Close() // nothing was written
	}
}
