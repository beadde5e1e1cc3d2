package admission

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// rig is the published cluster (spec/marp 2.5) around an admission policy: three nodes of
// 17 GB, drivers of 2 GB, tasks of 1 GB.
type rig struct {
	*scheduler.Engine
	t   *testing.T
	now time.Duration
}

func newRig(t *testing.T, a scheduler.Admission, reduces scheduler.ReduceRule) *rig {
	t.Helper()
	topo, err := topology.Uniform(1, 3, topology.Gbps(1), topology.Gbps(1))
	if err != nil {
		t.Fatal(err)
	}
	state, err := scheduler.NewState(topo, scheduler.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	cfg := fair.DefaultConfig()
	cfg.Measure, cfg.Reduces = "memory", reduces // spec/marp 7.32
	p, err := fair.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Engine: scheduler.NewEngine(state, p, a), t: t}
	for n := range topology.NodeID(3) {
		r.feed(scheduler.NodeUp(n, scheduler.Capacity{MemoryMB: 17 << 10, VCores: 17}))
	}
	return r
}

func (r *rig) feed(e scheduler.Event) {
	r.t.Helper()
	if err := r.Feed(r.now, e); err != nil {
		r.t.Fatal(err)
	}
}

// submit submits jobs first..last with 24 maps and one reduce.
func (r *rig) submit(first, last scheduler.JobID) {
	r.t.Helper()
	for id := first; id <= last; id++ {
		r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{
			ID: id, Maps: 24, Reduces: 1, HasDriver: true, DriverDemand: scheduler.Demand{Slots: 2, MemoryMB: amMB},
		}))
	}
}

// admit returns the jobs admitted now, and why no more were.
func (r *rig) admit() (ids []scheduler.JobID, why scheduler.Reason) {
	r.t.Helper()
	why, err := r.Admit(r.now, func(d scheduler.AdmitDecision) { ids = append(ids, d.Job) })
	if err != nil {
		r.t.Fatal(err)
	}
	return ids, why
}

// sleep lets time pass, with all ticks, and returns who was admitted.
func (r *rig) sleep(d time.Duration) (ids []scheduler.JobID) {
	r.t.Helper()
	end := r.now + d
	for {
		next, ok := r.Tick(r.now)
		got, _ := r.admit()
		ids = append(ids, got...)
		if !ok || next > end {
			r.now = end
			return ids
		}
		r.now = next
	}
}

func (r *rig) text(why scheduler.Reason) string { return why.Text(r.View()) }

func admissionOf(t *testing.T, info *scheduler.Info, params map[string]string) scheduler.Admission {
	t.Helper()
	made, err := info.Make(params)
	if err != nil {
		t.Fatal(err)
	}
	return made.(scheduler.Admission)
}
