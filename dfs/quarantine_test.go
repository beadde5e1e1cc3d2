package dfs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/blocks"
	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/wire"
)

// inQuarantine counts the files that block services have put aside.
func inQuarantine(t *testing.T, c *dfstest.Cluster) (n int) {
	t.Helper()
	for _, node := range c.Nodes {
		list, err := os.ReadDir(filepath.Join(node.Dir, "bad"))
		if err != nil {
			t.Fatal(err)
		}
		n += len(list)
	}
	return n
}

// TestQuarantineIsClearedAfterARestart: a name service that forgot about bad replicas hears of them
// again, and has them deleted when there are good ones; not before (HDFS-2290, HDFS-4799).
func TestQuarantineIsClearedAfterARestart(t *testing.T) {
	c := dfstest.Start(t, dfstest.Config{
		Nodes: 4, Racks: 2, Blocks: func(b *blocks.Config) { b.ScrubPeriod = time.Hour },
		Names: func(n *names.Config) { n.DeleteDelay = time.Second },
	})
	cl := c.Client("", func(cfg *dfs.Config) { cfg.Patience = 300 * time.Millisecond })
	data := dfstest.Noise(1, pipe.ChunkSize+10)
	for i := range 5 {
		if err := dfstest.Put(cl, fmt.Sprint("/f", i), data, dfs.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	dfstest.Flip(t, c, cl, "/f0", 3) // of this one there is no good copy left
	dfstest.Flip(t, c, cl, "/f1", 1)
	for _, node := range []string{"n1", "n2", "n3", "n4"} {
		on := c.Client("", func(cfg *dfs.Config) { cfg.Node, cfg.Patience = wire.NodeName(node), 300*time.Millisecond })
		if _, err := dfstest.Get(on, "/f0"); err == nil {
			t.Fatal("a file without a good copy was read")
		}
		dfstest.WantFile(t, on, "/f1", data)
	}
	c.Wait("all bad replicas of /f0 are put aside", func() bool { return inQuarantine(t, c) >= 3 })
	c.StopNames()
	c.StartNames()
	c.Wait("all that can be read is reported", func() bool {
		mode, err := c.Names.SafeMode(wire.SafeModeRequest{})
		return err == nil && mode.On && mode.Reported == 0.8
	})
	if _, err := cl.SafeMode(t.Context(), "leave"); err != nil { // a lost block keeps it on
		t.Fatal(err)
	}
	c.Wait("only what has no good copy is left", func() bool { return inQuarantine(t, c) == 3 && copies(c) >= 15 })
	for i := range 4 {
		dfstest.WantFile(t, cl, fmt.Sprint("/f", i+1), data)
	}
	if err := cl.Remove(t.Context(), "/f0", false); err != nil {
		t.Fatal(err)
	}
	c.Wait("nothing is left in quarantine", func() bool { return inQuarantine(t, c) == 0 })
	c.Healthy()
}
