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

// TestKeyIsChangedUnderPrograms: a program that runs while the cluster's key is changed, until the old one is good for nothing, is given a certificate of the new key: the reduce writes its output by connections
// of its own, in its first attempt.
func TestKeyIsChangedUnderPrograms(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	old, next := secure.Generate(), secure.Generate()
	k := startWithKeys(t, old, "w1", "w2")
	k.put("/in", text(t, 1000))
	id, err := k.cl.Submit(t.Context(), wire.JobSpec{Name: "waits", Stages: 1, Program: wire.Program{Builtin: "streaming", Args: []string{
		"--mapper", "cat", "--reducer", "cat; sleep 20",
		"--input", "dfs:/in", "--output", "dfs:/out", "--reducers", "1",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	k.wait("the reduce runs", func() bool { return k.status(id).Reduces.Running == 1 })
	k.change(old+"\n"+next, next+"\n"+old, next)
	if k.status(id).State.Ended() {
		t.Fatal("the job ended before the key was changed: nothing is seen here")
	}
	if s := k.finish(id); s.State != wire.Succeeded || s.Retries != 0 || s.LastError != "" {
		t.Errorf("%+v", s)
	}
}

// change gives the nodes one text of the key after the other.
func (k *keyed) change(texts ...string) {
	k.t.Helper()
	for step, text := range texts {
		if err := k.key.Replace(text); err != nil {
			k.t.Fatal(err)
		}
		for _, n := range k.nodes {
			k.write(n, text)
			k.wait(n+" has taken the key in", func() bool {
				return strings.Count(k.log(n), "the cluster's key has changed") >= step+1
			})
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

// TestRevokedUsersReduces: a job of a user who is revoked in its middle goes on to its end: programs that run and programs that start fetch, read and write for it.
func TestRevokedUsersReduces(t *testing.T) {
	t.Parallel()
	k := startWithKeys(t, secure.Generate(), "w1", "w2")
	pem, err := k.key.PEM(secure.User, "gus", "")
	if err != nil {
		t.Fatal(err)
	}
	cl, err := client.New(client.Config{Master: k.addr, Cert: pem, Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	k.put("/in", text(t, 30_000))
	id, err := cl.Submit(t.Context(), wire.JobSpec{Name: "goes on", Stages: 1, Program: wire.Program{Builtin: "streaming", Args: []string{
		"--mapper", "sleep 2; cat", "--reducer", "cat", "--input", "dfs:/in", "--output", "dfs:/user/gus/out", "--reducers", "2", "--split-bytes", "3000",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	k.wait("maps run", func() bool { return k.status(id).Maps.Running > 0 })
	for _, n := range k.nodes {
		k.cli(0, "cluster", "revoke", "gus", "--key", k.file(n))
	}
	k.wait("gus is refused", func() bool { _, err := cl.Jobs(t.Context()); return err != nil && wire.KindOf(err) == wire.Denied })
	if s := k.finish(id); s.State != wire.Succeeded || s.Retries != 0 {
		t.Errorf("%+v", s)
	}
}
