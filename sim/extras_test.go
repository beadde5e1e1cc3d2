package sim

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/topology"
)

// mean returns the mean completion time in seconds.
func mean(res *Result) (sum float64) {
	for i := range res.Jobs {
		sum += res.Jobs[i].Completion().Seconds() / float64(len(res.Jobs))
	}
	return sum
}

// A tenth of the attempts takes ten times as long. Second attempts of those win back most
// of what a job loses by that, never two at once, and never more than the cap allows
// (spec/capacity 3.7).
func TestSecondAttempts(t *testing.T) {
	run := func(st Stragglers, sp drive.Rule) *Result {
		most, running := 0, 0
		res := mustRun(t, Config{
			Topology: cluster(t, 2, 20), Capacity: scheduler.Capacity{Containers: 4}, Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(),
			Model: NewFixed(), Reports: Reports{Heartbeat: time.Second}, Seed: 7, Script: Script{Stragglers: st}, Seconds: sp, Views: Views{LogAttempts: true, Watch: func(_ time.Duration, a Attempt, started bool) {
				if !a.Second {
					return
				}
				if running--; started {
					running += 2
				}
				most = max(most, running)
			}},
		}, &Job{Spec: &scheduler.JobSpec{Maps: 100}, Maps: []time.Duration{60 * time.Second}})
		if limit := int(drive.DefaultLag().Cap * 160); most > limit {
			t.Errorf("%d second attempts at once, the cap is %d", most, limit)
		}
		return res
	}
	slow := Stragglers{Share: 0.1, Factor: 10}
	healthy, without := run(Stragglers{}, nil), run(slow, nil)
	within(t, "healthy job", healthy.Makespan.Seconds(), 60, 0.05)
	within(t, "job with stragglers", without.Makespan.Seconds(), 600, 0.01)
	tail := func(r *Result) (n int) { // tasks that end late; a second attempt may straggle too
		for _, a := range r.Log {
			if a.OK && a.End > 200*time.Second {
				n++
			}
		}
		return n
	}
	// LATE lets a tenth of what runs have a second attempt: towards the end of a job one at a time.
	for rule, late := range map[drive.Rule]int{drive.DefaultLag(): tail(without) / 2, drive.DefaultLATE(): tail(without) - 1} {
		with := run(slow, rule)
		if tail(without) < 5 || tail(with) > late || with.Won == 0 || with.Killed < with.Won {
			t.Errorf("%T: %d tasks end late, with second attempts %d; %d started, %d won, %d stopped", rule, tail(without), tail(with), with.Second, with.Won, with.Killed)
		}
		if idle := run(Stragglers{}, rule); idle.Second != 0 {
			t.Errorf("%T: %d second attempts in a job without stragglers", rule, idle.Second)
		}
	}
}

// A MARP that an operator raises at 100 s lets the second job in only after the reload
// (spec/marp 2.4).
func TestReload(t *testing.T) {
	run := func(wait time.Duration) time.Duration {
		marp, err := policies.Admission("marp", map[string]string{"marp": "0.05", "reload-min": "0s", "reload-max": "0s", "activation-min": "0s", "activation-max": "0s"})
		if err != nil {
			t.Fatal(err)
		}
		job := func(id scheduler.JobID) *Job {
			return &Job{Maps: []time.Duration{300 * time.Second}, Spec: &scheduler.JobSpec{
				ID: id, Maps: 1, HasDriver: true, DriverDemand: scheduler.Demand{VCores: 1, MemoryMB: 2048},
			}}
		}
		res := mustRun(t, Config{
			Topology: cluster(t, 1, 3), Capacity: scheduler.Capacity{VCores: 17, MemoryMB: 17 * 1024}, Policy: policy(t, "fifo", nil), Admission: marp,
			State: scheduler.DefaultConfig(), Model: NewFixed(), Reports: Reports{Heartbeat: time.Second},
			Script: Script{Changes: []Change{{At: 100 * time.Second, Text: "marp=0.2"}}, ReloadMin: wait, ReloadMax: wait},
		}, job(0), job(1))
		return res.Jobs[1].Admitted
	}
	if at := run(0); at < 100*time.Second || at > 101*time.Second {
		t.Errorf("admitted at %v, want 100s", at)
	}
	if at := run(12 * time.Second); at < 112*time.Second || at > 113*time.Second {
		t.Errorf("admitted at %v, want 112s", at)
	}
}

// Reports that change nothing can be left out: under every policy, with and without a network and admission, every job starts and
// ends at the same time.
func TestQuietBeats(t *testing.T) {
	admissions := append([]string{""}, policies.Names(scheduler.Admitting)...)
	for i, name := range policies.Names(scheduler.Assignment) {
		for seed := range uint64(4) {
			admission := admissions[(i+int(seed))%len(admissions)]
			run := func(quiet bool) *Result {
				rng := rand.New(rand.NewPCG(seed, 3))
				topo := linked(t, 3, 3)
				cfg := Config{
					Topology: topo, Capacity: scheduler.Capacity{Containers: 2}, Policy: policy(t, name, quick(name)), State: scheduler.DefaultConfig(),
					Model: NewFixed(), Reports: Reports{Heartbeat: time.Second, AllHeartbeats: !quiet}, BreakDeadlocks: true, Refill: true, Seed: seed,
					Script: Script{Faults: []Fault{{Node: 4, At: 9 * time.Second, Until: 30_333 * time.Millisecond}}},
				}
				if seed%2 == 0 {
					cfg.Model, cfg.ReportLate = netModel(t, topo, nil), seed%4 == 0
				}
				jobs := shuffled(rng, topo, 12)
				jobs[11].Spec.Submit += 65 * time.Minute // until then nothing happens, which is no stall
				if admission != "" {
					var err error
					if cfg.Admission, err = policies.Admission(admission, policies.LiveParams(admission, nil)); err != nil {
						t.Fatal(err)
					}
					for _, j := range jobs {
						j.Spec.HasDriver = true
					}
				}
				return mustRun(t, cfg, jobs...)
			}
			all, quiet := run(false), run(true)
			for j := range all.Jobs {
				a, q := &all.Jobs[j], &quiet.Jobs[j]
				if a.Admitted != q.Admitted || a.FirstStart != q.FirstStart || a.Finished != q.Finished {
					t.Errorf("%s, %s, seed %d, job %d: admitted %v, started %v, ended %v with all reports; %v, %v, %v with the useful ones",
						name, admission, seed, j, a.Admitted, a.FirstStart, a.Finished, q.Admitted, q.FirstStart, q.Finished)
					break
				}
			}
			if all.Makespan != quiet.Makespan || all.Launches != quiet.Launches || all.Killed != quiet.Killed {
				t.Errorf("%s, %s, seed %d: %v, %v, %d with all reports, %v, %v, %d with the useful ones", name, admission, seed, all.Makespan, all.Launches, all.Killed, quiet.Makespan, quiet.Launches, quiet.Killed)
			}
			if quiet.Events*3 > all.Events {
				t.Errorf("%s, %s, seed %d: %d events with all reports, %d without", name, admission, seed, all.Events, quiet.Events)
			}
		}
	}
}

// quick are parameters with which small jobs meet a policy's limits.
func quick(name string) map[string]string {
	switch name {
	case "fbq", "tags", "sita":
		return map[string]string{"limits": "10"}
	}
	return nil
}

// spec/nas 2.6, item 7: one flow for each rack of sources instead of one for each node
// changes mean completion and makespan by less than 2 per cent on a small cluster. Single
// runs differ by more: who is served first decides what is served next.
func TestAggregationError(t *testing.T) {
	var sums [2][2]float64
	for seed := range uint64(60) {
		for i, byNode := range []bool{true, false} {
			rng := rand.New(rand.NewPCG(seed, 4))
			topo, err := topology.Uniform(4, 5, 500, 500) // 5:1
			if err != nil {
				t.Fatal(err)
			}
			res := mustRun(t, Config{
				Topology: topo, Capacity: scheduler.Capacity{Containers: 2}, Policy: policy(t, "fair", nil), State: scheduler.DefaultConfig(),
				Model:   netModel(t, topo, func(c *NetworkConfig) { c.ByNode = byNode }),
				Reports: Reports{Heartbeat: time.Second}, Seed: seed, BreakDeadlocks: true,
			}, shuffled(rng, topo, 60)...)
			sums[i][0] += mean(res)
			sums[i][1] += res.Makespan.Seconds()
		}
	}
	completion, makespan := sums[1][0]/sums[0][0]-1, sums[1][1]/sums[0][1]-1
	t.Logf("mean completion changes by %+.2f %%, makespan by %+.2f %%", 100*completion, 100*makespan)
	if math.Abs(completion) > 0.02 || math.Abs(makespan) > 0.02 {
		t.Errorf("aggregation changes mean completion by %+.2f %%, makespan by %+.2f %%", 100*completion, 100*makespan)
	}
}

// A job that recurs is announced before it arrives, its input is placed in the racks of
// its plan, and its maps run there (spec/jobpacker 3.9, 3.10).
func TestPlannedPlacement(t *testing.T) {
	topo := linked(t, 4, 3)
	spec := &scheduler.JobSpec{
		Name: "daily", Submit: time.Minute, Maps: 4, Reduces: 2, Recurring: true, Input: scheduler.Bytes(400), Shuffle: scheduler.Bytes(1 << 40),
		MapTime: time.Second, ReduceTime: time.Second,
	}
	for range 4 {
		spec.Splits.Add(100, 11)
	}
	job := &Job{Spec: spec, Maps: []time.Duration{time.Second}, Reduces: []time.Duration{time.Second}, MapOutput: []int64{10}}
	res := mustRun(t, Config{
		Topology: topo, Capacity: scheduler.Capacity{Containers: 8}, Policy: policy(t, "jobpacker", nil), State: scheduler.DefaultConfig(),
		Model: netModel(t, topo, func(c *NetworkConfig) { c.Pairs = true }), Reports: Reports{Heartbeat: time.Second}, Input: Input{Placement: placement.NewPlanned(topo)}, Views: Views{LogAttempts: true},
	}, job)
	if res.Jobs[0].Local[scheduler.Remote] != 0 || res.Network.Input != 0 {
		t.Errorf("%v maps by locality, %v bytes of input crossed racks", res.Jobs[0].Local, res.Network.Input)
	}
	if len(res.Log) != 6 || len(spec.Splits.Of(0)) != 3 {
		t.Errorf("%d attempts, replicas on %v", len(res.Log), spec.Splits.Of(0))
	}
}

// TestSwitch: a small job behind a large one under fifo runs beside it from the moment on at which the policy is fair.
func TestSwitch(t *testing.T) {
	run := func(switches ...Switch) time.Duration {
		p, err := policies.Policy("fifo", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(Config{
			Topology: cluster(t, 1, 1), Capacity: scheduler.Capacity{Containers: 2}, Policy: p, State: scheduler.DefaultConfig(),
			Model: NewFixed(), Reports: Reports{AskAgain: 100 * time.Millisecond}, Script: Script{Switches: switches},
		}, []*Job{
			{Spec: &scheduler.JobSpec{ID: 0, Maps: 100, User: "a"}, Maps: []time.Duration{time.Second}},
			{Spec: &scheduler.JobSpec{ID: 1, Maps: 1, Submit: time.Second, User: "b"}, Maps: []time.Duration{time.Second}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return res.Jobs[1].Finished
	}
	fair, err := policies.Policy("fair", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := run(); got < 50*time.Second {
		t.Errorf("under fifo the small job ends at %v, want 51 s", got)
	}
	if got := run(Switch{At: 10 * time.Second, Policy: fair}); got < 10*time.Second || got > 13*time.Second {
		t.Errorf("with fair from 10 s on the small job ends at %v, want 12 s", got)
	}
}

// On a cluster whose drivers leave little, half of what is left may be nothing. A job whose maps have ended still ends before all maps of
// a large one, under every policy as clusters run it. As published the reduce would wait until no map is pending anywhere.
func TestRipeReducesStart(t *testing.T) {
	for _, name := range policies.Names(scheduler.Assignment) {
		job := func(id scheduler.JobID, maps int32, user string) *Job {
			return &Job{Maps: []time.Duration{time.Second}, Reduces: []time.Duration{time.Second}, Spec: &scheduler.JobSpec{
				ID: id, Maps: maps, Reduces: 1, User: user, Submit: time.Duration(id) * 10 * time.Millisecond, Deadline: time.Minute,
			}}
		}
		res := mustRun(t, Config{
			Topology: cluster(t, 1, 1), Capacity: scheduler.Capacity{Containers: 1}, Policy: policy(t, name, policies.LiveParams(name, nil)),
			State: scheduler.DefaultConfig(), Model: NewFixed(), Reports: Reports{Heartbeat: 100 * time.Millisecond},
		}, job(0, 1, "ann"), job(1, 40, "bob"))
		if ended := res.Jobs[0].Finished; ended > res.Makespan*3/4 {
			t.Errorf("%s: the small job ends at %v, everything at %v", name, ended, res.Makespan)
		}
	}
}
