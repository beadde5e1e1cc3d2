package policies

import (
	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Package placement knows nothing of parameters, so its policies are described
// here.
var (
	rackAware = scheduler.Info{
		Name:    "rack-aware",
		Seam:    scheduler.Placing,
		Summary: "first replica on the writer, second in another rack, third beside the second",
		Source:  "spec/nas 2.2, item 7",
		Setup:   factory(func(t *topology.Topology) (placement.Policy, error) { return placement.NewRackAware(t), nil }),
	}
	plannedRacks = scheduler.Info{
		Name:    "planned-racks",
		Seam:    scheduler.Placing,
		Summary: "first replica in the racks where jobpacker or corral will run the maps, the others together in one other rack",
		Source:  "spec/jobpacker 3.9",
		Setup:   factory(func(t *topology.Topology) (placement.Policy, error) { return placement.NewPlanned(t), nil }),
	}
	twoPlusOne = scheduler.Info{
		Name:    "two-plus-one",
		Seam:    scheduler.Placing,
		Summary: "two replicas in one scale-out rack, one on a scale-up node: local data for either class of machine",
		Source:  "spec/hybrid 3.5",
		Setup: scheduler.Bind(func() placement.HybridConfig { return placement.HybridConfig{Up: "scale-up", OutShare: 2, UpShare: 1} }, hybridParams,
			func(c placement.HybridConfig) (placement.Factory, error) {
				return func(t *topology.Topology) (placement.Policy, error) { return placement.NewHybrid(t, c) }, nil
			}),
	}
)

func factory(f placement.Factory) func() ([]scheduler.Param, func() (any, error)) {
	return scheduler.Unset(func() (placement.Factory, error) { return f, nil })
}

func hybridParams(c *placement.HybridConfig) []scheduler.Param {
	return []scheduler.Param{
		scheduler.Text(&c.Up, "up-class", "spec/hybrid 2.3", "machine class of the scale-up nodes; all others are scale-out"),
		scheduler.Int(&c.OutShare, "out", "spec/hybrid 3.8", "replicas on scale-out, of out+up").In(1, 100),
		scheduler.Int(&c.UpShare, "up", "spec/hybrid 3.8", "replicas on scale-up, of out+up; more fill its few disks sooner").In(1, 100),
		scheduler.Bool(&c.LeastUsed, "least-used", "spec/hybrid 3.5", "the emptiest scale-up node instead of a random one"),
	}
}
