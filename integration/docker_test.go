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

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// A compose is the cluster of deploy/docker-compose.yml under a name of the test's own.
type compose struct {
	t       *testing.T
	project string
	dir     string
	port    int
}

// startCompose starts the cluster in containers of the binary on a base: see deploy/base.sh.
func startCompose(t *testing.T, base string) *compose {
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
	image, err := c.run("deploy", "./base.sh", base)
	if err != nil {
		t.Fatalf("base image: %v", err)
	}
	if out, err := c.docker("build", "-q", "-t", c.image(), "--build-arg", "BASE="+strings.TrimSpace(string(image)), "-f", "deploy/Dockerfile", "."); err != nil {
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
	for name, mode := range map[string]os.FileMode{"Dockerfile": 0o644, "docker-compose.yml": 0o644, "base.sh": 0o755, "compose.sh": 0o755} {
		c.write("deploy/"+name, c.read("../deploy/"+name), mode)
	}
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
	return c.run("deploy", "./compose.sh", append([]string{"-p", c.project}, args...)...)
}

// name returns the id of a service's container.
func (c *compose) name(service string) string {
	c.t.Helper()
	out, err := c.docker("ps", "-aq", "--filter", "label=com.docker.compose.project="+c.project, "--filter", "label=com.docker.compose.service="+service)
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

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
	c := startCompose(t, "scratch")
	c.must("gen", "text", "--size", "12MiB", "/tmp/text")
	c.must("dfs", "put", "/tmp/text", "dfs:/text")
	master := []string{"--master", "127.0.0.1:7070", "--progress", "none"}
	c.must(append([]string{"run", "wordcount", "--input", "dfs:/text", "--output", "dfs:/quiet", "--split-bytes", "200000"}, master...)...)
	want := lines(c.must("dfs", "cat", "dfs:/quiet/part-*"))

	done := make(chan error, 1)
	go func() {
		_, err := c.millrace(append([]string{"run", "wordcount", "--input", "dfs:/text", "--output", "dfs:/rough", "--split-bytes", "200000"}, master...)...)
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

	c.runsOwnProgram(want)
	c.refusesCommands(master)

	c.must(append([]string{"run", "teragen", "--rows", "100000", "--output", "dfs:/tera"}, master...)...)
	c.must(append([]string{"run", "terasort", "--input", "dfs:/tera", "--output", "dfs:/sorted"}, master...)...)
	report := string(c.must(append([]string{"run", "teravalidate", "--input", "dfs:/sorted"}, master...)...))
	if !strings.Contains(report, "rows\t100000") || strings.Contains(report, "error") {
		t.Errorf("teravalidate says %q", report)
	}
	c.attacked()
}

// runsOwnProgram runs the word count of examples, built so that it asks for a dynamic loader, as a program built with cgo does.
// The containers have none. Where the source is, the program builds itself once more; elsewhere it is refused with what to do.
func (c *compose) runsOwnProgram(want []string) {
	c.t.Helper()
	exe := filepath.Join(c.dir, "wordcount")
	if out, err := exec.Command("go", "build", "-buildmode=pie", "-o", exe, "../examples/wordcount").CombinedOutput(); err != nil {
		c.t.Fatalf("%v\n%s", err, out)
	}
	args := []string{"-input", "dfs:/text", "-output", "dfs:/own", "-progress", "none"}
	if _, err := c.run(".", exe, args...); err == nil || !strings.Contains(err.Error(), "/lib64/ld-linux-x86-64.so.2, which no worker has: build it with CGO_ENABLED=0") {
		c.t.Errorf("a dynamic program without its source: %v", err)
	}
	here, err := os.Getwd()
	if err != nil {
		c.t.Fatal(err)
	}
	inSource, err := filepath.Rel(c.dir, here)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.run(inSource, exe, args...); err != nil {
		c.t.Errorf("a dynamic program where its source is: %v", err)
	}
	if got := lines(c.must("dfs", "cat", "dfs:/own/part-*")); !slices.Equal(got, want) {
		c.t.Errorf("an own program counts %d words, want %d", len(got), len(want))
	}
}

// refusesCommands submits a job of commands, which cannot run where there is no shell.
func (c *compose) refusesCommands(master []string) {
	c.t.Helper()
	_, err := c.millrace(append([]string{"run", "streaming", "--mapper", "cat", "--input", "dfs:/text", "--output", "dfs:/commands"}, master...)...)
	if err == nil || !strings.Contains(err.Error(), "/bin/sh, which no worker has") {
		c.t.Errorf("commands without a shell: %v", err)
	}
}

// TestContainersWithAShell: in containers with a shell, commands map and reduce.
func TestContainersWithAShell(t *testing.T) {
	c := startCompose(t, "shell")
	c.must("gen", "text", "--size", "1MiB", "/tmp/text")
	c.must("dfs", "put", "/tmp/text", "dfs:/text")
	master := []string{"--master", "127.0.0.1:7070", "--progress", "none"}
	c.must(append([]string{
		"run", "streaming", "--mapper", "tr -s ' ' '\\n' | sed 's/$/\t1/'", "--reducer", `awk -F '\t' '$1 != k { if (k != "") print k "\t" n; k = $1; n = 0 } { n += $2 } END { print k "\t" n }'`,
		"--input", "dfs:/text", "--output", "dfs:/counts",
	}, master...)...)
	c.must(append([]string{"run", "wordcount", "--input", "dfs:/text", "--output", "dfs:/words"}, master...)...)
	got, want := lines(c.must("dfs", "cat", "dfs:/counts/part-*")), lines(c.must("dfs", "cat", "dfs:/words/part-*"))
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("commands count %d words, wordcount %d", len(got), len(want))
	}
}

// attacked runs the hostile program, shipped by bob from outside the containers, with all attacks that have a target there. Left out are
// network and gate, because tasks there reach what the worker reaches, files, because docker starts the worker, and shm, because attempts in
// two containers share no memory anyway.
func (c *compose) attacked() {
	c.t.Helper()
	k, err := secure.Load(filepath.Join(c.dir, "deploy/cluster.key"))
	if err != nil {
		c.t.Fatal(err)
	}
	p := &processes{t: c.t, addr: fmt.Sprint("127.0.0.1:", c.port), key: k}
	if p.cl, err = client.New(client.Config{Master: p.addr, User: "ann", Key: k, Patience: time.Minute}); err != nil {
		c.t.Fatal(err)
	}
	defer p.cl.Close()
	victim := c.victim(p)
	p.becomes("bob")
	hostile := filepath.Join(c.dir, "hostile")
	for _, a := range append([]attack{
		{"key", "/cluster.key", "", ""},
		{"environ", "/proc/1/environ", "", ""},
		{"proc", "", "", ""},
		{"spill", "/data/blocks", "", ""},
		{"spill", "/data/scratch", "", ""},
		{"trace", "1", "", ""},
		{"kill", "1", "", ""},
		{"fork", lonely(), "", ""},
		{"memory", c.tooMuch(p), "memory limit", ""},
		{"disk", "", "disk limit", ""},
		{"calls", "", "", ""},
		{"beside", "/tmp", "", ""},
		{"fifo", "/data/logs", "", ""},
	}, p.callAttacks("/cluster.key", "192.0.2.1:9", victim)...) {
		if ok, said := p.tries(hostile, a); !ok {
			c.t.Errorf("%s: %s", a.name, said)
		}
	}
	p.unharmed(victim)
	c.hardened()
}

// tooMuch is more MiB than a task may have that does not say what it needs: four shares of the worker's GiB and 256 MiB.
func (c *compose) tooMuch(p *processes) string {
	c.t.Helper()
	nodes, err := p.cl.Nodes(c.t.Context())
	if err != nil || len(nodes) == 0 {
		c.t.Fatalf("%v, %v", nodes, err)
	}
	return fmt.Sprint(4096/int(nodes[0].Capacity.Containers) + 256 + 300)
}

// victim is a job that waits in its reduce: an image of one binary has no commands for another.
func (c *compose) victim(p *processes) wire.JobID {
	c.t.Helper()
	p.put("/in", []byte("a b c\nPOISON d\n"))
	id, err := p.cl.Submit(c.t.Context(), wire.JobSpec{Name: "victim", Stages: 1, Output: "dfs:/user/ann/victim", Program: wire.Program{
		Builtin: "sleep", Args: []string{"--maps", "1", "--map-time", "1ms", "--reduces", "1", "--reduce-time", "1h", "--output", "dfs:/user/ann/victim"},
	}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.wait("the victim's reduce runs", func() bool {
		s, err := p.cl.Status(c.t.Context(), id)
		return err == nil && s.Reduces.Running == 1
	})
	return id
}

// hardened looks at the containers that run: what docker was told, and what the kernel keeps them to.
func (c *compose) hardened() {
	c.t.Helper()
	const set = "{{.State.Running}} {{.RestartCount}} {{.Config.User}} ro={{.HostConfig.ReadonlyRootfs}} drop={{.HostConfig.CapDrop}} add={{.HostConfig.CapAdd}} " +
		"{{.HostConfig.SecurityOpt}} privileged={{.HostConfig.Privileged}} pids={{.HostConfig.PidsLimit}} memory={{.HostConfig.Memory}}"
	const worker = "true 0 0:0 ro=true drop=[ALL] add=[SETUID SETGID CHOWN DAC_OVERRIDE FOWNER KILL] [no-new-privileges:true] privileged=false pids=4096 memory=3221225472"
	const six = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_KILL
	for name, want := range map[string]struct {
		set    string
		rights uint64
	}{
		"master": {"true 0 65532:65532 ro=true drop=[ALL] add=[] [no-new-privileges:true] privileged=false pids=1024 memory=2147483648", 0},
		"w1":     {worker, six}, "w3": {worker, six}, "w4": {worker, six},
	} {
		if out, err := c.docker("inspect", "-f", set, c.name(name)); err != nil || strings.TrimSpace(string(out)) != want.set {
			c.t.Errorf("%s:\n%s, want\n%s %v", name, out, want.set, err)
		}
		pid, err := c.docker("inspect", "-f", "{{.State.Pid}}", c.name(name))
		if err != nil {
			c.t.Fatal(err)
		}
		status := string(c.read("/proc/" + strings.TrimSpace(string(pid)) + "/status"))
		for _, line := range []string{fmt.Sprintf("CapBnd:\t%016x\n", want.rights), "NoNewPrivs:\t1\n", "Seccomp:\t2\n"} {
			if !strings.Contains(status, line) {
				c.t.Errorf("%s does not have %q:\n%s", name, line, status)
			}
		}
	}
}
