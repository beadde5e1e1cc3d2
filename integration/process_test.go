package integration

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// processes is a cluster of real processes, each of which can be killed.
type processes struct {
	patience time.Duration // of wait; 0 is a minute
	t        *testing.T
	flags    []string // of the workers
	rules    []string // flags of the master
	dir      string
	addr     string
	run      map[string]*exec.Cmd
	cl       *client.Client
	key      *secure.Key       // of the cluster; nil without one
	keyFile  string            // its file
	within   map[string]string // network namespaces, by process; those not there are in the test's
	ips      map[string]string // addresses, by process
	inherits *os.File          // open in all processes, if set
	tried    int               // attacks
	users    map[string]uint32 // whom processes run as; those not there run as the test does
}

// startProcesses starts a master and workers w1, w2 …, and waits for all. Flags are the workers', those that begin with
// master: the master's.
func startProcesses(t *testing.T, workers int, flags ...string) *processes {
	t.Helper()
	require.Tool(t, "go")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &processes{t: t, dir: t.TempDir(), addr: l.Addr().String(), run: map[string]*exec.Cmd{}}
	for _, f := range flags {
		if rule, ok := strings.CutPrefix(f, "master:"); ok {
			p.rules = append(p.rules, rule)
		} else {
			p.flags = append(p.flags, f)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	p.startMaster()
	for i := range workers {
		p.startWorker(fmt.Sprint("w", i+1), fmt.Sprint("r", i%2+1))
	}
	p.cl = p.client("ann", time.Minute)
	p.wait("all workers are up", func() bool {
		nodes, err1 := p.cl.Nodes(t.Context())
		stores, err2 := p.cl.DFS().Nodes(t.Context())
		mode, err3 := p.cl.DFS().SafeMode(t.Context(), "")
		return errors.Join(err1, err2, err3) == nil && len(nodes) == workers && len(stores) == workers && !mode.On
	})
	return p
}

func (p *processes) start(name string, args ...string) {
	p.t.Helper()
	log, err := os.OpenFile(filepath.Join(p.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	if p.keyFile != "" {
		args = append(args, "--key", p.keyFile)
	}
	cmd := exec.Command(millrace, args...)
	if ns := p.within[name]; ns != "" {
		cmd = exec.Command("ip", append([]string{"netns", "exec", ns, millrace}, args...)...)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if uid := p.users[name]; uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	if p.inherits != nil {
		cmd.ExtraFiles = append(make([]*os.File, 17), p.inherits) // far from those that programs are given
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.run[name] = cmd
}

// client is one of a user, which waits long.
func (p *processes) client(user string, patience time.Duration) *client.Client {
	p.t.Helper()
	cl, err := client.New(client.Config{Master: p.addr, User: user, Key: p.key, Patience: patience})
	if err != nil {
		p.t.Fatal(err)
	}
	return cl
}

func (p *processes) startMaster() {
	p.start("master", append([]string{"master", "--dir", filepath.Join(p.dir, "master"), "--listen", p.addr, "--groups", p.groups()}, p.rules...)...)
}

// groups is a file that makes ann, whose client these tests use, a superuser beside who runs them.
func (p *processes) groups() string {
	p.t.Helper()
	name := filepath.Join(p.dir, "groups")
	if err := os.WriteFile(name, []byte("supergroup:x:0:ann\n"), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return name
}

func (p *processes) startWorker(name, rack string, more ...string) {
	args := []string{"worker", "--name", name, "--rack", rack, "--master", p.addr, "--dir", filepath.Join(p.dir, name), "--memory", "64MiB", "--containers", "2"}
	if ip := p.ips[name]; ip != "" {
		args = append(args, "--listen", ip+":0", "--gossip", ip+":0")
	}
	p.start(name, slices.Concat(args, p.flags, more)...)
}

// kill ends a process with SIGKILL and waits for it to be gone.
func (p *processes) kill(name string) {
	p.t.Helper()
	cmd := p.run[name]
	delete(p.run, name)
	if err := cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = cmd.Wait() // it says that it was killed
}

func (p *processes) stop() {
	if p.cl != nil {
		p.cl.Close()
	}
	for _, cmd := range p.run {
		_ = cmd.Process.Signal(syscall.SIGCONT) // it may have been stopped
		_ = cmd.Process.Signal(os.Interrupt)    // or it has ended
	}
	for name, cmd := range p.run {
		if err := cmd.Wait(); err != nil {
			p.t.Errorf("%s ended with %v", name, err)
		}
	}
	if p.t.Failed() {
		logs, _ := filepath.Glob(filepath.Join(p.dir, "*.log"))
		for _, l := range logs {
			b, _ := os.ReadFile(l)
			p.t.Logf("%s:\n%s", filepath.Base(l), b[max(0, len(b)-3000):])
		}
	}
}

func (p *processes) wait(what string, done func() bool) {
	p.t.Helper()
	for begin := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if limit := cmp.Or(p.patience, time.Minute); time.Since(begin) > limit {
			p.t.Fatalf("waited %s: %s", limit, what)
		}
	}
}

func (p *processes) put(path string, data []byte) {
	p.t.Helper()
	w, err := p.cl.DFS().Create(p.t.Context(), path, dfs.CreateOptions{BlockSize: 1 << 20})
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *processes) output(dir string) (out []byte) {
	p.t.Helper()
	list, err := p.cl.DFS().ListAll(p.t.Context(), dir)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range list {
		if !strings.Contains(e.Path, "/part-") {
			continue
		}
		f, err := p.cl.DFS().Open(context.Background(), e.Path)
		if err != nil {
			p.t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			p.t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}

func (p *processes) mapsDone() int {
	jobs, err := p.cl.Jobs(p.t.Context())
	if err != nil || len(jobs) == 0 {
		return 0
	}
	return jobs[0].Maps.Done
}

// TestDetached: a program submits itself and ends at once; its job goes on and can be waited for from elsewhere.
func TestDetached(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, 1)
	data := text(t, 1<<20)
	p.put("/in", data)
	out, err := exec.Command(program(t, "wordcount"), "-master", p.addr, "-input", "dfs:/in", "-output", "dfs:/out", "-detach").Output()
	id := wire.JobID(strings.TrimSpace(string(out)))
	if err != nil || !strings.HasPrefix(string(id), "job-") {
		t.Fatalf("%q, %v", out, err)
	}
	if s, err := p.cl.Wait(t.Context(), id, func(wire.JobStatus) {}); err != nil || s.State != "SUCCEEDED" {
		t.Fatalf("%+v, %v", s, err)
	}
	if got, want := lines(p.output("/out")), reference(t, data, "wordcount"); !slices.Equal(got, want) {
		t.Errorf("another output than on one machine: %d lines, want %d", len(got), len(want))
	}
	if out, err := exec.Command(program(t, "wordcount"), "-input", "x", "-output", "y", "-detach").CombinedOutput(); err == nil || !strings.Contains(string(out), "-detach needs -master") {
		t.Errorf("without a master: %s, %v", out, err)
	}
}

// TestKillNine: a program submits itself; a worker and then the master are killed with kill -9 in
// the middle and started again; the output is that of a run on one machine, byte for byte.
func TestKillNine(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, 4)
	data := text(t, 24<<20)
	p.put("/in", data)
	want := reference(t, data, "wordcount")
	job := exec.Command(program(t, "wordcount"), "-master", p.addr, "-input", "dfs:/in", "-output", "dfs:/out", "-json")
	var out, log bytes.Buffer
	job.Stdout, job.Stderr = &out, &log
	if err := job.Start(); err != nil {
		t.Fatal(err)
	}
	p.wait("some maps are done", func() bool { return p.mapsDone() >= 4 })
	p.kill("w2")
	p.wait("more maps are done", func() bool { return p.mapsDone() >= 8 })
	p.kill("master")
	p.startMaster()
	p.startWorker("w2", "r2")
	if err := job.Wait(); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &log)
	}
	var report struct {
		State string
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || report.State != "SUCCEEDED" {
		t.Fatalf("%v: %s", err, &out)
	}
	if got := lines(p.output("/out")); !slices.Equal(got, want) {
		t.Errorf("another output than on one machine: %d lines, want %d", len(got), len(want))
	}
	jobs, err := p.cl.Jobs(t.Context())
	if err != nil || len(jobs) != 1 || jobs[0].State != "SUCCEEDED" {
		t.Errorf("jobs %+v, %v", jobs, err)
	}
	list, err := p.cl.DFS().ListAll(t.Context(), "/")
	if err != nil || len(list) != 3 { // in, out, tmp
		t.Errorf("the root holds %+v, %v", list, err)
	}
}

// TestStoppedWorker: a worker that hangs without a word is given up, and back when it goes on.
func TestStoppedWorker(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, 3)
	state := func(node string) string {
		list, err := p.cl.Nodes(t.Context())
		if err != nil {
			return err.Error()
		}
		for _, n := range list {
			if string(n.Node) == node {
				return n.State
			}
		}
		return "unknown"
	}
	w2 := p.run["w2"].Process
	if err := w2.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	p.wait("the silence is noticed", func() bool { return state("w2") == "down" })
	t.Logf("noticed after %s", time.Since(begin))
	if err := w2.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.wait("the worker is back", func() bool { return state("w2") == "up" })
}
