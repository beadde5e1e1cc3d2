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

// TestListedEdges: what may just be written down, and what just may not; a job without reduces has no lengths of them.
func TestListedEdges(t *testing.T) {
	cfg := DefaultWorkload(cluster(t, 1, 1), 4)
	for name, c := range map[string]struct {
		job Listed
		may bool
	}{
		"shortest":            {Listed{Maps: 1, MapTime: 0.001, Reduces: 1, ReduceTime: 0.001}, true},
		"longest":             {Listed{Maps: 1, MapTime: 1e8, At: 1e8, Deadline: 1e8, Weight: 1e6}, true},
		"no reduces, a time":  {Listed{Maps: 1, MapTime: 1, ReduceTime: -1}, true},
		"shorter maps":        {Listed{Maps: 1, MapTime: 0.0009}, false},
		"shorter reduces":     {Listed{Maps: 1, MapTime: 1, Reduces: 1, ReduceTime: 0.0009}, false},
		"longer maps":         {Listed{Maps: 1, MapTime: 1.01e8}, false},
		"later":               {Listed{Maps: 1, MapTime: 1, At: 1.01e8}, false},
		"a later deadline":    {Listed{Maps: 1, MapTime: 1, Deadline: 1.01e8}, false},
		"an earlier deadline": {Listed{Maps: 1, MapTime: 1, Deadline: -1}, false},
		"heavier":             {Listed{Maps: 1, MapTime: 1, Weight: 1.1e6}, false},
		"less than nothing":   {Listed{Maps: 1, MapTime: 1, Shuffle: -1}, false},
		"fewer reduces":       {Listed{Maps: 1, MapTime: 1, Reduces: -1}, false},
		"more reduces":        {Listed{Maps: 1, MapTime: 1, Reduces: maxListedTasks + 1, ReduceTime: 1}, false},
	} {
		jobs, err := FromList([]Listed{c.job}, cfg, rand.New(rand.NewPCG(1, 1)))
		if (err == nil) != c.may {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (len(jobs[0].Reduces) != int(min(1, c.job.Reduces)) || (jobs[0].Spec.Deadline > 0) != (c.job.Deadline > 0)) {
			t.Errorf("%s: %d lengths of reduces, deadline %v", name, len(jobs[0].Reduces), jobs[0].Spec.Deadline)
		}
	}
	if err := (&Listed{Maps: maxListedTasks, MapTime: 1, Reduces: maxListedTasks, ReduceTime: 1}).Check(); err != nil {
		t.Errorf("as many tasks as may be: %v", err)
	}
}
