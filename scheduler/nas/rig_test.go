package nas

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

const mb = 1 << 20

// rig is a small cluster around a policy.
type rig struct {
	*schedulertest.Rig
	ran map[scheduler.TaskID]topology.NodeID
}

func newRig(t testing.TB, p scheduler.Policy, racks, nodes int, c scheduler.Capacity) *rig {
	t.Helper()
	topo, err := topology.Uniform(racks, nodes, topology.Gbps(1), topology.Gbps(1))
	if err != nil {
		t.Fatal(err)
	}
	return &rig{schedulertest.NewRigOn(t, p, topo, c), make(map[scheduler.TaskID]topology.NodeID)}
}

func nasPolicy(t testing.TB, change func(*Config)) *Policy {
	t.Helper()
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// offer is one heartbeat of n; it returns what was launched and why no more was.
func (r *rig) offer(n topology.NodeID) (tasks []scheduler.TaskID, why scheduler.Reason) {
	r.T.Helper()
	why, err := r.Offer(r.Now, n, func(d scheduler.Decision) {
		tasks = append(tasks, d.Task)
		r.ran[d.Task] = n
	})
	if err != nil {
		r.T.Fatal(err)
	}
	return tasks, why
}

// run places map i of job id on n, whatever the policy thinks.
func (r *rig) run(id scheduler.JobID, i int32, n topology.NodeID) {
	r.T.Helper()
	t := scheduler.TaskID{Job: id, Index: i}
	r.Send(scheduler.Launched(t, n, scheduler.NodeLocal, false))
	r.ran[t] = n
}

// finish ends map i of job id with the given bytes.
func (r *rig) finish(id scheduler.JobID, i int32, in, out int64) {
	r.T.Helper()
	t := scheduler.TaskID{Job: id, Index: i}
	r.Send(scheduler.TaskFinished(t, r.ran[t], time.Second, in, out))
}

// split is one map's input.
type split struct {
	mb int64
	on []topology.NodeID
}

func on(size int64, nodes ...topology.NodeID) split { return split{size, nodes} }

func spec(id scheduler.JobID, user string, reduces int32, splits ...split) *scheduler.JobSpec {
	s := &scheduler.JobSpec{ID: id, User: user, Maps: int32(len(splits)), Reduces: reduces}
	for _, sp := range splits {
		s.Splits.Add(sp.mb*mb, sp.on...)
		s.Input = scheduler.Bytes(s.Input.Bytes + sp.mb*mb)
	}
	return s
}

// predicted declares the shuffle size of a recurring job.
func predicted(s *scheduler.JobSpec, shuffleMB int64) *scheduler.JobSpec {
	s.Recurring, s.Shuffle = true, scheduler.Bytes(shuffleMB*mb)
	return s
}

func (r *rig) want(got []scheduler.TaskID, want ...scheduler.TaskID) {
	r.T.Helper()
	if len(got) != len(want) {
		r.T.Fatalf("launched %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			r.T.Fatalf("launched %v, want %v", got, want)
		}
	}
}

func mapOf(id scheduler.JobID, i int32) scheduler.TaskID { return scheduler.TaskID{Job: id, Index: i} }

func reduceOf(id scheduler.JobID, i int32) scheduler.TaskID {
	return scheduler.TaskID{Job: id, Index: i, Kind: scheduler.Reduce}
}

// ready submits a job whose one map ran on node 0 and wrote out bytes.
func (r *rig) ready(s *scheduler.JobSpec, out int64) {
	r.T.Helper()
	r.Submit(s)
	r.run(s.ID, 0, 0)
	r.finish(s.ID, 0, mb, out)
}
