package admission

import (
	"strconv"
	"time"

	"github.com/millrace/millrace/scheduler"
)

type param = scheduler.Param

const longest = 1e6 // seconds; a bound for durations

func fraction(name, def, doc, source string) param {
	return param{Name: name, Type: scheduler.FloatParam, Default: def, Min: 0, Max: 1, Doc: doc, Source: source}
}

func length(name string, def time.Duration, doc, source string) param {
	return param{Name: name, Type: scheduler.DurationParam, Default: def.String(), Min: 0, Max: longest, Doc: doc, Source: source}
}

func whole(name string, def, low, high int, doc, source string) param {
	return param{Name: name, Type: scheduler.IntParam, Default: strconv.Itoa(def), Min: float64(low), Max: float64(high), Doc: doc, Source: source}
}

func flag(name string, def bool, doc, source string) param {
	return param{Name: name, Type: scheduler.BoolParam, Default: strconv.FormatBool(def), Doc: doc, Source: source}
}

// limitParams declares Limits and the seed of all randomness.
func limitParams() []param {
	d := DefaultLimits()
	return []param{
		{Name: "measure", Type: scheduler.ChoiceParam, Default: d.Measure, Choices: []string{"auto", "memory", "containers"}, Doc: "what MARP is a part of; auto: memory where nodes have it", Source: "marp.md 2.3"},
		flag("always-admit-one", d.AlwaysAdmitOne, "let one job start whatever the limit", "marp.md 2.3"),
		flag("overtake", d.Overtake, "let small drivers pass a waiting large one", "ours; marp.md 2.3 has equal drivers"),
		flag("avoid-deadlock", d.AvoidDeadlock, "hold jobs back whose drivers and reduces could leave no room for maps", "marp.md 2.3, slow-start deadlock"),
		length("reload-min", d.ReloadMin, "shortest time from writing MARP to its use", "marp.md 2.4"),
		length("reload-max", d.ReloadMax, "longest time from writing MARP to its use; longer: idle processors before each start", "marp.md 2.4, 7.21"),
		length("activation-min", d.ActivationMin, "shortest further delay of increases while jobs run", "marp.md 2.4, 7.19"),
		length("activation-max", d.ActivationMax, "longest further delay of increases while jobs run", "marp.md 2.4, 7.19"),
		{Name: "time-scale", Type: scheduler.FloatParam, Default: "1", Positive: true, Max: 1e6, Doc: "divides every sleep, delay and cadence", Source: "marp.md 4"},
		{Name: "progress", Type: scheduler.ChoiceParam, Default: d.Progress, Choices: []string{"reported", "yarn", "half"}, Doc: "what controllers see: as reported; from half-and-half reports 5+45+45+5 percent; from such reports half and half", Source: "marp.md 7.9"},
		whole("seed", 1, 0, 1<<53, "of the delays drawn and, for cbtwat, of its trials", "ours"),
	}
}

func limitsOf(p scheduler.Params) Limits {
	return Limits{
		Measure: p.String("measure"), AlwaysAdmitOne: p.Bool("always-admit-one"), Overtake: p.Bool("overtake"), AvoidDeadlock: p.Bool("avoid-deadlock"),
		ReloadMin: p.Duration("reload-min"), ReloadMax: p.Duration("reload-max"),
		ActivationMin: p.Duration("activation-min"), ActivationMax: p.Duration("activation-max"),
		TimeScale: p.Float("time-scale"), Progress: p.String("progress"),
	}
}

// loopParams declares what all three controllers have.
func loopParams(d Config) []param {
	num := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	return []param{
		fraction("start", num(d.Start), "MARP before and after a batch; enough for one driver", "marp.md 2.5, Table 3"),
		fraction("inc", num(d.Inc), "added to start one more job; just enough for one driver", "marp.md 2.5, Table 3"),
		fraction("dec", num(d.Dec), "taken off for each job about to finish; slightly below inc", "marp.md 2.5, 3.7"),
		whole("idle-above", d.IdleAbove, 0, 100, "percent of idle processors above which the cluster idles; larger: fewer starts", "marp.md 2.5, scripts"),
		whole("drop-at", d.DropAt, 1, 100, "whole percent of progress from which a job is about to finish", "marp.md 2.5, 7.9"),
		length("after-increase", d.AfterIncrease, "sleep after an increase; shorter: several starts in a row", "marp.md 2.5, scripts"),
		length("quiet", d.Quiet, "from the first job to the first sample", "marp.md 7.22"),
		{Name: "iteration", Type: scheduler.DurationParam, Default: d.Iteration.String(), Positive: true, Max: longest, Doc: "what a round takes besides sleeps", Source: "marp.md 3.0"},
		flag("compat-early-exit", d.CompatEarlyExit, "stop as soon as nothing runs though jobs wait, as the scripts did", "marp.md 7.12"),
	}
}

func loopOf(p scheduler.Params, c Config) Config {
	c.Start, c.Inc, c.Dec = p.Float("start"), p.Float("inc"), p.Float("dec")
	c.IdleAbove, c.DropAt = p.Int("idle-above"), p.Int("drop-at")
	c.AfterIncrease, c.Quiet, c.Iteration = p.Duration("after-increase"), p.Duration("quiet"), p.Duration("iteration")
	c.CompatEarlyExit = p.Bool("compat-early-exit")
	return c
}

func smoothParams() []param {
	d := DefaultConfig()
	return []param{
		length("lockout", d.Lockout, "sleep between two measurements", "marp.md 2.5, scripts"),
		length("no-pending", d.NoPending, "sleep of a measurement that finds no job waiting", "marp.md 2.5, scripts"),
		fraction("ema-current", "0.4", "weight of the newest progress delta; larger: quicker and noisier", "marp.md 2.5, Table 3"),
		fraction("ema-previous", "0.6", "weight of the smoothed earlier one", "marp.md 2.5, Table 3"),
	}
}

func smoothOf(p scheduler.Params, c Config) Config {
	c.Lockout, c.NoPending = p.Duration("lockout"), p.Duration("no-pending")
	c.Current, c.Previous = p.Float("ema-current"), p.Float("ema-previous")
	return c
}

func banditParams() []param {
	d := CBTwATConfig()
	return []param{
		whole("samples", d.Samples, 1, 1000, "measurements that explore one threshold", "marp.md 2.5, Table 3"),
		whole("thresholds", d.Thresholds, 1, 100, "thresholds explored", "marp.md 2.5, Table 3"),
		whole("lowest", d.Lowest, 0, 100, "smallest threshold that may be drawn, in points of progress", "marp.md 2.5, Table 3"),
		whole("highest", d.Highest, 0, 100, "largest threshold that may be drawn", "marp.md 2.5, Table 3"),
		whole("epsilon", d.EpsilonPct, 0, 100, "percent of measurements with a random explored threshold instead of the best", "marp.md 2.5, 7.18"),
		flag("compat-index-bug", d.CompatIndexBug, "draw the random threshold from indices, not values, as the script did", "marp.md 7.11"),
	}
}

func banditOf(p scheduler.Params, c Config) Config {
	c.Samples, c.Thresholds, c.Lowest, c.Highest = p.Int("samples"), p.Int("thresholds"), p.Int("lowest"), p.Int("highest")
	c.EpsilonPct, c.CompatIndexBug = p.Int("epsilon"), p.Bool("compat-index-bug")
	return c
}
