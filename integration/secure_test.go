package integration

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

func newKey(t *testing.T) *secure.Key {
	t.Helper()
	k, err := secure.Parse(secure.Generate())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// stranger is a node of another cluster.
func stranger(t *testing.T) *rpc.Client {
	t.Helper()
	cfg, err := newKey(t).Client(secure.Node, "w1", "")
	if err != nil {
		t.Fatal(err)
	}
	return rpc.NewClient(cfg)
}

// TestSecureCluster: with a key everything works as without, and nobody without a certificate gets
// anywhere.
func TestSecureCluster(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Key: newKey(t)})
	data := text(t, 1<<20)
	dfsPut(t, c, "/in", data)
	s := c.Finish(c.Submit(wire.JobSpec{}, "wordcount", "--input", "dfs:/in", "--output", "dfs:/out"))
	if s.State != "SUCCEEDED" || s.User != "ann" {
		t.Fatalf("%+v", s)
	}
	if got := lines(dfsOutput(t, c, "/out")); !slices.Equal(got, reference(t, data, "wordcount")) {
		t.Error("another output than on one machine")
	}
	for name, cl := range map[string]*rpc.Client{
		"in the clear":       rpc.NewClient(rpc.ClientConfig{User: "root", Node: "w1"}),
		"of another cluster": stranger(t),
	} {
		_, err := rpc.Call[struct{}, []wire.JobStatus](t.Context(), cl, c.Addr, "job.list", struct{}{})
		if err == nil {
			t.Errorf("a caller %s was answered", name)
		}
		cl.Close()
	}
}

// TestRoutes walks the routers' own lists: each route refuses whoever its rule does not name, before
// it does any work.
func TestRoutes(t *testing.T) {
	k := newKey(t)
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: k, Master: pages})
	callers := map[string]rpc.Caller{
		"user": {User: "bob"}, "admin": {User: "root", Admin: true}, "node": {Node: "w9"}, "task": {User: "bob", Job: "job-77"},
	}
	routes := map[string][]rpc.Route{c.Addr: c.Master.Routes(), c.Workers[0].Worker.Addr(): c.Workers[0].Worker.Routes()}
	tried := 0
	for addr, list := range routes {
		if len(list) < 5 {
			t.Fatalf("%s has only %d routes", addr, len(list))
		}
		for _, r := range list {
			for who, caller := range callers {
				if r.Rule.Check(caller) == nil {
					continue // allowed
				}
				tried++
				if status := knock(t, k, caller, addr, r.Path); status != http.StatusForbidden {
					t.Errorf("%s as %s: status %d, want 403", r.Path, who, status)
				}
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d routes and callers were tried", tried)
	}
}

// knock tries a route by plain HTTP.
func knock(t *testing.T, k *secure.Key, caller rpc.Caller, addr, path string) int {
	t.Helper()
	role, name, on := secure.User, caller.User, ""
	switch {
	case caller.Node != "":
		role, name = secure.Node, caller.Node
	case caller.Job != "":
		role, name, on = secure.Task, caller.Job, caller.User
	case caller.Admin:
		role = secure.Admin
	}
	cfg, err := k.Client(role, name, on)
	if err != nil {
		t.Fatal(err)
	}
	method := http.MethodPost
	if m, p, ok := strings.Cut(path, " "); ok {
		method, path = m, p
	} else if !strings.HasPrefix(path, rpc.Prefix) {
		method = http.MethodGet
	}
	path = strings.NewReplacer("{id}", "1", "{job}", "job-1", "{stage}", "0").Replace(path)
	req, err := http.NewRequestWithContext(t.Context(), method, "https://"+addr+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{TLSClientConfig: cfg.TLS}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}
