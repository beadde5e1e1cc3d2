package compare

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/trace"
)

// twoClasses are two machines of speed 1 and two of speed 0.25.
var twoClasses = trace.Origin{Source: "sim", Policy: "fifo", Nodes: 4, Racks: 2, Room: 8, Machines: []trace.Machine{
	{Name: "a", Rack: "r1", Class: "scale-up", Room: 2},
	{Name: "b", Rack: "r1", Class: "scale-up", Room: 2},
	{Name: "c", Rack: "r2", Speed: 0.25, Room: 2},
	{Name: "d", Rack: "r2", Speed: 0.25, Room: 2},
}}

// runClasses runs jobs on such machines.
func runClasses(t *testing.T, policy string, speeds []float64, jobs []*sim.Job) (*sim.Result, *Watcher, sim.Config) {
	t.Helper()
	topo, room, err := OriginCluster(twoClasses)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policies.Policy(policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Topology: topo, Capacities: room, Speeds: speeds, Policy: p, State: scheduler.DefaultConfig(), Model: sim.NewFixed(), Reports: sim.Reports{AskAgain: 100 * time.Millisecond}}
	w := WatchKinds()
	w.Attach(&cfg)
	res, err := sim.Run(cfg, jobs)
	if err != nil {
		t.Fatal(err)
	}
	return res, w, cfg
}

// mixedJobs are 30 jobs that hybrid calls small and 10 that it calls large.
func mixedJobs() (out []*sim.Job) {
	for i := range 40 {
		maps, each, input := 3, 2*time.Second, int64(1<<20)
		if i%4 == 0 {
			maps, each, input = 8, 3*time.Second, 1<<40
		}
		j := &sim.Job{Maps: slices.Repeat([]time.Duration{each}, maps)}
		j.Spec = &scheduler.JobSpec{ID: scheduler.JobID(i + 1), Submit: time.Duration(i) * 5 * time.Second, Maps: int32(maps), Input: scheduler.Size{Bytes: input, Known: true}}
		out = append(out, j)
	}
	return out
}

// TestWhatIfKnowsSpeeds: of a history of machines of two speeds under fifo, the replay under the policy that ran and under one
// that tells the classes apart comes near to what the jobs themselves do there; without the speeds it does not.
func TestWhatIfKnowsSpeeds(t *testing.T) {
	speeds := OriginSpeeds(twoClasses)
	if !slices.Equal(speeds, []float64{1, 1, 0.25, 0.25}) {
		t.Fatalf("speeds %v", speeds)
	}
	ran, w, cfg := runClasses(t, "fifo", speeds, mixedJobs())
	h := History(twoClasses, cfg.Topology, ran, w)
	blind := *h
	blind.Origin.Machines = slices.Clone(twoClasses.Machines)
	for i := range blind.Origin.Machines {
		blind.Origin.Machines[i].Speed = 0
	}
	for _, policy := range []string{"fifo", "hybrid"} {
		truth, _, _ := runClasses(t, policy, speeds, mixedJobs())
		miss := func(h *trace.History) float64 {
			p, err := NewPast(h, sim.DefaultWorkload(cfg.Topology, twoClasses.Room), 1)
			if err != nil {
				t.Fatal(err)
			}
			got, _, _ := runClasses(t, policy, OriginSpeeds(h.Origin), p.Workload())
			p.Real = truth
			return p.Miss(got).Completion
		}
		with, without := miss(h), miss(&blind)
		t.Logf("%s: the mean completion is off by %+.3f with speeds, %+.3f without", policy, with, without)
		if math.Abs(with) > 0.15 {
			t.Errorf("%s: off by %+.3f with speeds", policy, with)
		}
		if policy == "hybrid" && math.Abs(without) < 0.3 {
			t.Errorf("%s: off by only %+.3f without: the test shows nothing", policy, without)
		}
	}
}
