package hybrid

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// rig is a cluster of out scale-out nodes, then up scale-up nodes, with one
// container each.
type rig struct {
	*scheduler.Engine
	t   testing.TB
	p   *Policy
	now time.Duration
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
	s, err := scheduler.NewState(b.Topology(), scheduler.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Engine: scheduler.NewEngine(s, p, nil), t: t, p: p}
	for n := range topology.NodeID(outs + ups) {
		r.feed(scheduler.NodeUp(n, scheduler.Capacity{Containers: 1}))
	}
	return r
}

func (r *rig) feed(e scheduler.Event) {
	r.t.Helper()
	if err := r.Feed(r.now, e); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) submit(s *scheduler.JobSpec) {
	r.t.Helper()
	r.feed(scheduler.JobSubmitted(s))
	if _, err := r.Admit(r.now, nil); err != nil {
		r.t.Fatal(err)
	}
}

// offer returns the job of the first task launched on n, or NoJob.
func (r *rig) offer(n topology.NodeID) scheduler.JobID {
	r.t.Helper()
	got := scheduler.NoJob
	_, err := r.Offer(r.now, n, func(d scheduler.Decision) {
		if got == scheduler.NoJob {
			got = d.Task.Job
		}
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// byID gives jobs the values of a table; positive is small.
type byID map[scheduler.JobID]float64

func (b byID) Classify(s *scheduler.JobSpec) (bool, float64) { return b[s.ID] > 0, b[s.ID] }

func job(id scheduler.JobID, maps int32) *scheduler.JobSpec {
	return &scheduler.JobSpec{ID: id, Maps: maps}
}
