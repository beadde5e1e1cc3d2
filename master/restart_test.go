package master

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/scheduler/policies"
)

// openReal is openOn with the configuration and the kind of disk that a master has.
func openReal(tb testing.TB, dir string) *Master {
	tb.Helper()
	p, err := policies.Policy("fair", nil)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := tracker.New(tracker.DefaultConfig(), p, nil)
	if err != nil {
		tb.Fatal(err)
	}
	root, err := disk.OpenRoot(dir)
	if err != nil {
		tb.Fatal(err)
	}
	m := &Master{jobs: c, cfg: Config{Log: slog.New(slog.DiscardHandler)}, disks: []*disk.Root{root}}
	if err := m.openJobLog(root, journal.Config{SegmentBytes: jobsSegment}); err != nil {
		tb.Fatal(err)
	}
	m.jobs.Resume(m.base)
	return m
}

func closeReal(tb testing.TB, m *Master) {
	tb.Helper()
	if err := m.log.journal.Close(); err != nil {
		tb.Fatal(err)
	}
	m.disks[0].Close()
}

// store keeps what the tracker wants kept, and compacts as the loop would.
func (m *Master) store(tb testing.TB) {
	tb.Helper()
	if err := m.keep(m.jobs.Take().Records); err != nil {
		tb.Fatal(err)
	}
	if m.log.since < max(m.log.snapshot, compactFrom) {
		return
	}
	size, err := m.compact(m.last, m.jobs.Snapshot(0))
	if err != nil {
		tb.Fatal(err)
	}
	m.log.snapshot, m.log.since = size, 0
}

func liveBytes(tb testing.TB, m *Master) int64 {
	tb.Helper()
	var n counter
	if _, err := encodeSnapshot(&n, 0, m.jobs.Snapshot(0)); err != nil {
		tb.Fatal(err)
	}
	return int64(n)
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func (m *Master) onDisk(tb testing.TB) int64 {
	tb.Helper()
	if err := m.log.journal.Wait(m.last); err != nil {
		tb.Fatal(err)
	}
	return m.log.journal.Bytes() + m.log.snapshot
}

// manyJobs is FAULTS row 27: jobs that wait, and many more that have ended.
func manyJobs(tb testing.TB, m *Master, queued, ended int) {
	tb.Helper()
	spec := wire.JobSpec{
		Name: "nightly-wordcount", User: "ann", Queue: "default", Stages: 1, Output: "dfs:/out/nightly", Request: "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		Program: wire.Program{Builtin: "wordcount", Args: []string{"--input", "dfs:/in/a-file-with-a-name", "--output", "dfs:/out/nightly"}},
	}
	for i := range ended + queued {
		s := spec
		s.Request += fmt.Sprint(i)
		id, err := m.jobs.Submit(time.Duration(i), s)
		if err == nil && i < ended {
			err = m.jobs.Kill(time.Duration(i), id, "nobody needs it any more")
		}
		if err != nil {
			tb.Fatal(err)
		}
		m.store(tb)
	}
}

// TestManyJobs: the journal stays within twice the live state, whatever came and went, and a restart finds every job that waits.
func TestManyJobs(t *testing.T) {
	queued, ended := 1000, 3000
	if require.Stressed() {
		queued, ended = 10_000, 30_000
	}
	dir := t.TempDir()
	m := openReal(t, dir)
	manyJobs(t, m, queued, ended)
	closeReal(t, m)
	begin, before := time.Now(), heapNow()
	m = openReal(t, dir)
	took, heap := time.Since(begin), heapNow()-before
	defer closeReal(t, m)
	live, disk := liveBytes(t, m), m.onDisk(t)
	t.Logf("%d jobs wait: restart in %s, %d MB of heap, %d KB on disk for %d KB of live state", queued, took, heap>>20, disk>>10, live>>10)
	if limit := 2*live + compactFrom + jobsSegment; disk > limit {
		t.Errorf("%d bytes on disk for a live state of %d", disk, live)
	}
	waiting := 0
	for _, s := range m.jobs.Jobs() {
		if s.State == "QUEUED" {
			waiting++
		}
	}
	if waiting != queued || len(m.jobs.Jobs()) != queued+1000 {
		t.Errorf("%d of %d jobs wait, %d are known", waiting, queued, len(m.jobs.Jobs()))
	}
}

func heapNow() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// BenchmarkRestart is FAULTS rows 18 and 27: how long a master takes to come back, with a job of that many maps whose
// journal is about to be compacted, seven in ten done before the last time, and with 10,000 jobs that wait and 1,000 that have ended.
func BenchmarkRestart(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint("tasks=", n), func(b *testing.B) {
			dir := b.TempDir()
			m := openReal(b, dir)
			bigJob(b, m, n)
			benchRestart(b, m, dir)
		})
	}
	b.Run("jobs=11000", func(b *testing.B) {
		dir := b.TempDir()
		m := openReal(b, dir)
		manyJobs(b, m, 10_000, 1000)
		benchRestart(b, m, dir)
	})
}

func benchRestart(b *testing.B, m *Master, dir string) {
	live, disk := liveBytes(b, m), m.onDisk(b)
	closeReal(b, m)
	m.jobs = nil
	before := heapNow()
	var heap int64
	for b.Loop() {
		again := openReal(b, dir)
		b.StopTimer()
		heap = heapNow() - before
		closeReal(b, again)
		b.StartTimer()
	}
	b.ReportMetric(float64(disk)/float64(live), "disk/live")
	b.ReportMetric(float64(disk)/1e6, "disk-MB")
	b.ReportMetric(float64(heap)/1e6, "heap-MB")
}

// bigJob is a job of n maps; so many are done that the next one would make a snapshot due.
func bigJob(b *testing.B, m *Master, n int) {
	plan := &wire.StagePlan{Reducers: 1}
	for i := range n {
		s := wire.Split{Ranges: []wire.Range{{Path: fmt.Sprint("/in/part-", i/16), Offset: int64(i%16) << 26, Length: 1 << 26}}}
		for k := range 3 {
			s.Hosts = append(s.Hosts, fmt.Sprint("n", (i*7+k*331)%1000))
		}
		plan.Splits = append(plan.Splits, s)
	}
	m.jobs.Replay(&tracker.Record{Kind: tracker.Submitted, Job: "job-1", Spec: &wire.JobSpec{Name: "big", User: "ann", Stages: 1}})
	m.jobs.Replay(&tracker.Record{Kind: tracker.Planned, Job: "job-1", Plan: plan})
	done := func(i int) tracker.Record {
		return tracker.Record{At: time.Duration(i), Kind: tracker.TaskDone, Job: "job-1", Task: &tracker.TaskRecord{
			Kind: wire.MapTask, Index: int32(i), Try: uint64(1<<32 + i), Node: wire.NodeName(fmt.Sprint("n", i%1000)), Rack: fmt.Sprint("r", i%20), Millis: 1234,
			In: 1 << 26, Out: 1 << 20, Counts: wire.Counts{"task": {"input-records": 1000, "input-bytes": 1 << 26, "output-records": 9}},
		}}
	}
	for i := range n * 7 / 10 {
		r := done(i)
		m.jobs.Replay(&r)
	}
	size, err := m.compact(m.last, m.jobs.Snapshot(0))
	if err != nil {
		b.Fatal(err)
	}
	m.log.snapshot = size
	for i := n * 7 / 10; i < n-1 && m.log.since < m.log.snapshot; i++ {
		if err := m.keep([]tracker.Record{done(i)}); err != nil {
			b.Fatal(err)
		}
	}
}
