package deadline

import (
	"fmt"

	"github.com/millrace/millrace/scheduler"
)

// Config has the choices of spec/deadline 7, item 2.
type Config struct {
	// Max hands slots that nobody needs to the job of highest priority; without
	// it they stay free (spec/deadline 3.6). Max is never idle beside work; min
	// leaves room for others and finishes closer to the goals.
	Max bool
	// ReduceCostRatio is the length of a reduce relative to a map of the same
	// job until reduces have finished, for jobs that give none. Larger: more map
	// slots asked for early. Default 1 (spec/deadline 3.2).
	ReduceCostRatio float64
	// ClampDelta counts a task that runs longer than the mean as nearly done,
	// not as negative work. Default true (spec/deadline 6.4).
	ClampDelta bool
	// Staged gives the map phase the time before the reduce phase instead of
	// pooling the work of both. Default false: pooled (spec/deadline 3.2, 6.11).
	Staged bool
	// TailReserve keeps the reduce phase and one longest task free before the
	// goal: fewer misses, more slots early. Default false (spec/deadline 6.5).
	TailReserve bool
	// Relative orders late jobs by lateness over the time they were given
	// instead of by lateness. Default false (spec/deadline 6.6).
	Relative bool
	// Reduces says when reduces may start.
	Reduces scheduler.ReduceRule
}

// DefaultConfig returns the choices that reproduce the source; max selects the
// max-scheduler.
func DefaultConfig(max bool) Config {
	return Config{Max: max, ReduceCostRatio: 1, ClampDelta: true, Reduces: scheduler.DefaultReduceRule()}
}

func (c *Config) validate() error {
	if !(c.ReduceCostRatio > 0) {
		return fmt.Errorf("reduce cost ratio %g: it must be above 0", c.ReduceCostRatio)
	}
	return nil
}

// The two policies.
var (
	MinInfo = info("deadline-min", "the slots each job needs to meet its goal, and no more", false)
	MaxInfo = info("deadline-max", "the slots each job needs to meet its goal, then the rest to whoever needs most", true)
)

func info(name, summary string, max bool) scheduler.Info {
	return scheduler.Info{
		Name: name, Seam: scheduler.Assignment, Summary: summary, Source: "spec/deadline 3",
		Setup: scheduler.Bind(func() Config { return DefaultConfig(max) }, (*Config).params, New),
	}
}

func (c *Config) params() []scheduler.Param {
	return append([]scheduler.Param{
		scheduler.Float(&c.ReduceCostRatio, "reduce-cost-ratio", "spec/deadline 3.2", "length of a reduce relative to a map until reduces have finished, for jobs that give none").Above0(1e6),
		scheduler.Bool(&c.ClampDelta, "clamp-delta", "spec/deadline 6.4", "count a task that runs longer than the mean as nearly done, not as negative work"),
		scheduler.Either(&c.Staged, [2]string{"pooled", "staged"}, "reduce-mode", "spec/deadline 3.2, 6.11", "whether map slots are asked for the work of both phases, or for maps in the time before the reduce phase"),
		scheduler.Either(&c.TailReserve, [2]string{"none", "max"}, "tail-reserve", "spec/deadline 6.5", "max: keep the reduce phase and one longest task free before the goal"),
		scheduler.Either(&c.Relative, [2]string{"absolute", "relative"}, "undead-key", "spec/deadline 6.6", "order of late jobs: by lateness, or by lateness over the time they were given"),
	}, c.Reduces.Params()...)
}
