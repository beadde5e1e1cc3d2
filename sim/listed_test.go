package sim

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// TestListedJobs: what is written down is what runs, with a block for each map.
func TestListedJobs(t *testing.T) {
	topo, err := topology.Uniform(2, 3, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultWorkload(topo, 24)
	jobs, err := FromList([]Listed{{Name: "a", At: 1.5, Maps: 3, MapTime: 2, Reduces: 1, ReduceTime: 4, Deadline: 60}, {Maps: 1, MapTime: 0.5}}, cfg, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	s := jobs[0].Spec
	if s.Submit != 1500*time.Millisecond || s.Deadline != 61500*time.Millisecond || s.Splits.Len() != 3 || s.Work != 10*time.Second || jobs[1].Spec.Name != "job 2" {
		t.Errorf("%+v and %+v", s, jobs[1].Spec)
	}
	for _, bad := range []Listed{{Maps: 0, MapTime: 1}, {Maps: 1}, {Maps: 1, MapTime: math.NaN()}, {Maps: 1, MapTime: 1, At: -1}, {Maps: 1, MapTime: 1, Reduces: 1}, {Maps: 1 << 30, MapTime: 1}, {Maps: 1, MapTime: 1, Weight: -1}} {
		if _, err := FromList([]Listed{bad}, cfg, rand.New(rand.NewPCG(1, 1))); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestSetLoad: the work between first and last arrival takes the share that was asked for, and deadlines keep their distance.
func TestSetLoad(t *testing.T) {
	topo, err := topology.Uniform(1, 2, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := FromList([]Listed{{At: 10, Maps: 10, MapTime: 6}, {At: 20, Maps: 10, MapTime: 6, Deadline: 30}}, DefaultWorkload(topo, 4), rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := SetLoad(jobs, 4, 0.5); err != nil { // 120 s of work in 60 s on 4 containers
		t.Fatal(err)
	}
	if a, b := jobs[0].Spec, jobs[1].Spec; a.Submit != 10*time.Second || b.Submit != 70*time.Second || b.Deadline != 100*time.Second {
		t.Errorf("they come at %v and %v, and the deadline is %v", a.Submit, b.Submit, b.Deadline)
	}
	if err := SetLoad(jobs[:1], 4, 0.5); err == nil {
		t.Error("one job has a load")
	}
}

// Jobs arrive by their times, however they are listed, and those of one moment as they are listed.
func TestJobsArriveByTime(t *testing.T) {
	var jobs []*Job
	for i, at := range []float64{20, 0, 10, 0} {
		jobs = append(jobs, &Job{
			Spec: &scheduler.JobSpec{ID: scheduler.JobID(i), Submit: seconds(at), Maps: 1}, Maps: []time.Duration{seconds(2)},
		})
	}
	res, err := Run(Config{
		Topology: cluster(t, 1, 1), Capacity: scheduler.Capacity{MapSlots: 1, ReduceSlots: 1},
		Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(), Model: NewFixed(),
	}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{20, 0, 10, 2} {
		if got := res.Jobs[i].FirstStart; got != seconds(want) {
			t.Errorf("job %d starts at %v, want %v", i, got, seconds(want))
		}
	}
}
