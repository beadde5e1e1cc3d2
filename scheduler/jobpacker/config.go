package jobpacker

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Config holds the parameters of jobpacker and corral.
type Config struct {
	// Corral selects the baseline's planner and no shuffle holding
	// (spec/jobpacker 3.13).
	Corral bool

	// Threshold is E_thr: the bytes from which a job is shuffle-heavy, and which a
	// rack-to-rack transfer must exceed to use a circuit. Larger: fewer jobs are
	// packed. 0 means the topology's, or the published 1.125 GB: 9 times the dark
	// time of 10 ms at 100 Gb/s (spec/jobpacker 2.1).
	Threshold int64
	// Electrical and Optical are the link rates of a rack that the plan assumes.
	// 0 means the topology's, or the published 30 and 100 Gb/s.
	Electrical, Optical topology.Rate
	// Printed uses the shuffle formula as printed; default false, the one that
	// fits Figure 4.6 (spec/jobpacker 6.1).
	Printed bool

	// Order is how expected jobs are sorted for planning: "online" by arrival,
	// "batch" in sub-batches, "auto" (default) batch when all arrive together
	// (spec/jobpacker 3.6).
	Order string
	// SubBatches is B. 1 is Corral's widest job first, which overloads the start;
	// published 5, flat beyond (Figure 4.24; spec/jobpacker 5, item 10).
	SubBatches int
	// Seed orders the sub-batches.
	Seed uint64
	// Overprovision plans (1+ratio) times the containers of each recurring job,
	// room that ad-hoc jobs find free. Published 0 when all jobs recur, 1 with
	// half of them ad hoc (spec/jobpacker 3.8). Larger: longer plans.
	Overprovision float64
	// PlanArrivals plans a recurring job that was not announced when it arrives.
	// Ours; default true. Without it such a job is treated as ad hoc.
	PlanArrivals bool
	// PlanMaxWait is how long the racks of a planned job may launch no task of a kind that it waits for before the job
	// loses its plan. Ours: racks can be blocked by drivers or bans. Smaller: less packing on slow clusters. Default 5
	// min.
	PlanMaxWait time.Duration

	// AdhocHeavy is the input from which a job of unknown shuffle size counts as
	// shuffle-heavy; published 1 GB. Larger: heavy jobs slip into racks with others.
	AdhocHeavy int64
	// AdhocHeavyMaxWait is how long an ad-hoc heavy job keeps away from racks with
	// other heavy jobs; default 60 s (spec/jobpacker 3.10). 0 never keeps away.
	AdhocHeavyMaxWait time.Duration
	// AggregateAdhoc packs ad-hoc jobs into few racks too: the rejected variant,
	// for the negative experiment (spec/jobpacker 3.12).
	AggregateAdhoc bool

	// WaitAll holds a rack pair until all reduces planned for the target rack are
	// placed, so that no mouse is left over (AggWaitAll of spec/jobpacker 3.3).
	WaitAll bool
	// MaxHold is how long a shuffle may be held at most after the last map, or after
	// a reduce that was placed later; default 30 s (AggMaxHold). Larger: one late
	// reduce blocks its siblings.
	MaxHold time.Duration

	// Reduces says when reduces may compete; published slow start 0.7
	// (spec/jobpacker 3.4).
	Reduces scheduler.ReduceRule
}

// DefaultConfig returns the published values.
func DefaultConfig() Config {
	return Config{
		Order: "auto", SubBatches: 5, PlanArrivals: true, PlanMaxWait: 5 * time.Minute,
		AdhocHeavy: 1e9, AdhocHeavyMaxWait: time.Minute, WaitAll: true, MaxHold: 30 * time.Second,
		Reduces: scheduler.ReduceRule{Slowstart: 0.7, Share: 0.5},
	}
}

// The published rates and threshold (spec/jobpacker 3.14), used where neither
// Config nor the topology has one.
const (
	publishedElectrical = topology.Rate(30e9 / 8)
	publishedOptical    = topology.Rate(100e9 / 8)
	publishedThreshold  = 1_125_000_000
)

var orders = []string{"auto", "batch", "online"}

func (c *Config) validate() error {
	switch {
	case !slices.Contains(orders, c.Order):
		return fmt.Errorf("order %q is not one of %v", c.Order, orders)
	case c.Threshold < 0 || c.AdhocHeavy < 0:
		return errors.New("threshold and ad-hoc input must not be negative")
	case c.Electrical < 0 || c.Optical < 0:
		return errors.New("link rates must not be negative")
	case c.SubBatches < 1:
		return fmt.Errorf("%d sub-batches: there must be at least 1", c.SubBatches)
	case !(c.Overprovision >= 0) || math.IsInf(c.Overprovision, 1):
		return fmt.Errorf("over-provisioning %g must not be negative", c.Overprovision)
	case c.PlanMaxWait <= 0 || c.AdhocHeavyMaxWait < 0 || c.MaxHold < 0:
		return errors.New("waits must not be negative, and plan-max-wait must be positive")
	}
	return nil
}

// model fills in what the configuration leaves to the topology.
func (c *Config) model(t *topology.Topology) Model {
	m := Model{Electrical: c.Electrical, Optical: c.Optical, Threshold: c.Threshold, Printed: c.Printed}
	ocs := t.OCS()
	if m.Optical == 0 {
		if m.Optical = publishedOptical; ocs.Present() {
			m.Optical = ocs.Rate
		}
	}
	if m.Threshold == 0 {
		if m.Threshold = publishedThreshold; ocs.Threshold > 0 {
			m.Threshold = ocs.Threshold
		}
	}
	if m.Electrical == 0 {
		if m.Electrical = publishedElectrical; t.NumRacks() > 0 && t.Rack(0).Uplink > 0 {
			m.Electrical = t.Rack(0).Uplink
		}
	}
	return m
}
