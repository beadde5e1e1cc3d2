package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/require"
)

// TestFullDisk: scratch and output on a file system of a few MB. The error names the
// disk and what to do; nothing is left on it.
func TestFullDisk(t *testing.T) {
	small := require.Tmpfs(t, "size=3m")
	c := newChild(t)
	c.ok("gen", "tera", "--size", "20MB", "rows")

	c.run("millrace", "run", "terasort", "--input", "rows", "--output", "out", "--sort-memory", "1MiB", "--scratch", small)
	c.failed(c.path("out"), "no space left on device", "--scratch")
	empty(t, small)

	c.run("millrace", "run", "terasort", "--input", "rows", "--output", small+"/out")
	c.failed(small+"/out", "no space left on device", "choose an output on another disk")
	empty(t, small)

	c.run("millrace", "run", "grep", "--lines", "--fixed", "--pattern", "A", "--input", "rows", "--output", small+"/out")
	c.failed(small+"/out", "no space left on device")
	empty(t, small)

	c.run("millrace", "gen", "text", "--size", "10MB", small+"/text")
	c.failed(small+"/text", "no space left on device")
	empty(t, small)

	// What fits still works there.
	c.ok("run", "teragen", "--rows", "100", "--output", small+"/out", "--scratch", small)
}

func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("left on the full disk: %s", e.Name())
	}
}

// TestNoInodes: a disk with room but no names left.
func TestNoInodes(t *testing.T) {
	small := require.Tmpfs(t, "size=50m,nr_inodes=6")
	c := newChild(t)
	c.ok("gen", "tera", "--size", "3MB", "rows")
	c.run("millrace", "run", "terasort", "--input", "rows", "--reducers", "20", "--output", small+"/out")
	c.failed(small+"/out", "no space left on device")
	empty(t, small)
}

// TestFewFileDescriptors: with 64 open files allowed, a sort with hundreds of runs
// still works; with far too few, the message names the limit.
func TestFewFileDescriptors(t *testing.T) {
	c := newChild(t)
	c.ok("gen", "tera", "--size", "12MB", "rows")
	limited := func(n int, args string) {
		c.run("/bin/sh", "-c", fmt.Sprintf("ulimit -n %d; exec millrace run %s --progress none", n, args))
	}
	for i, args := range []string{
		"terasort --input rows --sort-memory 1MiB --split-bytes 120000 --reducers 2",
		"terasort --input rows --sort-memory 1MiB --workers 8 --split-bytes 120000 --reducers 16",
		"wordcount --input rows --sort-memory 1MiB --workers 4 --reducers 8",
	} {
		out := fmt.Sprintf("out%d", i)
		limited(64, args+" --output "+out)
		if c.code != 0 {
			t.Errorf("%s: exit code %d\n%s", args, c.code, c.stderr.String())
		}
	}
	c.ok("run", "teravalidate", "--input", "out1")
	limited(12, "terasort --input rows --sort-memory 1MiB --workers 8 --output out9")
	c.failed(c.path("out9"), "too many open files", "ulimit -n")
}

// TestUnreadable: a file and a directory that may not be read, for one who is not root.
func TestUnreadable(t *testing.T) {
	dir, err := os.MkdirTemp("", "unreadable-") //nolint:usetesting // above t.TempDir is a directory that only its owner enters
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for name, mode := range map[string]os.FileMode{"": 0o777, "in": 0o755, "closed": 0o755, "tmp": 0o777} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	writeMode(t, dir+"/in/a", "a\n", 0o644)
	writeMode(t, dir+"/in/secret", "b\n", 0o000)
	if err := os.Chmod(dir+"/closed", 0o000); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, dir: dir}
	for _, args := range []struct{ in, out, want string }{
		{"in", "out", "in/secret"},
		{"in/secret", "out", "in/secret"},
		{"closed", "out", "closed"},
		{"closed/x", "out", "closed/x"},
		{"in/a", "closed/out", "closed/out"},
	} {
		c.asNobody("run", "wordcount", "--input", args.in, "--output", args.out, "--progress", "none")
		c.failed(dir+"/out", args.want, "permission denied")
	}
	c.checkCleanAs()
}

func writeMode(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func (c *child) checkCleanAs() {
	if err := os.Chmod(c.path("closed"), 0o755); err != nil {
		c.t.Fatal(err)
	}
	c.checkClean()
}

// asNobody runs the command without the rights of root.
func (c *child) asNobody(args ...string) {
	c.t.Helper()
	binary := c.copyBinary()
	cmd := c.command(binary, args...)
	if os.Geteuid() == 0 {
		becomeNobody(cmd)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.wait(cmd)
}

// copyBinary puts the command where anybody may run it.
func (c *child) copyBinary() string {
	c.t.Helper()
	to := c.path("millrace")
	if _, err := os.Stat(to); err == nil {
		return to
	}
	from, err := exec.LookPath("millrace")
	if err != nil {
		c.t.Fatal(err)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o755); err != nil {
		c.t.Fatal(err)
	}
	return to
}

// TestDamagedCompression: cut at any place and with any bit turned, gzip and zstd
// input is either read as it was or refused by name; never read wrongly.
func TestDamagedCompression(t *testing.T) {
	c := newChild(t)
	c.ok("gen", "text", "--size", "200KB", "plain")
	c.ok("run", "sort", "--input", "plain", "--output", "want")
	want := c.parts("want")
	for tool, suffix := range map[string]string{"gzip": ".gz", "zstd": ".zst"} {
		path := require.Tool(t, tool)
		c.run(path, "-k", "-q", "plain")
		packed, err := os.ReadFile(c.path("plain" + suffix))
		if err != nil {
			t.Fatal(err)
		}
		c.ok("run", "sort", "--input", "plain"+suffix, "--output", tool)
		if got := c.parts(tool); got != want {
			t.Errorf("%s: %d bytes, want %d", tool, len(got), len(want))
		}
		c.write("twice"+suffix, append(packed[:len(packed):len(packed)], packed...)) // members one after the other
		c.ok("run", "sort", "--input", "twice"+suffix, "--output", tool+"2")
		if got := c.parts(tool + "2"); len(got) != 2*len(want) {
			t.Errorf("%s: two members give %d bytes, want %d", tool, len(got), 2*len(want))
		}
		for i := range 6 {
			at := len(packed) * (i + 1) / 7
			c.write("bad"+suffix, packed[:at])
			c.run("millrace", "run", "sort", "--input", "bad"+suffix, "--output", "out")
			c.failed(c.path("out"), "bad"+suffix, "truncated")

			flipped := append([]byte(nil), packed...)
			flipped[at] ^= 1 << i
			c.write("bad"+suffix, flipped)
			c.run("millrace", "run", "sort", "--input", "bad"+suffix, "--output", "out")
			c.failed(c.path("out"), "bad"+suffix)
		}
	}
	if !strings.HasSuffix(want, "\n") {
		t.Error("the reference is cut")
	}
}
