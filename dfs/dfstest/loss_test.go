package dfstest_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/internal/require"
)

const kib = 1 << 10

// TestLossUnderReaders is FAULTS row 43: a node with 200 blocks of 1 MiB dies while files are read.
// Readers notice nothing but time, and all copies are back. Fewer and smaller blocks in CI.
func TestLossUnderReaders(t *testing.T) {
	t.Parallel()
	files, size, streams := 50, 64*kib, 1 // one stream: the only node of its rack is mostly busy
	if require.Stressed() {
		files, size, streams = 333, 1<<20, 16
	}
	c := dfstest.Start(t, dfstest.Config{Nodes: 5, Racks: 2, Names: func(n *names.Config) { n.CopyStreams = streams }})
	cl := c.Client("")
	data := dfstest.Noise(9, size)
	for i := range files {
		check(t, dfstest.Put(cl, fmt.Sprint("/f", i), data, dfs.CreateOptions{}))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	end := sync.OnceFunc(func() { close(stop); wg.Wait() })
	defer end()
	var mu sync.Mutex
	var took []time.Duration
	for k := range 2 {
		wg.Go(func() {
			for i := k; ; i = (i + 2) % files {
				select {
				case <-stop:
					return
				default:
				}
				begin := time.Now()
				dfstest.WantFile(t, cl, fmt.Sprint("/f", i), data)
				mu.Lock()
				took = append(took, time.Since(begin))
				mu.Unlock()
			}
		})
	}
	lost := nodeOf(c, "n2").Blocks
	c.Nodes[1].Stop()
	c.Names.Lost("n2") // as the master does when the connection breaks
	begin := time.Now()
	c.Wait("the loss is seen", func() bool { return nodeOf(c, "n2").State == "dead" })
	c.Healthy()
	repair := time.Since(begin)
	end()
	slices.Sort(took)
	t.Logf("%d blocks of %d bytes back after %v; p99 of %d reads meanwhile %v", lost, size, repair, len(took), took[len(took)*99/100])
	if require.Stressed() && repair > 10*time.Second {
		t.Errorf("took %v, at most 10 s", repair)
	}
}
