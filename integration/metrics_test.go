package integration

import (
	"bytes"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

var metricName = regexp.MustCompile(`(?m)^# TYPE (millrace_\w+) `)

// TestMetrics scrapes a master and a worker after a job: the numbers are those of the cluster, and the table of
// docs/operations.md has every one of them and no other.
func TestMetrics(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Racks: 2})
	if s := c.Finish(c.Submit(wire.JobSpec{Queue: "default"}, "sleep", "--maps", "4", "--reduces", "1", "--map-time", "1ms", "--reduce-time", "1ms", "--output", "dfs:/out")); s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	dfsPut(t, c, "/file", bytes.Repeat([]byte("to both workers\n"), 1000))
	var names []string
	all := ""
	c.Wait("bytes between nodes are counted", func() bool {
		_, all = testcluster.Get(t, http.DefaultClient, "http://"+c.Addr+"/metrics")
		return strings.Contains(all, "\nmillrace_node_sent_bytes_total{")
	})
	code, worker := testcluster.Get(t, http.DefaultClient, "http://"+c.Workers[0].Worker.Addr()+"/metrics")
	if code != 200 {
		t.Errorf("worker: %d %s", code, worker)
	}
	for _, want := range []string{
		`millrace_queue_jobs{queue="default",state="succeeded"} 1`, `millrace_queue_jobs{queue="default",state="failed"} 0`,
		`millrace_node_state{node="w1",rack="r1",state="up"} 1`, `millrace_node_attempts{node="w2",rack="r2"} 0`,
		`millrace_policy_info{admission="marp",policy="fair"} 1`, `millrace_store_safe_mode 0`, `millrace_congestion_episodes_total{rack="r2"} 0`,
	} {
		if !strings.Contains(all, "\n"+want+"\n") {
			t.Errorf("%s is not in\n%s", want, all)
		}
	}
	if !strings.Contains(worker, "\nmillrace_worker_attempts 0\n") || !strings.Contains(worker, `millrace_worker_received_bytes_total{what="control"}`) {
		t.Errorf("of the worker:\n%s", worker)
	}
	for _, m := range metricName.FindAllStringSubmatch(all+worker, -1) {
		names = append(names, m[1])
	}
	doc, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(millrace_\\w+)` ").FindAllStringSubmatch(string(doc), -1) {
		told = append(told, m[1])
	}
	names = append(names, "millrace_link_utilisation") // only where rates are known
	slices.Sort(names)
	slices.Sort(told)
	if !slices.Equal(names, told) {
		t.Errorf("shown:\n%v\nin the table:\n%v", names, told)
	}
	for _, addr := range []string{c.Addr, c.Workers[0].Worker.Addr()} {
		if code, body := testcluster.Get(t, http.DefaultClient, "http://"+addr+"/healthz"); code != 200 || body != "ok\n" {
			t.Errorf("healthz: %d %q", code, body)
		}
	}
}

// TestMetricsWithKey: a certificate of a user opens them; without one there is not even a connection.
func TestMetricsWithKey(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: k})
	cfg, err := k.Client(secure.User, "prometheus", "")
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{TLSClientConfig: cfg.TLS}
	defer tr.CloseIdleConnections()
	for _, addr := range []string{c.Addr, c.Workers[0].Worker.Addr()} {
		if code, body := testcluster.Get(t, &http.Client{Transport: tr}, "https://"+addr+"/metrics"); code != 200 || !strings.Contains(body, "\nmillrace_") {
			t.Errorf("%d %s", code, body)
		}
		if code, body := testcluster.Get(t, http.DefaultClient, "http://"+addr+"/metrics"); code == 200 {
			t.Errorf("without a certificate: %d %s", code, body)
		}
	}
}
