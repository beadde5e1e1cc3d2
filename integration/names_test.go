package integration

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/worker"
)

// TestSecondWorkerOfAName: a worker that comes with the name of a live one, and another directory, ends with an error that
// names the holder; the holder works on. When the holder is stopped without a word and started again, it is back at once,
// long before it would be taken for silent.
func TestSecondWorkerOfAName(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	cfg := worker.DefaultConfig()
	cfg.Node, cfg.Master, cfg.Dir, cfg.Build = "w1", c.Addr, t.TempDir(), c.Build
	cfg.Reserve, cfg.NamePatience = 0, 200*time.Millisecond
	other, err := worker.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err = <-other.Failed():
	case <-time.After(30 * time.Second):
		err = errors.New("the second worker goes on")
	}
	if wire.KindOf(err) != wire.Exists || !strings.Contains(err.Error(), "there is a worker w1 already, at "+c.Workers[0].Worker.Addr()) {
		t.Errorf("the second worker: %v", err)
	}
	select {
	case <-other.Ready():
		t.Error("the second worker was ready")
	default:
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	run := func(out string) {
		t.Helper()
		if s := c.Finish(c.Submit(wire.JobSpec{}, "sleep", "--maps=2", "--reduces=1", "--map-time=1ms", "--reduce-time=1ms", "--output=dfs:/"+out)); s.State != "SUCCEEDED" || s.Attempts != 4 {
			tries, err := api.JobAttempts.Call(t.Context(), c.Client, c.Addr, wire.AttemptsRequest{Job: s.Job})
			t.Errorf("%+v; its drivers and what failed: %+v, %v", s, tries, err)
		}
	}
	run("one")
	c.Workers[0].Stop()
	c.Workers[0].Start()
	c.Wait("the worker is back under its name", func() bool {
		n := c.Nodes()
		return len(n) == 1 && n[0].State == "up" && n[0].Addr == c.Workers[0].Worker.Addr()
	})
	run("two")
}

// TestWorkersAreTakenInAtOnce: the first report of a worker does not wait for work, however long others may, so that its block
// store is open at once.
func TestWorkersAreTakenInAtOnce(t *testing.T) {
	t.Parallel()
	const hold = 9 * time.Second
	begin := time.Now()
	testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) { m.Hold = hold }})
	if took := time.Since(begin); took >= hold {
		t.Errorf("two workers are ready after %v", took)
	}
}

// TestWorkersWithoutNames: two workers of one host that were given no name both work, and each has its own after a restart. A third
// with the name of one of them is refused, and never says that it is ready.
func TestWorkersWithoutNames(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, 0)
	start := func(dir string, more ...string) {
		p.start(dir, append([]string{"worker", "--master", p.addr, "--listen", "127.0.0.1:0", "--dir", filepath.Join(p.dir, dir), "--memory", "64MiB"}, more...)...)
	}
	names := func() (up []string) {
		nodes, err := p.cl.Nodes(t.Context())
		for _, n := range nodes {
			if err == nil && n.State == "up" {
				up = append(up, string(n.Node))
			}
		}
		slices.Sort(up)
		return up
	}
	start("one")
	start("two")
	ready := func(times int) bool {
		return strings.Count(p.log("one"), "worker is ready") == times && strings.Count(p.log("two"), "worker is ready") == times
	}
	p.wait("both are up, and have said so", func() bool { return len(names()) == 2 && ready(1) })
	before := names()
	for _, dir := range []string{"one", "two"} {
		p.kill(dir)
		start(dir)
	}
	p.wait("both are back", func() bool { return ready(2) })
	if after := names(); !slices.Equal(before, after) {
		t.Errorf("the workers %v are %v after a restart", before, after)
	}
	start("three", "--name", before[0])
	third := p.run["three"]
	delete(p.run, "three")
	if err := third.Wait(); err == nil {
		t.Error("a worker with the name of another ended well")
	}
	if said := p.log("three"); strings.Contains(said, "worker is ready") || !strings.Contains(said, "there is a worker "+before[0]+" already") {
		t.Errorf("the third said\n%s", said)
	}
}

// log is what a process has printed.
func (p *processes) log(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name+".log"))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}
