package admission

import (
	"errors"
	"fmt"
	"time"
)

// Limits says how a MARP is applied, whoever sets it.
type Limits struct {
	// Measure is what MARP is a part of: "memory" (published, Fair Scheduler),
	// "containers", or "auto" (default): memory where nodes have it, else
	// containers, else map and reduce slots together.
	Measure string
	// LeastDrivers is the smallest number of drivers that the cluster counts as having room for when MARP takes its
	// part: where it has room for fewer, a published step of 0.04 is less than one driver. Drivers never hold more than
	// there is. 0, the default and published, takes the cluster as it is; 25 is the published cluster (spec/marp 2.3).
	LeastDrivers int
	// AlwaysAdmitOne lets one job start whatever the limit, as the Capacity
	// Scheduler does. Published false: too low a MARP starts nobody (spec/marp 2.3).
	AlwaysAdmitOne bool
	// Overtake lets a job with a small driver pass one whose driver does not
	// fit. Large drivers may then wait for ever, and a verdict costs a walk over
	// all waiting jobs. Default false: strictly highest priority, then oldest first.
	Overtake bool
	// AvoidDeadlock holds a job back while drivers and reduces of the running
	// jobs and its own could fill the cluster and leave no room for a map (spec/marp 2.3).
	// Published false.
	AvoidDeadlock bool
	// ReloadMin and ReloadMax bound the time from writing a MARP until it
	// counts, drawn uniformly. Longer: idle processors before each start.
	// Published 10 to 15 s (spec/marp 2.4); the reloader's code says 5 to 15 (spec/marp 7.21).
	ReloadMin, ReloadMax time.Duration
	// ActivationMin and ActivationMax bound a further delay of increases while
	// jobs run. Published 10 to 15 s, but probably the same interval as the
	// start of a driver (spec/marp 7.19): default 0.
	ActivationMin, ActivationMax time.Duration
	// TimeScale divides every sleep, delay and cadence, to replay experiments in
	// minutes (4). Default 1.
	TimeScale float64
	// Progress says what controllers see of the progress that jobs report:
	// "reported" (default) as it is; "yarn", if reports weigh maps and reduces
	// half each, 5 % for setup, 45 for maps, 45 for reduces and 5 for cleanup, so
	// that a job stands at 95 until it ends; "half", if reports are YARN's, maps
	// and reduces half each (spec/marp 7.9).
	Progress string
}

// DefaultLimits returns the defaults.
func DefaultLimits() Limits {
	return Limits{Measure: "auto", ReloadMin: 10 * time.Second, ReloadMax: 15 * time.Second, TimeScale: 1, Progress: "reported"}
}

func (l *Limits) validate() error {
	switch {
	case l.Measure != "auto" && l.Measure != "memory" && l.Measure != "containers":
		return fmt.Errorf("measure %q is not auto, memory or containers", l.Measure)
	case l.LeastDrivers < 0:
		return fmt.Errorf("least drivers %d must not be negative", l.LeastDrivers)
	case l.Progress != "reported" && l.Progress != "yarn" && l.Progress != "half":
		return fmt.Errorf("progress %q is not reported, yarn or half", l.Progress)
	case l.ReloadMin < 0 || l.ReloadMax < l.ReloadMin:
		return fmt.Errorf("reload delay %v..%v is no range", l.ReloadMin, l.ReloadMax)
	case l.ActivationMin < 0 || l.ActivationMax < l.ActivationMin:
		return fmt.Errorf("activation delay %v..%v is no range", l.ActivationMin, l.ActivationMax)
	case !(l.TimeScale > 0):
		return errors.New("time scale must be positive")
	}
	return nil
}

// scaled returns d in the scale of the replay.
func (l *Limits) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / l.TimeScale)
}
