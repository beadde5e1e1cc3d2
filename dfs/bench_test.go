package dfs_test

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/dfstest"
	"github.com/millrace/millrace/internal/wire"
)

const benchBytes = 256 << 20

// BenchmarkWrite256MiB writes three copies through a pipeline, with everything in one process.
func BenchmarkWrite256MiB(b *testing.B) {
	c := dfstest.Start(b, dfstest.Config{Nodes: 3})
	cl := c.Client("")
	data := dfstest.Noise(1, 1<<20)
	b.SetBytes(benchBytes)
	n := 0
	for b.Loop() {
		n++
		w, err := cl.Create(b.Context(), fmt.Sprint("/f", n), dfs.CreateOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for range benchBytes / len(data) {
			if _, err := w.Write(data); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := cl.Remove(b.Context(), fmt.Sprint("/f", n), false); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkRead256MiB reads from the page cache, over the network and from the local disk.
func BenchmarkRead256MiB(b *testing.B) {
	c := dfstest.Start(b, dfstest.Config{Nodes: 3})
	if err := dfstest.Put(c.Client(""), "/f", dfstest.Noise(1, benchBytes), dfs.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	for name, node := range map[string]wire.NodeName{"network": "", "local": "n1"} {
		b.Run(name, func(b *testing.B) {
			cl := c.Client(node)
			b.SetBytes(benchBytes)
			for b.Loop() {
				f, err := cl.Open(b.Context(), "/f")
				if err != nil {
					b.Fatal(err)
				}
				n, err := f.WriteTo(struct{ io.Writer }{io.Discard})
				if err != nil || n != benchBytes {
					b.Fatal(n, err)
				}
				f.Close()
			}
		})
	}
}

// eight lets eight clients, each with eight calls under way, do something b.N times in all.
func eight(b *testing.B, c *dfstest.Cluster, do func(cl *dfs.Client, n int64) error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		cl := c.Client("")
		for range 8 {
			wg.Go(func() {
				for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
					if err := do(cl, n); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// BenchmarkStat8 and BenchmarkCreate8 go over the network to the name service.
func BenchmarkStat8(b *testing.B) {
	c := dfstest.Start(b, dfstest.Config{Nodes: 3})
	if err := dfstest.Put(c.Client(""), "/d/f", nil, dfs.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	eight(b, c, func(cl *dfs.Client, _ int64) error {
		_, err := cl.Stat(b.Context(), "/d/f")
		return err
	})
}

func BenchmarkCreate8(b *testing.B) {
	c := dfstest.Start(b, dfstest.Config{Nodes: 3})
	b.ResetTimer()
	eight(b, c, func(cl *dfs.Client, n int64) error {
		return dfstest.Put(cl, fmt.Sprintf("/d%d/f%d", n%100, n), nil, dfs.CreateOptions{})
	})
}
