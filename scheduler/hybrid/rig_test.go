package hybrid

import (
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// rig is a cluster of out scale-out nodes, then up scale-up nodes, with one
// container each.
type rig struct {
	*schedulertest.Rig
	p *Policy
}

func newRig(t testing.TB, outs, ups int, change func(*Config)) *rig {
	t.Helper()
	b := topology.NewBuilder()
	for i, class := range []string{"scale-out", "scale-up"} {
		r, err := b.AddRack(topology.Rack{Name: class})
		if err != nil {
			t.Fatal(err)
		}
		for range []int{outs, ups}[i] {
			if _, err := b.AddNode(topology.Node{Rack: r, Class: class}); err != nil {
				t.Fatal(err)
			}
		}
	}
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{schedulertest.NewRigOn(t, p, b.Topology(), scheduler.Capacity{Containers: 1}), p}
}

// offer returns the job of the first task launched on n, or NoJob.
func (r *rig) offer(n topology.NodeID) scheduler.JobID {
	r.T.Helper()
	got := scheduler.NoJob
	_, err := r.Offer(r.Now, n, func(d scheduler.Decision) {
		if got == scheduler.NoJob {
			got = d.Task.Job
		}
	})
	if err != nil {
		r.T.Fatal(err)
	}
	return got
}

// byID gives jobs the values of a table; positive is small.
type byID map[scheduler.JobID]float64

func (b byID) Classify(s *scheduler.JobSpec) (bool, float64) { return b[s.ID] > 0, b[s.ID] }

func job(id scheduler.JobID, maps int32) *scheduler.JobSpec {
	return &scheduler.JobSpec{ID: id, Maps: maps}
}
