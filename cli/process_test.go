package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/internal/launch"
	"github.com/millrace/millrace/internal/procs"
	"github.com/millrace/millrace/mapreduce"
)

// child is one run of the real command in a process of its own.
type child struct {
	t              *testing.T
	dir            string
	stdout, stderr bytes.Buffer
	code           int
}

func newChild(t *testing.T) *child {
	t.Helper()
	c := &child{t: t, dir: t.TempDir()}
	if err := os.Mkdir(c.path("tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.checkClean)
	return c
}

func (c *child) path(name string) string { return filepath.Join(c.dir, name) }

func (c *child) write(name string, content []byte) {
	c.t.Helper()
	if err := os.WriteFile(c.path(name), content, 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// checkClean wants no temporary file and no half-made output.
func (c *child) checkClean() {
	c.t.Helper()
	err := filepath.WalkDir(c.dir, func(p string, _ os.DirEntry, err error) error {
		if err == nil && strings.Contains(filepath.Base(p), "millrace-") {
			c.t.Errorf("left behind: %s", p)
		}
		return err
	})
	if err != nil {
		c.t.Error(err)
	}
}

// command is the process, not yet started. It is killed after two minutes: a hang
// is a failure of the test, not of the machine.
func (c *child) command(name string, args ...string) *exec.Cmd {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	c.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "TMPDIR="+c.path("tmp"), peakFile+"="+c.path("peak"))
	c.stdout.Reset()
	c.stderr.Reset()
	cmd.Stdout, cmd.Stderr = &c.stdout, &c.stderr
	return cmd
}

// wait waits for the end of a started process.
func (c *child) wait(cmd *exec.Cmd) {
	_ = cmd.Wait() // the exit code says it
	c.code = cmd.ProcessState.ExitCode()
	if said := c.stderr.String(); strings.Contains(said, "goroutine ") && !strings.Contains(said, "failed in user code") && !strings.Contains(said, "millrace: interrupted: ") {
		c.t.Errorf("the process panicked:\n%s", c.stderr.String())
	}
}

func (c *child) run(name string, args ...string) {
	c.t.Helper()
	cmd := c.command(name, args...)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.wait(cmd)
}

// ok runs millrace and wants it to succeed.
func (c *child) ok(args ...string) {
	c.t.Helper()
	c.run("millrace", args...)
	if c.code != 0 {
		c.t.Fatalf("millrace %s: exit code %d\n%s", strings.Join(args, " "), c.code, c.stderr.String())
	}
}

// failed wants the last run to have failed with all of these words, and no output.
func (c *child) failed(output string, words ...string) {
	c.t.Helper()
	if c.code != 1 {
		c.t.Errorf("exit code %d, want 1", c.code)
	}
	for _, w := range words {
		if !strings.Contains(c.stderr.String(), w) {
			c.t.Errorf("the message lacks %q:\n%s", w, c.stderr.String())
		}
	}
	if _, err := os.Lstat(output); err == nil {
		c.t.Errorf("%s is visible", output)
	}
}

// parts returns the output.
func (c *child) parts(dir string) string {
	c.t.Helper()
	var all bytes.Buffer
	if err := launch.PrintParts(&all, c.path(dir)); err != nil {
		c.t.Fatal(err)
	}
	return all.String()
}

// within wants the memory of the last run to have stayed below a bound. Pages of the program's own file are not counted: they
// are the page cache's, and how many are mapped depends on how large the program is, not on what it does.
func (c *child) within(limit int64) {
	c.t.Helper()
	status, err := os.ReadFile(c.path("peak"))
	if err != nil {
		c.t.Fatal(err)
	}
	of := func(name string) (kib int64) {
		_, rest, _ := strings.Cut(string(status), name+":")
		if _, err := fmt.Sscanf(strings.TrimSpace(rest), "%d kB", &kib); err != nil {
			c.t.Fatalf("no %s in %s: %v", name, status, err)
		}
		return kib
	}
	kib := of("VmHWM") - of("RssFile")
	c.t.Logf("peak memory %d MiB, bound %d MiB, with pages of the program %d MiB", kib>>10, limit>>20, of("VmHWM")>>10)
	if kib<<10 > limit && !raced {
		c.t.Errorf("peak memory %d MiB, more than %d MiB", kib>>10, limit>>20)
	}
}

// TestInterrupt: Ctrl-C in the middle of any phase ends the run soon, says so and
// leaves nothing. A quit shows what the run was doing before it does the same.
func TestInterrupt(t *testing.T) {
	for name, args := range map[string][]string{
		"map":       {"run", "sleep", "--maps", "2", "--reduces", "1", "--map-time", "60s"},
		"reduce":    {"run", "sleep", "--maps", "2", "--reduces", "2", "--map-time", "0s", "--reduce-time", "60s", "--output", "out"},
		"streaming": {"run", "streaming", "--mapper", "sleep 60", "--input", "in", "--output", "out"},
	} {
		for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT} {
			t.Run(fmt.Sprintf("%s/%s", name, signal), func(t *testing.T) {
				c := newChild(t)
				c.write("in", []byte("a\n"))
				cmd := c.command("millrace", append(args, "--progress", "none")...)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				c.waitForScratch()
				sent := time.Now()
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				c.wait(cmd)
				if d := time.Since(sent); d > 2*time.Second {
					t.Errorf("it ended only after %s", d)
				}
				c.interrupted(signal, "interrupted: nothing was left behind")
				if quit := signal == syscall.SIGQUIT; strings.Contains(c.stderr.String(), "launch.(*Run).") != quit {
					t.Errorf("stacks are shown or not: %.300s", c.stderr.String())
				}
			})
		}
	}
}

// TestKilledRunIsSweptByTheNext: a run that nobody could interrupt leaves directories, which the next run of the same output removes, and
// no process. A run that lives keeps what is its own.
func TestKilledRunIsSweptByTheNext(t *testing.T) {
	c := newChild(t)
	c.write("in", []byte("a\n"))
	start := func(output, mapper string) *exec.Cmd {
		cmd := c.command("millrace", "run", "streaming", "--mapper", mapper, "--input", "in", "--output", output, "--overwrite", "--progress", "none")
		cmd.Stdout, cmd.Stderr = nil, nil // several run at once
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	killed := start("out", "echo $$ > killed.tmp; mv killed.tmp killed; sleep 1000; cat")
	living := start("out", "touch living; while ! test -e go; do sleep 0.01; done; cat")
	c.waitFor(c.path("killed"))
	c.waitFor(c.path("living"))
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	c.waitForEnd("killed")
	if n := len(c.leftovers()); n != 8 {
		t.Fatalf("two runs have %d files and directories, not a claim and a directory each in both places: %q", n, c.leftovers())
	}
	c.ok("run", "wordcount", "--input", "in", "--output", "out", "--progress", "none")
	if n := len(c.leftovers()); n != 4 {
		t.Errorf("beside a run that lives, %d of 4 are left: %q", n, c.leftovers())
	}
	c.write("go", nil)
	if err := living.Wait(); err != nil {
		t.Errorf("the run that lived: %v", err)
	}
	if got := c.parts("out"); !strings.HasPrefix(got, "a") || strings.Contains(got, "1") {
		t.Errorf("the run that lived wrote %q", got)
	}
}

// TestNamesDoNotSplitLines: names with newlines, in results and in what a command says.
func TestNamesDoNotSplitLines(t *testing.T) {
	c := newChild(t)
	const evil = "in\nFAKE\tline"
	c.write(evil, []byte("a b\n"))
	c.ok("run", "inverted-index", "--input", evil, "--output", "index", "--name", evil)
	if got, want := c.parts("index"), "a\tin\\nFAKE\\tline\nb\tin\\nFAKE\\tline\n"; got != want {
		t.Errorf("the index is %q, want %q", got, want)
	}
	for _, args := range [][]string{
		{"run", "sort", "--input", evil, "--output", "out" + evil, "--name", evil, "--progress", "plain"},
		{"run", "wordcount", "--input", "none" + evil, "--output", "out"},
		{"run", "wordcount", "--input", evil, "--output", "out", "--scratch", "none" + evil},
		{"gen", "text", "--size", "1KB", "made" + evil},
		{"gen", "text", "--size", "1KB", "made" + evil},
		{"trace", "stat", "none" + evil},
		{"sim", "run", "--trace", "none" + evil},
		{"play", "none" + evil},
		{"whatif", "none" + evil},
		{"dfs", "put", "--master", "127.0.0.1:1", "none*" + evil, "dfs:/x"},
		{"dfs", "repair", "--dir", "none" + evil},
		{"demo", "--dir", evil},
		{"cluster", "up", "--file", "none" + evil},
		{"cluster", "up", "--dir", evil},
		{"cluster", "status", "--dir", "none" + evil},
		{"cluster", "down", "--dir", "none" + evil},
		{"cluster", "keygen", evil},
		{"dashboard", "--reports", "none" + evil},
		{"job", "submit", "--batch", evil, "--master", "127.0.0.1:1"},
		{"sim", "run", "--file", evil},
		{"scheduler", "test", "none" + evil + ".star"},
		{"scheduler", "train", "hybrid", "--history", evil},
		{"trace", "convert", "none" + evil},
	} {
		c.run("millrace", args...)
		for line := range strings.Lines(c.stderr.String()) {
			if strings.HasPrefix(line, "FAKE") {
				t.Errorf("millrace %q: a name makes a line of its own: %q", args, c.stderr.String())
			}
		}
		if !strings.Contains(c.stderr.String(), `\nFAKE`) {
			t.Errorf("millrace %q names nothing: %q", args, c.stderr.String())
		}
	}
}

// leftovers lists what runs have in the directories for temporary files and output.
func (c *child) leftovers() []string {
	c.t.Helper()
	scratch, err := filepath.Glob(c.path("tmp/millrace-*"))
	if err != nil {
		c.t.Fatal(err)
	}
	outputs, err := filepath.Glob(c.path(".out.millrace-*"))
	if err != nil {
		c.t.Fatal(err)
	}
	return append(scratch, outputs...)
}

// waitForEnd waits until the process whose number is in a file is gone.
func (c *child) waitForEnd(file string) {
	c.t.Helper()
	b, err := os.ReadFile(c.path(file))
	if err != nil {
		c.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		c.t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); procs.Alive(pid); time.Sleep(time.Millisecond) {
		if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); strings.Contains(string(stat), ") Z ") {
			return // nobody takes leave of it
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("process %d outlives the run that started it", pid)
		}
	}
}

// interrupted wants the last run to have been ended by a signal, with these words and no output.
func (c *child) interrupted(by os.Signal, words ...string) {
	c.t.Helper()
	if want := 128 + int(by.(syscall.Signal)); c.code != want {
		c.t.Errorf("exit code %d, want %d", c.code, want)
	}
	c.code = 1
	c.failed(c.path("out"), words...)
}

// waitForScratch waits until the run has made its directory for spills, which is
// after it has begun to listen for signals.
func (c *child) waitForScratch() { c.t.Helper(); c.waitFor(c.path("tmp/millrace-*")) }

// waitFor waits until a run has made a file of this pattern.
func (c *child) waitFor(pattern string) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatal("the run did not start")
		}
	}
}

// TestInterruptedSimulation: what only computes ends at the signal, not when it is done, and says so.
func TestInterruptedSimulation(t *testing.T) {
	for name, args := range map[string][]string{
		"sim run":   {"sim", "run", "--trace", "gen:fb-2010:20000", "--policy", "fair"},
		"trace gen": {"trace", "gen", "--jobs", "50000000"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChild(t)
			cmd := c.command("millrace", args...)
			cmd.Stdout = nil // not into memory
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			c.waitForWork(cmd.Process.Pid)
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			c.wait(cmd)
			if got := c.stderr.String(); c.code != 130 || !strings.HasSuffix(got, "millrace: interrupted\n") {
				t.Errorf("exit code %d, %q", c.code, got)
			}
		})
	}
}

// waitForWork waits until a process has computed for 300 ms: it listens to signals long before.
func (c *child) waitForWork(pid int) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(b), ") ") // behind the name: state, parent and so on; the twelfth is the time in user code
		f := strings.Fields(rest)
		if err != nil || len(f) < 12 || f[0] == "Z" || time.Now().After(deadline) {
			c.t.Fatalf("the process does not work: %s, %v", b, err)
		}
		if ticks, err := strconv.Atoi(f[11]); err == nil && ticks >= 30 { // of 10 ms
			return
		}
	}
}

// TestInterruptAsJSON: the report says so too.
func TestInterruptAsJSON(t *testing.T) {
	c := newChild(t)
	cmd := c.command("millrace", "run", "sleep", "--map-time", "60s", "--json")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.waitForScratch()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	c.wait(cmd)
	if got := c.stdout.String(); c.code != 130 || !strings.Contains(got, `"state":"CANCELLED"`) || !strings.Contains(got, `"error":"interrupted"`) {
		t.Errorf("exit code %d, %s", c.code, got)
	}
}

// TestSecondInterrupt ends a run that does not listen to the first one, because user
// code is busy inside a single record.
func TestSecondInterrupt(t *testing.T) {
	c := newChild(t)
	c.write("in", []byte("one record\n"))
	cmd := c.command("busy", "-input", "in", "-output", "out", "-progress", "none")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.waitFor(c.path("tmp/busy"))
	done := make(chan struct{})
	go func() { defer close(done); c.wait(cmd) }()
	for ended := false; !ended; {
		_ = cmd.Process.Signal(os.Interrupt) // it may just have ended
		select {
		case <-done:
			ended = true
		case <-time.After(20 * time.Millisecond):
		}
	}
	if c.code != -1 {
		t.Fatalf("exit code %d, want to be ended by the signal\n%s", c.code, c.stderr.String())
	}
	if _, err := os.Lstat(c.path("out")); err == nil {
		t.Error("the output is visible")
	}
	for _, pattern := range []string{"tmp/millrace-*", ".out.*"} { // it could not clean up
		left, err := filepath.Glob(c.path(pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range left {
			if err := os.RemoveAll(f); err != nil {
				t.Error(err)
			}
		}
	}
}

// busy is a program whose mapper says that it has begun, in a file, and then neither ends nor listens.
func busy() {
	millrace.Main(mapreduce.Job{Map: mapreduce.Lines(func([]byte, func(string, string)) {
		if err := os.WriteFile(filepath.Join(os.TempDir(), "busy"), nil, 0o644); err != nil {
			panic(err)
		}
		select {}
	})})
}

// TestInterruptInTheMiddleOfWork sends the signal while records flow and files are
// written, at several moments.
func TestInterruptInTheMiddleOfWork(t *testing.T) {
	c := newChild(t)
	c.ok("gen", "tera", "--size", "20MB", "rows")
	for moment := range 5 {
		cmd := c.command("millrace", "run", "terasort", "--input", "rows", "--output", "out", "--sort-memory", "1MiB", "--progress", "none")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c.waitForScratch()
		c.waitForBytes(int64(moment) * 4_000_000)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		c.wait(cmd)
		c.interrupted(os.Interrupt, "interrupted")
		c.checkClean()
	}
}

// waitForBytes waits until that much has been spilled.
func (c *child) waitForBytes(n int64) {
	c.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		var sum int64
		_ = filepath.WalkDir(c.path("tmp"), func(_ string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				if info, err := d.Info(); err == nil {
					sum += info.Size()
				}
			}
			return nil // files come and go
		})
		if sum >= n {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("only %d bytes were spilled, want %d", sum, n)
		}
	}
}
