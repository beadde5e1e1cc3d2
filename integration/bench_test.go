package integration

import (
	"fmt"
	"testing"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs/textgen"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/worker"
)

// BenchmarkTasks is what a task that does nothing costs on a cluster, in one process.
func BenchmarkTasks(b *testing.B) {
	c := testcluster.Start(b, testcluster.Config{Workers: 4, Racks: 2})
	const maps = 2000
	n := 0
	for b.Loop() {
		n++
		out := fmt.Sprint("dfs:/out", n)
		s := c.Finish(c.Submit(wire.JobSpec{}, "sleep", "--maps", fmt.Sprint(maps), "--reduces", "1", "--map-time", "0s", "--reduce-time", "0s", "--output", out))
		if s.State != "SUCCEEDED" {
			b.Fatal(s.Error)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(maps*n), "µs/task")
}

// BenchmarkLarge is what a large job costs on a cluster in one process, with one copy of each block.
func BenchmarkLarge(b *testing.B) {
	for _, job := range []string{"terasort", "wordcount"} {
		b.Run(job, func(b *testing.B) {
			c := testcluster.Start(b, testcluster.Config{
				Workers: 4, Racks: 2,
				Master: func(m *master.Config) {
					set := m.Names
					m.Names = func(n *names.Config) { set(n); n.Replication = 1 }
				},
				Worker: func(w *worker.Config) { w.Memory = 256 << 20 },
			})
			if job == "wordcount" {
				putText(b, c, "/in", 200)
			} else if s := c.Finish(c.Submit(wire.JobSpec{}, "teragen", "--rows", "2000000", "--output", "dfs:/in")); s.State != "SUCCEEDED" {
				b.Fatal(s.Error)
			}
			n := 0
			for b.Loop() {
				n++
				s := c.Finish(c.Submit(wire.JobSpec{}, job, "--input", "dfs:/in", "--output", fmt.Sprint("dfs:/out", n)))
				if s.State != "SUCCEEDED" {
					b.Fatal(s.Error)
				}
			}
			b.SetBytes(200e6)
		})
	}
}

// putText writes text by Zipf's law, so many megabytes.
func putText(b *testing.B, c *testcluster.Cluster, path string, megabytes int) {
	b.Helper()
	g, err := textgen.NewText(textgen.DefaultTextConfig())
	if err != nil {
		b.Fatal(err)
	}
	w, err := c.DFS.Create(b.Context(), path, dfs.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, textgen.BlockBytes)
	for i := range megabytes << 20 / textgen.BlockBytes {
		g.Fill(buf, uint64(i))
		if _, err := w.Write(buf); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}
