package integration

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
)

// backup returns a copy of its directory.
func (p *processes) backup() string {
	p.t.Helper()
	to := filepath.Join(p.t.TempDir(), "master")
	if err := os.CopyFS(to, os.DirFS(filepath.Join(p.dir, "master"))); err != nil {
		p.t.Fatal(err)
	}
	return to
}

func (p *processes) restartWorkers(names ...string) {
	p.t.Helper()
	for _, name := range names {
		p.kill(name)
		p.startWorker(name, "r1")
	}
}

// said waits until a process has logged something.
func (p *processes) said(name, what string) {
	p.t.Helper()
	p.wait(name+" says "+what, func() bool { return strings.Contains(p.log(name), what) })
}

// TestMasterOnACopy: a master is stopped, another is started on a copy of its directory, and the workers are given to that.
// When the old one goes on it acknowledges nothing; when workers are started anew with its address it ends and says why,
// and no file that the new one acknowledged is lost.
func TestMasterOnACopy(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, 3, "master:--dead-after=2s")
	p.put("/before", []byte("before"))
	p.signal("master", syscall.SIGSTOP)
	dir, oldAddr, oldClient := p.backup(), p.addr, p.cl
	defer oldClient.Close()
	p.run["old"] = p.run["master"]
	delete(p.run, "master")
	addrFile := filepath.Join(t.TempDir(), "addr")
	p.start("new", "master", "--dir", dir, "--listen", "127.0.0.1:0", "--addr-file", addrFile, "--groups", p.groups())
	p.wait("the new master listens", func() bool { b, err := os.ReadFile(addrFile); p.addr = string(b); return err == nil })
	newAddr := p.addr
	p.cl = p.client("ann", time.Minute)
	p.restartWorkers("w1", "w2", "w3")
	p.wait("the workers obey the new master", func() bool {
		mode, err := p.cl.DFS().SafeMode(t.Context(), "")
		nodes, err2 := p.cl.DFS().Nodes(t.Context())
		return errors.Join(err, err2) == nil && !mode.On && len(nodes) == 3
	})
	p.put("/after", bytes.Repeat([]byte("after"), 1000))
	p.signal("old", syscall.SIGCONT)
	old, err := client.New(client.Config{Master: oldAddr, User: "ann", Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	for what, err := range map[string]error{
		"mkdir": old.DFS().Mkdir(t.Context(), "/old", true), "rm": old.DFS().Remove(t.Context(), "/before", false),
	} {
		if err == nil {
			t.Errorf("the old master acknowledges %s", what)
		}
	}
	p.addr = oldAddr
	p.restartWorkers("w1", "w2", "w3")
	ended := make(chan error, 1)
	cmd := p.run["old"]
	go func() { ended <- cmd.Wait() }()
	p.said("master", "--take-over")
	p.wait("the old master ends", func() bool { return len(ended) > 0 })
	delete(p.run, "old")
	if _, failed := errors.AsType[*exec.ExitError](<-ended); !failed {
		t.Error("the old master ends as if all were well")
	}
	p.addr = newAddr
	p.restartWorkers("w1", "w2", "w3")
	p.healthy()
	for path, want := range map[string]string{"/before": "before", "/after": strings.Repeat("after", 1000)} {
		p.wantFile(path, []byte(want))
	}
}

// TestBackupIsPutBack: a backup of the master's directory, older than the master that the workers obeyed last. Master,
// workers, health and node ls say so, nothing is deleted or acknowledged; with --take-over the workers obey again.
func TestBackupIsPutBack(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, 2, "master:--replication=2")
	p.put("/kept", []byte("kept"))
	p.kill("master")
	backup := p.backup()
	for _, lost := range []string{"/lost-1", "/lost-2"} {
		p.startMaster()
		p.wait("the master is back", func() bool { mode, err := p.cl.DFS().SafeMode(t.Context(), ""); return err == nil && !mode.On })
		p.put(lost, []byte("lost"))
		p.kill("master")
	}
	dir := filepath.Join(p.dir, "master")
	if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(backup))); err != nil {
		t.Fatal(err)
	}
	p.startMaster()
	p.said("master", "--take-over")
	p.said("w1", "the master is not obeyed")
	p.said("w2", "the master is not obeyed")
	p.wait("both workers are listed as refused", func() bool {
		nodes, err := p.cl.Nodes(t.Context())
		return err == nil && len(nodes) == 2 && nodes[0].State == "refused" && nodes[1].State == "refused"
	})
	impatient := p.client("ann", time.Millisecond)
	defer impatient.Close()
	if _, err := impatient.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "--take-over") {
		t.Errorf("health: %v", err)
	}
	if err := impatient.DFS().Mkdir(t.Context(), "/x", false); err == nil || !strings.Contains(err.Error(), "--take-over") {
		t.Errorf("mkdir: %v", err)
	}
	p.kill("master")
	p.rules = append(p.rules, "--take-over")
	p.startMaster()
	p.wait("the workers obey again", func() bool {
		mode, err := p.cl.DFS().SafeMode(t.Context(), "")
		nodes, err2 := p.cl.Nodes(t.Context())
		return errors.Join(err, err2) == nil && !mode.On && len(nodes) == 2 && nodes[0].State == "up" && nodes[1].State == "up"
	})
	p.wantFile("/kept", []byte("kept"))
	p.put("/new", []byte("new"))
	p.healthy()
}
