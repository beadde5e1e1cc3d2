package web_test

import (
	"bytes"
	"context"
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/web"
)

// pages makes a master show the dashboard, as the command does.
func pages(c *master.Config) {
	c.Dashboard = func(call func(ctx context.Context, method string, req, resp any) error) http.Handler {
		return web.New(web.Config{Call: call})
	}
}

var href = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)

// crawl looks at every page that can be reached from the first, and returns them by address.
func crawl(t *testing.T, base string) map[string]string {
	t.Helper()
	all, todo := map[string]string{}, []string{"/"}
	for len(todo) > 0 && len(all) < 500 {
		path := todo[0]
		todo = todo[1:]
		if _, seen := all[path]; seen {
			continue
		}
		code, body := testcluster.Get(t, http.DefaultClient, base+path)
		if code != 200 {
			t.Errorf("%s: %d %s", path, code, body)
		}
		all[path] = body
		at, err := url.Parse(base + path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range href.FindAllStringSubmatch(body, -1) {
			to, err := at.Parse(html.UnescapeString(m[1]))
			if err != nil || to.Scheme+"://"+to.Host != base {
				t.Errorf("%s points to %q: %v", path, m[1], err)
				continue
			}
			todo = append(todo, to.RequestURI())
		}
	}
	return all
}

// TestDashboard: every page that the first one leads to is there, shows what the cluster has, and holds no markup that came
// from outside.
func TestDashboard(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 3, Racks: 2, Master: pages})
	bad := `<script>alert("x")</script>`
	w, err := c.DFS.Create(t.Context(), "/in/odd ?#%<b>name", dfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(bytes.Repeat([]byte("to all workers\n"), 50_000))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	done := c.Finish(c.Submit(wire.JobSpec{Name: bad, Queue: "night"}, "wordcount", "--input", "dfs:/in", "--output", "dfs:/out"))
	if done.State != "SUCCEEDED" {
		t.Fatalf("%+v", done)
	}
	broken := c.Finish(c.Submit(wire.JobSpec{Name: "broken"}, "streaming", "--mapper", "echo '<i>a bad day</i>' >&2; exit 3", "--reducer", "cat", "--input", "dfs:/in", "--output", "dfs:/never"))
	if broken.State != "FAILED" {
		t.Fatalf("%+v", broken)
	}
	running := c.Submit(wire.JobSpec{Name: "running", Queue: "day"}, "sleep", "--maps", "50", "--reduces", "1", "--map-time", "1h", "--output", "dfs:/later")
	c.Wait("a job runs", func() bool { return c.Status(running).Maps.Running > 0 })

	for want, ask := range map[string]wire.JobsRequest{
		string(running): {Active: true}, string(running) + " " + string(broken.Job): {Limit: 2}, string(running) + " " + string(broken.Job) + " " + string(done.Job): {Limit: 9},
	} {
		list, err := api.JobList.Call(t.Context(), c.Client, c.Addr, ask)
		var got []string
		for _, j := range list {
			got = append(got, string(j.Job))
		}
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%+v: %v, %v, want %s", ask, got, err, want)
		}
	}

	all := crawl(t, "http://"+c.Addr)
	for path, wants := range map[string][]string{
		"/":                                    {"3 of 3", string(running), "w1", "r2", "marp", "Containers in use", `class="box used"`, "<svg"},
		"/jobs":                                {string(done.Job), "SUCCEEDED", string(broken.Job), "FAILED", string(running), "&lt;script&gt;", "night"},
		"/jobs/" + string(done.Job):            {"SUCCEEDED", "What ran where", "reduce 0", "driver", "Slowest attempts", "counters", "/files/out", "map beside its input"},
		"/jobs/" + string(broken.Job):          {"FAILED", "attempts failed or were lost", "exit status 3"},
		"/jobs/" + string(running):             {"RUNNING", "Why it is not getting more", "millrace job kill " + string(running), ", runs"},
		"/nodes":                               {"w1", "w2", "w3", "containers", ">up<"},
		"/queues":                              {"day", "night", "Tasks that were not done"},
		"/network":                             {"r1", "r2", "Sent from rack to rack"},
		"/files/":                              {"in/", "out/"},
		"/files/in/odd%20%3F%23%25%3Cb%3Ename": {"750000 bytes", "Where its blocks are", "●", "odd ?#%&lt;b&gt;name"},
		"/reports":                             {"millrace lab run"},
	} {
		body, ok := all[path]
		if !ok {
			t.Errorf("nothing leads to %s", path)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(strings.ReplaceAll(body, ",000", "000"), want) && !strings.Contains(body, want) {
				t.Errorf("%s does not show %q:\n%s", path, want, body)
			}
		}
	}
	logs := 0
	for path, body := range all {
		if strings.Contains(body, "<script>") || strings.Contains(body, "<i>") || strings.Contains(body, "<b>name") {
			t.Errorf("%s holds markup from outside", path)
		}
		if strings.Contains(path, "/log?") && strings.Contains(body, "&lt;i&gt;a bad day") {
			logs++
		}
	}
	if logs == 0 {
		t.Error("no page shows what the broken job printed")
	}
}

// TestDashboardAnswers: pages that are not there, jobs and files that are not there, other names for this machine, and what has
// not changed.
func TestDashboardAnswers(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Master: pages})
	base := "http://" + c.Addr
	for path, want := range map[string]int{
		"/nothing": 404, "/jobs/job-77": 404, "/files/not/there": 404, "/assets/style.css": 200, "/assets/live.js": 200, "/assets/doc.go": 404, "/assets/..%2fdoc.go": 404,
		"/jobs/job-1/log": 400, "/jobs/job-1/log?stage=0&task=map&index=99999999999&try=1": 400, "/jobs?state=NONE&user=%3Cb%3E": 200, "/jobs?before=zzz": 200,
		"/healthz": 200, "/metrics": 200, "/reports/x.html": 404,
	} {
		if code, body := testcluster.Get(t, http.DefaultClient, base+path); code != want || strings.Contains(body, "<b>\"") {
			t.Errorf("%s: %d, want %d: %s", path, code, want, body)
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/nodes", nil)
	req.Host = "evil.example"
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("under a name of somebody else: %v, %v", resp, err)
	}
	resp.Body.Close()
	resp, err = http.Get(base + "/reports")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if p := resp.Header.Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v", resp.Header)
	}
	req, _ = http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/reports", nil)
	req.Header.Set("If-None-Match", resp.Header.Get("ETag"))
	if resp, err = http.DefaultClient.Do(req); err != nil || resp.StatusCode != http.StatusNotModified {
		t.Errorf("asked again: %v, %v", resp.Status, err)
	}
	resp.Body.Close()
}

// TestDashboardWithKey: a cluster with a key shows its pages to its users and to nobody else.
func TestDashboardWithKey(t *testing.T) {
	t.Parallel()
	k, err := secure.Parse(secure.Generate())
	if err != nil {
		t.Fatal(err)
	}
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: k, Master: pages})
	if code, body := testcluster.Get(t, http.DefaultClient, "http://"+c.Addr+"/"); code == 200 {
		t.Errorf("without a certificate: %s", body)
	}
	cfg, err := k.Client(secure.User, "bob", "")
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{TLSClientConfig: cfg.TLS}
	defer tr.CloseIdleConnections()
	if code, body := testcluster.Get(t, &http.Client{Transport: tr}, "https://"+c.Addr+"/"); code != 200 || !strings.Contains(body, "1 of 1") {
		t.Errorf("a user: %d %s", code, body)
	}
	// Logs are their owner's, whoever may look at the rest.
	id := c.Finish(c.Submit(wire.JobSpec{}, "sleep", "--maps", "1", "--map-time", "1ms", "--output", "dfs:/out")).Job
	if code, body := testcluster.Get(t, &http.Client{Transport: tr}, "https://"+c.Addr+"/jobs/"+string(id)+"/log?stage=0&task=map&index=0&try=1"); code != http.StatusForbidden {
		t.Errorf("another's log: %d %s", code, body)
	}
}
