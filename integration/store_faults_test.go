package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

// storeNode is what the name service says about a node.
func (p *processes) storeNode(name string) wire.StoreNode {
	list, err := p.cl.DFS().Nodes(p.t.Context())
	if err != nil {
		return wire.StoreNode{State: err.Error()}
	}
	for _, n := range list {
		if string(n.Node) == name {
			return n
		}
	}
	return wire.StoreNode{State: "unknown"}
}

// gone waits for a process that ends by itself and returns its exit code.
func (p *processes) gone(name string) int {
	p.t.Helper()
	cmd := p.run[name]
	delete(p.run, name)
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its exit code says more
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill() // or it has ended just now
		<-ended
		p.t.Fatalf("%s did not end in a minute", name)
	}
	return cmd.ProcessState.ExitCode()
}

func (p *processes) healthy() {
	p.t.Helper()
	p.wait("fsck finds all files healthy", func() bool {
		r, err := p.cl.DFS().Fsck(p.t.Context(), wire.FsckRequest{Path: "/"})
		return err == nil && r.Under+r.Over+r.Missing+r.Corrupt == 0 && len(r.Files) == 0
	})
}

func (p *processes) wantFile(path string, want []byte) {
	p.t.Helper()
	f, err := p.cl.DFS().Open(p.t.Context(), path)
	if err != nil {
		p.t.Fatal(err)
	}
	got, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil || !bytes.Equal(got, want) {
		p.t.Errorf("%s: %d of %d bytes, %v", path, len(got), len(want), err)
	}
}

// out waits until the name service counts on nothing of a node any more, and checks that it says why.
func (p *processes) out(name string, why ...string) {
	p.t.Helper()
	begin := time.Now()
	p.wait(name+" is out", func() bool {
		n := p.storeNode(name)
		return n.State == "dead" || len(n.Volumes) > 0 && n.Volumes[0].Failed != "" && n.Blocks == 0
	})
	n := p.storeNode(name)
	p.t.Logf("out after %v: %+v", time.Since(begin), n.Volumes)
	for _, w := range why {
		if len(n.Volumes) > 0 && strings.Contains(n.Volumes[0].Failed, w) {
			return
		}
	}
	p.t.Errorf("the reason is none of %q: %+v", why, n)
}

// TestSyncErrorInjected is the live half of FAULTS row 47: from some moment on every fsync of a worker
// fails, which strace sees to. Files are written as before, and none counts on that worker.
func TestSyncErrorInjected(t *testing.T) {
	require.Faults(t)
	strace := require.Tool(t, "strace")
	require.Root(t)
	p := startProcesses(t, 4)
	data := bytes.Repeat([]byte("all of it "), 30_000)
	p.put("/before", data)
	tracer := exec.Command(strace, "-f", "-qq", "-o", filepath.Join(p.dir, "strace.out"), "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:error=EIO", "-p", fmt.Sprint(p.run["w1"].Process.Pid))
	log, err := os.Create(filepath.Join(p.dir, "strace.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	tracer.Stderr = log
	if err := tracer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = tracer.Process.Signal(os.Interrupt) // or it has ended with the worker
		_ = tracer.Wait()
	}()
	p.wait("strace has hold of the worker", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.run["w1"].Process.Pid))
		return err != nil || strings.Contains(string(b), fmt.Sprintf("TracerPid:\t%d\n", tracer.Process.Pid))
	})
	early := 0
	p.wait("a sync has failed", func() bool {
		p.put(fmt.Sprint("/early", early), data) // one of a block, perhaps
		early++
		b, _ := os.ReadFile(filepath.Join(p.dir, "strace.out")) // it may not be there yet
		return strings.Contains(string(b), "INJECTED")
	})
	for i := range 6 {
		path := fmt.Sprint("/after", i)
		p.put(path, data)
		loc, err := p.cl.DFS().Locate(t.Context(), path, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range loc.Blocks {
			for _, place := range b.Places {
				if place.Node == "w1" {
					t.Errorf("%s: %v was acknowledged by the worker whose syncs fail", path, b.ID)
				}
			}
		}
	}
	p.out("w1", "input/output error")
	p.healthy()
	p.wantFile("/before", data)
	for i := range early {
		p.wantFile(fmt.Sprint("/early", i), data)
	}
	for i := range 6 {
		p.wantFile(fmt.Sprint("/after", i), data)
	}
	p.kill("w1") // it lives on without a store, and would complain at its end
}

// TestDataDirectoryForbidden is what of FAULTS row 48 needs a process that is not root's: mode 000.
// dfs/dfstest has the removed and the read-only directory.
func TestDataDirectoryForbidden(t *testing.T) {
	require.Faults(t)
	require.Root(t)
	p := startProcesses(t, 3)
	for dir := p.dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const nobody = 65534
	home := filepath.Join(p.dir, "w4")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, nobody, nobody), os.Chmod(filepath.Dir(millrace), 0o755)); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(p.dir, "w4.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	data := filepath.Join(home, "data")
	cmd := exec.Command(millrace, "worker", "--name", "w4", "--rack", "r2", "--master", p.addr, "--dir", home, "--data", data)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, home
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.run["w4"] = cmd
	p.wait("the worker is up", func() bool { return p.storeNode("w4").State == "live" })
	if err := os.Chmod(data, 0); err != nil {
		t.Fatal(err)
	}
	p.out("w4", "permission denied")
	p.kill("w4")
}

// TestTwoMasters is FAULTS row 21. A second master on the same directory refuses to start; where the
// lock was broken it takes over, and the first steps down when it wakes up.
func TestTwoMasters(t *testing.T) {
	require.Faults(t)
	p := startProcesses(t, 3)
	dir := filepath.Join(p.dir, "master")
	p.put("/one", []byte("one"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	second := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(millrace, "master", "--dir", dir, "--listen", second, "--groups", p.groups()).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another service has it open") {
		t.Fatalf("a second master: %v, %s", err, out)
	}
	first := p.run["master"].Process
	if err := first.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(dir, "names", "checkpoint.db")
	b, err := os.ReadFile(db)
	if err := errors.Join(err, os.WriteFile(db+".copy", b, 0o600), os.Rename(db+".copy", db)); err != nil {
		t.Fatal(err)
	}
	p.start("second", "master", "--dir", dir, "--listen", second, "--groups", p.groups())
	cl, err := client.New(client.Config{Master: second, User: "ann", Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	p.wait("the second master answers", func() bool {
		_, err := cl.DFS().Stat(t.Context(), "/one")
		return err == nil
	})
	if err := first.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	old, err := client.New(client.Config{Master: p.addr, User: "ann", Patience: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	for i := range 5 {
		if err := old.DFS().Mkdir(t.Context(), fmt.Sprint("/zombie", i), false); err == nil {
			t.Error("the first master accepts changes")
		}
	}
	if code := p.gone("master"); code == 0 {
		t.Error("the first master ended as if all were well")
	}
	t.Logf("the first master was gone after %v", time.Since(begin))
	list, err := cl.DFS().ListAll(t.Context(), "/")
	if err != nil || len(list) != 1 {
		t.Errorf("the root holds %+v, %v", list, err)
	}
}

// TestMasterDiskFull is FAULTS row 24: names and jobs are refused with the reason, files are read, the master says that it is not well, a job that runs
// waits, and all goes on when there is room.
func TestMasterDiskFull(t *testing.T) {
	t.Parallel()
	require.Faults(t)
	small := require.Tmpfs(t, "size=96m")
	p := startProcesses(t, 0)
	p.kill("master")
	dir := filepath.Join(p.dir, "master")
	if err := errors.Join(os.Rename(dir, dir+".large"), os.Symlink(small, dir)); err != nil {
		t.Fatal(err)
	}
	p.startMaster()
	for i := range 3 {
		p.startWorker(fmt.Sprint("w", i+1), fmt.Sprint("r", i%2+1))
	}
	p.wait("all workers are up", func() bool {
		list, err := p.cl.DFS().Nodes(t.Context())
		return err == nil && len(list) == 3
	})
	p.put("/file", []byte("content"))
	running := p.synthetic(120, 2, 500*time.Millisecond, 10*time.Millisecond, "dfs:/running")
	p.wait("a job runs", func() bool { return p.status(running).Maps.Done > 0 })
	hog := filepath.Join(small, "hog")
	fill(t, hog)
	refused := p.trySubmit("synthetic", "--maps", "1", "--reduces", "1", "--output", "dfs:/refused")
	if !errors.Is(refused, wire.NoSpace) || !strings.Contains(refused.Error(), "full") {
		t.Errorf("a job on a full disk: %v", refused)
	}
	var err error
	for i := 0; i < 200_000 && err == nil; i++ {
		err = p.cl.DFS().Mkdir(t.Context(), fmt.Sprintf("/%0200d", i), false)
	}
	if !errors.Is(err, wire.NoSpace) {
		t.Fatalf("on a full disk: %v", err)
	}
	p.wantFile("/file", []byte("content"))
	if code, text := p.healthz(); code != http.StatusServiceUnavailable || !strings.Contains(text, "the disk is full") {
		t.Errorf("on a full disk the master says of itself: %d %s", code, text)
	}
	p.wait("the job says why it waits", func() bool {
		why, err := p.cl.Why(t.Context(), running)
		return err == nil && strings.Contains(why, "the master has no room") && p.status(running).State == wire.Running
	})
	if err := os.Remove(hog); err != nil {
		t.Fatal(err)
	}
	p.wait("changes are accepted again", func() bool { return p.cl.DFS().Mkdir(t.Context(), "/again", true) == nil })
	if s := p.finish(running); s.State != wire.Succeeded {
		t.Errorf("the job that ran: %+v", s)
	}
	if code, text := p.healthz(); code != http.StatusOK {
		t.Errorf("when there is room: %d %s", code, text)
	}
	p.wait("jobs are accepted again", func() bool {
		return p.trySubmit("synthetic", "--maps", "2", "--reduces", "1", "--map-time", "1ms", "--reduce-time", "1ms", "--output", "dfs:/accepted") == nil
	})
	all, err := p.cl.Jobs(t.Context())
	if err != nil || len(all) != 2 {
		t.Errorf("jobs %+v, %v", all, err)
	}
	if s := p.finish(all[0].Job); s.State != "SUCCEEDED" {
		t.Errorf("a job afterwards: %+v", s)
	}
	list, err := p.cl.DFS().ListAll(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	p.kill("master")
	p.startMaster()
	p.wait("the master is back", func() bool {
		again, err := p.cl.DFS().ListAll(t.Context(), "/")
		return err == nil && len(again) == len(list)
	})
	p.wantFile("/file", []byte("content"))
}

// healthz asks the master whether it is well.
func (p *processes) healthz() (code int, text string) {
	p.t.Helper()
	resp, err := http.Get("http://" + p.addr + "/healthz")
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// fill writes a file until nothing more fits.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []int{1 << 20, 1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, piece))
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
