package jobpacker

import (
	"slices"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Info describes jobpacker.
var Info = scheduler.Info{
	Name:    "jobpacker",
	Seam:    scheduler.Assignment,
	Summary: "recurring jobs packed into few racks by an offline plan, shuffles held for optical circuits, ad-hoc jobs in the gaps",
	Source:  "jobpacker.md 3",
	Params:  slices.Concat(reduceParams(), planParams(), packParams(), gateParams(), []scheduler.Param{adhocAggParam("false")}),
	New:     func(p scheduler.Params) (any, error) { return New(packConfig(p)) },
}

// AdhocAggInfo describes the rejected variant.
var AdhocAggInfo = scheduler.Info{
	Name:    "jobpacker-adhoc-agg",
	Seam:    scheduler.Assignment,
	Summary: "jobpacker that packs ad-hoc jobs too: the variant its authors rejected, for the negative experiment",
	Source:  "jobpacker.md 3.12",
	Params:  slices.Concat(reduceParams(), planParams(), packParams(), gateParams(), []scheduler.Param{adhocAggParam("true")}),
	New:     func(p scheduler.Params) (any, error) { return New(packConfig(p)) },
}

// CorralInfo describes the baseline.
var CorralInfo = scheduler.Info{
	Name:    "corral",
	Seam:    scheduler.Assignment,
	Summary: "maps and reduces of a recurring job on the same racks by an offline plan, widest job first; no shuffle holding",
	Source:  "jobpacker.md 3.13",
	Params:  slices.Concat(reduceParams(), planParams()),
	New: func(p scheduler.Params) (any, error) {
		c := planConfig(p)
		c.Corral = true
		return New(c)
	},
}

func reduceParams() []scheduler.Param {
	out := scheduler.ReduceParams()
	out[0].Default, out[0].Source = "0.7", "jobpacker.md 3.4"
	return out
}

const (
	floats    = scheduler.FloatParam
	ints      = scheduler.IntParam
	bools     = scheduler.BoolParam
	durations = scheduler.DurationParam
	sizes     = scheduler.BytesParam
)

func planParams() []scheduler.Param {
	return []scheduler.Param{
		{Name: "eps-gbps", Type: floats, Default: "0", Min: 0, Max: 1e6, Source: "jobpacker.md 3.14", Doc: "rate of a rack's link to the packet switch that the plan reckons with; 0: the topology's, else 30"},
		{Name: "order", Type: scheduler.ChoiceParam, Default: "auto", Choices: orders, Source: "jobpacker.md 3.6", Doc: "how expected jobs are sorted for planning; auto: batch when all arrive together"},
		{Name: "plan-arrivals", Type: bools, Default: "true", Source: "ours", Doc: "plan a recurring job that was not announced when it arrives"},
		{Name: "plan-max-wait", Type: durations, Default: "5m", Positive: true, Max: 1e6, Source: "ours", Doc: "how long a planned job's racks may launch nothing before it is taken off its plan"},
	}
}

func packParams() []scheduler.Param {
	return []scheduler.Param{
		{Name: "ocs-gbps", Type: floats, Default: "0", Min: 0, Max: 1e6, Source: "jobpacker.md 3.14", Doc: "rate of an optical circuit that the plan reckons with; 0: the topology's, else 100"},
		{Name: "threshold", Type: sizes, Default: "0", Min: 0, Max: 1e18, Source: "jobpacker.md 2.1", Doc: "elephant threshold; 0: the topology's, else 1.125 GB; larger packs fewer jobs"},
		{Name: "shuffle-model", Type: scheduler.ChoiceParam, Default: "figure", Choices: []string{"figure", "printed"}, Source: "jobpacker.md 6.1", Doc: "shuffle time as in Figure 4.6, or by the printed formula"},
		{Name: "sub-batches", Type: ints, Default: "5", Min: 1, Max: 10000, Source: "jobpacker.md 3.6", Doc: "parts into which a batch is split; 1 is widest job first"},
		{Name: "over-provision", Type: floats, Default: "0", Min: 0, Max: 100, Source: "jobpacker.md 3.8", Doc: "further containers planned per job, as a fraction; 1 with half of the jobs ad hoc"},
		{Name: "seed", Type: ints, Default: "1", Min: 0, Max: 1 << 50, Source: "ours", Doc: "orders the sub-batches"},
		{Name: "adhoc-heavy", Type: sizes, Default: "1GB", Min: 0, Max: 1e18, Source: "jobpacker.md 3.10", Doc: "input above which a job of unknown shuffle size counts as shuffle-heavy"},
		{Name: "adhoc-heavy-max-wait", Type: durations, Default: "60s", Min: 0, Max: 1e6, Source: "jobpacker.md 3.10", Doc: "how long an ad-hoc heavy job keeps away from racks with other heavy jobs"},
	}
}

func gateParams() []scheduler.Param {
	return []scheduler.Param{
		{Name: "agg-wait-all", Type: bools, Default: "true", Source: "jobpacker.md 3.3", Doc: "hold a rack pair until all reduces planned for the target rack are placed"},
		{Name: "agg-max-hold", Type: durations, Default: "30s", Min: 0, Max: 1e6, Source: "jobpacker.md 3.3", Doc: "how long a shuffle may be held at most after the last map, or after a reduce that was placed later"},
	}
}

func adhocAggParam(def string) scheduler.Param {
	return scheduler.Param{Name: "adhoc-agg", Type: bools, Default: def, Source: "jobpacker.md 3.12", Doc: "pack ad-hoc jobs into few racks too; reported to hurt everybody"}
}

func planConfig(p scheduler.Params) Config {
	c := DefaultConfig()
	c.Reduces = scheduler.ReduceRuleOf(p)
	c.Electrical = topology.Gbps(p.Float("eps-gbps"))
	c.Order, c.PlanArrivals, c.PlanMaxWait = p.String("order"), p.Bool("plan-arrivals"), p.Duration("plan-max-wait")
	return c
}

func packConfig(p scheduler.Params) Config {
	c := planConfig(p)
	c.Optical, c.Threshold = topology.Gbps(p.Float("ocs-gbps")), p.Bytes("threshold")
	c.Printed, c.SubBatches, c.Overprovision = p.String("shuffle-model") == "printed", p.Int("sub-batches"), p.Float("over-provision")
	c.Seed = uint64(p.Int("seed"))
	c.AdhocHeavy, c.AdhocHeavyMaxWait = p.Bytes("adhoc-heavy"), p.Duration("adhoc-heavy-max-wait")
	c.AggregateAdhoc = p.Bool("adhoc-agg")
	c.WaitAll, c.MaxHold = p.Bool("agg-wait-all"), p.Duration("agg-max-hold")
	return c
}
