package integration

import (
	"io"
	"strings"
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

// TestUmaskOfClients: what bob puts, makes and lets a job write has the rights that his umask leaves: cat can read all of it under 022 and nothing
// under 077.
func TestUmaskOfClients(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2})
	as := func(user string, umask wire.Umask) *client.Client {
		cl, err := client.New(client.Config{Master: c.Addr, User: user, Umask: umask})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cl.Close() }) // nothing is written any more
		return cl
	}
	cat := as("cat", "")
	for umask, open := range map[wire.Umask]bool{"": true, "022": true, "077": false} {
		bob := as("bob", umask)
		dir := "/tmp/of-bob" + string(umask)
		if err := bob.DFS().Mkdir(t.Context(), dir, false); err != nil {
			t.Fatal(err)
		}
		person{dfs: bob.DFS()}.put(t, dir+"/in", "some words\n")
		id, err := bob.Submit(t.Context(), wire.JobSpec{
			Name: "count", Stages: 1, Output: "dfs:" + dir + "/out",
			Program: wire.Program{Builtin: "wordcount", Args: []string{"--input=dfs:" + dir + "/in", "--output=dfs:" + dir + "/out"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Finish(id); s.State != "SUCCEEDED" {
			t.Fatalf("umask %q: %s: %s", umask, s.State, s.Error)
		}
		list, err := bob.DFS().ListAll(t.Context(), dir+"/out")
		if err != nil || len(list) < 2 {
			t.Fatalf("umask %q: %v, %v", umask, list, err)
		}
		in, err := bob.DFS().Stat(t.Context(), dir+"/in")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range append(list, in) {
			if (e.Mode&0o077 != 0) != open { // a directory above that keeps cat out is not enough
				t.Errorf("umask %q: %s has mode %o", umask, e.Path, e.Mode)
			}
			if err := readAll(t, bob, e.Path); err != nil {
				t.Errorf("umask %q: bob reads %s: %v", umask, e.Path, err)
			}
			if err := readAll(t, cat, e.Path); (err == nil) != open {
				t.Errorf("umask %q: cat reads %s: %v", umask, e.Path, err)
			}
		}
	}
}

// TestUmaskOfPrograms: the same for attempts in processes of their own, of a worker that is a process itself.
func TestUmaskOfPrograms(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, 1)
	p.put("/in", []byte("a b\n"))
	id, err := p.cl.Submit(t.Context(), wire.JobSpec{
		Name: "lines", User: "bob", Stages: 1, Output: "dfs:/user/bob/lines", Umask: "027",
		Program: wire.Program{Builtin: "streaming", Args: []string{"--mapper=cat", "--reducer=cat", "--input=dfs:/in", "--output=dfs:/user/bob/lines"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.cl.Wait(t.Context(), id, func(wire.JobStatus) {})
	if err != nil || s.State != "SUCCEEDED" {
		t.Fatalf("%+v, %v", s, err)
	}
	list, err := p.cl.DFS().ListAll(t.Context(), "/user/bob/lines")
	dir, err2 := p.cl.DFS().Stat(t.Context(), "/user/bob/lines")
	if err != nil || err2 != nil || len(list) < 2 || dir.Mode != 0o750 {
		t.Fatalf("%v of mode %o: %v, %v, %v", dir.Path, dir.Mode, list, err, err2)
	}
	for _, e := range list {
		if e.Mode != 0o640 {
			t.Errorf("%s has mode %o", e.Path, e.Mode)
		}
	}
}

func readAll(t *testing.T, cl *client.Client, path string) error {
	t.Helper()
	f, err := cl.DFS().Open(t.Context(), path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, io.NewSectionReader(f, 0, f.Size()))
	return err
}

// TestUmaskOfSubmissions: a submission whose umask is none is refused before anything runs.
func TestUmaskOfSubmissions(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	if id, err := trySubmit(c, c.Client, wire.JobSpec{Umask: "9", Output: "dfs:/o"}, "sleep", "--maps=1", "--output=dfs:/o"); wire.KindOf(err) != wire.Invalid || err == nil {
		t.Errorf("%s, %v", id, err)
	}
}

// TestBlocksAreBounded: the name service refuses blocks that no worker would store, whoever asks, and says what to do; the largest is taken.
func TestBlocksAreBounded(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	for size, ok := range map[int64]bool{wire.MaxBlock: true, wire.MaxBlock + 1: false, 1 << 40: false, -1: false} {
		path := map[bool]string{true: "/tmp/largest", false: "/tmp/too-large"}[ok]
		_, err := api.DFSCreate.Call(t.Context(), c.Client, c.Addr, wire.CreateRequest{Path: path, User: "ann", Holder: "h", BlockSize: size, Parents: true})
		if ok && err != nil {
			t.Errorf("blocks of %d bytes: %v", size, err)
		}
		if !ok && (wire.KindOf(err) != wire.Invalid || err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "1 GiB")) {
			t.Errorf("blocks of %d bytes: %v", size, err)
		}
	}
}
