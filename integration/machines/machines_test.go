package machines

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
)

var (
	seed  = flag.Uint64("machines.seed", 0, "run this seed only, with a trace")
	seeds = flag.Int("machines.seeds", 0, "how many seeds to run")
)

func policy(t testing.TB, name string) func() scheduler.Policy {
	return func() scheduler.Policy {
		p, err := policies.Policy(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func worldOf(t testing.TB, seed uint64) Config {
	names := []string{"fifo", "fair", "delay", "capacity", "fbq"}
	cfg := Config{
		Seed: seed, Workers: 5, Racks: 2, Jobs: 4, MapsPerJob: 8, ReducesPerJob: 3, Policy: policy(t, names[seed%5]),
		Loss: 0.03, Double: 0.03, WorkerDeath: 0.02, DiskLoss: 0.5, MasterDeath: 0.03, Cut: 0.01, TaskFails: 0.03, TaskLost: 0.02,
		FaultsUntil: 60 * time.Second, Deadline: 200 * time.Second, MaxTime: 400 * time.Second,
		PoisonedJobs: int(seed % 7 / 6), Speculation: seed%2 == 0,
	}
	if seed%3 == 0 { // a rough world
		cfg.Loss, cfg.Double, cfg.WorkerDeath, cfg.MasterDeath = 0.15, 0.15, 0.06, 0.08
	}
	return cfg
}

// TestMachines: whatever breaks, every job ends, its output is whole and named once, and nothing
// is left running or lying about.
func TestMachines(t *testing.T) {
	n := 60
	if require.Stressed() {
		n = 1000
	}
	if *seeds > 0 {
		n = *seeds
	}
	if *seed > 0 {
		cfg := worldOf(t, *seed)
		cfg.Trace = t.Logf
		for _, p := range New(cfg).Run() {
			t.Error(p)
		}
		return
	}
	var deaths, masters, cuts, steps int
	for s := range uint64(n) {
		w := New(worldOf(t, s+1))
		for _, p := range w.Run() {
			t.Errorf("seed %d: %s", s+1, p)
		}
		deaths, masters, cuts, steps = deaths+w.Deaths, masters+w.MasterDeaths, cuts+w.Cuts, steps+w.Steps
		if t.Failed() {
			t.Fatalf("replay with -machines.seed=%d", s+1)
		}
	}
	t.Logf("%d worlds: %d workers and %d masters died, %d cuts, %d steps", n, deaths, masters, cuts, steps)
	if deaths == 0 || masters == 0 || cuts == 0 {
		t.Error("nothing broke, so nothing was tested")
	}
}

// TestSameSeedSameWorld: a seed decides everything that happens.
func TestSameSeedSameWorld(t *testing.T) {
	for seed := range uint64(6) {
		var first string
		for run := range 3 {
			h := sha256.New()
			cfg := worldOf(t, seed+1)
			cfg.Trace = func(format string, args ...any) { fmt.Fprintf(h, format+"\n", args...) }
			New(cfg).Run()
			if sum := fmt.Sprintf("%x", h.Sum(nil)); run == 0 {
				first = sum
			} else if sum != first {
				t.Errorf("seed %d: run %d went another way", seed+1, run)
			}
		}
	}
}
