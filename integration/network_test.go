package integration

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/emulate"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/worker"
)

// TestCongestionReachesThePolicy: two racks are joined by slow links. A shuffle fills them, the
// workers' counts tell the master, and the nas policy goes over to its rules for congested racks;
// its decisions, asked again from the log, are the same.
func TestCongestionReachesThePolicy(t *testing.T) {
	require.Faults(t)
	rates := topology.Links{NIC: topology.Gbps(8), Uplink: topology.Mbps(12)}
	links := &emulate.Setting{File: filepath.Join(t.TempDir(), "links"), Rates: rates}
	var log decisions
	c := testcluster.Start(t, testcluster.Config{
		Workers: 4, Racks: 2,
		Master: func(m *master.Config) {
			m.Policy, m.Jobs.Links, m.Jobs.Decisions = "nas", rates, log.add
			m.Jobs.SecondAttempts.LATE = lively
		},
		Worker: func(w *worker.Config) { w.Emulate = links },
	})
	cl, err := client.New(client.Config{Master: c.Addr, User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	id := c.Submit(wire.JobSpec{}, "synthetic", "--maps", "8", "--reduces", "64", "--map-time", "10ms", "--reduce-time", "10ms",
		"--shuffle-bytes", "40MiB", "--output", "dfs:/out")
	said := func() bool {
		return log.count(func(s drive.Step) bool { return strings.HasPrefix(s.Reason.Say, "CR-RTS") }) > 0
	}
	c.Wait("the policy acts on congestion", said)
	s, err := cl.Net(t.Context())
	if err != nil || s.Episodes == 0 || s.CrossRack == 0 || len(s.Racks) != 2 || s.Nodes[0].Sent["shuffle"] == 0 {
		t.Errorf("network: %+v, %v", s, err)
	}
	if end := c.Finish(id); end.State != "SUCCEEDED" {
		t.Errorf("%+v", end)
	}
	if err := c.Master.Close(); err != nil {
		t.Fatal(err)
	}
	replay(t, "nas", nil, "unlimited", lively, log.lines())
}

// TestElephantsTakeCircuits: a job shuffles between two racks with slow links. Where an optical switch joins the racks, what is
// above its threshold goes by circuits, many times as fast: large answers, and under jobpacker, which lets a shuffle go as a whole,
// small ones too.
func TestElephantsTakeCircuits(t *testing.T) {
	took := map[string]time.Duration{}
	for _, tt := range []struct {
		name, policy string
		threshold    int64 // 0: no switch. An answer has 4 to 15 MB, the shuffle 30 MB
		circuits     bool
	}{
		{"packets", "fifo", 0, false},
		{"elephants", "fifo", 1e6, true},
		{"mice", "fifo", 24e6, false},
		{"together", "jobpacker", 24e6, true},
	} {
		rates := topology.Links{Uplink: topology.Mbps(16)}
		if tt.threshold > 0 {
			rates.Optical = topology.OCS{Rate: topology.Mbps(400), Interval: 200 * time.Millisecond, Reconfig: 10 * time.Millisecond, Threshold: tt.threshold}
		}
		links := &emulate.Setting{File: filepath.Join(t.TempDir(), "links"), Rates: rates}
		c := testcluster.Start(t, testcluster.Config{
			Workers: 2, Racks: 2,
			Master: func(m *master.Config) {
				pages(m)
				m.Policy, m.Admission, m.Jobs.Links, m.Jobs.SecondAttempts.Off = tt.policy, "unlimited", rates, true
			},
			Worker: func(w *worker.Config) { w.Emulate = links },
		})
		begin := time.Now()
		spec := wire.JobSpec{Name: "daily", Recurring: true, Expect: wire.Expected{Shuffle: 30e6, MapMillis: 10, ReduceMillis: 10}}
		s := c.Finish(c.Submit(spec, "synthetic", "--maps", "4", "--reduces", "2", "--map-time", "10ms", "--reduce-time", "10ms", "--shuffle-bytes", "30MB", "--output", "dfs:/out"))
		took[tt.name] = time.Since(begin)
		var bytes int64
		c.Wait("the workers have told", func() bool {
			net, err := api.NetStatus.Call(context.Background(), c.Client, c.Addr, struct{}{})
			bytes = 0
			for _, n := range net.Nodes {
				bytes += n.Sent[wire.CircuitTraffic]
			}
			shown := slices.ContainsFunc(net.Racks, func(r wire.NetRack) bool { return r.Circuit != "" })
			return err == nil && net.CrossRack > 6e6 && shown == tt.circuits // the last ones stay lit
		})
		page := pageOf(t, "http://"+c.Addr+"/network")
		lit := strings.Contains(page, "<td>r1</td><td>r2</td>") || strings.Contains(page, "<td>r2</td><td>r1</td>")
		if strings.Contains(page, "Circuits are matched anew every") != (tt.threshold > 0) || lit != tt.circuits {
			t.Errorf("%s: the page of the network shows\n%s", tt.name, page)
		}
		t.Logf("%s: %s, %d bytes by circuits", tt.name, took[tt.name], bytes)
		if s.State != "SUCCEEDED" || tt.circuits != (bytes > 6e6) {
			t.Errorf("%s: %s, %d bytes went by circuits", tt.name, s.State, bytes)
		}
	}
	if 2*took["elephants"] > took["packets"] || 2*took["together"] > took["packets"] {
		t.Errorf("circuits are not twice as fast: %v", took)
	}
}

// pageOf is a page of the dashboard.
func pageOf(t *testing.T, address string) string {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", address, resp.Status, err)
	}
	return string(b)
}
