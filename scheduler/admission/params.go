package admission

import (
	"math/rand/v2"

	"github.com/millrace/millrace/scheduler"
)

const longest = 1e6 // seconds; a bound for durations

// settings are all parameters of an admission policy of this package.
type settings struct {
	Config
	Limits
	marp float64
	seed uint64
}

// with returns the defaults of a policy with these constants.
func with(c func() Config) func() settings {
	return func() settings { return settings{c(), DefaultLimits(), 0.1, 1} }
}

// random returns the n-th stream of randomness of the seed.
func (s *settings) random(n uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, n)) }

// limitParams binds Limits and the seed of all randomness.
func (s *settings) limitParams() []scheduler.Param {
	return []scheduler.Param{
		scheduler.Choice(&s.Measure, []string{"auto", "memory", "containers"}, "measure", "spec/marp 2.3", "what MARP is a part of; auto: memory where nodes have it"),
		scheduler.Int(&s.LeastDrivers, "least-drivers", "ours; spec/marp 5.5 has steps of just one driver", "MARP is a part of at least that many drivers, however small the cluster").In(0, 1_000_000),
		scheduler.Bool(&s.AlwaysAdmitOne, "always-admit-one", "spec/marp 2.3", "let one job start whatever the limit"),
		scheduler.Bool(&s.Overtake, "overtake", "ours; spec/marp 2.3 has equal drivers", "let small drivers pass a waiting large one"),
		scheduler.Bool(&s.AvoidDeadlock, "avoid-deadlock", "spec/marp 2.3, slow-start deadlock", "hold jobs back whose drivers and reduces could leave no room for maps"),
		scheduler.Duration(&s.ReloadMin, "reload-min", "spec/marp 2.4", "shortest time from writing MARP to its use").In(0, longest),
		scheduler.Duration(&s.ReloadMax, "reload-max", "spec/marp 2.4, 7.21", "longest time from writing MARP to its use; longer: idle processors before each start").In(0, longest),
		scheduler.Duration(&s.ActivationMin, "activation-min", "spec/marp 2.4, 7.19", "shortest further delay of increases while jobs run").In(0, longest),
		scheduler.Duration(&s.ActivationMax, "activation-max", "spec/marp 2.4, 7.19", "longest further delay of increases while jobs run").In(0, longest),
		scheduler.Float(&s.TimeScale, "time-scale", "spec/marp 4", "divides every sleep, delay and cadence").Above0(1e6),
		scheduler.Choice(&s.Progress, []string{"reported", "yarn", "half"}, "progress", "spec/marp 7.9", "what controllers see: as reported; from half-and-half reports 5+45+45+5 percent; from such reports half and half"),
		scheduler.Int(&s.seed, "seed", "ours", "of the delays drawn and, for cbtwat, of its trials").In(0, 1<<53),
	}
}

func (s *settings) marpParams() []scheduler.Param {
	return append([]scheduler.Param{
		scheduler.Float(&s.marp, "marp", "spec/marp 3.1", "part of the cluster that drivers may hold; larger: more jobs at once, less room for tasks").In(0, 1),
	}, s.limitParams()...)
}

// loopParams binds the parameters of all three controllers.
func (s *settings) loopParams() []scheduler.Param {
	const table, scripts = "spec/marp 2.5, Table 3", "spec/marp 2.5, scripts"
	return []scheduler.Param{
		scheduler.Float(&s.Start, "start", table, "MARP before and after a batch; enough for one driver").In(0, 1),
		scheduler.Float(&s.Inc, "inc", table, "added to start one more job; just enough for one driver").In(0, 1),
		scheduler.Float(&s.Dec, "dec", "spec/marp 2.5, 3.7", "taken off for each job about to finish; slightly below inc").In(0, 1),
		scheduler.Int(&s.IdleAbove, "idle-above", scripts, "percent of idle processors above which the cluster idles; larger: fewer starts").In(0, 100),
		scheduler.Int(&s.DropAt, "drop-at", "spec/marp 2.5, 7.9", "whole percent of progress from which a job is about to finish").In(1, 100),
		scheduler.Duration(&s.AfterIncrease, "after-increase", scripts, "sleep after an increase; shorter: several starts in a row").In(0, longest),
		scheduler.Duration(&s.Quiet, "quiet", "spec/marp 7.22", "from the first job to the first sample").In(0, longest),
		scheduler.Duration(&s.Iteration, "iteration", "spec/marp 3.0", "what a round takes besides sleeps").Above0(longest),
		scheduler.Bool(&s.CompatEarlyExit, "compat-early-exit", "spec/marp 7.12", "stop as soon as nothing runs though jobs wait, as the scripts did"),
	}
}

func (s *settings) smoothParams() []scheduler.Param {
	const table, scripts = "spec/marp 2.5, Table 3", "spec/marp 2.5, scripts"
	return []scheduler.Param{
		scheduler.Duration(&s.Lockout, "lockout", scripts, "sleep between two measurements").In(0, longest),
		scheduler.Duration(&s.NoPending, "no-pending", scripts, "sleep of a measurement that finds no job waiting").In(0, longest),
		scheduler.Float(&s.Current, "ema-current", table, "weight of the newest progress delta; larger: quicker and noisier").In(0, 1),
		scheduler.Float(&s.Previous, "ema-previous", table, "weight of the smoothed earlier one").In(0, 1),
	}
}

func (s *settings) banditParams() []scheduler.Param {
	const table = "spec/marp 2.5, Table 3"
	return []scheduler.Param{
		scheduler.Int(&s.Samples, "samples", table, "measurements that explore one threshold").In(1, 1000),
		scheduler.Int(&s.Thresholds, "thresholds", table, "thresholds explored").In(1, 100),
		scheduler.Int(&s.Lowest, "lowest", table, "smallest threshold that may be drawn, in points of progress").In(0, 100),
		scheduler.Int(&s.Highest, "highest", table, "largest threshold that may be drawn").In(0, 100),
		scheduler.Int(&s.EpsilonPct, "epsilon", "spec/marp 2.5, 7.18", "percent of measurements with a random explored threshold instead of the best").In(0, 100),
		scheduler.Bool(&s.CompatIndexBug, "compat-index-bug", "spec/marp 7.11", "draw the random threshold from indices, not values, as the script did"),
	}
}
