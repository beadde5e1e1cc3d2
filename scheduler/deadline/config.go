package deadline

import (
	"fmt"

	"github.com/millrace/millrace/scheduler"
)

// Config has the choices of deadline.md 7, item 2.
type Config struct {
	// Max hands slots that nobody needs to the job of highest priority; without
	// it they stay free (deadline.md 3.6). Max is never idle beside work; min
	// leaves room for others and finishes closer to the goals.
	Max bool
	// ReduceCostRatio is the length of a reduce relative to a map of the same
	// job until reduces have finished, for jobs that give none. Larger: more map
	// slots asked for early. Default 1 (deadline.md 3.2).
	ReduceCostRatio float64
	// ClampDelta counts a task that runs longer than the mean as nearly done,
	// not as negative work. Default true (deadline.md 6.4).
	ClampDelta bool
	// Staged gives the map phase the time before the reduce phase instead of
	// pooling the work of both. Default false: pooled (deadline.md 3.2, 6.11).
	Staged bool
	// TailReserve keeps the reduce phase and one longest task free before the
	// goal: fewer misses, more slots early. Default false (deadline.md 6.5).
	TailReserve bool
	// Relative orders late jobs by lateness over the time they were given
	// instead of by lateness. Default false (deadline.md 6.6).
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
		Name: name, Seam: scheduler.Assignment, Summary: summary, Source: "deadline.md 3", Params: params(),
		New: func(p scheduler.Params) (any, error) { return New(configOf(p, max)) },
	}
}

func params() []scheduler.Param {
	choice := func(name, doc, source string, choices ...string) scheduler.Param {
		return scheduler.Param{Name: name, Type: scheduler.ChoiceParam, Default: choices[0], Choices: choices, Doc: doc, Source: source}
	}
	return append([]scheduler.Param{
		{
			Name: "reduce-cost-ratio", Type: scheduler.FloatParam, Default: "1", Positive: true, Max: 1e6, Source: "deadline.md 3.2",
			Doc: "length of a reduce relative to a map until reduces have finished, for jobs that give none",
		},
		{
			Name: "clamp-delta", Type: scheduler.BoolParam, Default: "true", Source: "deadline.md 6.4",
			Doc: "count a task that runs longer than the mean as nearly done, not as negative work",
		},
		choice("reduce-mode", "whether map slots are asked for the work of both phases, or for maps in the time before the reduce phase", "deadline.md 3.2, 6.11", "pooled", "staged"),
		choice("tail-reserve", "max: keep the reduce phase and one longest task free before the goal", "deadline.md 6.5", "none", "max"),
		choice("undead-key", "order of late jobs: by lateness, or by lateness over the time they were given", "deadline.md 6.6", "absolute", "relative"),
	}, scheduler.ReduceParams()...)
}

func configOf(p scheduler.Params, max bool) Config {
	return Config{
		Max: max, ReduceCostRatio: p.Float("reduce-cost-ratio"), ClampDelta: p.Bool("clamp-delta"), Staged: p.String("reduce-mode") == "staged",
		TailReserve: p.String("tail-reserve") == "max", Relative: p.String("undead-key") == "relative", Reduces: scheduler.ReduceRuleOf(p),
	}
}
