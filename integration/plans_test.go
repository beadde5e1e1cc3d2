package integration

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/topology"
)

// TestAnnouncedJobRunsWhereItsInputIs: a job is announced and its input put in the racks of its plan; the master is started
// again and still knows. When the job comes, all its tasks run in those racks, and every map beside its input. Under fair
// nothing is planned, and the maps spread.
func TestAnnouncedJobRunsWhereItsInputIs(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"corral", "fair"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			c, log := fourRacks(t, policy)
			args := []string{"--input", "dfs:/in/f", "--output", "dfs:/out", "--reducers", "1", "--split-bytes", "64KiB"}
			spec := wire.JobSpec{
				Name: "daily", User: "ann", Recurring: true, Stages: 1, Program: wire.Program{Builtin: "wordcount", Args: args},
				Expect: wire.Expected{Input: 640 << 10, Shuffle: 2e9, MapMillis: 50, ReduceMillis: 50},
			}
			ask := func(r wire.PlanRequest) (racks []string) {
				c.Wait("it is announced", func() bool { // the connection breaks when the master stops
					p, err := api.SchedulerPlan.Call(context.Background(), c.Client, c.Addr, r)
					if err == nil && len(p.Plans) == 1 {
						racks = p.Plans[0].MapRacks
					}
					return err == nil && len(p.Plans) == 1
				})
				return racks
			}
			racks := ask(wire.PlanRequest{Jobs: []wire.JobSpec{spec}})
			if (len(racks) == 1) != (policy == "corral") {
				t.Fatalf("planned for %v", racks)
			}
			write(t, c, "/in/f", bytes.Repeat([]byte("a b c d e f g\n"), 640<<10/14), dfs.CreateOptions{Racks: racks, Replication: 1, BlockSize: 64 << 10})
			if err := c.Master.Close(); err != nil {
				t.Fatal(err)
			}
			c.StartMaster()
			if policy == "corral" && !slices.Equal(ask(wire.PlanRequest{}), racks) {
				t.Fatal("the plan is forgotten")
			}
			c.Wait("all workers are back", func() bool {
				nodes, err := api.NodeList.Call(context.Background(), c.Client, c.Addr, struct{}{})
				return err == nil && len(nodes) == 4 && !slices.ContainsFunc(nodes, func(n wire.NodeStatus) bool { return n.State != "up" })
			})
			s := c.Finish(c.Submit(spec, append([]string{"wordcount"}, args...)...))
			if s.State != "SUCCEEDED" {
				t.Fatalf("%+v", s)
			}
			rackOf := map[topology.NodeID]string{} // as the second master numbers them
			for _, line := range log.lines() {
				if line.Kind == drive.LineNode {
					rackOf[line.Node] = line.Rack
				}
			}
			ran := map[string]int{}
			for _, k := range []scheduler.Kind{scheduler.Map, scheduler.Reduce} {
				_, nodes := log.launches(k)
				for _, n := range nodes {
					ran[rackOf[n]]++
				}
			}
			t.Logf("planned for %v, ran in %v, locality %v", racks, ran, s.Locality)
			if policy == "corral" && (ran[racks[0]] != s.Attempts-1 || s.Locality["node"] != s.Maps.Total) {
				t.Errorf("planned for %v, ran in %v of %d attempts; %v of %d maps had their input there", racks, ran, s.Attempts, s.Locality, s.Maps.Total)
			}
			if policy == "fair" && len(ran) < 3 {
				t.Errorf("without a plan it ran in %v", ran)
			}
		})
	}
}

// TestOutputGoesWhereItIsRead: a job writes what an announced one will read, as in a batch with after. Its blocks are in the rack of that
// one's plan, and all maps that read them run there, beside them.
func TestOutputGoesWhereItIsRead(t *testing.T) {
	t.Parallel()
	const parts = 8
	c := testcluster.Start(t, testcluster.Config{Workers: 4, Racks: 4, Master: func(m *master.Config) {
		m.Policy, m.Admission, m.Jobs.SecondAttempts.Off = "corral", "unlimited", true
		m.Jobs.Links = topology.Links{Uplink: topology.Mbps(10)}
		set := m.Names
		m.Names = func(n *names.Config) { set(n); n.Replication = 1 }
	}})
	var text bytes.Buffer
	for i := range 40_000 {
		fmt.Fprintln(&text, "word", i)
	}
	write(t, c, "/in", text.Bytes(), dfs.CreateOptions{})
	args := []string{"--input", "dfs:/mid", "--output", "dfs:/out", "--reducers", "1", "--split-bytes", "32KiB"}
	spec := wire.JobSpec{
		Name: "daily", User: "ann", Recurring: true, Stages: 1, Program: wire.Program{Builtin: "wordcount", Args: args},
		Expect: wire.Expected{Input: 640 << 10, Shuffle: 2e9, MapMillis: 50, ReduceMillis: 50},
	}
	p, err := api.SchedulerPlan.Call(t.Context(), c.Client, c.Addr, wire.PlanRequest{Jobs: []wire.JobSpec{spec}})
	if err != nil || len(p.Plans) != 1 || len(p.Plans[0].MapRacks) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if s := c.Finish(c.Submit(wire.JobSpec{User: "ann"}, "wordcount", "--input", "dfs:/in", "--output", "dfs:/mid", "--reducers", fmt.Sprint(parts))); s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	in := map[string]int{} // parts by rack
	for i := range parts {
		at, err := c.DFS.Locate(t.Context(), fmt.Sprintf("/mid/part-r-%05d", i), 0, 1<<20)
		if err != nil || len(at.Blocks) != 1 || len(at.Blocks[0].Places) != 1 {
			t.Fatalf("part %d: %+v, %v", i, at, err)
		}
		in[at.Blocks[0].Places[0].Rack]++
	}
	s := c.Finish(c.Submit(spec, append([]string{"wordcount"}, args...)...))
	if racks := p.Plans[0].MapRacks; s.State != "SUCCEEDED" || in[racks[0]] != parts || s.Locality["node"] != s.Maps.Total || s.Maps.Total < parts {
		t.Errorf("%s: planned for %v, %d parts in %v; %v of %d maps had their input there", s.State, racks, parts, in, s.Locality, s.Maps.Total)
	}
}

// TestRunningJobKeepsItsPlan: the master is started again while a job runs that was announced, or planned when it came. Its tasks go
// on in the rack of its plan.
func TestRunningJobKeepsItsPlan(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"corral", "jobpacker", "corral on arrival", "jobpacker on arrival"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policy, arrives := strings.CutSuffix(name, " on arrival")
			c, log := fourRacks(t, policy)
			args := []string{"--maps", "24", "--reduces", "1", "--map-time", "200ms", "--reduce-time", "10ms", "--output", "dfs:/out"}
			spec := wire.JobSpec{
				Name: "daily", User: "ann", Recurring: true, Stages: 1, Program: wire.Program{Builtin: "synthetic", Args: args},
				Expect: wire.Expected{Maps: 24, Reduces: 1, Input: 24 << 20, Shuffle: 2e9, MapMillis: 200, ReduceMillis: 10},
			}
			if !arrives {
				if _, err := api.SchedulerPlan.Call(t.Context(), c.Client, c.Addr, wire.PlanRequest{Jobs: []wire.JobSpec{spec}}); err != nil {
					t.Fatal(err)
				}
			}
			id := c.Submit(spec, append([]string{"synthetic"}, args...)...)
			c.Wait("it is under way", func() bool { return c.Status(id).Maps.Done >= 3 })
			p, err := api.SchedulerPlan.Call(t.Context(), c.Client, c.Addr, wire.PlanRequest{})
			if err != nil || len(p.Plans) != 1 || len(p.Plans[0].MapRacks) != 1 {
				t.Fatalf("%+v, %v", p, err)
			}
			if err := c.Master.Close(); err != nil {
				t.Fatal(err)
			}
			before := len(log.lines())
			c.StartMaster()
			if s := c.Finish(id); s.State != "SUCCEEDED" {
				t.Fatalf("%+v", s)
			}
			rackOf, ran := map[topology.NodeID]string{}, map[string]int{}
			for _, l := range log.lines()[before:] {
				if l.Kind == drive.LineNode {
					rackOf[l.Node] = l.Rack
				}
				for _, s := range l.Steps {
					if s.Do == drive.Launch && s.Task.Kind == scheduler.Map {
						ran[rackOf[s.Node]]++
					}
				}
			}
			t.Logf("planned for %v, after the restart maps began in %v", p.Plans[0].MapRacks, ran)
			if len(ran) != 1 || ran[p.Plans[0].MapRacks[0]] == 0 {
				t.Errorf("planned for %v, after the restart maps began in %v", p.Plans[0].MapRacks, ran)
			}
		})
	}
}

// write puts a file into the store.
func write(t *testing.T, c *testcluster.Cluster, path string, data []byte, o dfs.CreateOptions) {
	t.Helper()
	w, err := c.DFS.Create(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestShufflesAreSentTogether: the reduces of a job that is packed for circuits start before its last map. Under jobpacker
// they fetch nothing from the other rack before all maps are done and both reduces are placed; then all goes at once.
// Under corral they fetch as maps finish.
func TestShufflesAreSentTogether(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"corral", "jobpacker"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			var log decisions
			c := testcluster.Start(t, testcluster.Config{Workers: 3, Racks: 3, Master: func(m *master.Config) {
				m.Policy, m.Admission, m.Jobs.Decisions, m.Jobs.SecondAttempts.Off = policy, "unlimited", log.add, true
				m.Jobs.Links = topology.Links{Uplink: topology.Mbps(10)}
			}})
			spec := wire.JobSpec{Name: "daily", Recurring: true, Slowstart: 0.2, Expect: wire.Expected{Shuffle: 2e9, MapMillis: 100, ReduceMillis: 50}}
			s := c.Finish(c.Submit(spec, "synthetic", "--maps", "12", "--reduces", "2", "--map-time", "100ms", "--reduce-time", "10ms", "--shuffle-bytes", "1MiB", "--output", "dfs:/out"))
			if s.State != "SUCCEEDED" {
				t.Fatalf("%+v", s)
			}
			maps, reduces, early, shut, opened := 0, 0, 0, 0, 0
			for _, l := range log.lines() {
				if l.Event.Kind == scheduler.EvTaskFinished && l.Event.Task.Kind == scheduler.Map {
					maps++
				}
				for _, st := range l.Steps {
					if st.Do == drive.Launch && st.Task.Kind == scheduler.Reduce {
						reduces++
					}
				}
				switch {
				case l.Kind != drive.LineGate:
				case !l.Gate.Open:
					shut++
				case maps < 12 || reduces < 2:
					early++
				default:
					opened++
				}
			}
			what := fmt.Sprintf("asked and refused %d times, let go %d times before the last map and %d times after", shut, early, opened)
			t.Log(what)
			if policy == "jobpacker" && (shut == 0 || early > 0 || opened == 0) || policy == "corral" && shut > 0 {
				t.Error(what)
			}
			p, err := policies.Policy(policy, policies.LiveParams(policy, nil))
			if err != nil {
				t.Fatal(err)
			}
			// What was planned and held is in the log, with the rates of links that it depends on: a simulator decides the same.
			if err := drive.Replay(tracker.DefaultConfig().Scheduler, drive.Config{Refill: true, Spread: true}, p, nil, log.lines()); err != nil {
				t.Error(err)
			}
		})
	}
}

// fourRacks is a cluster of a worker in each of four racks, with narrow links between them, and what its policy decides.
func fourRacks(t *testing.T, policy string) (*testcluster.Cluster, *decisions) {
	t.Helper()
	var log decisions
	return testcluster.Start(t, testcluster.Config{Workers: 4, Racks: 4, Master: func(m *master.Config) {
		m.Policy, m.Admission, m.Jobs.Decisions, m.Jobs.SecondAttempts.Off = policy, "unlimited", log.add, true
		m.Jobs.Links = topology.Links{Uplink: topology.Mbps(10)}
	}}), &log
}
