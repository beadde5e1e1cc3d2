package integration

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
)

// A person has a certificate of the cluster.
type person struct {
	*rpc.Client
	dfs *dfs.Client
}

func newPerson(t *testing.T, c *testcluster.Cluster, role secure.Role, name string) person {
	t.Helper()
	rc := c.NewClient(role, name)
	p := person{rc, dfs.NewClient(dfs.Config{Master: c.Addr, Client: rc, User: "root"})} // what a client says of itself is not believed
	t.Cleanup(func() {
		if err := p.dfs.Close(); err != nil {
			t.Error(err)
		}
		p.Close()
	})
	return p
}

func (p person) put(t *testing.T, path, text string) {
	t.Helper()
	w, err := p.dfs.Create(t.Context(), path, dfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func (p person) chmod(t *testing.T, path string, mode int) {
	t.Helper()
	if err := p.dfs.SetRights(t.Context(), wire.SetRightsRequest{Path: path, Mode: mode}); err != nil {
		t.Fatal(err)
	}
}

// sharedCluster has a key, and files of bob: one for himself and one that he is writing.
func sharedCluster(t *testing.T) (c *testcluster.Cluster, ann, bob person) {
	t.Helper()
	c = testcluster.Start(t, testcluster.Config{Workers: 2, Key: newKey(t), Master: func(cfg *master.Config) {
		pages(cfg)
		set := cfg.Names
		cfg.Names = func(n *names.Config) {
			set(n)
			n.Superuser = "root"
		}
	}})
	ann, bob = newPerson(t, c, secure.User, "ann"), newPerson(t, c, secure.User, "bob")
	bob.put(t, "/user/bob/private/f", "only for bob\n")
	bob.put(t, "/user/bob/secret", "only for bob\n")
	bob.chmod(t, "/user/bob/private", 0o700)
	bob.chmod(t, "/user/bob/secret", 0o600)
	ann.put(t, "/user/ann/own", "of ann\n")
	return c, ann, bob
}

// TestEveryCallIsChecked walks the routes of the name service: each is tried by ann, and by a task of a job of hers, on a file of
// bob's that is for him alone, and refused. A route that the table does not know fails.
func TestEveryCallIsChecked(t *testing.T) {
	t.Parallel()
	c, ann, bob := sharedCluster(t)
	callers := []*rpc.Client{ann.Client, taskOf(t, c, ann, "ann")}
	open, err := api.DFSCreate.Call(t.Context(), bob.Client, c.Addr, wire.CreateRequest{Path: "/user/bob/open", Holder: "h"})
	if err != nil {
		t.Fatal(err)
	}
	const f = "/user/bob/private/f"
	id := open.File.ID
	calls := map[string][]any{
		"dfs.stat": {wire.PathRequest{Path: f, User: "bob"}}, "dfs.list": {wire.ListRequest{Path: f}, wire.ListRequest{Path: "/user/bob/private", User: "root"}},
		"dfs.locate": {wire.LocateRequest{Path: f, Len: -1, User: "bob"}, wire.LocateRequest{Path: "/user/bob/secret", Len: -1}},
		"dfs.usage":  {wire.QuotaRequest{Path: "/user/bob/private"}, wire.QuotaRequest{Of: "bob"}},
		"dfs.fsck":   {wire.FsckRequest{Path: f}}, "dfs.mkdir": {wire.MkdirRequest{Path: "/user/bob/d", User: "bob"}, wire.MkdirRequest{Path: "/d"}},
		"dfs.rename": {
			wire.RenameRequest{From: f, To: "/user/ann/x"},
			wire.RenameRequest{From: "/user/bob/secret", To: "/user/ann/x"},
			wire.RenameRequest{From: "/user/ann/own", To: "/user/bob/secret", Replace: true},
		},
		"dfs.rename-all": {
			wire.RenameAllRequest{Moves: []wire.Move{{From: f, To: "/user/ann/x"}}},
			wire.RenameAllRequest{Moves: []wire.Move{{From: "/user/bob/secret", To: "/user/ann/x"}}, User: "bob"},
			wire.RenameAllRequest{Moves: []wire.Move{{From: "/user/ann/own", To: "/user/ann/own2"}, {From: "/user/ann/own2", To: "/user/bob/secret"}}},
			wire.RenameAllRequest{Moves: []wire.Move{{From: "/user/ann/own2", To: "/user/ann/own"}, {From: f, To: "/user/ann/x"}}},
		},
		"dfs.delete": {
			wire.DeleteRequest{Path: f},
			wire.DeleteRequest{Path: "/user/bob/secret", User: "bob"},
			wire.DeleteRequest{Path: "/user/bob", Recursive: true},
			wire.DeleteRequest{Path: "/user/bob/secret", Trash: true},
		},
		"dfs.set-replication": {wire.SetReplicationRequest{Path: "/user/bob/secret", Replication: 1}},
		"dfs.set-rights":      {wire.SetRightsRequest{Path: "/user/bob/secret", Mode: 0o777}, wire.SetRightsRequest{Path: "/user/ann/own", Owner: "bob", Mode: -1}},
		"dfs.snapshot":        {wire.SnapshotRequest{Path: "/user/bob", Name: "s"}},
		"dfs.create":          {wire.CreateRequest{Path: "/user/bob/new", Holder: "h"}, wire.CreateRequest{Path: "/user/bob/secret", Holder: "h", Overwrite: true}},
		"dfs.add-block":       {wire.AddBlockRequest{File: id, Holder: "h"}}, "dfs.bump": {wire.BumpRequest{File: id, Holder: "h"}},
		"dfs.complete": {wire.CompleteRequest{File: id, Holder: "h"}}, "dfs.abandon": {wire.LeaseRequest{File: id, Holder: "h"}},
		"dfs.renew": {wire.LeaseRequest{Holder: "h"}}, "dfs.register": {wire.RegisterRequest{}}, "dfs.report": {wire.ReportRequest{}},
		"dfs.beat": {wire.BeatRequest{}}, "dfs.set-quota": {wire.QuotaRequest{Of: "ann", Bytes: -1}}, "dfs.drain": {wire.DrainRequest{}},
		"dfs.balance": {wire.BalanceRequest{}}, "dfs.safemode": {wire.SafeModeRequest{Set: "enter"}},
		"dfs.nodes": nil, // says nothing about files
	}
	for _, r := range c.Master.Routes() {
		method, ok := strings.CutPrefix(r.Path, rpc.Prefix)
		if !ok || !strings.HasPrefix(method, "dfs.") {
			continue
		}
		list, known := calls[method]
		if !known {
			t.Errorf("%s is in no table: who may call it on what?", method)
		}
		for n, req := range append(list, list...) {
			_, err := rpc.Call[any, json.RawMessage](t.Context(), callers[n/max(len(list), 1)], c.Addr, method, req)
			if wire.KindOf(err) != wire.Denied || err == nil {
				t.Errorf("%s %+v, call %d of %d: %v", method, req, n, 2*len(list), err)
			}
		}
	}
	if _, err := api.DFSComplete.Call(t.Context(), bob.Client, c.Addr, wire.CompleteRequest{File: id, Holder: "h"}); err != nil {
		t.Errorf("bob's own file: %v", err)
	}
	admin := newPerson(t, c, secure.Admin, "eve")
	if _, err := admin.dfs.Locate(t.Context(), f, 0, -1); err != nil {
		t.Errorf("an administrator: %v", err)
	}
}

// TestJobsHaveTheirUsersRights: wherever its attempts run, a job reads what its user may read and writes where its user may
// write; what it writes belongs to its user.
func TestJobsHaveTheirUsersRights(t *testing.T) {
	t.Parallel()
	c, ann, _ := sharedCluster(t)
	submit := func(p person, words ...string) (wire.JobID, error) {
		spec := wire.JobSpec{Name: words[0], User: "bob", Stages: 1, Output: words[len(words)-1], Program: wire.Program{Builtin: words[0], Args: words[1:]}}
		got, err := api.JobSubmit.Call(t.Context(), p.Client, c.Addr, spec)
		return got.Job, err
	}
	for _, words := range [][]string{
		{"wordcount", "--input", "dfs:/user/bob/secret", "--output", "dfs:/user/ann/out"},
		{"wordcount", "--input", "dfs:/user/bob/private", "--output", "dfs:/user/ann/out"},
		{"wordcount", "--input", "dfs:/user/ann/own", "--output", "dfs:/user/bob/out"},
	} {
		if _, err := submit(ann, words...); wire.KindOf(err) != wire.Denied || err == nil {
			t.Errorf("%v: %v", words, err)
		}
	}
	// A pattern is not looked at before the job runs.
	id, err := submit(ann, "wordcount", "--input", "dfs:/user/bob/sec*", "--output", "dfs:/user/ann/out")
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Finish(id); s.State != "FAILED" || !strings.Contains(s.Error, "may not read") {
		t.Errorf("a job of ann's that reads bob's file: %s, %s", s.State, s.Error)
	}
	if id, err = submit(ann, "wordcount", "--input", "dfs:/user/ann/own", "--output", "dfs:/user/ann/out"); err != nil {
		t.Fatal(err)
	}
	if s := c.Finish(id); s.State != "SUCCEEDED" || s.User != "ann" {
		t.Errorf("a job of ann's: %+v", s)
	}
	list, err := ann.dfs.ListAll(t.Context(), "/user/ann/out")
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, i := range list {
		if i.User != "ann" || i.Mode != 0o644 {
			t.Errorf("%s belongs to %s, mode %o", i.Path, i.User, i.Mode)
		}
	}
}

// TestPagesHaveTheViewersRights: the dashboard shows files to who may see them.
func TestPagesHaveTheViewersRights(t *testing.T) {
	t.Parallel()
	c, ann, bob := sharedCluster(t)
	look := func(p person, path string) error {
		resp, err := p.Get(t.Context(), c.Addr, path)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	for _, path := range []string{"/files/user/bob/private", "/files/user/bob/private/f", "/files/user/bob/secret"} {
		if err := look(bob, path); err != nil {
			t.Errorf("%s for bob: %v", path, err)
		}
		if err := look(ann, path); err == nil || !strings.Contains(err.Error(), http.StatusText(http.StatusForbidden)) {
			t.Errorf("%s for ann: %v", path, err)
		}
	}
}
