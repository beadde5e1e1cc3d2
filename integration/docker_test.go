package integration

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/secure"
)

// A compose is the cluster of deploy/docker-compose.yml under a name of the test's own.
type compose struct {
	t       *testing.T
	project string
	dir     string
	port    int
}

func startCompose(t *testing.T) *compose {
	t.Helper()
	require.Docker(t)
	require.Root(t) // the key must belong to the user in the container
	c := &compose{t: t, project: fmt.Sprintf("millracetest%d", os.Getpid()), dir: t.TempDir()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.port = l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c.prepare()
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := c.docker("logs", c.name("master"))
			t.Logf("the master says:\n%s", tailOf(out, 3000))
		}
		if out, err := c.compose("down", "-v", "--rmi", "all", "-t", "1"); err != nil {
			t.Errorf("compose down: %v\n%s", err, out)
		}
	})
	if out, err := c.docker("build", "-q", "-t", c.image(), "-f", "deploy/Dockerfile", "."); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if out, err := c.compose("up", "-d"); err != nil {
		t.Fatalf("up: %v\n%s", err, out)
	}
	c.wait("four workers are up", func() bool {
		out, err := c.millrace("node", "ls", "--json")
		return err == nil && bytes.Count(out, []byte(`"up"`)) == 4
	})
	return c
}

func tailOf(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

func (c *compose) image() string { return c.project + ":test" }

// prepare makes a build context of the binary and the files of deploy, with a key.
func (c *compose) prepare() {
	c.t.Helper()
	for _, d := range []string{"bin", "deploy/rootfs/tmp", "deploy/rootfs/data"} {
		if err := os.MkdirAll(filepath.Join(c.dir, d), 0o755); err != nil {
			c.t.Fatal(err)
		}
	}
	c.write("deploy/rootfs/tmp/.keep", nil, 0o644)
	c.write("deploy/rootfs/data/.keep", nil, 0o644)
	c.write("deploy/Dockerfile", c.read("../deploy/Dockerfile"), 0o644)
	c.write("deploy/docker-compose.yml", c.read("../deploy/docker-compose.yml"), 0o644)
	c.write("deploy/cluster.key", []byte(secure.Generate()+"\n"), 0o600)
	if err := os.Chown(filepath.Join(c.dir, "deploy/cluster.key"), 65532, 65532); err != nil {
		c.t.Fatal(err)
	}
	for name, from := range map[string]string{"bin/millrace": "../cmd/millrace", "hostile": "./testprog/hostile"} {
		build := exec.Command("go", "build", "-o", filepath.Join(c.dir, name), from)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			c.t.Fatalf("%v\n%s", err, out)
		}
	}
}

func (c *compose) read(name string) []byte {
	c.t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

func (c *compose) write(name string, b []byte, mode os.FileMode) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), b, mode); err != nil {
		c.t.Fatal(err)
	}
}

func (c *compose) run(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Join(c.dir, dir)
	cmd.Env = append(os.Environ(), fmt.Sprint("MILLRACE_PORT=", c.port), "MILLRACE_IMAGE="+c.image(), "MILLRACE_TASK_DISK=24MiB",
		fmt.Sprint("MILLRACE_MASTER=127.0.0.1:", c.port), "MILLRACE_KEY="+filepath.Join(c.dir, "deploy/cluster.key"))
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if err != nil {
		err = errors.Join(err, errors.New(errOut.String()))
	}
	return out.Bytes(), err
}

func (c *compose) docker(args ...string) ([]byte, error) { return c.run(".", "docker", args...) }

func (c *compose) compose(args ...string) ([]byte, error) {
	return c.run("deploy", "docker-compose", append([]string{"-p", c.project}, args...)...)
}

func (c *compose) name(service string) string { return c.project + "_" + service + "_1" }

// millrace runs a command in the master's container, which can reach everybody.
func (c *compose) millrace(args ...string) ([]byte, error) {
	return c.docker(append([]string{"exec", c.name("master"), "/millrace"}, args...)...)
}

func (c *compose) must(args ...string) []byte {
	c.t.Helper()
	out, err := c.millrace(args...)
	if err != nil {
		c.t.Fatalf("millrace %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func (c *compose) wait(what string, done func() bool) {
	c.t.Helper()
	for begin := time.Now(); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			c.t.Fatalf("waited a minute: %s", what)
		}
	}
}

// TestContainers: WordCount and TeraSort in containers; one is killed in the middle. Then a program of a user attacks.
func TestContainers(t *testing.T) {
	c := startCompose(t)
	c.must("gen", "text", "--size", "12MiB", "/tmp/text")
	c.must("dfs", "put", "/tmp/text", "dfs:/in")
	master := []string{"--master", "127.0.0.1:7070", "--progress", "none"}
	c.must(append([]string{"run", "wordcount", "--input", "dfs:/in", "--output", "dfs:/quiet", "--split-bytes", "200000"}, master...)...)
	want := lines(c.must("dfs", "cat", "dfs:/quiet/part-*"))

	done := make(chan error, 1)
	go func() {
		_, err := c.millrace(append([]string{"run", "wordcount", "--input", "dfs:/in", "--output", "dfs:/rough", "--split-bytes", "200000"}, master...)...)
		done <- err
	}()
	c.wait("maps of the second job are done", func() bool {
		out, err := c.millrace("job", "status", "job-2", "--json")
		return err == nil && !bytes.Contains(out, []byte(`"done": 0,`))
	})
	if out, err := c.docker("kill", c.name("w2")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := lines(c.must("dfs", "cat", "dfs:/rough/part-*")); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("with a container killed: %d lines, want %d", len(got), len(want))
	}

	c.must(append([]string{"run", "teragen", "--rows", "100000", "--output", "dfs:/tera"}, master...)...)
	c.must(append([]string{"run", "terasort", "--input", "dfs:/tera", "--output", "dfs:/sorted"}, master...)...)
	report := string(c.must(append([]string{"run", "teravalidate", "--input", "dfs:/sorted"}, master...)...))
	if !strings.Contains(report, "rows\t100000") || strings.Contains(report, "error") {
		t.Errorf("teravalidate says %q", report)
	}
	c.attacked()
}

// attacked runs the hostile program, shipped from outside the containers: it reaches neither the key, nor the worker's files, memory or process,
// nor a second thousand processes, nor the whole disk, nor what administrators may.
func (c *compose) attacked() {
	c.t.Helper()
	c.write("in", []byte("a b c\nPOISON d\n"), 0o644)
	if out, err := c.run(".", filepath.Join(c.dir, "bin/millrace"), "dfs", "put", "in", "dfs:/bait"); err != nil {
		c.t.Fatalf("a put from outside the containers: %v\n%s", err, out)
	}
	for _, tt := range []struct{ attack, target, failure string }{
		{"key", "/cluster.key", ""},
		{"environ", "/proc/1/environ", ""},
		{"spill", "/data/blocks", ""},
		{"kill", "1", ""},
		{"fork", lonely(), ""},
		{"disk", "", "disk limit"},
		{"admin", "job-1", ""},
	} {
		to := "dfs:/out-" + tt.attack
		_, err := c.run(".", filepath.Join(c.dir, "hostile"), "-attack", tt.attack, "-target", tt.target, "-input", "dfs:/bait", "-output", to, "-progress", "none")
		if tt.failure != "" {
			if err == nil || !strings.Contains(err.Error(), tt.failure) {
				c.t.Errorf("%s: %v", tt.attack, err)
			}
			continue
		}
		out, err2 := c.millrace("dfs", "cat", to+"/part-*")
		if errors.Join(err, err2) != nil || !bytes.Contains(out, []byte("denied:"+tt.attack)) || bytes.Contains(out, []byte("got:")) {
			c.t.Errorf("%s: %s %v", tt.attack, out, errors.Join(err, err2))
		}
	}
	for _, w := range []string{"w1", "w3", "w4"} {
		if out, err := c.docker("inspect", "-f", "{{.State.Running}} {{.RestartCount}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}}", c.name(w)); err != nil ||
			!strings.HasPrefix(string(out), "true 0 true [ALL] [no-new-privileges:true]") {
			c.t.Errorf("%s afterwards: %s %v", w, out, err)
		}
	}
}
