package dfstest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/internal/wire"
)

// TestColdStart is FAULTS row 45: the name service starts alone, the nodes come one by one. Nothing
// is copied or deleted before nearly all blocks are reported; until then reads are refused and say why.
func TestColdStart(t *testing.T) {
	t.Parallel()
	c := dfstest.Start(t, dfstest.Config{Nodes: 4, Racks: 2})
	data := dfstest.Noise(1, 1000)
	for i := range 4 {
		node := wire.NodeName(fmt.Sprint("n", i+1))
		on := c.Client(node)
		for k := range 5 { // some blocks are on one node only, others on three
			check(t, dfstest.Put(on, fmt.Sprintf("/one/%s-%d", node, k), data, dfs.CreateOptions{Replication: 1}),
				dfstest.Put(on, fmt.Sprintf("/three/%s-%d", node, k), data, dfs.CreateOptions{}))
		}
	}
	c.Healthy()
	before := blockFiles(t, c)
	for _, n := range c.Nodes {
		n.Stop()
	}
	c.StopNames()
	c.StartNames()
	cl := c.Client("", func(cfg *dfs.Config) { cfg.Patience = 200 * time.Millisecond })
	refused(t, cl, "/one/n4-0")
	for i, n := range c.Nodes[:3] {
		n.Start()
		c.Wait("the node is back", func() bool { return nodeOf(c, n.Name).State == "live" && nodeOf(c, n.Name).Blocks >= 5 })
		mode, err := c.Names.SafeMode(wire.SafeModeRequest{})
		if err != nil || !mode.On {
			t.Fatalf("safe mode after %d nodes: %+v, %v", i+1, mode, err)
		}
		refused(t, cl, "/one/n4-0")
		if err := cl.Mkdir(t.Context(), "/new", false); err == nil || !strings.Contains(err.Error(), "safe mode") {
			t.Errorf("a change of names in safe mode: %v", err)
		}
		if now := blockFiles(t, c); !slices.Equal(now, before) {
			t.Fatalf("block files changed in safe mode: %d before, %d now", len(before), len(now))
		}
	}
	c.Nodes[3].Start()
	c.Wait("safe mode ends", func() bool {
		mode, err := c.Names.SafeMode(wire.SafeModeRequest{})
		return err == nil && !mode.On
	})
	c.Healthy()
	for i := range 4 {
		for k := range 5 {
			dfstest.WantFile(t, cl, fmt.Sprintf("/one/n%d-%d", i+1, k), data)
			dfstest.WantFile(t, cl, fmt.Sprintf("/three/n%d-%d", i+1, k), data)
		}
	}
	if now := blockFiles(t, c); !slices.Equal(now, before) {
		t.Errorf("block files changed although all came back: %d before, %d now", len(before), len(now))
	}
}

func refused(t *testing.T, cl *dfs.Client, path string) {
	t.Helper()
	if _, err := dfstest.Get(cl, path); err == nil || !strings.Contains(err.Error(), "safe mode") {
		t.Errorf("reading %s in safe mode: %v", path, err)
	}
}
