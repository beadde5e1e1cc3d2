package nas

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

func BenchmarkDecisions10kNodes1kJobs1MTasks(b *testing.B) {
	shared := schedulertest.Big
	shared.Capacity = scheduler.Capacity{Containers: 6}
	b.Run("nas", func(b *testing.B) {
		schedulertest.BenchDecisions(b, schedulertest.Factory(b, &Info, nil), schedulertest.Big)
	})
	b.Run("nas-containers", func(b *testing.B) { schedulertest.BenchDecisions(b, schedulertest.Factory(b, &Info, nil), shared) })
	b.Run("nas-no-tt", func(b *testing.B) {
		schedulertest.BenchDecisions(b, schedulertest.Factory(b, &NoTTInfo, nil), schedulertest.Big)
	})
	b.Run("shufflewatcher", func(b *testing.B) {
		schedulertest.BenchDecisions(b, schedulertest.Factory(b, &WatcherInfo, nil), schedulertest.Big)
	})
	b.Run("shufflewatcher-containers", func(b *testing.B) {
		schedulertest.BenchDecisions(b, schedulertest.Factory(b, &WatcherInfo, nil), shared)
	})
}

// Reduces of many jobs whose maps are done, in racks of which every second is
// congested: CA-RTS and CR-RTS walk sharers and jobs.
func BenchmarkReduces2kNodes1kJobs(b *testing.B) {
	for _, info := range []*scheduler.Info{&Info, &WatcherInfo} {
		b.Run(info.Name, func(b *testing.B) { benchReduces(b, schedulertest.Factory(b, info, nil)()) })
	}
}

func benchReduces(b *testing.B, p scheduler.Policy) {
	const racks, perRack, jobs = 100, 20, 1000
	r := newRig(b, p, racks, perRack, scheduler.Capacity{MapSlots: 2, ReduceSlots: 2})
	for rack := range topology.RackID(racks) {
		r.Send(scheduler.NetSample(rack, float64(rack%2), 0, rack%2 == 1))
	}
	for id := range scheduler.JobID(jobs) {
		s := spec(id, string(rune('a'+id%26))+string(rune('a'+id/26%4)), 100)
		for i := range topology.NodeID(20) {
			s.Splits.Add(64*mb, (topology.NodeID(id)*7+i*101)%(racks*perRack))
		}
		s.Maps = 20
		r.Submit(s)
		for i := range s.Maps {
			r.run(id, i, s.Splits.Of(i)[0])
			r.finish(id, i, 64*mb, int64(id)*mb/10)
		}
	}
	n, launched := topology.NodeID(0), 0
	b.ReportAllocs()
	for b.Loop() {
		got, _ := r.offer(n)
		for _, t := range got {
			r.Send(scheduler.TaskFinished(t, n, time.Second, 0, 0))
			r.Send(scheduler.TaskLost(t))
		}
		launched += len(got)
		n = (n + 1) % (racks * perRack)
	}
	b.ReportMetric(float64(launched)/b.Elapsed().Seconds(), "reduces/s")
}
