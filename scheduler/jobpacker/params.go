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
	Source:  "spec/jobpacker 3",
	Usual:   scheduler.RipeUsually, UsualUnless: scheduler.RipeUnless,
	Setup: setup((*settings).allParams, nil),
}

// AdhocAggInfo describes the rejected variant.
var AdhocAggInfo = scheduler.Info{
	Name:    "jobpacker-adhoc-agg",
	Seam:    scheduler.Assignment,
	Summary: "jobpacker that packs ad-hoc jobs too: the variant its authors rejected, for the negative experiment",
	Source:  "spec/jobpacker 3.12",
	Usual:   scheduler.RipeUsually, UsualUnless: scheduler.RipeUnless,
	Setup: setup((*settings).allParams, func(c *Config) { c.AggregateAdhoc = true }),
}

// CorralInfo describes the baseline.
var CorralInfo = scheduler.Info{
	Name:    "corral",
	Seam:    scheduler.Assignment,
	Summary: "maps and reduces of a recurring job on the same racks by an offline plan, widest job first; no shuffle holding",
	Source:  "spec/jobpacker 3.13",
	Usual:   scheduler.RipeUsually, UsualUnless: scheduler.RipeUnless,
	Setup: setup((*settings).planParams, func(c *Config) { c.Corral = true }),
}

// settings is a configuration with the rates as a user gives them.
type settings struct {
	Config
	electrical, optical float64 // Gb/s
}

func setup(params func(*settings) []scheduler.Param, change func(*Config)) func() ([]scheduler.Param, func() (any, error)) {
	defaults := func() settings {
		s := settings{Config: DefaultConfig()}
		if s.Seed = 1; change != nil {
			change(&s.Config)
		}
		return s
	}
	return scheduler.Bind(defaults, params, func(s settings) (*Policy, error) {
		s.Electrical, s.Optical = topology.Gbps(s.electrical), topology.Gbps(s.optical)
		return New(s.Config)
	})
}

// planParams are what jobpacker and corral have.
func (c *settings) planParams() []scheduler.Param {
	reduces := c.Reduces.Params()
	reduces[0].Source = "spec/jobpacker 3.4"
	return append(reduces, scheduler.RipeParam(&c.Reduces.Ripe),
		scheduler.Float(&c.electrical, "eps-gbps", "spec/jobpacker 3.14", "rate of a rack's link to the packet switch that the plan reckons with; 0: the topology's, else 30").In(0, 1e6),
		scheduler.Choice(&c.Order, orders, "order", "spec/jobpacker 3.6", "how expected jobs are sorted for planning; auto: batch when all arrive together"),
		scheduler.Bool(&c.PlanArrivals, "plan-arrivals", "ours", "plan a recurring job that was not announced when it arrives"),
		scheduler.Duration(&c.PlanMaxWait, "plan-max-wait", "ours", "how long a planned job's racks may launch nothing before it is taken off its plan").Above0(1e6),
	)
}

func (c *settings) allParams() []scheduler.Param {
	return slices.Concat(c.planParams(), []scheduler.Param{
		scheduler.Float(&c.optical, "ocs-gbps", "spec/jobpacker 3.14", "rate of an optical circuit that the plan reckons with; 0: the topology's, else 100").In(0, 1e6),
		scheduler.ByteCount(&c.Threshold, "threshold", "spec/jobpacker 2.1", "elephant threshold; 0: the topology's, else 1.125 GB; larger packs fewer jobs").In(0, 1e18),
		scheduler.Either(&c.Printed, [2]string{"figure", "printed"}, "shuffle-model", "spec/jobpacker 6.1", "shuffle time as in Figure 4.6, or by the printed formula"),
		scheduler.Int(&c.SubBatches, "sub-batches", "spec/jobpacker 3.6", "parts into which a batch is split; 1 is widest job first").In(1, 10000),
		scheduler.Float(&c.Overprovision, "over-provision", "spec/jobpacker 3.8", "further containers planned per job, as a fraction; 1 with half of the jobs ad hoc").In(0, 100),
		scheduler.Int(&c.Seed, "seed", "ours", "orders the sub-batches").In(0, 1<<50),
		scheduler.ByteCount(&c.AdhocHeavy, "adhoc-heavy", "spec/jobpacker 3.10", "input above which a job of unknown shuffle size counts as shuffle-heavy").In(0, 1e18),
		scheduler.Duration(&c.AdhocHeavyMaxWait, "adhoc-heavy-max-wait", "spec/jobpacker 3.10", "how long an ad-hoc heavy job keeps away from racks with other heavy jobs").In(0, 1e6),
		scheduler.Bool(&c.WaitAll, "agg-wait-all", "spec/jobpacker 3.3", "hold a rack pair until all reduces planned for the target rack are placed"),
		scheduler.Duration(&c.MaxHold, "agg-max-hold", "spec/jobpacker 3.3", "how long a shuffle may be held at most after the last map, or after a reduce that was placed later").In(0, 1e6),
		scheduler.Bool(&c.AggregateAdhoc, "adhoc-agg", "spec/jobpacker 3.12", "pack ad-hoc jobs into few racks too; reported to hurt everybody"),
	})
}
