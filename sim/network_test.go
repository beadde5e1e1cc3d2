package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// netModel returns the model, edited.
func netModel(t testing.TB, topo *topology.Topology, edit func(*NetworkConfig)) Model {
	t.Helper()
	cfg := DefaultNetwork(topo)
	if edit != nil {
		edit(&cfg)
	}
	m, err := NewNetwork(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// linked is a cluster with cards of 100 bytes a second and links of 50.
func linked(t testing.TB, racks, nodes int) *topology.Topology {
	t.Helper()
	topo, err := topology.Uniform(racks, nodes, 100, 50)
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

func mustRun(t testing.TB, cfg Config, jobs ...*Job) *Result {
	t.Helper()
	res, err := Run(cfg, jobs)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// One map of 100 bytes, one reduce, on two racks of one node with a container each. The
// phases follow each other as spec/nas 2.2 has them: the reduce waits for the map, then
// fetches over the link between the racks, then reduces.
func TestNetworkPhases(t *testing.T) {
	topo := linked(t, 2, 1)
	for _, c := range []struct {
		name    string
		replica topology.NodeID
		edit    func(*NetworkConfig)
		maps    int32
		want    float64
		cross   float64
	}{
		// The map is local to node 0 and takes 5 s, 1000 bytes cross at 50 a second,
		// the reduce takes 7 s.
		{"shuffle", 0, nil, 1, 5 + 20 + 7, 1000},
		{"by node", 0, func(c *NetworkConfig) { c.ByNode = true }, 1, 5 + 20 + 7, 1000},
		{"by pair", 0, func(c *NetworkConfig) { c.Pairs = true }, 1, 5 + 20 + 7, 1000},
		{"small transfers at once", 0, func(c *NetworkConfig) { c.Instant = 2000 }, 1, 5 + 7, 1000},
		// The output of 500 bytes goes to the other rack.
		{"write", 0, func(c *NetworkConfig) { c.WriteCopies = 1 }, 1, 5 + 20 + 7 + 10, 1500},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := &scheduler.JobSpec{
				Maps: c.maps, Reduces: 1, Slowstart: -1, Input: scheduler.Bytes(100), Shuffle: scheduler.Bytes(1000), Output: scheduler.Bytes(500),
			}
			spec.Splits.Add(100, c.replica)
			res := mustRun(t, Config{
				Topology: topo, Capacities: []scheduler.Capacity{{MapSlots: 1}, {ReduceSlots: 1}}, Policy: policy(t, "fifo", nil),
				State: scheduler.DefaultConfig(), Model: netModel(t, topo, c.edit),
			}, &Job{Spec: spec, Maps: []time.Duration{5 * time.Second}, Reduces: []time.Duration{7 * time.Second}})
			within(t, "the job", res.Makespan.Seconds(), c.want, 1e-6)
			if got := res.Network.Cross(); math.Abs(got-c.cross) > 1e-6 {
				t.Errorf("%v bytes crossed, want %v", got, c.cross)
			}
		})
	}
}

// A map whose input is in its rack reads at the rate of the cards, one whose input is in
// another at that of the link.
func TestRemoteReads(t *testing.T) {
	for _, c := range []struct {
		replica topology.NodeID
		want    float64
	}{{0, 1}, {1, 1 + 10}, {2, 1 + 20}} {
		topo := linked(t, 2, 2)
		spec := &scheduler.JobSpec{Maps: 1, Input: scheduler.Bytes(1000)}
		spec.Splits.Add(1000, c.replica)
		caps := []scheduler.Capacity{{Containers: 1}, {}, {}, {}} // only node 0 can run it
		res := mustRun(t, Config{
			Topology: topo, Capacities: caps, Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(),
			Model: netModel(t, topo, func(c *NetworkConfig) { c.ByNode = true }),
		}, &Job{Spec: spec, Maps: []time.Duration{time.Second}})
		within(t, fmt.Sprintf("input on node %d", c.replica), res.Makespan.Seconds(), c.want, 1e-6)
	}
}

// Machines may be of several speeds: the factor is on computing, not on reading.
func TestFactor(t *testing.T) {
	topo := linked(t, 2, 2)
	spec := &scheduler.JobSpec{Maps: 1, Reduces: 1, Input: scheduler.Bytes(1000)}
	spec.Splits.Add(1000, 1)
	caps := []scheduler.Capacity{{Containers: 1}, {}, {}, {}}
	res := mustRun(t, Config{
		Topology: topo, Capacities: caps, Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(),
		Model: netModel(t, topo, func(c *NetworkConfig) {
			c.ByNode = true
			c.Factor = func(a Attempt, _ *Job) float64 { return 2 + float64(a.Task.Kind) }
		}),
	}, &Job{Spec: spec, Maps: []time.Duration{time.Second}, Reduces: []time.Duration{time.Second}})
	within(t, "makespan", res.Makespan.Seconds(), 10+2+3, 1e-6)
}

// shuffled draws jobs that read, shuffle and write.
func shuffled(rng *rand.Rand, topo *topology.Topology, n int) []*Job {
	var jobs []*Job
	at := time.Duration(0)
	for i := range n {
		at += time.Duration(rng.IntN(5000)) * time.Millisecond
		maps := int32(1 + rng.IntN(20))
		spec := &scheduler.JobSpec{
			ID: scheduler.JobID(i), Name: fmt.Sprint("job", i), User: fmt.Sprint("u", rng.IntN(3)), Submit: at, Maps: maps, Reduces: int32(rng.IntN(5)), Slowstart: 0.3,
			Input: scheduler.Bytes(int64(maps) * 100), Shuffle: scheduler.Bytes(int64(rng.IntN(5000))), Output: scheduler.Bytes(100),
			Recurring: rng.IntN(2) == 0, MapTime: time.Second, ReduceTime: time.Second,
		}
		for range maps {
			spec.Splits.Add(100, topology.NodeID(rng.IntN(topo.NumNodes())))
		}
		j := &Job{Spec: spec}
		for range 5 {
			j.Maps = append(j.Maps, time.Duration(500+rng.IntN(3000))*time.Millisecond)
			j.Reduces = append(j.Reduces, time.Duration(500+rng.IntN(3000))*time.Millisecond)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// Under every policy that looks at the network, with nodes that die, stragglers and
// second attempts, in every way of making flows, jobs end, bytes are all there, and the
// same seed makes the same run.
func TestNetworkRunsEndAndRepeat(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		run := func() *Result {
			rng := rand.New(rand.NewPCG(seed, 1))
			topo := linked(t, 3, 3)
			name := []string{"fair", "delay", "nas", "sw-delay", "jobpacker", "corral", "nas-mts"}[rng.IntN(7)]
			shape, copies := rng.IntN(3), 0
			cfg := Config{
				Topology: topo, Capacity: scheduler.Capacity{Containers: 3}, Policy: policy(t, name, nil), State: scheduler.DefaultConfig(),
				Model: netModel(t, topo, func(c *NetworkConfig) {
					c.ByNode, c.Pairs = shape == 1, shape == 2
					c.Tick = []time.Duration{0, 100 * time.Millisecond, time.Second}[rng.IntN(3)]
					c.Parts, c.Instant, c.WriteCopies = rng.IntN(3), float64(rng.IntN(2)*30), rng.IntN(3)
					copies = c.WriteCopies
				}),
				Reports: Reports{Heartbeat: time.Second, ReportLate: rng.IntN(2) == 0, AllHeartbeats: rng.IntN(2) == 0}, BreakDeadlocks: true, Seed: seed,
				Input: Input{Placement: placement.NewPlanned(topo)}, Views: Views{Timeline: 10 * time.Second, LogAttempts: true},
			}
			if rng.IntN(2) == 0 {
				cfg.PlanHorizon = 10 * time.Second
			}
			faults := rng.IntN(3)
			for range faults {
				at := time.Duration(rng.IntN(60)) * time.Second
				cfg.Faults = append(cfg.Faults, Fault{Node: topology.NodeID(rng.IntN(8)), At: at, Until: at + 30*time.Second})
			}
			if rng.IntN(2) == 0 {
				cfg.Stragglers = Stragglers{Share: 0.2, Factor: 10}
				cfg.Seconds = drive.Lag{After: 2 * time.Second, Behind: 0.2, Cap: 0.5}
			}
			jobs := shuffled(rng, topo, 10)
			res, err := Run(cfg, jobs)
			if err != nil {
				rt.Fatalf("%s, shape %d: %v", name, shape, err)
			}
			checkTraffic(rt, res, jobs, faults == 0 && cfg.Stragglers.Share == 0)
			if faults == 0 && res.Killed == 0 {
				checkReadsAndWrites(rt, res, jobs, copies)
			}
			return res
		}
		a, b := run(), run()
		if a.Makespan != b.Makespan || a.Events != b.Events || a.Network.Cross() != b.Network.Cross() || len(a.Log) != len(b.Log) {
			rt.Fatalf("two runs of one seed differ: %v %v, %v %v", a.Makespan, b.Makespan, a.Network.Cross(), b.Network.Cross())
		}
	})
}

// checkTraffic compares the books with what the jobs had to move. After faults more may
// have been moved than that.
func checkTraffic(rt *rapid.T, res *Result, jobs []*Job, exact bool) {
	want := 0.0
	for _, j := range jobs {
		if j.Spec.Reduces > 0 {
			want += float64(j.output(0)) * float64(j.Spec.Maps)
		}
	}
	got := res.Network.bytes[moveShuffle][0] + res.Network.bytes[moveShuffle][1]
	if got < want*(1-1e-6) || exact && got > want*(1+1e-6) {
		rt.Fatalf("%v bytes were shuffled of %v", got, want)
	}
	for _, a := range res.Log {
		if a.End < a.Start {
			rt.Fatalf("attempt %+v ended before it began", a)
		}
	}
}

// checkReadsAndWrites: maps of a rack read in it, remote ones from another; output goes to another rack, and again to a node beside that.
func checkReadsAndWrites(rt *rapid.T, res *Result, jobs []*Job, copies int) {
	var want [numMoves][2]float64
	for i, j := range jobs {
		want[moveInput][0] += 100 * float64(res.Jobs[i].Local[scheduler.RackLocal])
		want[moveInput][1] += 100 * float64(res.Jobs[i].Local[scheduler.Remote])
		if j.Spec.Reduces > 0 && copies > 0 {
			want[moveOutput][1] += 100
			want[moveOutput][0] += 100 * float64(copies-1)
		}
	}
	var across float64
	for a, row := range res.Network.Matrix {
		for b := range row {
			if a != b {
				across += row[b]
			}
		}
	}
	for _, what := range []moveKind{moveInput, moveOutput} {
		for across := range 2 {
			if got := res.Network.bytes[what][across]; math.Abs(got-want[what][across]) > 1e-6 {
				rt.Fatalf("%v bytes of kind %d went over racks (%d), want %v", got, what, across, want[what][across])
			}
		}
	}
	if got := res.Network.Cross(); across > got*(1+1e-6)+1e-6 {
		rt.Fatalf("%v bytes crossed racks, and %v from rack to rack", got, across)
	}
}

// The share of a job's shuffle that stays in its rack is the sum over racks of the map
// share times the reduce share (spec/nas 2.5, 3.16 item 7).
func TestLocalShare(t *testing.T) {
	topo := linked(t, 3, 10)
	spec := &scheduler.JobSpec{Maps: 10, Reduces: 10, Slowstart: 1, Shuffle: scheduler.Bytes(100_000)}
	for i, rack := range []int{0, 0, 0, 0, 0, 0, 1, 1, 1, 2} {
		spec.Splits.Add(10, topology.NodeID(rack*10+i))
	}
	// Reduces go where maps were: the same nodes are the only ones with room.
	caps := make([]scheduler.Capacity, 30)
	for i := range 10 {
		caps[spec.Splits.Of(int32(i))[0]] = scheduler.Capacity{Containers: 1}
	}
	res := mustRun(t, Config{
		Topology: topo, Capacities: caps, Policy: policy(t, "fair", nil), State: scheduler.DefaultConfig(), Model: netModel(t, topo, nil),
	}, &Job{Spec: spec, Maps: []time.Duration{time.Second}, Reduces: []time.Duration{time.Second}})
	within(t, "share across racks", res.Network.JobShare, 1-0.46, 1e-6)
	for r, want := range []float64{0.24, 0.21, 0.09} {
		out, in := 0.0, 0.0
		for o := range 3 {
			if o != r {
				out += res.Network.Matrix[r][o]
				in += res.Network.Matrix[o][r]
			}
		}
		within(t, "uplink", out/100_000, want, 1e-6)
		within(t, "downlink", in/100_000, want, 1e-6)
	}
}

// Reduces may hold every container (reduce-share=1): they then wait for maps that have no room, and only the deadlock rule ends that, if
// a map gets the room (Refill); a reduce would take it again.
func TestReduceShareOfOne(t *testing.T) {
	for _, name := range []string{"fair", "delay", "nas", "sw-delay"} {
		topo := linked(t, 2, 2)
		_, err := Run(Config{
			Topology: topo, Capacity: scheduler.Capacity{Containers: 2}, Policy: policy(t, name, map[string]string{"reduce-share": "1"}), State: scheduler.DefaultConfig(),
			Model: netModel(t, topo, nil), Reports: Reports{Heartbeat: time.Second}, BreakDeadlocks: true, Refill: true, Seed: 1,
		}, manyReduces(topo))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// manyReduces are jobs of which each could fill the cluster with its reduces long before its maps are done.
func manyReduces(topo *topology.Topology) (jobs []*Job) {
	for i := range 4 {
		spec := &scheduler.JobSpec{ID: scheduler.JobID(i), User: fmt.Sprint("u", i), Maps: 12, Reduces: 8, Slowstart: 0.1, Input: scheduler.Bytes(1200), Shuffle: scheduler.Bytes(800)}
		for m := range 12 {
			spec.Splits.Add(100, topology.NodeID(m%topo.NumNodes()))
		}
		jobs = append(jobs, &Job{Spec: spec, Maps: []time.Duration{3 * time.Second}, Reduces: []time.Duration{time.Second}})
	}
	return jobs
}

// TestProgressOverANetwork: an attempt has done nothing while it reads or fetches, then a third, and all once it has computed; one that is
// not there has done nothing.
func TestProgressOverANetwork(t *testing.T) {
	topo := linked(t, 2, 1)
	m := netModel(t, topo, nil).(*network)
	spec := &scheduler.JobSpec{Maps: 1, Reduces: 1, Input: scheduler.Bytes(500), Shuffle: scheduler.Bytes(500)}
	spec.Splits.Add(500, 0)
	job := &Job{Spec: spec, Maps: []time.Duration{10 * time.Second}, Reduces: []time.Duration{10 * time.Second}}
	a := Attempt{Node: 1, Locality: scheduler.Remote, Try: 1} // reads for 10 s
	r := Attempt{Task: scheduler.TaskID{Kind: scheduler.Reduce}, Node: 0, Try: 2}
	m.Start(0, a, job)
	check := func(at float64, a Attempt, want float64) {
		t.Helper()
		for clock := m.Next(); clock <= seconds(at); clock = m.Next() {
			if e, ok := m.End(clock); ok && e.Task.Kind == scheduler.Map {
				m.MapsDone(clock, job)
			}
		}
		if got := m.AttemptProgress(seconds(at), a, job); math.Abs(got-want) > 1e-6 {
			t.Errorf("at %g s %v has done %g, want %g", at, a.Task, got, want)
		}
	}
	check(1, a, 0)
	check(1, r, 0)
	check(9, a, 0)
	check(15, a, 1.0/3+1.0/3)
	m.Start(seconds(15), r, job)
	check(19, r, 0)
	check(25, r, 0) // fetches from 20 s to 30 s
	check(32.5, r, 1.0/3+2.0/3*0.25)
	check(45, r, 0) // it has ended
}
