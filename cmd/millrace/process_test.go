package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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

func (c *child) write(name string, content []byte) string {
	c.t.Helper()
	if err := os.WriteFile(c.path(name), content, 0o644); err != nil {
		c.t.Fatal(err)
	}
	return c.path(name)
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
	if strings.Contains(c.stderr.String(), "goroutine ") && !strings.Contains(c.stderr.String(), "failed in user code") {
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
	if err := printParts(&all, c.path(dir)); err != nil {
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
	c.t.Logf("peak memory %d MiB, bound %d MiB", kib>>10, limit>>20)
	if kib<<10 > limit && !raced {
		c.t.Errorf("peak memory %d MiB, more than %d MiB", kib>>10, limit>>20)
	}
}

// TestInterrupt: Ctrl-C in the middle of any phase ends the run soon, says so and
// leaves nothing.
func TestInterrupt(t *testing.T) {
	for name, args := range map[string][]string{
		"map":       {"run", "sleep", "--maps", "2", "--reduces", "1", "--map-time", "60s"},
		"reduce":    {"run", "sleep", "--maps", "2", "--reduces", "2", "--map-time", "0s", "--reduce-time", "60s", "--output", "out"},
		"streaming": {"run", "streaming", "--mapper", "sleep 60", "--input", "in", "--output", "out"},
	} {
		for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
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
				c.failed(c.path("out"), "interrupted: nothing was left behind")
			})
		}
	}
}

// waitForScratch waits until the run has made its directory for spills, which is
// after it has begun to listen for signals.
func (c *child) waitForScratch() {
	c.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if found, _ := filepath.Glob(c.path("tmp/millrace-*")); len(found) > 0 {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatal("the run did not start")
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
	if got := c.stdout.String(); c.code != 1 || !strings.Contains(got, `"state":"CANCELLED"`) || !strings.Contains(got, `"error":"interrupted"`) {
		t.Errorf("exit code %d, %s", c.code, got)
	}
}

// TestSecondInterrupt ends a run that does not listen to the first one, because user
// code is busy inside a single record. While the record is still being read the run
// listens, and ends by itself: then it is given longer to begin.
func TestSecondInterrupt(t *testing.T) {
	c := newChild(t)
	c.write("in", bytes.Repeat([]byte("x"), 30_000_000))
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		c.interruptBusyRun(wait)
		if c.code == -1 {
			break
		}
		if c.code != 1 || wait > 10*time.Second {
			t.Fatalf("exit code %d after %s, want to be ended by the signal", c.code, wait)
		}
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

// interruptBusyRun starts a job that is busy inside a record for minutes, and after a while interrupts it
// again and again until it ends.
func (c *child) interruptBusyRun(wait time.Duration) {
	c.t.Helper()
	pattern := strings.Repeat("(x+x+)+", 30) + "y"
	cmd := c.command("millrace", "run", "grep", "--pattern", pattern, "--input", "in", "--output", "out", "--progress", "none")
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.waitForScratch()
	done := make(chan struct{})
	go func() { defer close(done); c.wait(cmd) }()
	next := time.NewTimer(wait)
	defer next.Stop()
	for {
		select {
		case <-done:
			return
		case <-next.C:
			_ = cmd.Process.Signal(os.Interrupt) // it may just have ended
			next.Reset(100 * time.Millisecond)
		}
	}
}

// TestInterruptInTheMiddleOfWork sends the signal while records flow and files are
// written, at several moments.
func TestInterruptInTheMiddleOfWork(t *testing.T) {
	c := newChild(t)
	c.ok("gen", "tera", "--size", "20MB", "rows")
	for moment := range 5 {
		cmd := c.command("millrace", "run", "terasort", "--input", "rows", "--output", "out", "--memory", "1MiB", "--progress", "none")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c.waitForScratch()
		c.waitForBytes(int64(moment) * 4_000_000)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		c.wait(cmd)
		c.failed(c.path("out"), "interrupted")
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
