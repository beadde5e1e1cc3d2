package dfstest_test

import (
	"bytes"
	"fmt"
	"io"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/rpc"
)

// TestDiskErrors is FAULTS row 47: the k-th operation of one node's disk fails while a file is
// written. The writer hears nothing of it, nobody counts a replica that is not there, and the block
// gets its copies elsewhere.
func TestDiskErrors(t *testing.T) {
	t.Parallel()
	total := 0
	t.Run("count", func(t *testing.T) { total = int(writeWithError(t, -1)) })
	for k := 1; k <= total; k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			writeWithError(t, int64(k))
		})
	}
}

// writeWithError writes a file while the k-th operation on the disk of its first node fails, and
// returns how many operations there were.
func writeWithError(t *testing.T, k int64) int64 {
	disks := []*memdisk.FS{memdisk.New(), memdisk.New(), memdisk.New(), memdisk.New()}
	c := dfstest.Start(t, dfstest.Config{Nodes: 4, Racks: 2, Disk: func(i int) disk.FS { return disks[i] }})
	var ops atomic.Int64
	disks[0].SetFail(func(string, string, int) error {
		if ops.Add(1) == k {
			return syscall.EIO
		}
		return nil
	})
	data := dfstest.Noise(uint64(k), 3*pipe.ChunkSize+9)
	cl := c.Client("n1", func(cfg *dfs.Config) { cfg.NoLocal = true })
	check(t, dfstest.Put(cl, "/f", data, dfs.CreateOptions{BlockSize: 2 * pipe.ChunkSize}))
	n := ops.Load()
	dfstest.WantFile(t, cl, "/f", data)
	c.Healthy()
	wantEverywhere(t, cl, data)
	return n
}

// wantEverywhere reads every replica that the name service knows.
func wantEverywhere(t *testing.T, cl *dfs.Client, data []byte) {
	t.Helper()
	loc, err := cl.Locate(t.Context(), "/f", 0, -1)
	check(t, err)
	rc := rpc.NewClient(rpc.ClientConfig{User: "ann"})
	defer rc.Close()
	for _, b := range loc.Blocks {
		if len(b.Places) != 3 {
			t.Errorf("%s is on %v", b.ID, b.Places)
		}
		for _, p := range b.Places {
			in, err := pipe.Fetch(t.Context(), rc, p, pipe.Range{Block: b.Block, Len: b.Len, Token: b.Token})
			check(t, err)
			got, err := io.ReadAll(in)
			if err != nil || !bytes.Equal(got, data[b.Off:b.Off+b.Len]) {
				t.Errorf("%s on %s: %d bytes, %v", b.ID, p.Node, len(got), err)
			}
			in.Close()
		}
	}
}
