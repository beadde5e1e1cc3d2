package integration

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// TestMapsSendForSplitsNotBlocks: maps of 256 KiB over blocks of 4 MiB, of which a node holds a quarter. By the workers' own
// counts, what they sent of blocks is at most 1.05 times the input and 128 KiB for each map.
func TestMapsSendForSplitsNotBlocks(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 4})
	data := bytes.Repeat([]byte("a few words that are counted, the same on every line of the input\n"), 16<<20/68)
	w, err := c.DFS.Create(t.Context(), "/in", dfs.CreateOptions{Replication: 1, BlockSize: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	cl, err := client.New(client.Config{Master: c.Addr, User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	before := blockBytes(t, cl)
	s := c.Finish(c.Submit(wire.JobSpec{}, "wordcount", "--input=dfs:/in", "--output=dfs:/out", "--split-bytes=256KiB"))
	if s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	sent := blockBytes(t, cl) - before
	if s.Maps.Total < 60 {
		t.Errorf("only %d maps", s.Maps.Total)
	}
	if most := int64(1.05*float64(len(data))) + int64(s.Maps.Total)*128<<10; sent > most || sent == 0 {
		t.Errorf("%d bytes sent for an input of %d in %d maps, at most %d", sent, len(data), s.Maps.Total, most)
	}
	t.Logf("%d bytes sent for an input of %d in %d maps", sent, len(data), s.Maps.Total)
}

// TestShuffleIsCountedByPlace: each byte that maps hand to reduces came from the same node, the same rack or another one, and the client is
// told how many did. A single reduce reads maps of all four nodes.
func TestShuffleIsCountedByPlace(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 4, Racks: 2})
	w, err := c.DFS.Create(t.Context(), "/in", dfs.CreateOptions{Replication: 1, BlockSize: 128 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(bytes.Repeat([]byte("key\tvalue\n"), 1<<20/10)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := c.Finish(c.Submit(wire.JobSpec{}, "sort", "--input=dfs:/in", "--output=dfs:/out", "--split-bytes=32KiB", "--reducers=1"))
	counts := mapreduce.Counts(s.Counts)
	of := func(name string) int64 { return counts.Get(mapreduce.TaskGroup, name) }
	node, rack, remote := of(mapreduce.ShuffleNodeBytes), of(mapreduce.ShuffleRackBytes), of(mapreduce.ShuffleRemoteBytes)
	if all := of(mapreduce.ShuffleBytes); s.State != wire.Succeeded || node+rack+remote != all || node == 0 || rack == 0 || remote == 0 {
		t.Errorf("%s: %d on the node, %d in the rack, %d between racks, of %d", s.State, node, rack, remote, all)
	}
	if moved := console.Travelled(counts); !strings.Contains(moved, human.Bytes(rack+remote)+": "+human.Bytes(rack)+" inside racks, ") {
		t.Errorf("people read %q", moved)
	}
}

// TestReducesCountTheirWait: a reduce that starts beside the last map counts how long it waited for its output, and not how long it then took.
func TestReducesCountTheirWait(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	s := c.Finish(c.Submit(wire.JobSpec{}, "sleep", "--maps=3", "--reduces=1", "--map-time=700ms", "--reduce-time=600ms", "--output=dfs:/out"))
	wait, whole := mapreduce.Counts(s.Counts).Get(mapreduce.TaskGroup, mapreduce.ReduceWaitMillis), s.Ended-s.Submitted
	if s.State != wire.Succeeded || wait < 400 || wait > whole-600 {
		t.Errorf("%s after %d ms: the reduce, of 600 ms, waited %d ms for a map of 700 ms", s.State, whole, wait)
	}
}

// blockBytes is what the workers have sent of blocks, when their reports say nothing new any more.
func blockBytes(t *testing.T, cl *client.Client) (sum int64) {
	t.Helper()
	sum = -1
	for last := int64(-2); sum != last; time.Sleep(1200 * time.Millisecond) { // two rounds of counting
		s, err := cl.Net(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last, sum = sum, 0
		for _, n := range s.Nodes {
			sum += n.Sent["block"]
		}
	}
	return sum
}
