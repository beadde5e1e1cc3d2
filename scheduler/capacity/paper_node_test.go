package capacity

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// away returns a job whose maps lie on node on.
func away(id scheduler.JobID, maps int32, on topology.NodeID) *scheduler.JobSpec {
	s := &scheduler.JobSpec{ID: id, Maps: maps}
	for range maps {
		s.Splits.Add(1, on)
	}
	return s
}

// spec/capacity 3.5, obtain: a remote map is taken once the opportunities pass
// min(unfinished maps, nodes); the counter is not reset by it; after a remote
// map the heartbeat gets no further maps.
func TestLocalityWait(t *testing.T) {
	topo, err := topology.Uniform(2, 2, 0, 0) // nodes 0, 1 and 2, 3
	if err != nil {
		t.Fatal(err)
	}
	s, err := scheduler.NewState(topo, scheduler.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{&schedulertest.Rig{Engine: scheduler.NewEngine(s, policy(t, nil), nil), T: t}}
	for n := range topology.NodeID(4) {
		r.Send(scheduler.NodeUp(n, scheduler.Capacity{MapSlots: 2}))
	}
	r.Submit(away(1, 9, 3))
	for range 4 { // min(9 maps, 4 nodes) = 4 offers are passed up
		r.Want(r.Serve(0))
	}
	r.Want(r.Serve(0), 1) // and one map only
	r.Want(r.Serve(1), 1) // the counter stays
	r.Want(r.Serve(2), 1, 1)
	r.Want(r.Serve(0)) // a rack-local map has reset it
}

// spec/capacity 6, item 16: requiring N missed opportunities before a rack-local
// map lowers it for one-map jobs from 90 % to about (1-r/N)^N = 4 %.
func TestRackWait(t *testing.T) {
	const nodes, replicas, jobs = 30, 3, 3000
	for wait, want := range map[float64]float64{0: 90, 1: 100 * math.Pow(1-float64(replicas)/nodes, nodes)} {
		r := newRig(t, policy(t, func(c *Config) { c.RackWait = wait }), nodes, scheduler.Capacity{MapSlots: 1})
		draw := rand.New(rand.NewPCG(7, 7))
		off := 0
		for id := range scheduler.JobID(jobs) {
			spec := &scheduler.JobSpec{ID: id, Maps: 1}
			var on []topology.NodeID
			for _, n := range draw.Perm(nodes)[:replicas] {
				on = append(on, topology.NodeID(n))
			}
			spec.Splits.Add(1, on...)
			r.Submit(spec)
			for launched := false; !launched; {
				n := topology.NodeID(draw.IntN(nodes))
				if _, err := r.Offer(r.Now, n, func(d scheduler.Decision) {
					launched = true
					if d.Locality == scheduler.RackLocal {
						off++
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
			r.Send(scheduler.JobVanished(id))
		}
		if got := 100 * float64(off) / jobs; math.Abs(got-want) > 1.5 {
			t.Errorf("rack wait %g: %.1f %% rack-local, want %.1f", wait, got, want)
		}
	}
}

// spec/capacity 3.6: a high-memory task that does not fit reserves the node; the
// reserved slots count as occupied and go to nobody else until enough are free.
func TestReservation(t *testing.T) {
	p := policy(t, func(c *Config) { c.Queues[0].UserLimit = 50 })
	r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 4})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 3, User: "u1"})
	r.Want(r.Serve(0), 1, 1, 1)
	r.Submit(&scheduler.JobSpec{ID: 2, Maps: 1, User: "u2", MapDemand: scheduler.Demand{Slots: 2}}, &scheduler.JobSpec{ID: 3, Maps: 5, User: "u3"})
	r.Want(r.Serve(0)) // one slot is free: it is kept for job 2
	if got := p.byName["default"].used[scheduler.Map]; got != 4 {
		t.Errorf("%d slots count as occupied, want 3 and 1 reserved", got)
	}
	if why := r.Explain(r.Now, 2).Text(r.View()); why != "j2 needs 2 map slots per task and has reserved 1 nodes until they are free" {
		t.Error(why)
	}
	r.Finish(1, scheduler.Map, 0, 0)
	r.Want(r.Serve(0), 2)
	r.Finish(1, scheduler.Map, 1, 0)
	r.Want(r.Serve(0), 3)
	if got := p.byName["default"].used[scheduler.Map]; got != 4 {
		t.Errorf("%d slots on the books, want 4", got)
	}
}

// spec/capacity 3.6: with memory scheduling a task takes ceil(memory / slot memory)
// slots, and fits if the memory of the node's slots allows; else it reserves.
func TestMemoryScheduling(t *testing.T) {
	p := policy(t, func(c *Config) {
		c.Memory = Memory{SlotMB: [kinds]int64{1000, 1000}, MaxMB: [kinds]int64{3000, 3000}}
		c.Queues[0].UserLimit = 50
	})
	r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 5})
	used := func(want int32) {
		t.Helper()
		if got := p.byName["default"].used[scheduler.Map]; got != want {
			t.Errorf("%d slots occupied, want %d", got, want)
		}
	}
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 4, User: "u1", MapDemand: scheduler.Demand{MemoryMB: 1000}})
	r.Want(r.Serve(0), 1, 1, 1, 1)
	r.Submit(&scheduler.JobSpec{ID: 2, Maps: 1, User: "u2", MapDemand: scheduler.Demand{MemoryMB: 1500}})
	r.Want(r.Serve(0)) // 1,000 MB are free: kept for it
	used(4 + 1)
	r.Finish(1, scheduler.Map, 0, 0)
	r.Want(r.Serve(0), 2)
	used(3 + 2)
}

// Hierarchical queues: a child's capacity is a percentage of its parent's, and a
// parent's cap holds for all its children together.
func TestNestedQueues(t *testing.T) {
	p := policy(t, func(c *Config) {
		c.Queues = []Queue{DefaultQueue("prod", 60), DefaultQueue("dev", 40), DefaultQueue("dev.web", 75), DefaultQueue("dev.db", 25)}
		c.Queues[1].MaxCapacity = 50
		for i := range c.Queues {
			c.Queues[i].UserLimitFactor = 10
		}
	})
	r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 20})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 40, Queue: "dev.web"}, &scheduler.JobSpec{ID: 2, Maps: 40, Queue: "dev.db"})
	r.Serve(0)
	hold := func(id scheduler.JobID, want int32) {
		t.Helper()
		if got := r.View().Job(id).Running(scheduler.Map); got != want {
			t.Errorf("job %d holds %d, want %d", id, got, want)
		}
	}
	hold(1, 7) // dev stops at 50 % of 20, beyond its own 8: web 6 and db 2, then one each
	hold(2, 3)
	if got := r.Explain(0, 1).Text(r.View()); got != "j1 waits: a parent of queue dev.web holds 10 map slots of a maximum of 10" {
		t.Error(got)
	}
	r.Submit(&scheduler.JobSpec{ID: 3, Maps: 40, Queue: "prod"})
	r.Serve(0)
	hold(3, 10)
}

// spec/capacity 3.3: start-up fails on any range violation.
func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no queue":         func(c *Config) { c.Queues = nil },
		"sum of 99":        func(c *Config) { c.Queues = queues(nil, 33, 33, 33) },
		"sum of 101":       func(c *Config) { c.Queues = queues(nil, 51, 50) },
		"negative":         func(c *Config) { c.Queues = queues(nil, -1, 101) },
		"max below own":    func(c *Config) { c.Queues[0].Capacity, c.Queues[0].MaxCapacity = 100, 50 },
		"user limit 0":     func(c *Config) { c.Queues[0].UserLimit = 0 },
		"user limit 101":   func(c *Config) { c.Queues[0].UserLimit = 101 },
		"factor 0":         func(c *Config) { c.Queues[0].UserLimitFactor = 0 },
		"per user above":   func(c *Config) { c.Queues[0].MaxTasksPerUser = 1 << 30 },
		"twice":            func(c *Config) { c.Queues = append(c.Queues, c.Queues[0]) },
		"orphan":           func(c *Config) { c.Queues = append(c.Queues, DefaultQueue("x.y", 100)) },
		"children of 50":   func(c *Config) { c.Queues = append(c.Queues, DefaultQueue("default.x", 50)) },
		"no name":          func(c *Config) { c.Queues[0].Name = "" },
		"memory of a kind": func(c *Config) { c.Memory.SlotMB[0] = 1 },
		"no heartbeat":     func(c *Config) { c.TasksPerHeartbeat = 0 },
		"no reduce":        func(c *Config) { c.ReducesPerHeartbeat = 0 },
		"off-switch":       func(c *Config) { c.AfterOffSwitch = -1 },
		"rack wait":        func(c *Config) { c.RackWait = -1 },
		"max above 100":    func(c *Config) { c.Queues[0].MaxCapacity = 101 },
		"user limit 0.9":   func(c *Config) { c.Queues[0].UserLimit = 0.9 },
		"no tasks":         func(c *Config) { c.Queues[0].MaxTasksPerUser = 0 },
		"accepts none":     func(c *Config) { c.Queues[0].AcceptFactor = 0 },
		"lag":              func(c *Config) { c.UsageLag = -1 },
		"wait":             func(c *Config) { c.LocalityWait = -1 },
	} {
		c := DefaultConfig()
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	edge := DefaultConfig()
	edge.LocalityWait, edge.TasksPerHeartbeat, edge.Memory = 0, 1, Memory{SlotMB: [kinds]int64{1, 1}, MaxMB: [kinds]int64{1, 1}}
	edge.Queues = queues(func(q *Queue) {
		q.MaxCapacity, q.UserLimit, q.MaxTasks, q.MaxTasksPerUser, q.AcceptFactor = 100, 1, 1, 1, 1
	}, 0, 100)
	if _, err := New(edge); err != nil {
		t.Errorf("at the ends of all ranges: %v", err)
	}
	if _, err := New(Config{Queues: queues(nil, 33.4, 33.4, 33.4), LocalityWait: 1, TasksPerHeartbeat: 1, ReducesPerHeartbeat: 1}); err != nil {
		t.Errorf("floor(100.2) is 100: %v", err)
	}
}

// spec/capacity 3.5, assign: what one heartbeat may receive in all, and after a remote map.
func TestWhatAHeartbeatReceives(t *testing.T) {
	r := newRig(t, policy(t, func(c *Config) { c.TasksPerHeartbeat = 2 }), 1, scheduler.Capacity{MapSlots: 5})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 9})
	r.Want(r.Serve(0), 1, 1)
	r.Want(r.Serve(0), 1, 1)
	r.Want(r.Serve(0), 1)
	for after, want := range [][]scheduler.JobID{{1}, {1, 2}, {1, 2, 2}} {
		topo, err := topology.Uniform(2, 1, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		p := policy(t, func(c *Config) { c.AfterOffSwitch, c.LocalityWait = after, 0 })
		r := &rig{schedulertest.NewRigOn(t, p, topo, scheduler.Capacity{MapSlots: 9})}
		r.Submit(away(1, 1, 1), &scheduler.JobSpec{ID: 2, Maps: 9}) // the first's data lie in the other rack
		r.Want(r.Serve(0), want...)
	}
}

// A node that goes takes its reservation along, one that is used ends it: the job may keep room on another node then. Where drivers
// hold what the task needs, nothing is kept.
func TestReservationsEnd(t *testing.T) {
	reserved := func(r *rig, n topology.NodeID) bool {
		r.Submit() // whatever waits
		_ = r.Serve(n)
		for k := range kinds {
			if kept := r.Policy().(*Policy).kept; int(n) < len(kept) && kept[n][k].job != nil {
				return true
			}
		}
		return false
	}
	for name, ends := range map[string]func(*rig){
		"drains":   func(r *rig) { r.Send(scheduler.NodeDraining(0)) },
		"is lost":  func(r *rig) { r.Send(scheduler.NodeDown(0)) },
		"no more":  func(r *rig) { r.Send(scheduler.JobVanished(2)) },
		"is there": func(*rig) {},
	} {
		r := newRig(t, policy(t, func(c *Config) { c.Queues[0].UserLimitFactor = 9 }), 2, scheduler.Capacity{Containers: 3})
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 4})
		for i, n := range []topology.NodeID{0, 0, 1, 1} {
			r.Send(scheduler.Launched(scheduler.TaskID{Job: 1, Index: int32(i)}, n, scheduler.Anywhere, false))
		}
		large := func(id scheduler.JobID) *scheduler.JobSpec {
			return &scheduler.JobSpec{ID: id, Maps: 1, MapDemand: scheduler.Demand{Slots: 2}}
		}
		r.Submit(large(2))
		if !reserved(r, 0) || reserved(r, 1) {
			t.Fatal("a job with one map keeps room on one node")
		}
		ends(r)
		if name == "no more" {
			r.Submit(large(3))
		}
		if got := reserved(r, 1); got != (name != "is there") {
			t.Errorf("a node that kept room %s: another keeps room: %v", name, got)
		}
	}
	r := newRig(t, policy(t, nil), 1, scheduler.Capacity{Containers: 3})
	r.Submit(&scheduler.JobSpec{ID: 1, HasDriver: true})
	r.Send(scheduler.Launched(scheduler.TaskID{Job: 1, Kind: scheduler.Driver}, 0, scheduler.Anywhere, false))
	r.Submit(&scheduler.JobSpec{ID: 2, Maps: 1, MapDemand: scheduler.Demand{Slots: 3}})
	if reserved(r, 0) {
		t.Error("room is kept for a map that the driver there leaves none")
	}
}
