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
		Source:  "nas.md 2.2, item 7",
		New: func(scheduler.Params) (any, error) {
			return placement.Factory(func(t *topology.Topology) (placement.Policy, error) { return placement.NewRackAware(t), nil }), nil
		},
	}
	plannedRacks = scheduler.Info{
		Name:    "planned-racks",
		Seam:    scheduler.Placing,
		Summary: "first replica in the racks where jobpacker or corral will run the maps, the others together in one other rack",
		Source:  "jobpacker.md 3.9",
		New: func(scheduler.Params) (any, error) {
			return placement.Factory(func(t *topology.Topology) (placement.Policy, error) { return placement.NewPlanned(t), nil }), nil
		},
	}
	twoPlusOne = scheduler.Info{
		Name:    "two-plus-one",
		Seam:    scheduler.Placing,
		Summary: "two replicas in one scale-out rack, one on a scale-up node: local data for either class of machine",
		Source:  "hybrid.md 3.5",
		Params: []scheduler.Param{
			{Name: "up-class", Type: scheduler.StringParam, Default: "scale-up", Source: "hybrid.md 2.3", Doc: "machine class of the scale-up nodes; all others are scale-out"},
			{Name: "out", Type: scheduler.IntParam, Default: "2", Min: 1, Max: 100, Source: "hybrid.md 3.8", Doc: "replicas on scale-out, of out+up"},
			{Name: "up", Type: scheduler.IntParam, Default: "1", Min: 1, Max: 100, Source: "hybrid.md 3.8", Doc: "replicas on scale-up, of out+up; more fill its few disks sooner"},
			{Name: "least-used", Type: scheduler.BoolParam, Default: "false", Source: "hybrid.md 3.5", Doc: "the emptiest scale-up node instead of a random one"},
		},
		New: newTwoPlusOne,
	}
)

func newTwoPlusOne(p scheduler.Params) (any, error) {
	cfg := placement.HybridConfig{Up: p.String("up-class"), OutShare: p.Int("out"), UpShare: p.Int("up"), LeastUsed: p.Bool("least-used")}
	return placement.Factory(func(t *topology.Topology) (placement.Policy, error) { return placement.NewHybrid(t, cfg) }), nil
}
