package sim

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/topology"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

// TestNothingDecidesOtherwise: each policy, in four clusters that have something of all, starts what it started, where and when.
// A line that differs is a policy, or a part of the simulator, that works otherwise: if that is meant, write the file anew, and
// say why in the commit. The times are those of one kind of processor: others round sums of products otherwise.
func TestNothingDecidesOtherwise(t *testing.T) {
	var got strings.Builder
	for _, seam := range []scheduler.Seam{scheduler.Assignment, scheduler.Admitting, scheduler.Placing} {
		for _, name := range policies.Names(seam) {
			for _, c := range manifold {
				fmt.Fprintf(&got, "%s, %s: %s\n", name, c.name, decided(t, seam, name, c.make))
			}
		}
	}
	const path = "testdata/decisions.txt"
	if *rewrite {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(b), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(want) || line != want[i] {
			t.Errorf("%s\nwas\n%s", line, strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""))
		}
	}
}

// decided simulates a cluster under a policy and says what came of it.
func decided(t *testing.T, seam scheduler.Seam, name string, make func(*testing.T, *Config)) string {
	t.Helper()
	cfg := Config{Policy: policy(t, "fair", nil), State: scheduler.DefaultConfig(), Seed: 5, DriverStart: 2 * time.Second, BreakDeadlocks: true, Refill: true}
	cfg.LogAttempts = true
	make(t, &cfg)
	var err error
	switch seam {
	case scheduler.Assignment:
		cfg.Policy = policy(t, name, nil)
	case scheduler.Admitting:
		cfg.Admission, err = policies.Admission(name, nil)
	case scheduler.Placing:
		var make placement.Factory
		if make, err = policies.Placement(name, nil); err == nil {
			cfg.Placement, err = make(cfg.Topology)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(cfg, mixed(cfg.Topology.NumNodes()))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return err.Error()
	}
	sum := fnv.New64a()
	var mean time.Duration
	for i := range res.Jobs {
		j := &res.Jobs[i]
		mean += j.Completion() / time.Duration(len(res.Jobs))
		fmt.Fprintln(sum, j.Submitted, j.Admitted, j.FirstMap, j.FirstRed, j.MapsDone, j.Finished, j.Failed, j.Local, j.Occupied, j.Attempts)
	}
	for _, a := range res.Log {
		fmt.Fprintln(sum, a.Task, a.Node, a.Start, a.End, a.Locality, a.Second, a.OK)
	}
	fmt.Fprintln(sum, res.Busy, res.Won, res.Congestion)
	out := fmt.Sprintf("mean %.3f s, all %.3f s, %d launched, %d killed, %d second", mean.Seconds(), res.Makespan.Seconds(), res.Launches, res.Killed, res.Second)
	if n := res.Network; n != nil {
		fmt.Fprintf(sum, "%+v", *n)
	}
	return fmt.Sprintf("%s, %08x", out, binary.BigEndian.Uint32(sum.Sum(nil)))
}

// manifold are clusters in which much goes on.
var manifold = []struct {
	name string
	make func(t *testing.T, cfg *Config)
}{
	{"slots that fail", func(t *testing.T, cfg *Config) {
		cfg.Topology, cfg.Capacity, cfg.Model = cluster(t, 2, 4), scheduler.Capacity{MapSlots: 3, ReduceSlots: 2}, NewFixed()
		cfg.Heartbeat, cfg.ReportLate = 3*time.Second, true
		cfg.Faults = []Fault{{Node: 1, At: 40 * time.Second, Until: 100 * time.Second}, {Node: 6, At: 70 * time.Second, KeepOutput: true}}
		cfg.Stragglers = Stragglers{Share: 0.05, Factor: 5}
		cfg.Seconds = drive.Lag{After: 20 * time.Second, Behind: 0.2, Cap: 0.2}
	}},
	{"links that fill", func(t *testing.T, cfg *Config) {
		cfg.Topology, cfg.Capacity = wired(t, 3, topology.OCS{}), scheduler.Capacity{Containers: 2}
		cfg.Model = netModel(t, cfg.Topology, func(c *NetworkConfig) { c.ByNode, c.WriteCopies, c.Parts = true, 1, 4 })
		cfg.AskAgain, cfg.Stragglers = 100*time.Millisecond, Stragglers{Share: 0.05, Factor: 5}
		cfg.Seconds = drive.LATE{After: 10 * time.Second, Slower: 1.5, Share: 0.2}
	}},
	{"pairs and circuits", func(t *testing.T, cfg *Config) {
		cfg.Topology, cfg.Capacity = wired(t, 4, topology.OCS{Rate: 40e6, Interval: time.Second, Reconfig: 10 * time.Millisecond, Threshold: 20e6}), scheduler.Capacity{Containers: 1}
		cfg.Model = netModel(t, cfg.Topology, func(c *NetworkConfig) { c.Pairs, c.Tick = true, 500*time.Millisecond })
		cfg.Heartbeat, cfg.OutOfBand, cfg.PerHeartbeat = time.Second, true, 2
		cfg.Placement, cfg.Copies, cfg.PlanHorizon = placement.NewPlanned(cfg.Topology), 2, time.Minute
		cfg.Faults = []Fault{{Node: 2, At: 50 * time.Second, Until: 90 * time.Second}}
	}},
	{"two classes", func(t *testing.T, cfg *Config) {
		b := topology.NewBuilder()
		for i := range 2 {
			rack, err := b.AddRack(topology.Rack{Uplink: 30e6})
			for range 3 {
				if err == nil {
					_, err = b.AddNode(topology.Node{Rack: rack, NIC: 40e6, Class: []string{"scale-up", ""}[i]})
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		cfg.Topology = b.Topology()
		for i := range 6 {
			cfg.Capacities = append(cfg.Capacities, scheduler.Capacity{VCores: 2 + int32(i%2)*2, MemoryMB: 6 << 10})
			cfg.Speeds = append(cfg.Speeds, []float64{2, 1}[i/3])
		}
		cfg.Model = netModel(t, cfg.Topology, nil)
		cfg.Heartbeat = time.Second
	}},
}

// wired is racks of five machines behind links that a shuffle fills.
func wired(t *testing.T, racks int, ocs topology.OCS) *topology.Topology {
	t.Helper()
	b := topology.NewBuilder()
	for range racks {
		rack, err := b.AddRack(topology.Rack{Uplink: 20e6})
		for range 5 {
			if err == nil {
				_, err = b.AddNode(topology.Node{Rack: rack, NIC: 20e6})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if ocs.Present() {
		if err := b.SetOCS(ocs); err != nil {
			t.Fatal(err)
		}
	}
	return b.Topology()
}

// mixed is forty jobs of all kinds: small and large, with goals, users, queues and drivers, with shuffles that are known and not.
func mixed(nodes int) []*Job {
	r := rand.New(rand.NewPCG(11, 3))
	var jobs []*Job
	at := time.Duration(0)
	for i := range 40 {
		s := &scheduler.JobSpec{
			ID: scheduler.JobID(i), Name: []string{"a", "b", "c"}[i%3], User: []string{"ann", "bob", "cy"}[r.IntN(3)], Queue: []string{"", "one", "two"}[r.IntN(3)],
			Pool: []string{"", "p", "q"}[r.IntN(3)], Submit: at, Recurring: i%4 == 0, HasDriver: i%5 == 0, Weight: float64(r.IntN(3)),
			Maps: 1 + int32(r.IntN(8)), Reduces: int32(r.IntN(4)), Priority: scheduler.Priority(r.IntN(5)) - 2, Slowstart: []float64{0, 0.5, 1}[r.IntN(3)],
		}
		if i%6 == 0 {
			s.Maps, s.Reduces = 20+int32(r.IntN(20)), 4+int32(r.IntN(6))
		}
		if i%3 == 0 {
			s.Deadline = at + time.Duration(60+r.IntN(200))*time.Second
		}
		input := int64(0)
		for range s.Maps {
			bytes := int64(1+r.IntN(16)) << 20
			input += bytes
			s.Splits.Add(bytes, topology.NodeID(r.IntN(nodes)), topology.NodeID(r.IntN(nodes)))
		}
		s.Input = scheduler.Bytes(input)
		j := &Job{Spec: s}
		for range s.Maps {
			j.Maps = append(j.Maps, time.Duration(2000+r.IntN(9000))*time.Millisecond)
			j.MapOutput = append(j.MapOutput, int64(r.IntN(1+(i%2)*(i%3)*16))<<20)
		}
		for range s.Reduces {
			j.Reduces = append(j.Reduces, time.Duration(1000+r.IntN(9000))*time.Millisecond)
		}
		if i%2 == 0 {
			s.Shuffle, s.MapTime, s.ReduceTime = scheduler.Bytes(j.shuffled()), 6*time.Second, 5*time.Second
		}
		jobs = append(jobs, j)
		at += time.Duration(r.IntN(9000)) * time.Millisecond
	}
	return jobs
}
