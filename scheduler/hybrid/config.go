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
	// Classifier tells small jobs from large; default the rule of hybrid.md 2.6(a),
	// as for a cluster without training.
	Classifier Classifier
	// Classify off lets every job run on every machine: H-w/o of hybrid.md 3.7.
	Classify bool
	// Steal lets scale-out machines without work take unstarted small jobs
	// (hybrid.md 3.3). Off: H-w/o-JS.
	Steal bool
	// StealOnlyIfUpBusy forbids stealing while a scale-up container is free; off is
	// the literal rule, which strips scale-up of its jobs (hybrid.md 6.7).
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
	Source:  "hybrid.md 3",
	Params:  append(params(), scheduler.ReduceParams()...),
	Live:    fair.LivePatience, LiveUnless: []string{"skips"},
	New: func(p scheduler.Params) (any, error) { return fromParams(p) },
}

func params() []scheduler.Param {
	const (
		text, yes, count, length = scheduler.StringParam, scheduler.BoolParam, scheduler.IntParam, scheduler.DurationParam
	)
	return []scheduler.Param{
		{Name: "up-class", Type: text, Default: "scale-up", Source: "hybrid.md 2.3", Doc: "machine class of the scale-up nodes; all others are scale-out"},
		{Name: "base", Type: scheduler.ChoiceParam, Default: "fair", Choices: bases, Source: "hybrid.md 3.7", Doc: "what orders each of the two queues"},
		{Name: "classify", Type: yes, Default: "true", Source: "hybrid.md 3.7", Doc: "false: any job on any machine"},
		{Name: "steal", Type: yes, Default: "true", Source: "hybrid.md 3.3", Doc: "idle scale-out machines take whole unstarted small jobs"},
		{Name: "steal-guard", Type: yes, Default: "true", Source: "hybrid.md 6.7", Doc: "no stealing while a scale-up container is free; false is the literal rule"},
		{Name: "scale", Type: scheduler.FloatParam, Default: "1", Positive: true, Max: 1e6, Source: "hybrid.md 2.6(a)", Doc: "crosspoint of the label rule relative to the measured one; more jobs are small"},
		{Name: "model", Type: text, Default: "", Source: "hybrid.md 3.1", Doc: "a trained classifier as JSON; empty: the label rule"},
		{Name: "key", Type: scheduler.ChoiceParam, Default: "job", Choices: []string{"job", "user", "pool", "queue"}, Source: "nas.md 6.18", Doc: "who gets equal shares inside a queue"},
		{Name: "by", Type: scheduler.ChoiceParam, Default: "skips", Choices: []string{"skips", "time"}, Source: "nas.md 3.11", Doc: "base delay: patience in offers passed up, or in time"},
		{Name: "skips", Type: count, Default: "135", Min: 0, Max: 1 << 30, Source: "nas.md 3.11", Doc: "base delay: offers passed up before a map may run off its data"},
		{Name: "wait", Type: length, Default: "5s", Min: 0, Max: 1e6, Source: "nas.md 4.3", Doc: "base delay: time passed before a map may run off its data"},
	}
}

func fromParams(p scheduler.Params) (*Policy, error) {
	c := DefaultConfig()
	c.Up, c.Base = p.String("up-class"), p.String("base")
	c.Classify, c.Steal, c.StealOnlyIfUpBusy = p.Bool("classify"), p.Bool("steal"), p.Bool("steal-guard")
	c.Classifier = ByRule{Rule{Scale: p.Float("scale")}}
	if text := p.String("model"); text != "" {
		t, err := ParseTrained(text)
		if err != nil {
			return nil, err
		}
		c.Classifier = t
	}
	c.Fair.Key, c.Fair.Reduces = p.String("key"), scheduler.ReduceRuleOf(p)
	c.Patience.ByTime, c.Patience.Skips, c.Patience.Wait = p.String("by") == "time", p.Int("skips"), p.Duration("wait")
	return New(c)
}
