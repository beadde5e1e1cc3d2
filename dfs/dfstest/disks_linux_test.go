package dfstest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/blocks"
	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

// TestFullDisk is FAULTS row 46: one node's file system has no room, or no inodes, left. Files go
// elsewhere, no torn block is to be seen, and the node is used again when space is free.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]string{"bytes": "size=3m", "inodes": "size=64m,nr_inodes=30"} {
		t.Run(name, func(t *testing.T) {
			small := require.Tmpfs(t, options)
			c := dfstest.Start(t, dfstest.Config{Nodes: 4, Racks: 2, Dir: func(i int) string {
				if i == 3 {
					return small
				}
				return ""
			}})
			on := c.Client("n4") // every file would like to be on the small disk
			data := dfstest.Noise(2, 200*kib)
			o := dfs.CreateOptions{BlockSize: 256 * kib}
			for i := range 40 {
				check(t, dfstest.Put(on, fmt.Sprint("/f", i), data, o))
			}
			here := nodeOf(c, "n4").Blocks
			if here == 0 || here >= 40 {
				t.Errorf("the small disk holds %d of 40 blocks", here)
			}
			for i := range 40 {
				dfstest.WantFile(t, on, fmt.Sprint("/f", i), data)
			}
			if n := dfstest.Damaged(t, c); n > 0 {
				t.Errorf("%d torn blocks", n)
			}
			if s := nodeOf(c, "n4"); s.State != "live" || s.Volumes[0].Failed != "" {
				t.Errorf("a full disk was taken for a broken one: %+v", s)
			}
			for i := range 40 {
				check(t, on.Remove(t.Context(), fmt.Sprint("/f", i), false))
			}
			c.Wait("the small disk is free again", func() bool { return len(blocksIn(t, small)) == 0 })
			c.Wait("the node is used again", func() bool {
				check(t, dfstest.Put(on, "/again", data, dfs.CreateOptions{BlockSize: 256 * kib, Overwrite: true}))
				return len(blocksIn(t, small)) > 0
			})
			dfstest.WantFile(t, on, "/again", data)
		})
	}
}

func blocksIn(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "blocks", "*", "*.blk"))
	check(t, err)
	return list
}

// TestDataDirectoryLost is FAULTS row 48: a node whose directory is removed, or becomes read-only,
// drops out and says why; its blocks are copied from elsewhere.
func TestDataDirectoryLost(t *testing.T) {
	t.Parallel()
	t.Run("removed", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		lose(t, dir, func() error { return os.RemoveAll(dir) })
	})
	t.Run("read-only", func(t *testing.T) {
		dir := require.Tmpfs(t, "size=64m")
		lose(t, dir, func() error { return syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "") })
	})
}

func lose(t *testing.T, dir string, how func() error) {
	c := dfstest.Start(t, dfstest.Config{Nodes: 5, Racks: 2, Dir: func(i int) string {
		if i == 0 {
			return dir
		}
		return ""
	}})
	on := c.Client("n1")
	data := dfstest.Noise(3, 100*kib)
	for i := range 10 {
		check(t, dfstest.Put(on, fmt.Sprint("/f", i), data, dfs.CreateOptions{}))
	}
	check(t, how())
	c.Wait("the node is out", func() bool {
		s := nodeOf(c, "n1")
		return s.State == "dead" || len(s.Volumes) > 0 && s.Volumes[0].Failed != "" && s.Blocks == 0
	})
	// Whoever looks first gives the reason: the probe that writes, or the question how much is free.
	if s := nodeOf(c, "n1"); len(s.Volumes) == 0 || !strings.Contains(s.Volumes[0].Failed, "probe") && !strings.Contains(s.Volumes[0].Failed, dir) {
		t.Errorf("no reason is given: %+v", s)
	}
	c.Healthy()
	away := c.Client("")
	for i := range 10 {
		dfstest.WantFile(t, away, fmt.Sprint("/f", i), data)
	}
	check(t, dfstest.Put(away, "/more", data, dfs.CreateOptions{}))
}

// TestDrainThenKill is FAULTS row 51: a node dies half way through its draining; nothing is lost.
func TestDrainThenKill(t *testing.T) {
	t.Parallel()
	c := dfstest.Start(t, dfstest.Config{Nodes: 5, Racks: 2, Blocks: func(b *blocks.Config) { b.CopyRate = 200 * kib }})
	on := c.Client("n1")
	data := dfstest.Noise(4, 50*kib)
	for i := range 30 {
		check(t, dfstest.Put(on, fmt.Sprint("/f", i), data, dfs.CreateOptions{Replication: 2}))
	}
	_, err := c.Names.Drain(wire.DrainRequest{Node: "n1", User: "ann"})
	check(t, err)
	c.Wait("some blocks are elsewhere", func() bool { return nodeOf(c, "n1").Left < 16 })
	left := nodeOf(c, "n1").Left
	c.Nodes[0].Stop()
	t.Logf("killed with %d of 30 blocks left to copy", left)
	c.Wait("the loss is seen", func() bool { return nodeOf(c, "n1").State == "dead" })
	c.Healthy()
	away := c.Client("")
	for i := range 30 {
		dfstest.WantFile(t, away, fmt.Sprint("/f", i), data)
	}
}
