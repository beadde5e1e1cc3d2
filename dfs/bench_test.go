package dfs_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

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

// BenchmarkRename800 gives 800 parts their names beside four goroutines that burn the process's processors, as tasks of
// built-in jobs do: one by one, sixteen at a time, and by one call.
func BenchmarkRename800(b *testing.B) {
	c := dfstest.Start(b, dfstest.Config{Nodes: 1})
	cl := c.Client("")
	moves, back := make([]wire.Move, 800), make([]wire.Move, 800)
	for i := range moves {
		moves[i] = wire.Move{From: fmt.Sprint("/a/", i), To: fmt.Sprint("/b/", i)}
		back[i] = wire.Move{From: moves[i].To, To: moves[i].From}
		if err := cl.Mkdir(b.Context(), moves[i].From, true); err != nil {
			b.Fatal(err)
		}
	}
	if err := cl.Mkdir(b.Context(), "/b", true); err != nil {
		b.Fatal(err)
	}
	var stop atomic.Bool
	var burning sync.WaitGroup
	for range 4 {
		burning.Go(func() {
			for !stop.Load() {
			}
		})
	}
	defer burning.Wait()
	defer stop.Store(true)
	for name, rename := range map[string]func() error{
		"each": func() error { return renameEach(b.Context(), cl, moves) },
		"all":  func() error { return cl.RenameAll(b.Context(), moves) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := rename(); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := cl.RenameAll(b.Context(), back); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

func renameEach(ctx context.Context, cl *dfs.Client, moves []wire.Move) error {
	var g errgroup.Group
	g.SetLimit(16)
	for _, m := range moves {
		g.Go(func() error {
			if _, err := cl.Stat(ctx, m.From); err != nil {
				return err
			}
			return cl.Rename(ctx, m.From, m.To, false)
		})
	}
	return g.Wait()
}
