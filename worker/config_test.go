package worker

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

// TestOneBudget: a worker that is told nothing of memory divides the default, for itself and for attempts in processes of their own.
func TestOneBudget(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Node, cfg.Master, cfg.Dir, cfg.Memory, cfg.Capacity.Containers = "w1", "127.0.0.1:1", t.TempDir(), 0, 4
	cfg.Build = func(*wire.Program) ([]mapreduce.Job, error) { return nil, nil }
	if err := cfg.validate(); err != nil {
		t.Fatal(err)
	}
	w := &Worker{cfg: cfg}
	if own, child := w.Budget().Total(), w.budgetOf(&wire.Launch{}).Total(); own != shuffle.DefaultMemory || child != shuffle.DefaultMemory/4 {
		t.Errorf("%d bytes for the worker and %d for an attempt, want %d and a quarter of it", own, child, shuffle.DefaultMemory)
	}
}

// TestUsualCapacity: a worker that is told nothing has a container for each processor, and one for those that wait for a disk.
func TestUsualCapacity(t *testing.T) {
	if got, want := DefaultConfig().Capacity, (wire.Capacity{Containers: int32(runtime.NumCPU() + 1)}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestBadConfigs: a worker that cannot work says why before it touches anything, and takes the smallest and largest that it can work with.
func TestBadConfigs(t *testing.T) {
	key := new(secure.Key)
	for _, x := range []struct {
		want   string // "": it is taken
		change func(c *Config)
	}{
		{"", func(*Config) {}},
		{"--name", func(c *Config) { c.Node = "" }},
		{"--master", func(c *Config) { c.Master = "" }},
		{"--dir", func(c *Config) { c.Dir = "" }},
		{"memory", func(c *Config) { c.Memory = -1 }},
		{`isolation is "jail"`, func(c *Config) { c.Isolation = "jail" }},
		{"", func(c *Config) { c.Isolation = IsolationLandlock }},
		{`task network is "lan"`, func(c *Config) { c.TaskNetwork = "lan" }},
		{"", func(c *Config) { c.TaskNetwork = NetworkNone }},
		{"task processes are 31", func(c *Config) { c.TaskProcesses = 31 }},
		{"", func(c *Config) { c.TaskProcesses = 32 }},
		{"speed is 0.009", func(c *Config) { c.Speed = 0.009 }},
		{"speed is 1.01", func(c *Config) { c.Speed = 1.01 }},
		{"speed is NaN", func(c *Config) { c.Speed = math.NaN() }},
		{"", func(c *Config) { c.Speed = MinSpeed }},
		{"", func(c *Config) { c.Speed = 1 }},
		{"fetch stall is 0s", func(c *Config) { c.FetchStall = 0 }},
		{"", func(c *Config) { c.FetchStall = 1 }},
		{"task disk is -1", func(c *Config) { c.TaskDisk = -1 }},
		{"", func(c *Config) { c.TaskDisk = 0 }},
		{"cannot build jobs", func(c *Config) { c.Build = nil }},
		{"0.0.0.0:0", func(c *Config) { c.Listen = "0.0.0.0:0" }},
		{"", func(c *Config) { c.Listen, c.Insecure = "0.0.0.0:0", true }},
		{"", func(c *Config) { c.Listen, c.Key = "0.0.0.0:0", key }},
	} {
		c := DefaultConfig()
		c.Node, c.Master, c.Dir = "w1", "127.0.0.1:1", t.TempDir()
		c.Build = func(*wire.Program) ([]mapreduce.Job, error) { return nil, nil }
		x.change(&c)
		if err := c.validate(); (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("want %q, got %v", x.want, err)
		}
	}
}

// TestSharesOfAttempts: an attempt that asks for memory has that, and the engine half of it; one that does not has a container's part. On an emulated
// machine it has its own processors.
func TestSharesOfAttempts(t *testing.T) {
	w := &Worker{cfg: DefaultConfig()}
	w.cfg.Capacity.Containers = 4
	var err error
	if w.cfg.budget, err = shuffle.NewBudget(1<<30, 0); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		l                    wire.Launch
		speed                float64
		budget, limit, procs int64
	}{
		{wire.Launch{}, 0, 256 << 20, 1280 << 20, 0},
		{wire.Launch{MemoryMB: 100, VCores: 3}, 0, 50 << 20, 100 << 20, 0},
		{wire.Launch{MemoryMB: 200}, 0.5, 100 << 20, 200 << 20, 1},
		{wire.Launch{VCores: 3}, 0.5, 256 << 20, 1280 << 20, 3},
	} {
		w.cfg.Speed = x.speed
		if b, l, p := w.budgetOf(&x.l).Total(), w.limitOf(&x.l), w.processorsOf(&x.l); b != x.budget || l != x.limit || p != float64(x.procs) {
			t.Errorf("%+v: %d for the engine of %d, %g processors; want %d, %d, %d", x.l, b, l, p, x.budget, x.limit, x.procs)
		}
	}
}
