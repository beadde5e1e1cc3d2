package dfstest_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/mapreduce"
)

// TestSplitsAreReadNotBlocks: a file of lines is read split by split from a replica on another node. What the node sends
// is at most 1.05 times what the splits hold and two chunks more for each, whatever their size.
func TestSplitsAreReadNotBlocks(t *testing.T) {
	t.Parallel()
	c := dfstest.Start(t, dfstest.Config{Nodes: 1})
	cl := c.Client("", func(cfg *dfs.Config) { cfg.NoLocal = true })
	var data []byte
	for i := 0; len(data) < 8<<20; i++ {
		data = append(data, fmt.Sprintf("%d %s\n", i, bytes.Repeat([]byte("word "), i%40))...)
	}
	if err := dfstest.Put(cl, "/text", data, dfs.CreateOptions{BlockSize: 4 << 20}); err != nil {
		t.Fatal(err)
	}
	for _, split := range []int64{16 << 10, 64 << 10, 100_000, 512 << 10, 1 << 20, 3_000_000, 16 << 20} {
		before := c.Nodes[0].BytesSent()
		var got []byte
		opens := int64(0)
		for off := int64(0); off < int64(len(data)); off += split {
			opens++
			got = append(got, readSplit(t, cl, "/text", off, split)...)
		}
		if !bytes.Equal(got, data) {
			t.Fatalf("splits of %d do not make up the file", split)
		}
		sent := c.Nodes[0].BytesSent() - before
		if most := int64(1.05*float64(len(data))) + opens*128<<10; sent > most {
			t.Errorf("splits of %d: %d bytes sent for %d in %d splits, at most %d", split, sent, len(data), opens, most)
		}
		t.Logf("splits of %8d: %9d bytes sent for %d, %4d opens, %.3f x, %.0f KiB an open beyond", split, sent, len(data), opens,
			float64(sent)/float64(len(data)), float64(sent-int64(len(data)))/float64(opens)/1024)
	}
}

func readSplit(t *testing.T, cl *dfs.Client, path string, off, length int64) (out []byte) {
	t.Helper()
	f, err := cl.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := mapreduce.Text.Open(mapreduce.Source{Name: path, R: f, Size: f.Size(), Offset: off, Length: length, Plain: off > 0})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	chunks := r.(mapreduce.ChunkReader)
	for {
		c, _, ok := chunks.NextChunk()
		if !ok {
			break
		}
		out = append(out, c...)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return out
}
