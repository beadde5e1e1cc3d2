package sim

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// public opens a public trace, where the machine has it.
func public(t testing.TB, name string) []trace.Job {
	t.Helper()
	dir := os.Getenv("MILLRACE_TRACES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "traces")
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Skipf("the public traces are not here (set MILLRACE_TRACES): %v", err)
	}
	defer f.Close()
	jobs, err := trace.ReadSWIM(f, name)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// BenchmarkFB2010 is a day of Facebook on the cluster of spec/nas 4.2: 24,442 jobs with 8.1
// million maps on 600 nodes, as they are and at a fifth of their sizes.
func BenchmarkFB2010(b *testing.B) {
	require.Stress(b)
	traced := public(b, "FB-2010_samples_24_times_1hr_0.tsv")
	for _, scale := range []float64{1, 0.2} {
		for _, name := range []string{"fair", "delay", "sw-delay", "nas"} {
			b.Run(fmt.Sprintf("scale=%g/%s", scale, name), func(b *testing.B) {
				for b.Loop() {
					benchTrace(b, traced, name, scale)
				}
			})
		}
	}
}

// BenchmarkFB2010Hours is the two hours of that day that shuffle most, under fair: a few
// seconds, to compare changes by.
func BenchmarkFB2010Hours(b *testing.B) {
	var busy []trace.Job
	for _, j := range public(b, "FB-2010_samples_24_times_1hr_0.tsv") {
		if j.Submit -= 14 * time.Hour; j.Submit >= 0 && j.Submit < 2*time.Hour {
			busy = append(busy, j)
		}
	}
	for b.Loop() {
		benchTrace(b, busy, "fair", 1)
	}
}

func benchTrace(b *testing.B, traced []trace.Job, name string, scale float64) {
	b.StopTimer()
	topo, err := topology.Uniform(30, 20, topology.Mbps(250), topology.Gbps(1))
	if err != nil {
		b.Fatal(err)
	}
	w := DefaultWorkload(topo, 3600)
	w.Scale = scale
	jobs := FromTrace(traced, w, rand.New(rand.NewPCG(1, 2)))
	model, err := NewNetwork(DefaultNetwork(topo))
	if err != nil {
		b.Fatal(err)
	}
	cfg := Config{
		Topology: topo, Capacity: scheduler.Capacity{Containers: 6}, Policy: policy(b, name, nil), State: scheduler.DefaultConfig(),
		Model: model, Reports: Reports{Heartbeat: time.Second, ReportLate: true}, BreakDeadlocks: true, Seed: 1,
	}
	b.StartTimer()
	res, err := Run(cfg, jobs)
	if err != nil {
		b.Fatal(err)
	}
	var sum time.Duration
	for i := range res.Jobs {
		sum += res.Jobs[i].Completion()
	}
	b.ReportMetric(res.Makespan.Hours(), "makespan-h")
	b.ReportMetric(sum.Seconds()/float64(len(res.Jobs)), "completion-s")
	b.ReportMetric(res.Network.Cross()/1e12, "cross-TB")
	b.ReportMetric(float64(res.Congestion.Episodes), "episodes")
}
