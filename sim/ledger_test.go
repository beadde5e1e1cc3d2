package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// anyRun draws a cluster that reports in one of all ways, with nodes that die and attempts that straggle.
func anyRun(t *testing.T, rng *rand.Rand) Config {
	cfg := Config{
		Topology: cluster(t, 2, 3), Capacity: scheduler.Capacity{Containers: 4}, Policy: policy(t, []string{"fifo", "fair", "delay"}[rng.IntN(3)], nil),
		State: scheduler.DefaultConfig(), Model: NewFixed(), Seed: rng.Uint64(), DriverStart: 2 * time.Second, BreakDeadlocks: true,
		Views: Views{LogAttempts: true, Timeline: 3 * time.Second, SampleEvery: 700 * time.Millisecond},
	}
	if rng.IntN(2) == 0 {
		cfg.Capacity = scheduler.Capacity{MapSlots: 3, ReduceSlots: 2, Containers: 6}
	}
	switch rng.IntN(5) {
	case 0:
		cfg.Heartbeat = time.Second
	case 1:
		cfg.Heartbeat, cfg.OutOfBand = 3*time.Second, true
	case 2:
		cfg.Heartbeat, cfg.ReportLate, cfg.PerHeartbeat = time.Second, true, 1
	case 3:
		cfg.AskAgain = 100 * time.Millisecond
	}
	for range rng.IntN(3) {
		at := time.Duration(rng.IntN(100)) * time.Second
		cfg.Faults = append(cfg.Faults, Fault{Node: topology.NodeID(rng.IntN(5)), At: at, Until: at + 30*time.Second, KeepOutput: rng.IntN(2) == 0})
	}
	if rng.IntN(2) == 0 {
		cfg.Stragglers, cfg.Seconds = Stragglers{Share: 0.2, Factor: 10}, drive.LATE{After: time.Second, Slower: 1.2, Share: 0.5}
	}
	if rng.IntN(3) == 0 {
		cfg.Speeds = []float64{1, 0.5, 2, 1, 1, 1}
	}
	return cfg
}

// TestBooksOfARun: what a result says is what its attempts add up to, and what the scheduler is told runs is what runs.
func TestBooksOfARun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		cfg := anyRun(t, rng)
		runs, samples := map[Attempt]bool{}, 0
		cfg.Watch = func(_ time.Duration, a Attempt, started bool) {
			if runs[a] == started {
				rt.Fatalf("%+v starts (%v) twice", a, started)
			}
			if runs[a] = started; !started {
				delete(runs, a)
			}
		}
		cfg.Sample = func(now time.Duration, v *scheduler.View) {
			samples++
			use, want := v.ClusterUsed().Tasks, [2]int32{}
			for a := range runs {
				want[kindOf(a.Task)]++
			}
			if !cfg.ReportLate && ([2]int32{use[scheduler.Map], use[scheduler.Reduce]}) != want {
				rt.Fatalf("at %v the scheduler counts %v, %v run", now, use, want)
			}
		}
		jobs := workload(rng, 10)
		res, err := Run(cfg, jobs)
		if err != nil {
			rt.Fatal(err)
		}
		if len(runs) > 0 || samples != int((res.Makespan-1)/cfg.SampleEvery) && samples != int(res.Makespan/cfg.SampleEvery) {
			rt.Fatalf("%d attempts run for ever; %d samples until %v", len(runs), samples, res.Makespan)
		}
		checkResult(rt, res)
		checkTimeline(rt, &cfg, res)
		for i := range res.Jobs {
			checkJob(rt, &cfg, &res.Jobs[i], res.Log)
		}
	})
}

func checkResult(rt *rapid.T, res *Result) {
	var want Result
	for _, a := range res.Log {
		want.Busy[a.Task.Kind] += a.End - a.Start
		if !a.OK {
			want.Killed++
		}
		if a.Second {
			want.Second++
		}
		if a.OK && a.Second {
			want.Won++
		}
	}
	if res.Busy != want.Busy || res.Killed != want.Killed || res.Second != want.Second || res.Won > want.Won || res.Launches < int64(len(res.Log)) {
		rt.Fatalf("%+v, by its attempts %+v", res, want)
	}
}

// checkTimeline compares each point with the attempts that ran then; what starts or ends at that moment may count or not.
func checkTimeline(rt *rapid.T, cfg *Config, res *Result) {
	for i, p := range res.Timeline {
		var least, most [2]int32
		for _, a := range res.Log {
			if a.Start <= p.At && a.End >= p.At {
				most[kindOf(a.Task)]++
			}
			if a.Start < p.At && a.End > p.At {
				least[kindOf(a.Task)]++
			}
		}
		jobs := 0
		for j := range res.Jobs {
			if res.Jobs[j].Submitted <= p.At && res.Jobs[j].Finished > p.At {
				jobs++
			}
		}
		late := cfg.ReportLate
		if p.At != time.Duration(i+1)*cfg.Timeline || p.Maps < least[0] || p.Reduces < least[1] || !late && (p.Maps > most[0] || p.Reduces > most[1]) || p.Jobs < jobs {
			rt.Fatalf("point %d: %+v; between %v and %v ran, of %d jobs", i, p, least, most, jobs)
		}
	}
	if n := int((res.Makespan - 1) / cfg.Timeline); len(res.Timeline) < n || len(res.Timeline) > n+1 {
		rt.Fatalf("%d points until %v", len(res.Timeline), res.Makespan)
	}
}

// checkJob adds up the attempts of a job.
func checkJob(rt *rapid.T, cfg *Config, r *JobResult, log []AttemptLog) {
	var mine []AttemptLog
	var held, maps, last time.Duration
	ended := map[scheduler.TaskID]bool{}
	for _, a := range log {
		if a.Task.Job != r.Job.Spec.ID {
			continue
		}
		mine = append(mine, a)
		held += a.End - a.Start
		if last = max(last, a.End); a.OK {
			ended[a.Task] = true
		}
		if a.OK && a.Task.Kind == scheduler.Map {
			maps = max(maps, a.End)
		}
		if want := slow(cfg, r.Job, a.Attempt); a.OK && a.Task.Kind == scheduler.Map && !cfg.ReportLate && a.End-a.Start != want {
			rt.Fatalf("%+v took %v, want %v", a, a.End-a.Start, want)
		}
	}
	tasks := int(r.Job.Spec.Maps + r.Job.Spec.Reduces)
	if r.Occupied != held || r.Attempts != len(mine) || len(ended) != tasks || r.Finished < last || r.Completion() != r.Finished-r.Submitted {
		rt.Fatalf("%+v: %d attempts of %d tasks held %v until %v", r, len(mine), len(ended), held, last)
	}
	if r.Job.Spec.Maps > 0 && r.MapsDone != maps {
		rt.Fatalf("maps done at %v, the last ended at %v", r.MapsDone, maps)
	}
	if len(mine) == 0 {
		return
	}
	first := slices.MinFunc(mine, func(a, b AttemptLog) int { return cmp.Compare(a.Start, b.Start) })
	if r.FirstStart != first.Start || r.Wait() != first.Start-r.Submitted || r.Execution() != r.Finished-first.Start || r.Admitted < r.Submitted || r.Admitted > first.Start {
		rt.Fatalf("%+v: the first started at %v", r, first.Start)
	}
	checkFirsts(rt, r, mine)
}

// checkFirsts compares the first starts by kind, and where maps ran.
func checkFirsts(rt *rapid.T, r *JobResult, mine []AttemptLog) {
	begin, local := [2]time.Duration{Never, Never}, [3]int{}
	for _, a := range mine {
		begin[kindOf(a.Task)] = min(begin[kindOf(a.Task)], a.Start)
		if a.Task.Kind == scheduler.Map && a.Locality < scheduler.Anywhere {
			local[a.Locality]++
		}
	}
	if begin[0] != Never && r.FirstMap != begin[0] && begin[0] > 0 || begin[1] != Never && r.FirstRed != begin[1] && begin[1] > 0 || r.Local != local {
		rt.Fatalf("%+v: maps began at %v, reduces at %v; %v by place", r, begin[0], begin[1], local)
	}
}

// slow is how long an attempt should take.
func slow(cfg *Config, j *Job, a Attempt) time.Duration {
	d := float64(j.Time(a.Task))
	if cfg.Speeds != nil {
		return time.Duration(d * (max(1, straggles(cfg, a)) / cfg.Speeds[a.Node]))
	}
	if s := straggles(cfg, a); s > 0 {
		return time.Duration(d * s)
	}
	return time.Duration(d)
}

// straggles is the factor of an attempt that was drawn to straggle, as its speed shows.
func straggles(cfg *Config, a Attempt) float64 {
	speed := 1.0
	if cfg.Speeds != nil {
		speed = cfg.Speeds[a.Node]
	}
	if a.Slow*speed > 1.5 {
		return cfg.Stragglers.Factor
	}
	return 0
}
