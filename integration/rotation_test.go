package integration

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// keyed is a cluster of processes, each with a file of its own for the cluster's key.
type keyed struct {
	*processes
	nodes []string
	key   *secure.Key // of the client
}

func (k *keyed) file(node string) string { return filepath.Join(k.dir, node+".key") }

// write replaces the key file of a node, whole.
func (k *keyed) write(node, text string) {
	k.t.Helper()
	writeFile(k.t, k.file(node)+".new", []byte(text+"\n"))
	if err := os.Rename(k.file(node)+".new", k.file(node)); err != nil {
		k.t.Fatal(err)
	}
}

// log is what a node has printed.
func (k *keyed) log(node string) string {
	b, _ := os.ReadFile(filepath.Join(k.dir, node+".log")) // it may not have begun
	return string(b)
}

// ask calls the master with a key, by a connection of its own.
func (k *keyed) ask(text string) error {
	k.t.Helper()
	key, err := secure.Parse(text)
	if err != nil {
		k.t.Fatal(err)
	}
	cl, err := client.New(client.Config{Master: k.addr, User: "ann", Key: key, Patience: time.Second})
	if err != nil {
		k.t.Fatal(err)
	}
	defer cl.Close()
	_, err = cl.Nodes(k.t.Context())
	return err
}

func startWithKeys(t *testing.T, text string, workers ...string) *keyed {
	t.Helper()
	require.Tool(t, "go")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &keyed{processes: &processes{t: t, dir: t.TempDir(), addr: l.Addr().String(), run: map[string]*exec.Cmd{}}, nodes: append(workers, "master")}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.stop)
	for _, n := range k.nodes {
		k.write(n, text)
	}
	k.rules = []string{"--key", k.file("master"), "--no-speculation"}
	k.startMaster()
	for _, w := range workers {
		k.flags = []string{"--key", k.file(w)}
		k.startWorker(w, "r1")
	}
	if k.key, err = secure.Parse(text); err != nil {
		t.Fatal(err)
	}
	if k.cl, err = client.New(client.Config{Master: k.addr, User: "ann", Key: k.key, Patience: time.Minute}); err != nil {
		t.Fatal(err)
	}
	k.wait("all workers are up", func() bool {
		nodes, err1 := k.cl.Nodes(t.Context())
		stores, err2 := k.cl.DFS().Nodes(t.Context())
		mode, err3 := k.cl.DFS().SafeMode(t.Context(), "")
		return errors.Join(err1, err2, err3) == nil && len(nodes) == len(workers) && len(stores) == len(workers) && !mode.On
	})
	return k
}

// TestKeyRotation is of FAULTS rows 79 and 80: the key of a cluster is changed under a job, on one node after the other. No
// attempt is lost; at the end the old key opens nothing.
func TestKeyRotation(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	old, next := secure.Generate(), secure.Generate()
	k := startWithKeys(t, old, "w1", "w2", "w3")
	id := k.synthetic(60, 3, 500*time.Millisecond, 100*time.Millisecond, "dfs:/out")
	k.wait("it runs", func() bool { return k.status(id).Maps.Done > 0 })
	for step, text := range []string{old + "\n" + next, next + "\n" + old, next} {
		if err := k.key.Replace(text); err != nil {
			t.Fatal(err)
		}
		for _, n := range k.nodes {
			k.write(n, text)
			k.wait(n+" has taken the key in", func() bool {
				return strings.Count(k.log(n), "the cluster's key has changed") >= step+1
			})
		}
		if err := k.ask(next); step > 0 && err != nil {
			t.Errorf("step %d: who has the new key only: %v", step+1, err)
		}
	}
	s := k.finish(id)
	if s.State != "SUCCEEDED" || s.Attempts != 64 {
		t.Errorf("the job: %+v", s)
	}
	after := k.synthetic(6, 2, time.Millisecond, time.Millisecond, "dfs:/after")
	if s := k.finish(after); s.State != "SUCCEEDED" {
		t.Errorf("a job afterwards: %+v", s)
	}
	if err := k.ask(old); wire.KindOf(err) != wire.Unavailable {
		t.Errorf("who has the old key only: %v", err)
	}
	for _, n := range k.nodes {
		if log := k.log(n); strings.Contains(log, "level=ERROR") {
			t.Errorf("%s:\n%s", n, log)
		}
	}
}

// TestRevokedUsersJobs: who is revoked gets nowhere any more; jobs that they have go on, or end with --cancel-jobs. Jobs of others go on.
func TestRevokedUsersJobs(t *testing.T) {
	t.Parallel()
	k := startWithKeys(t, secure.Generate(), "w1")
	sleeps := func(user string) (*client.Client, wire.JobID) {
		pem, err := k.key.PEM(secure.User, user, "")
		if err != nil {
			t.Fatal(err)
		}
		cl, err := client.New(client.Config{Master: k.addr, Cert: pem, Patience: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cl.Close() })
		out := "dfs:/user/" + user + "/out"
		id, err := cl.Submit(t.Context(), wire.JobSpec{Name: user, Stages: 1, Output: out, Program: wire.Program{
			Builtin: "sleep", Args: []string{"--maps", "1", "--map-time", "1h", "--output", out},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return cl, id
	}
	goes, goesOn := sleeps("gus")
	ends, ended := sleeps("eve")
	_, beside := sleeps("bob")
	k.cli(0, "cluster", "revoke", "gus", "--key", k.file("master"))
	k.cli(0, "cluster", "revoke", "eve", "--key", k.file("master"), "--cancel-jobs", "--master", k.addr)
	for _, cl := range []*client.Client{goes, ends} {
		if _, err := cl.Jobs(t.Context()); wire.KindOf(err) != wire.Denied {
			t.Errorf("who is revoked: %v", err)
		}
	}
	if s := k.status(ended); s.State != wire.Cancelled || !strings.Contains(s.Error, "the certificates of eve are revoked") {
		t.Errorf("eve's job: %+v", s)
	}
	for _, id := range []wire.JobID{goesOn, beside} {
		if s := k.status(id); s.State.Ended() {
			t.Errorf("%s has ended: %+v", id, s)
		}
	}
}
