package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// launches are the maps and reduces of jobs in the order in which the policies started them, by name of the job.
func (d *decisions) launches(k scheduler.Kind) (names []string, nodes []topology.NodeID) {
	called := map[scheduler.JobID]string{}
	for _, l := range d.lines() {
		if s := l.Event.Spec; s != nil {
			called[s.ID] = s.Name
		}
		for _, s := range l.Steps {
			if s.Do == drive.Launch && s.Task.Kind == k {
				names, nodes = append(names, called[s.Task.Job]), append(nodes, s.Node)
			}
		}
	}
	return names, nodes
}

// TestSmallJobsPassLargeOnes: a job of three maps comes while one of eighty runs. Under fifo its maps start after all of the
// large job's; the policies that share, or look at sizes, start them before at least twenty of those.
func TestSmallJobsPassLargeOnes(t *testing.T) {
	t.Parallel()
	for policy, params := range map[string]map[string]string{
		"fifo": nil, "fair": nil, "delay": nil, "srpt": nil, "comp": nil,
		// in slot-seconds: the small job stays below on a machine that is eight times too slow, the large one is beyond when it comes
		"fbq": {"limits": "2.4"}, "tags": {"limits": "2.4"}, "sita": {"limits": "2.4"},
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			var log decisions
			c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) {
				m.Policy, m.PolicyParams, m.Admission, m.Jobs.Decisions, m.Jobs.SecondAttempts.Off = policy, params, "unlimited", log.add, true
			}})
			c.Finish(sleepers(c, "before", 12)) // something to compare with
			found, after := smallBesideLarge(t, c, &log, "small", "large")
			t.Logf("%d maps of the large job started after the small job's last", after)
			if found != 3 || policy == "fifo" && after > 0 || policy != "fifo" && after < 20 {
				t.Errorf("%d maps of the small job, and %d of the large one after its last", found, after)
			}
		})
	}
}

// sleepers hands in a job of so many maps that sleep for 100 ms.
func sleepers(c *testcluster.Cluster, name string, maps int) wire.JobID {
	e := wire.Expected{Input: int64(maps) << 20, MapMillis: 100}
	return c.Submit(wire.JobSpec{Name: name, User: name, Pool: name, Expect: e}, "sleep", "--maps", fmt.Sprint(maps), "--reduces", "0", "--map-time", "100ms", "--output", "dfs:/"+name)
}

// smallBesideLarge hands in a job of three maps while one of eighty runs, and returns how many maps of it started, and how many of the large
// one after its last.
func smallBesideLarge(t *testing.T, c *testcluster.Cluster, log *decisions, small, large string) (found, after int) {
	t.Helper()
	first := sleepers(c, large, 80)
	c.Wait("the large job is under way", func() bool { return c.Status(first).Maps.Done >= 30 })
	for _, id := range []wire.JobID{sleepers(c, small, 3), first} {
		if s := c.Finish(id); s.State != "SUCCEEDED" {
			t.Fatalf("%+v", s)
		}
	}
	names, _ := log.launches(scheduler.Map)
	for _, n := range names {
		switch {
		case n == small:
			found, after = found+1, 0
		case n == large && found > 0:
			after++
		}
	}
	return found, after
}

// TestLimitsFitTheJobsOfACluster: who sets no limits gets such as divide the jobs that the cluster has run. The published ones are of
// thousands of slot-seconds, which no job here has: a small job would wait for a large one as under fifo.
func TestLimitsFitTheJobsOfACluster(t *testing.T) {
	require.Faults(t) // with the long tests of live clusters
	t.Parallel()
	for _, policy := range []string{"fbq", "tags", "sita"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			var log decisions
			c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) {
				m.Policy, m.Admission, m.Jobs.Decisions, m.Jobs.SecondAttempts.Off = policy, "unlimited", log.add, true
			}})
			var before []wire.JobID
			for i := range 10 {
				before = append(before, sleepers(c, fmt.Sprint("little-", i), 3))
			}
			for i := range 2 {
				before = append(before, sleepers(c, fmt.Sprint("much-", i), 60))
			}
			for _, id := range before {
				c.Finish(id)
			}
			found, after := smallBesideLarge(t, c, &log, "small", "large")
			t.Logf("%d maps of the large job started after the small job's last", after)
			if found != 3 || after < 20 {
				t.Errorf("%d maps of the small job, and %d of the large one after its last", found, after)
			}
		})
	}
}

// TestPlannedJobsStayInFewRacks: of a recurring job that shuffles much over slow links, corral starts all tasks in one rack of
// four, jobpacker the maps in one and the reduces in one, which a circuit could join; fifo spreads them.
func TestPlannedJobsStayInFewRacks(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"fifo", "corral", "jobpacker"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			var log decisions
			c := testcluster.Start(t, testcluster.Config{Workers: 4, Racks: 4, Master: func(m *master.Config) {
				m.Policy, m.Admission, m.Jobs.Decisions, m.Jobs.SecondAttempts.Off = policy, "unlimited", log.add, true
				m.Jobs.Links = topology.Links{Uplink: topology.Mbps(10)}
			}})
			spec := wire.JobSpec{Name: "daily", Recurring: true, Expect: wire.Expected{Shuffle: 2e9, MapMillis: 50, ReduceMillis: 50}}
			if s := c.Finish(c.Submit(spec, "synthetic", "--maps", "10", "--reduces", "2", "--map-time", "50ms", "--reduce-time", "50ms", "--output", "dfs:/out")); s.State != "SUCCEEDED" {
				t.Fatalf("%+v", s)
			}
			racks := map[topology.NodeID]bool{} // each has one node
			for _, k := range []scheduler.Kind{scheduler.Map, scheduler.Reduce} {
				_, nodes := log.launches(k)
				of := map[topology.NodeID]bool{}
				for _, n := range nodes {
					racks[n], of[n] = true, true
				}
				if planned := policy != "fifo"; planned && len(of) != 1 || !planned && k == scheduler.Map && len(of) < 3 {
					t.Errorf("its %ss ran in %d racks", k, len(of))
				}
			}
			if policy == "corral" && len(racks) != 1 {
				t.Errorf("maps and reduces ran in %d racks", len(racks))
			}
		})
	}
}

// TestAdhocJobsArePacked: after a recurring job, which shows how wide such jobs are planned, jobpacker-adhoc-agg keeps the maps of a
// job that does not recur in one rack of four; jobpacker spreads them, and the job ends sooner.
func TestAdhocJobsArePacked(t *testing.T) {
	t.Parallel()
	took := map[string]time.Duration{}
	for _, policy := range []string{"jobpacker", "jobpacker-adhoc-agg"} {
		c, log := fourRacks(t, policy)
		run := func(spec wire.JobSpec, maps string) time.Duration {
			begin := time.Now()
			s := c.Finish(c.Submit(spec, "synthetic", "--maps", maps, "--reduces", "2", "--map-time", "200ms", "--reduce-time", "50ms", "--output", "dfs:/"+spec.Name))
			if s.State != "SUCCEEDED" {
				t.Fatalf("%+v", s)
			}
			return time.Since(begin)
		}
		run(wire.JobSpec{Name: "daily", Recurring: true, Expect: wire.Expected{Shuffle: 2e9, MapMillis: 200, ReduceMillis: 50}}, "24")
		took[policy] = run(wire.JobSpec{Name: "once"}, "24")
		names, nodes := log.launches(scheduler.Map)
		racks := map[topology.NodeID]bool{} // each has one node
		for i, n := range names {
			if n == "once" {
				racks[nodes[i]] = true
			}
		}
		t.Logf("%s: its maps ran in %d racks, it took %s", policy, len(racks), took[policy])
		if policy == "jobpacker" && len(racks) < 3 || policy != "jobpacker" && len(racks) != 1 {
			t.Errorf("%s: its maps ran in %d racks", policy, len(racks))
		}
	}
	if took["jobpacker-adhoc-agg"] < took["jobpacker"]*5/4 {
		t.Errorf("it took %v: want a quarter longer where it is packed", took)
	}
}

// most is how many attempts of a kind ran at once, at most, when so many were done.
func (d *decisions) most(k scheduler.Kind, done int) (most int) {
	running, finished := 0, 0
	for _, l := range d.lines() {
		ended := l.Event.Kind == scheduler.EvTaskFinished && l.Event.Task.Kind == k
		if k == scheduler.Driver { // a driver ends with its job
			ended = l.Event.Kind == scheduler.EvJobFinished || l.Event.Kind == scheduler.EvJobFailed || l.Event.Kind == scheduler.EvJobVanished
		}
		if ended {
			running, finished = running-1, finished+1
		}
		for _, s := range l.Steps {
			if s.Do == drive.Launch && s.Task.Kind == k {
				running++
			}
		}
		if finished >= done {
			most = max(most, running)
		}
	}
	return most
}

// TestDeadlinesMinAndMax: a job with an hour for what takes seconds gets, once its first maps have shown how long they take, a
// container or two from deadline-min, and all of them from deadline-max.
func TestDeadlinesMinAndMax(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"deadline-min", "deadline-max"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			var log decisions
			c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) {
				m.Policy, m.Admission, m.Jobs.Decisions, m.Jobs.SecondAttempts.Off = policy, "unlimited", log.add, true
			}})
			spec := wire.JobSpec{Deadline: 3_600_000, Expect: wire.Expected{MapMillis: 40}}
			if s := c.Finish(c.Submit(spec, "sleep", "--maps", "25", "--reduces", "0", "--map-time", "40ms", "--output", "dfs:/out")); s.State != "SUCCEEDED" {
				t.Fatalf("%+v", s)
			}
			t.Logf("at most %d maps at once", log.most(scheduler.Map, 10))
			if got := log.most(scheduler.Map, 10); policy == "deadline-min" && got > 2 || policy == "deadline-max" && got < 5 {
				t.Errorf("at most %d maps at once, of 5 containers", got)
			}
		})
	}
}

// TestQueuesGetTheirShares: a queue with three quarters of the cluster gets far more maps than one with a quarter
// while both have work; under fifo the job that came first gets all.
func TestQueuesGetTheirShares(t *testing.T) {
	t.Parallel()
	for policy, params := range map[string]map[string]string{"fifo": nil, "capacity": {"queues": "prod=75,dev=25", "user-limit-factor": "*=4"}} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			var log decisions
			c := testcluster.Start(t, testcluster.Config{Workers: 3, Master: func(m *master.Config) {
				m.Policy, m.PolicyParams, m.Admission, m.Jobs.Decisions, m.Jobs.SecondAttempts.Off = policy, params, "unlimited", log.add, true
			}})
			submit := func(queue string, maps int) wire.JobID {
				return c.Submit(wire.JobSpec{Name: queue, Queue: queue}, "sleep", "--maps", fmt.Sprint(maps), "--reduces", "0", "--map-time", "100ms", "--output", "dfs:/"+queue)
			}
			dev := submit("dev", 90)
			c.Wait("the first job is under way", func() bool { return c.Status(dev).Maps.Done >= 5 })
			for _, id := range []wire.JobID{submit("prod", 40), dev} {
				if s := c.Finish(id); s.State != "SUCCEEDED" {
					t.Fatalf("%+v", s)
				}
			}
			names, _ := log.launches(scheduler.Map)
			first := slices.Index(names, "prod")
			prod, others := 0, 0
			for _, n := range names[first:] {
				if n == "prod" {
					prod++
				} else if prod < 40 {
					others++
				}
			}
			t.Logf("%d maps of dev beside the %d of prod", others, prod)
			if policy == "fifo" && others > 0 || policy == "capacity" && (others == 0 || others > 28) {
				t.Errorf("%d maps of dev beside the %d of prod", others, prod)
			}
		})
	}
}

// TestMARPHoldsDrivers: of six jobs on twelve containers three may have a driver at a time when drivers may hold a quarter;
// without a limit more do.
func TestMARPHoldsDrivers(t *testing.T) {
	t.Parallel()
	for admission, params := range map[string]map[string]string{"unlimited": nil, "marp": {"marp": "0.25"}} {
		t.Run(admission, func(t *testing.T) {
			t.Parallel()
			var log decisions
			c := testcluster.Start(t, testcluster.Config{Workers: 4, Master: func(m *master.Config) {
				m.Policy, m.Admission, m.AdmissionParams, m.Jobs.Decisions = "fair", admission, params, log.add
			}})
			var ids []wire.JobID
			for i := range 6 { // they run until they are killed
				ids = append(ids, c.Submit(wire.JobSpec{}, "sleep", "--maps", "1", "--reduces", "0", "--map-time", "10m", "--output", fmt.Sprint("dfs:/out", i)))
			}
			launched := func() int {
				names, _ := log.launches(scheduler.Driver)
				return len(names)
			}
			if admission == "unlimited" {
				c.Wait("all drivers start", func() bool { return launched() == 6 })
				return
			}
			for i, id := range ids[:3] {
				c.Wait("so many drivers start", func() bool { return launched() == 3+i })
				if _, err := api.JobKill.Call(t.Context(), c.Client, c.Addr, wire.JobRequest{Job: id}); err != nil {
					t.Fatal(err)
				}
			}
			c.Wait("the last one starts", func() bool { return launched() == 6 })
			if got := log.most(scheduler.Driver, 0); got > 3 {
				t.Errorf("%d drivers at once", got)
			}
		})
	}
}
