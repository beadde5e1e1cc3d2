package lab

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// Uniform returns a configuration of one rack of equal nodes, whose tasks take as long as their job says. It simulates
// all reports, even those that change nothing, because the committed results were made so.
func Uniform(nodes int, each scheduler.Capacity) (sim.Config, error) {
	topo, err := topology.Uniform(1, nodes, 0, 0)
	return sim.Config{Topology: topo, Capacity: each, State: scheduler.DefaultConfig(), Model: sim.NewFixed(), Reports: sim.Reports{AllHeartbeats: true}}, err
}

// Slotted is Uniform with map and reduce slots, under a policy of the registry.
func Slotted(nodes int, maps, reduces int32, policy string, params map[string]string) (sim.Config, error) {
	cfg, err := Uniform(nodes, scheduler.Capacity{MapSlots: maps, ReduceSlots: reduces})
	if err != nil {
		return cfg, err
	}
	cfg.Policy, err = policies.Policy(policy, params)
	return cfg, err
}

// Seconds returns a time of f seconds.
func Seconds(f float64) time.Duration { return time.Duration(math.Round(f * float64(time.Second))) }

// Arrive gives jobs ids and Poisson arrivals with a mean gap, in seconds.
func Arrive(rng *rand.Rand, jobs []*sim.Job, gap float64) {
	at := 0.0
	for i, j := range jobs {
		at += gap * rng.ExpFloat64()
		j.Spec.ID, j.Spec.Submit = scheduler.JobID(i), Seconds(at)
	}
}

// SomeNodes draws different nodes, for the replicas of a block.
func SomeNodes(rng *rand.Rand, nodes, copies int) []topology.NodeID {
	var out []topology.NodeID
	for _, n := range rng.Perm(nodes)[:copies] {
		out = append(out, topology.NodeID(n))
	}
	return out
}
