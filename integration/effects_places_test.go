package integration

import (
	"bytes"
	"testing"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// effects starts a cluster of four workers in four racks under a policy, and logs what it decides.
func effects(t *testing.T, policy string, params map[string]string) (*testcluster.Cluster, *decisions) {
	log := new(decisions)
	return testcluster.Start(t, testcluster.Config{Workers: 4, Racks: 4, Master: func(m *master.Config) {
		m.Policy, m.PolicyParams, m.Admission, m.Jobs.Decisions, m.Jobs.SecondAttempts.Off = policy, params, "unlimited", log.add, true
		m.Jobs.Links = topology.Links{Uplink: topology.Mbps(100)}
	}}), log
}

// finishWell runs a job to its end.
func finishWell(t *testing.T, c *testcluster.Cluster, spec wire.JobSpec, args ...string) wire.JobStatus {
	t.Helper()
	s := c.Finish(c.Submit(spec, args...))
	if s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	return s
}

// TestDelayWaitsForData: all input of a job is on one machine of four. Under delay nine of ten maps wait for it; under fair most run elsewhere.
func TestDelayWaitsForData(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"fair", "delay"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			params := map[string]string{"wait": "1h"}
			if policy == "fair" {
				params = nil
			}
			c, _ := effects(t, policy, params)
			write(t, c, "/in", bytes.Repeat([]byte("12345678"), 10*8<<10/8), dfs.CreateOptions{Racks: []string{"r2"}, Replication: 1, BlockSize: 8 << 10})
			s := finishWell(t, c, wire.JobSpec{}, "synthetic", "--maps", "10", "--input", "dfs:/in", "--split-bytes", "8KiB", "--reduces", "0", "--map-time", "150ms", "--output", "dfs:/out")
			t.Logf("locality %v", s.Locality)
			if near := s.Locality["node"]; s.Maps.Total != 10 || policy == "delay" && near < 9 || policy == "fair" && near > 6 {
				t.Errorf("%v of %d maps", s.Locality, s.Maps.Total)
			}
		})
	}
}

// begins is how many maps were done when the first reduce began.
func (d *decisions) begins() (done int) {
	for _, l := range d.lines() {
		if l.Event.Kind == scheduler.EvTaskFinished && l.Event.Task.Kind == scheduler.Map {
			done++
		}
		for _, s := range l.Steps {
			if s.Do == drive.Launch && s.Task.Kind == scheduler.Reduce {
				return done
			}
		}
	}
	return done
}

// racksOf is in how many racks, of which each has one node, tasks of a job were started.
func (d *decisions) racksOf(name string, k scheduler.Kind) int {
	names, nodes := d.launches(k)
	seen := map[topology.NodeID]bool{}
	for i, n := range names {
		if n == name {
			seen[nodes[i]] = true
		}
	}
	return len(seen)
}

// TestReducesWaitForTheirMaps: nas and its variants start the first reduce of a job that shuffles much when a fifth of its maps are
// done; fair sooner.
func TestReducesWaitForTheirMaps(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"fair", "nas", "nas-mts", "nas-mts-ca", "nas-no-tt", "nas-no-mct", "nas-no-both"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			c, log := effects(t, policy, nil)
			spec := wire.JobSpec{Name: "daily", Recurring: true, Expect: wire.Expected{Shuffle: 4 << 20, MapMillis: 100, ReduceMillis: 50}}
			finishWell(t, c, spec, "synthetic", "--maps", "40", "--reduces", "4", "--map-time", "100ms", "--reduce-time", "50ms", "--shuffle-bytes", "4MiB", "--output", "dfs:/out")
			done := log.begins()
			t.Logf("the first reduce began when %d of 40 maps were done", done)
			if policy == "fair" && done >= 8 || policy != "fair" && done < 8 {
				t.Errorf("the first reduce began when %d of 40 maps were done", done)
			}
		})
	}
}

// TestMapsAreSqueezed: of a recurring job with eight maps shufflewatcher and sw-delay start all in one rack of three containers; fair
// starts them in three racks at least, as there are no eight containers in two.
func TestMapsAreSqueezed(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"fair", "shufflewatcher", "sw-delay"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			c, log := effects(t, policy, nil)
			write(t, c, "/in", bytes.Repeat([]byte("12345678"), 8<<10), dfs.CreateOptions{Replication: 3, BlockSize: 8 << 10})
			spec := wire.JobSpec{Name: "daily", Recurring: true, Expect: wire.Expected{Input: 64 << 10, Shuffle: 4 << 30, MapMillis: 300, ReduceMillis: 50}}
			finishWell(t, c, spec, "synthetic", "--maps", "8", "--input", "dfs:/in", "--split-bytes", "8KiB", "--reduces", "1", "--map-time", "300ms", "--reduce-time", "50ms", "--shuffle-bytes", "1MiB", "--output", "dfs:/out")
			racks := log.racksOf("daily", scheduler.Map)
			t.Logf("maps ran in %d racks", racks)
			if policy == "fair" && racks < 3 || policy != "fair" && racks > 1 {
				t.Errorf("maps ran in %d racks", racks)
			}
		})
	}
}
