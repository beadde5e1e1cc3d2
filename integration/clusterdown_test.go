package integration

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/secure"
)

// TestClusterDownFindsWhatWasRestarted is FAULTS row 94: daemons that somebody started again by hand are known to run, and are
// ended, too.
func TestClusterDownFindsWhatWasRestarted(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command(millrace, "cluster", "up", "--workers", "1", "--dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := clusterAt(t, dir)
	addr, err := url.Parse(c.Master)
	if err != nil {
		t.Fatal(err)
	}
	locks := map[string][]string{
		filepath.Join(dir, "w1", "lock"):                       {"worker", "--name", "w1", "--master", addr.Host, "--listen", "127.0.0.1:0", "--dir", filepath.Join(dir, "w1")},
		filepath.Join(dir, "master", "names", "checkpoint.db"): {"master", "--listen", addr.Host, "--dir", filepath.Join(dir, "master")},
	}
	for _, pid := range []int{c.Workers[0].PID, c.PID} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, len(locks))
	for lock, args := range locks {
		until(t, lock+" is free", func() bool { return disk.Holder(lock) == 0 })
		cmd := exec.Command(millrace, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test has failed
		go func() { ended <- cmd.Wait() }()
		until(t, lock+" is taken", func() bool { return disk.Holder(lock) == cmd.Process.Pid })
	}
	if out, err := exec.Command(millrace, "cluster", "status", "--dir", dir).CombinedOutput(); err != nil || strings.Count(string(out), ", running\n") != 2 {
		t.Errorf("status: %v\n%s", err, out)
	}
	if out, err := exec.Command(millrace, "cluster", "down", "--dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for range locks {
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("a daemon that was started by hand runs on")
		}
	}
}

// TestClusterUpBesideWorkers: when the master has died a moment ago and its workers have not, `cluster up` says what to do, and stops nobody.
func TestClusterUpBesideWorkers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command(millrace, "cluster", "up", "--workers", "1", "--dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := clusterAt(t, dir)
	t.Cleanup(func() { _ = exec.Command(millrace, "cluster", "down", "--dir", dir).Run() })
	if err := syscall.Kill(c.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(millrace, "cluster", "up", "--dir", dir).CombinedOutput()
	want := fmt.Sprintf("has ended, and worker w1, process %d, still runs: millrace cluster down --dir %s first", c.Workers[0].PID, dir)
	if err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v\n%s", err, out)
	}
	if now := clusterAt(t, dir); now.PID != c.PID || now.Workers[0].PID != c.Workers[0].PID {
		t.Errorf("cluster.json names %v, no more %v", now, c)
	}
}

func until(t *testing.T, what string, fn func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !fn(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in a minute: %s", what)
		}
	}
}

// aCluster is what `cluster up` writes down of what it started.
type aCluster struct {
	Master  string
	PID     int
	Workers []struct{ PID int }
}

// clusterAt reads it.
func clusterAt(t *testing.T, dir string) (c aCluster) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestClusterUpWithKey: `cluster up` starts a cluster with a key, whoever has none gets no answer, and other users of the machine do not read
// its logs, in which is what programs have said.
func TestClusterUpWithKey(t *testing.T) {
	t.Parallel()
	dir, key := t.TempDir(), filepath.Join(t.TempDir(), "cluster.key")
	writeFile(t, key, []byte(secure.Generate()))
	if out, err := exec.Command(millrace, "cluster", "up", "--workers", "1", "--dir", dir, "--key", key).CombinedOutput(); err != nil || !strings.Contains(string(out), "export MILLRACE_KEY="+key+"\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(millrace, "cluster", "down", "--dir", dir).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	master := clusterAt(t, dir).Master
	if out, err := exec.Command(millrace, "job", "ls", "--master", master, "--key", key).CombinedOutput(); err != nil {
		t.Errorf("with the key: %v\n%s", err, out)
	}
	if out, err := exec.Command(millrace, "job", "ls", "--master", master).CombinedOutput(); err == nil {
		t.Errorf("without the key: %s", out)
	}
	for name, want := range map[string]os.FileMode{".": 0o700, "master.log": 0o600, "w1.log": 0o600} {
		if st, err := os.Stat(filepath.Join(dir, "logs", name)); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
}
