package hybrid

import (
	"errors"
	"fmt"
	"slices"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// Config holds the parameters of the policy.
type Config struct {
	// Up is the machine class of the scale-up nodes; every other node is
	// scale-out. Default "scale-up".
	Up string
	// IsUp, if not nil, says which nodes are scale-up instead of Up.
	IsUp func(topology.NodeID) bool
	// Classifier tells small jobs from large; default the rule of spec/hybrid 2.6(a),
	// as for a cluster without training.
	Classifier Classifier
	// Classify off lets every job run on every machine: H-w/o of spec/hybrid 3.7.
	Classify bool
	// Steal lets scale-out machines without work take unstarted small jobs
	// (spec/hybrid 3.3). Off: H-w/o-JS.
	Steal bool
	// StealOnlyIfUpBusy forbids stealing while a scale-up container is free; off is
	// the literal rule, which strips scale-up of its jobs (spec/hybrid 6.7).
	StealOnlyIfUpBusy bool
	// Base orders each queue: "fair" (default) or "delay".
	Base string
	// Fair configures the base; its Only is replaced. Default shares by job.
	Fair fair.Config
	// Patience is that of base delay.
	Patience fair.Patience
}

// DefaultConfig returns the published strategies over fair sharing.
func DefaultConfig() Config {
	return Config{
		Up: "scale-up", Classifier: ByRule{Rule{Scale: 1}}, Classify: true, Steal: true, StealOnlyIfUpBusy: true,
		Base: "fair", Fair: fair.DefaultConfig(), Patience: fair.DefaultPatience(),
	}
}

var bases = []string{"fair", "delay"}

func (c *Config) validate() error {
	switch {
	case c.Classifier == nil:
		return errors.New("there is no classifier")
	case c.Up == "" && c.IsUp == nil:
		return errors.New("the scale-up class needs a name")
	case !slices.Contains(bases, c.Base):
		return fmt.Errorf("base %q is not one of %v", c.Base, bases)
	}
	return nil
}

// Info describes the policy.
var Info = scheduler.Info{
	Name:    "hybrid",
	Seam:    scheduler.Assignment,
	Summary: "small jobs on scale-up machines, large ones on scale-out, by a trained classifier; idle scale-out machines steal whole small jobs",
	Source:  "spec/hybrid 3",
	Live:    live, LiveUnless: []string{"skips"},
	Usual: scheduler.RipeUsually, UsualUnless: scheduler.RipeUnless,
	Setup: scheduler.Bind(func() settings { return settings{Config: DefaultConfig(), scale: 1} }, (*settings).params, settings.build),
}

// live also holds reduces back: on a class of a few containers a job's reduces would take what its maps need.
var live = map[string]string{"by": fair.LivePatience["by"], "wait": fair.LivePatience["wait"], "hold-reduces": "true"}

// settings is a configuration with the classifier as a user names it.
type settings struct {
	Config
	scale float64
	model string
}

func (c *settings) params() []scheduler.Param {
	return append([]scheduler.Param{
		scheduler.Text(&c.Up, "up-class", "spec/hybrid 2.3", "machine class of the scale-up nodes; all others are scale-out"),
		scheduler.Choice(&c.Base, bases, "base", "spec/hybrid 3.7", "what orders each of the two queues"),
		scheduler.Bool(&c.Classify, "classify", "spec/hybrid 3.7", "false: any job on any machine"),
		scheduler.Bool(&c.Steal, "steal", "spec/hybrid 3.3", "idle scale-out machines take whole unstarted small jobs"),
		scheduler.Bool(&c.StealOnlyIfUpBusy, "steal-guard", "spec/hybrid 6.7", "no stealing while a scale-up container is free; false is the literal rule"),
		scheduler.Float(&c.scale, "scale", "spec/hybrid 2.6(a)", "crosspoint of the label rule relative to the measured one; more jobs are small").Above0(1e6),
		scheduler.Text(&c.model, "model", "spec/hybrid 3.1", "a trained classifier as JSON; empty: the label rule"),
		scheduler.Choice(&c.Fair.Key, []string{"job", "user", "pool", "queue"}, "key", "spec/nas 6.18", "who gets equal shares inside a queue"),
		scheduler.Either(&c.Patience.ByTime, [2]string{"skips", "time"}, "by", "spec/nas 3.11", "base delay: patience in offers passed up, or in time"),
		scheduler.Int(&c.Patience.Skips, "skips", "spec/nas 3.11", "base delay: offers passed up before a map may run off its data").In(0, 1<<30),
		scheduler.Duration(&c.Patience.Wait, "wait", "spec/nas 4.3", "base delay: time passed before a map may run off its data").In(0, 1e6),
	}, append(c.Fair.Reduces.Params(), scheduler.RipeParam(&c.Fair.Reduces.Ripe))...)
}

func (c settings) build() (*Policy, error) {
	c.Classifier = ByRule{Rule{Scale: c.scale}}
	if c.model != "" {
		t, err := ParseTrained(c.model)
		if err != nil {
			return nil, err
		}
		c.Classifier = t
	}
	return New(c.Config)
}
