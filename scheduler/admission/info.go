package admission

import (
	"math/rand/v2"

	"github.com/millrace/millrace/scheduler"
)

// UnlimitedInfo describes the policy that admits every job at once.
var UnlimitedInfo = scheduler.Info{
	Name: "unlimited", Seam: scheduler.Admitting,
	Summary: "every job starts at once",
	Source:  "capacity.md 3.1, nas.md 2.2",
	New:     func(scheduler.Params) (any, error) { return Unlimited{}, nil },
}

// MARPInfo describes admission under a fixed MARP: FIFO at 0.05, the whole batch
// in parallel (PRJ) at 0.25 on the published cluster.
var MARPInfo = scheduler.Info{
	Name: "marp", Seam: scheduler.Admitting,
	Summary: "drivers may hold a fixed part of the cluster",
	Source:  "marp.md 2.3, 3.1",
	// A cluster does without the published tenth: on a few nodes it is no driver at all.
	Live: map[string]string{"marp": "0.5", "always-admit-one": "true"},
	Params: append([]scheduler.Param{
		fraction("marp", "0.1", "part of the cluster that drivers may hold; larger: more jobs at once, less room for tasks", "marp.md 3.1"),
	}, limitParams()...),
	New: func(p scheduler.Params) (any, error) {
		return NewStatic(p.Float("marp"), limitsOf(p), source(p, 1))
	},
}

// CBTInfo describes CPU-based tuning.
var CBTInfo = scheduler.Info{
	Name: "cbt", Seam: scheduler.Admitting,
	Summary: "one more job whenever the processors idle",
	Source:  "marp.md 3.2",
	Params:  append(loopParams(CBTConfig()), limitParams()...),
	New: func(p scheduler.Params) (any, error) {
		cfg := loopOf(p, CBTConfig())
		c, err := NewCBT(cfg)
		if err != nil {
			return nil, err
		}
		return NewTuned(c, cfg, limitsOf(p), source(p, 1))
	},
}

// CBTwSInfo describes CPU-based tuning with smoothing.
var CBTwSInfo = scheduler.Info{
	Name: "cbtws", Seam: scheduler.Admitting,
	Summary: "one more job when the processors idle and the smoothed rate of progress rises",
	Source:  "marp.md 3.4",
	Params:  append(append(loopParams(DefaultConfig()), smoothParams()...), limitParams()...),
	New: func(p scheduler.Params) (any, error) {
		cfg := smoothOf(p, loopOf(p, DefaultConfig()))
		c, err := NewCBTwS(cfg)
		if err != nil {
			return nil, err
		}
		return NewTuned(c, cfg, limitsOf(p), source(p, 1))
	},
}

// CBTwATInfo describes CPU-based tuning with an adaptive threshold.
var CBTwATInfo = scheduler.Info{
	Name: "cbtwat", Seam: scheduler.Admitting,
	Summary: "as cbtws, but the rise must reach a threshold learnt by trial",
	Source:  "marp.md 3.5",
	Params:  append(append(append(loopParams(CBTwATConfig()), smoothParams()...), banditParams()...), limitParams()...),
	New: func(p scheduler.Params) (any, error) {
		cfg := banditOf(p, smoothOf(p, loopOf(p, CBTwATConfig())))
		c, err := NewCBTwAT(cfg, source(p, 2))
		if err != nil {
			return nil, err
		}
		return NewTuned(c, cfg, limitsOf(p), source(p, 1))
	},
}

// source returns the n-th stream of randomness of the seed.
func source(p scheduler.Params, n uint64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(p.Int("seed")), n))
}
