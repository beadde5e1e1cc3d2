package integration

import (
	"fmt"
	"testing"

	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
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
