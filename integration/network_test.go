package integration

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/client"
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
	replay(t, "nas", nil, "unlimited", log.lines())
}
