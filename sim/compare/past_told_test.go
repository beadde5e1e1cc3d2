package compare

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/trace"
)

// declaredJobs make their input, and what they declare of it is the reverse of how long they take.
func declaredJobs() []*sim.Job {
	jobs := mixedJobs()
	for _, j := range jobs {
		if j.Spec.Slowstart = 0.5; j.Spec.Input.Bytes == 1<<40 {
			j.Spec.Input = scheduler.Bytes(1 << 20)
		} else {
			j.Spec.Input = scheduler.Bytes(1 << 40)
		}
	}
	return jobs
}

// exported is a run as a cluster exports it: what maps read was little, and what jobs declared stands beside it, or does not.
func exported(t *testing.T, cfg *sim.Config, res *sim.Result, w *Watcher, declared bool) *trace.History {
	t.Helper()
	h := History(twoClasses, cfg.Topology, res, w)
	for i := range h.Jobs {
		if declared {
			h.Jobs[i].Expect = &trace.Expected{InputBytes: h.Jobs[i].InputBytes}
		}
		h.Jobs[i].InputBytes = 48
	}
	for i := range h.Attempts {
		h.Attempts[i].Locality = ""
	}
	var file bytes.Buffer
	if err := trace.WriteHistory(&file, h); err != nil {
		t.Fatal(err)
	}
	h, err := trace.ReadHistory(&file, "run")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ends are when jobs ended, to the millisecond.
func ends(res *sim.Result) (out []time.Duration) {
	for i := range res.Jobs {
		out = append(out, res.Jobs[i].Finished.Round(time.Millisecond))
	}
	return out
}

// TestReplayTellsWhatWasDeclared: jobs that make their input and declare how much it is go where they went, and end when they ended;
// of a history without what they declared they do not.
func TestReplayTellsWhatWasDeclared(t *testing.T) {
	speeds := OriginSpeeds(twoClasses)
	for _, policy := range []string{"hybrid", "sita"} {
		res, w, cfg := runClasses(t, policy, speeds, declaredJobs())
		for _, declared := range []bool{true, false} {
			p, err := NewPast(exported(t, &cfg, res, w, declared), sim.DefaultWorkload(cfg.Topology, twoClasses.Room), 1)
			if err != nil {
				t.Fatal(err)
			}
			again, _, _ := runClasses(t, policy, speeds, p.Workload())
			t.Logf("%s, declared %v: the mean completion is off by %+.3f", policy, declared, p.Miss(again).Completion)
			if same := slices.Equal(ends(res), ends(again)); same != declared {
				t.Errorf("%s: with what jobs declared %v, all end as they did: %v", policy, declared, same)
			}
		}
	}
}

// TestReplayKeepsPhysics: what the policies were told changes nothing of what maps make and read, and nobody is told the work.
func TestReplayKeepsPhysics(t *testing.T) {
	h := &trace.History{Jobs: []trace.PastJob{{
		ID: "a", State: trace.JobDone, Maps: 2, Reduces: 1, End: 4 * time.Second, InputBytes: 48, ShuffleBytes: 600, Slowstart: -1, ReduceCost: 3,
		Expect: &trace.Expected{ShuffleBytes: 7, OutputBytes: 8, MapTime: 9, ReduceTime: 10},
	}}}
	for i, kind := range []string{"map", "map", "reduce"} {
		h.Attempts = append(h.Attempts, trace.PastAttempt{Job: "a", Kind: kind, Index: int32(i % 2), Node: "n", Start: time.Second, End: 2 * time.Second})
	}
	topo, _, err := OriginCluster(twoClasses)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPast(h, sim.DefaultWorkload(topo, 8), 1)
	if err != nil {
		t.Fatal(err)
	}
	j := p.Workload()[0]
	s := j.Spec
	if !slices.Equal(j.MapOutput, []int64{300}) || s.Input.Known || s.Shuffle != scheduler.Bytes(7) || s.Output != scheduler.Bytes(8) || s.MapTime != 9 ||
		s.ReduceTime != 10 || s.Work != 0 || s.Slowstart != -1 || s.ReduceCostRatio != 3 {
		t.Errorf("maps make %v, policies are told %+v", j.MapOutput, s)
	}
}
