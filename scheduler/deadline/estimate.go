package deadline

import "math"

// A State is where a job stands against its goal (spec/deadline 3.4). Comparison
// is priority: larger first (spec/deadline 3.5).
type State uint8

// The states. They are computed, never stored.
const (
	Adjust State = iota // has data, goal not missed: bounded by its need
	NoData              // no task has finished yet: as many slots as it has tasks
	Undead              // goal missed: as many slots as it has tasks
)

// String returns the state's name in the source.
func (s State) String() string { return [...]string{"ADJUST", "NODATA", "UNDEAD"}[min(s, Undead)] }

// A Population is the tasks of one kind of one job, as the estimator sees them.
// Times are seconds.
type Population struct {
	Mean       float64 // mu (spec/deadline 3.1, eq. 1): mean length of finished tasks
	Running    int32   // |R|
	NotStarted int32   // |U|
	Left       float64 // sum of delta: what the running tasks still need
}

// Mean is spec/deadline 3.1, eq. 1: the mean length of n finished tasks that took sum together.
func Mean(sum float64, n int32) float64 {
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// Delta is what a task that has run for age still needs if it will take mean; if clamped, never less than 0
// (spec/deadline 3.1, 6.4).
func Delta(mean, age float64, clamp bool) float64 {
	if clamp {
		return math.Max(0, mean-age)
	}
	return mean - age
}

// Pending is the slot-seconds of work left (spec/deadline 3.1).
func (p Population) Pending() float64 { return p.Left + float64(p.NotStarted)*p.Mean }

// Need is the number of slots that finish pending slot-seconds of work in the
// time left (spec/deadline 3.3, gross).
func Need(pending, timeLeft float64) float64 { return pending / timeLeft }

// Deficit is s_req (spec/deadline 3.3, eq. 3): the slots that are missing, negative if there are too
// many (net).
func Deficit(need float64, running int32) float64 { return need - float64(running) }

// Allowed is s_alloc for a job in state Adjust: how many new slots it may get
// (spec/deadline 3.6).
func Allowed(deficit float64) int { return int(math.Max(0, math.Ceil(deficit))) }

// Lateness is how late a job will be if it keeps its slots (spec/deadline 3.5).
func Lateness(now, pending float64, running int32, goal float64) float64 {
	return now + pending/math.Max(1, float64(running)) - goal
}

// ReducePhase is how long the reduces that have not started will take, in waves
// over slots (spec/deadline 3.2).
func ReducePhase(notStarted int32, slots int32, mean float64) float64 {
	return math.Ceil(float64(notStarted)/math.Max(1, float64(slots))) * mean
}

// Forecast is the expected completion if the job holds n map slots from now on:
// the staged form, whatever the mode (spec/deadline 3.1, 3.2).
func Forecast(now, pendingMap, n, reducePhase float64) float64 {
	return now + pendingMap/math.Max(1, n) + reducePhase
}

// RelErr is the relative error of a forecast, times counted from the start of
// the job (spec/deadline 3.1).
func RelErr(forecast, actual float64) float64 { return (forecast - actual) / actual }
