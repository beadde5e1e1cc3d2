package admission

import (
	"slices"

	"github.com/millrace/millrace/scheduler"
)

// UnlimitedInfo describes the policy that admits every job at once.
var UnlimitedInfo = scheduler.Info{
	Name: "unlimited", Seam: scheduler.Admitting,
	Summary: "every job starts at once",
	Source:  "spec/capacity 3.1, spec/nas 2.2",
	Setup:   scheduler.Unset(func() (Unlimited, error) { return Unlimited{}, nil }),
}

// MARPInfo describes admission under a fixed MARP: FIFO at 0.05, the whole batch
// in parallel (PRJ) at 0.25 on the published cluster.
var MARPInfo = scheduler.Info{
	Name: "marp", Seam: scheduler.Admitting,
	Summary: "drivers may hold a fixed part of the cluster",
	Source:  "spec/marp 2.3, 3.1",
	// Live clusters do not use the published tenth: on a few nodes it is less than one driver.
	Live: map[string]string{"marp": "0.5", "always-admit-one": "true"},
	Setup: scheduler.Bind(with(DefaultConfig), (*settings).marpParams, func(s settings) (*Static, error) {
		return NewStatic(s.marp, s.Limits, s.random(1))
	}),
}

// CBTInfo describes CPU-based tuning.
var CBTInfo = scheduler.Info{
	Name: "cbt", Seam: scheduler.Admitting,
	Summary: "one more job whenever the processors idle",
	Source:  "spec/marp 3.2",
	Live:    liveLoop(),
	Setup: scheduler.Bind(with(CBTConfig), func(s *settings) []scheduler.Param { return append(s.loopParams(), s.limitParams()...) },
		func(s settings) (*Tuned, error) {
			c, err := NewCBT(s.Config)
			return tuned(c, err, s)
		}),
}

// CBTwSInfo describes CPU-based tuning with smoothing.
var CBTwSInfo = scheduler.Info{
	Name: "cbtws", Seam: scheduler.Admitting,
	Summary: "one more job when the processors idle and the smoothed rate of progress rises",
	Source:  "spec/marp 3.4",
	Live:    liveSmooth(),
	Setup: scheduler.Bind(with(DefaultConfig), func(s *settings) []scheduler.Param {
		return slices.Concat(s.loopParams(), s.smoothParams(), s.limitParams())
	}, func(s settings) (*Tuned, error) {
		c, err := NewCBTwS(s.Config)
		return tuned(c, err, s)
	}),
}

// CBTwATInfo describes CPU-based tuning with an adaptive threshold.
var CBTwATInfo = scheduler.Info{
	Name: "cbtwat", Seam: scheduler.Admitting,
	Summary: "as cbtws, but the rise must reach a threshold learnt by trial",
	Source:  "spec/marp 3.5",
	Live:    liveSmooth(),
	Setup: scheduler.Bind(with(CBTwATConfig), func(s *settings) []scheduler.Param {
		return slices.Concat(s.loopParams(), s.smoothParams(), s.banditParams(), s.limitParams())
	}, func(s settings) (*Tuned, error) {
		c, err := NewCBTwAT(s.Config, s.random(2))
		return tuned(c, err, s)
	}),
}

// liveLoop returns the defaults of a live cluster. A step is one driver however small the cluster. A new value counts
// at once, as there is no file to read again. A driver starts in a moment, so the controllers need not sleep for as
// long. One second is how often workers say how idle they are.
func liveLoop() map[string]string {
	return map[string]string{
		"least-drivers": "25", "reload-min": "0s", "reload-max": "0s",
		"quiet": "2s", "iteration": "1s", "after-increase": "3s",
	}
}

func liveSmooth() map[string]string {
	m := liveLoop()
	m["lockout"], m["no-pending"] = "1500ms", "2s"
	return m
}

// tuned wraps a controller, or returns the error from making it.
func tuned(c Controller, err error, s settings) (*Tuned, error) {
	if err != nil {
		return nil, err
	}
	return NewTuned(c, s.Config, s.Limits, s.random(1))
}
