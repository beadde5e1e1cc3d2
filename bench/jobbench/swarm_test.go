package jobbench

import (
	"context"
	"fmt"
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/master"
)

// BenchmarkSwarm is what an assignment costs a master, and its simulated workers, in one process.
func BenchmarkSwarm(b *testing.B) {
	const workers, tasks = 300, 30_000
	cfg := master.DefaultConfig()
	cfg.Dir, cfg.Listen, cfg.Policy = b.TempDir(), "127.0.0.1:0", "fifo"
	m, err := master.Start(cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	ctx, cancel := context.WithCancelCause(b.Context())
	w := &swarm{addr: m.Addr(), tasks: tasks, fail: cancel}
	for i := range workers {
		w.wg.Go(func() { w.worker(ctx, i) })
	}
	defer w.wg.Wait()
	defer cancel(nil)
	cl, err := client.New(client.Config{Master: m.Addr(), User: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	n := 0
	for b.Loop() {
		n++
		if _, err := run(ctx, cl, builtin(fmt.Sprint("dfs:/swarm", n), "sleep"), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n*tasks)/b.Elapsed().Seconds(), "assignments/s")
}
