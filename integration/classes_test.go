package integration

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/worker"
)

// attemptTimes are how long the attempts of a job took that have ended well, by node, of a kind, in order.
func attemptTimes(t *testing.T, c *testcluster.Cluster, id wire.JobID, kind wire.TaskKind, tasks int32) map[wire.NodeName][]time.Duration {
	t.Helper()
	out := map[wire.NodeName][]time.Duration{}
	for i := range tasks {
		list, err := api.JobAttempts.Call(context.Background(), c.Client, c.Addr, wire.AttemptsRequest{Job: id, Task: kind, Index: i})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			if a.How == wire.PastDone {
				out[a.Node] = append(out[a.Node], time.Duration(a.End-a.Begin))
			}
		}
	}
	for _, times := range out {
		slices.Sort(times)
	}
	return out
}

// TestSlowClass: of two machines that differ in speed only, the one of a quarter of the speed takes four times as long for
// maps that sleep and for maps that compute, about, and says that it is busy while they sleep.
func TestSlowClass(t *testing.T) {
	t.Parallel()
	speeds := map[wire.NodeName]float64{"w1": 1, "w2": 0.25}
	c := testcluster.Start(t, testcluster.Config{
		Workers: 2,
		Master:  func(m *master.Config) { m.Policy, m.Admission, m.Jobs.SecondAttempts.Off = "fifo", "unlimited", true },
		Worker: func(w *worker.Config) {
			w.Speed, w.Capacity = speeds[w.Node], wire.Capacity{Containers: 2}
		},
	})
	for _, n := range c.Nodes() {
		if n.Speed != speeds[n.Node] {
			t.Errorf("%s says that its speed is %g", n.Node, n.Speed)
		}
	}
	w, err := c.DFS.Create(t.Context(), "/in", dfs.CreateOptions{Replication: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(bytes.Repeat([]byte("some words to be counted, a line like all others\n"), 24<<20/49)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{
		"sleep --maps 8 --reduces 0 --map-time 150ms --output dfs:/slept-%d",
		"wordcount --input dfs:/in --split-bytes 2MiB --output dfs:/counted-%d",
	} {
		var ratio float64
		for try := range 5 { // this machine may stand still for a moment while one of the two works
			if ratio = slowness(t, c, fmt.Sprintf(words, try)); ratio >= 1.8 && ratio <= 12 {
				break
			}
		}
		if ratio < 1.8 || ratio > 12 {
			t.Errorf("%s: the slow machine takes %.2f times as long, want about 4", words, ratio)
		}
	}
}

// slowness runs a job and says how much longer its maps took on w2 than on w1, by their medians.
func slowness(t *testing.T, c *testcluster.Cluster, words string) float64 {
	t.Helper()
	id := c.Submit(wire.JobSpec{}, strings.Fields(words)...)
	s := c.Finish(id)
	if s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	times := attemptTimes(t, c, id, wire.MapTask, int32(s.Maps.Total))
	fast, slow := times["w1"], times["w2"]
	if len(fast) == 0 || len(slow) == 0 {
		t.Fatalf("%s: %d maps on the fast machine, %d on the slow one", words, len(fast), len(slow))
	}
	ratio := float64(slow[len(slow)/2]) / float64(fast[len(fast)/2])
	t.Logf("%s: %v and %v, ratio %.2f", words, fast, slow, ratio)
	return ratio
}

// TestEmulatedMachinesSayHowBusyTheyAre: attempts that only sleep make an emulated machine busy, and the controllers hear it.
func TestEmulatedMachinesSayHowBusyTheyAre(t *testing.T) {
	t.Parallel()
	var log decisions
	c := testcluster.Start(t, testcluster.Config{
		Workers: 1,
		Master: func(m *master.Config) {
			m.Policy, m.Admission, m.Jobs.Decisions = "fifo", "unlimited", log.add
		},
		Worker: func(w *worker.Config) { w.Speed, w.Capacity = 1, wire.Capacity{Containers: 3} },
	})
	c.Wait("an idle machine says so", func() bool { return log.idle() == 100 })
	c.Submit(wire.JobSpec{}, "sleep", "--maps", "2", "--reduces", "0", "--map-time", "10m", "--output", "dfs:/a")
	c.Wait("two of three processors sleep", func() bool { return log.idle() > 33 && log.idle() < 34 })
}

// idle is what the policies heard last of how idle the cluster is; -1 before that.
func (d *decisions) idle() (percent float64) {
	percent = -1
	for _, l := range d.lines() {
		if l.Kind == drive.LineEvent && l.Event.Kind == scheduler.EvCPUSample && l.Event.Node == topology.NoNode {
			percent = l.Event.Value
		}
	}
	return percent
}

// hybridClasses has one strong machine and some weak ones, in racks of their own.
func hybridClasses(t *testing.T, weak int) *testcluster.Cluster {
	return testcluster.Start(t, testcluster.Config{
		Workers: 1 + weak,
		Racks:   3,
		Master: func(m *master.Config) {
			m.Policy, m.PolicyParams, m.Admission, m.Placement = "hybrid", map[string]string{"scale": "0.0001", "steal": "false"}, "unlimited", "two-plus-one"
			m.Jobs.SecondAttempts.Off = true
		},
		Worker: func(w *worker.Config) {
			w.Machine, w.Capacity = "scale-out", wire.Capacity{Containers: 3}
			if w.Node == "w1" {
				w.Machine = "scale-up"
			} else {
				w.Rack, w.Speed = "r2", 0.5
			}
		},
	})
}

// TestHybridUsesClasses: of the three copies of a block one is on the strong machine and two on weak ones; a small job runs
// on the strong machine only, a large one on the weak machines only.
func TestHybridUsesClasses(t *testing.T) {
	t.Parallel()
	c := hybridClasses(t, 2)
	for name, size := range map[string]int{"/small": 100 << 10, "/large": 6 << 20} { // 1.7 MB is the border
		w, err := c.DFS.Create(t.Context(), name, dfs.CreateOptions{Replication: 3})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("a line of some words\n"), size/21)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		at, err := c.DFS.Locate(t.Context(), name, 0, int64(size))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range at.Blocks {
			up := 0
			for _, r := range b.Places {
				if r.Node == "w1" {
					up++
				}
			}
			if len(b.Places) != 3 || up != 1 {
				t.Errorf("%s: copies on %v, want one of three on w1", name, b.Places)
			}
		}
	}
	for name, strong := range map[string]bool{"small": true, "large": false} {
		id := c.Submit(wire.JobSpec{}, "wordcount", "--input=dfs:/"+name, "--output=dfs:/out-"+name, "--split-bytes=32KiB", "--reducers=2")
		s := c.Finish(id)
		if s.State != "SUCCEEDED" {
			t.Fatalf("%+v", s)
		}
		t.Logf("%s: %d maps, %d ms", name, s.Maps.Total, s.Ended-s.Submitted)
		for kind, tasks := range map[wire.TaskKind]int{wire.MapTask: s.Maps.Total, wire.ReduceTask: s.Reduces.Total} {
			on := attemptTimes(t, c, id, kind, int32(tasks))
			if _, is := on["w1"]; is != strong || strong && len(on) != 1 {
				t.Errorf("the %s job has %ss on %v", name, kind, slices.Sorted(maps.Keys(on)))
			}
		}
	}
}

// TestHybridWithoutScaleUp: hybrid is taken by a cluster that has no scale-up machine, and says so wherever a user looks: when it
// is set, in the status, the log and a job's reasons; jobs run on what there is. It has nothing to say when the machine comes.
func TestHybridWithoutScaleUp(t *testing.T) {
	require.Tool(t, "go")
	t.Parallel()
	c := hybridClasses(t, 3) // three copies have a place without the strong one
	c.Wait("four workers", func() bool { return len(c.Nodes()) == 4 })
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(millrace, append(args, "--master", c.Addr)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	const lacks = `hybrid has no machine of class "scale-up": small jobs run beside the large ones, on all machines`
	if out := run("scheduler", "status"); strings.Contains(out, "note") {
		t.Errorf("there is a scale-up machine:\n%s", out)
	}
	run("node", "drain", "w1")
	c.Wait("the machine to leave", func() bool { return strings.Contains(run("scheduler", "status"), lacks) })
	if out := run("scheduler", "set", "hybrid", "--param", "scale=1e6"); !strings.Contains(out, "note: "+lacks) {
		t.Errorf("scheduler set says %s", out)
	}
	id := c.Submit(wire.JobSpec{}, "sleep", "--maps", "7", "--reduces", "0", "--map-time", "2s", "--output", "dfs:/out")
	c.Wait("its maps", func() bool { return c.Status(id).Maps.Running > 0 })
	if out := run("job", "why", string(id)); !strings.Contains(out, lacks) {
		t.Errorf("job why says %s", out)
	}
	if s := c.Finish(id); s.State != "SUCCEEDED" {
		t.Errorf("%+v", s)
	}
	c.Wait("the log to say it", func() bool { return strings.Contains(run("scheduler", "log"), lacks) })
	run("node", "undrain", "w1")
	c.Wait("the log to say that it came", func() bool { return strings.Contains(run("scheduler", "log"), "nothing is amiss") })
	if out := run("scheduler", "status"); strings.Contains(out, lacks) {
		t.Errorf("the machine is back:\n%s", out)
	}
}
