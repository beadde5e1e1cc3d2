package integration

import (
	"context"
	"crypto/tls"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/api"
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
	t.Parallel()
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
		_, err := api.JobList.Call(t.Context(), cl, c.Addr, wire.JobsRequest{})
		if err == nil {
			t.Errorf("a caller %s was answered", name)
		}
		cl.Close()
	}
}

// TestWrongKeySaysSo: a key that is missing, wrong or too many fails at once, however patient the caller is, and the error
// says what to do.
func TestWrongKeySaysSo(t *testing.T) {
	t.Parallel()
	keyed := testcluster.Start(t, testcluster.Config{Workers: 1, Key: newKey(t)})
	open := testcluster.Start(t, testcluster.Config{Workers: 1})
	for want, cfg := range map[string]client.Config{
		"set MILLRACE_CERT": {Master: keyed.Addr},
		"is --key, or MILLRACE_KEY, the key of its cluster?": {Master: keyed.Addr, Key: newKey(t)},
		"leave out --key": {Master: open.Addr, Key: newKey(t)},
	} {
		cfg.User, cfg.Patience = "ann", time.Hour
		cl, err := client.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		if _, err := cl.Jobs(ctx); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "running?") {
			t.Errorf("jobs: %v, want %q", err, want)
		}
		if _, err := cl.DFS().Stat(ctx, "/"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("files: %v, want %q", err, want)
		}
		if ctx.Err() != nil {
			t.Errorf("%q: it took minutes", want)
		}
		cancel()
		if err := cl.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRoutes walks the routers' own lists: each route refuses whoever its rule does not name, before
// it does any work, and everybody without a certificate of the cluster that is good now.
func TestRoutes(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: k, Master: pages})
	callers := map[string]rpc.Caller{
		"user": {User: "bob"}, "admin": {User: "root", Admin: true}, "node": {Node: "w9"}, "task": {User: "bob", Job: "job-77"},
	}
	routes := map[string][]rpc.Route{c.Addr: c.Master.Routes(), c.Workers[0].Worker.Addr(): c.Workers[0].Worker.Routes()}
	tried, strangers := 0, badCredentials(t, k)
	for addr, list := range routes {
		if len(list) < 5 {
			t.Fatalf("%s has only %d routes", addr, len(list))
		}
		for _, r := range list {
			if r.Rule.Check(rpc.Caller{}) == nil && !slices.Contains(forAnyone, r.Path) {
				t.Errorf("%s is for anyone, and not in the list of what may be", r.Path)
			}
			for who, cfg := range strangers {
				tried++
				if status, err := try(t, cfg, addr, r.Path); err == nil && status != http.StatusForbidden {
					t.Errorf("%s with a certificate %s: status %d", r.Path, who, status)
				}
			}
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
	status, err := try(t, cfg.TLS, addr, path)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// forAnyone are the routes that need no identity, only a certificate of the cluster.
var forAnyone = []string{rpc.Prefix + "health", "GET /healthz"}

// badCredentials are certificates that open nothing.
func badCredentials(t *testing.T, k *secure.Key) map[string]*tls.Config {
	t.Helper()
	out := map[string]*tls.Config{"that is not there": {InsecureSkipVerify: true}}
	add := func(who string, cert tls.Certificate, err error) {
		if err != nil {
			t.Fatal(err)
		}
		out[who] = &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{cert}}
	}
	cert, err := newKey(t).Issue(secure.Node, "w1", "")
	add("of another cluster", cert, err)
	synctest.Test(t, func(*testing.T) { cert, err = k.Issue(secure.Node, "w1", "") }) // in the year 2000
	add("that has ended", cert, err)
	return out
}

// try asks for a route by plain HTTP, about the first job and nothing else.
func try(t *testing.T, cfg *tls.Config, addr, path string) (int, error) {
	t.Helper()
	return tryWith(t, cfg, addr, path, "job-1", "{}")
}

// tryWith asks about a job; a route that is no method has it in its path.
func tryWith(t *testing.T, cfg *tls.Config, addr, path string, job wire.JobID, body string) (int, error) {
	t.Helper()
	method := http.MethodPost
	if m, p, ok := strings.Cut(path, " "); ok {
		method, path = m, p
	} else if !strings.HasPrefix(path, rpc.Prefix) {
		method = http.MethodGet
	}
	path = strings.NewReplacer("{id}", "1", "{job}", string(job), "{stage}", "0").Replace(path)
	if method == http.MethodGet {
		body = "" // whoever sends one is refused for that
	}
	req, err := http.NewRequestWithContext(t.Context(), method, "https://"+addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{TLSClientConfig: cfg}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}
