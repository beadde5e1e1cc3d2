package admission

import (
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
)

type jobID = scheduler.JobID

// Obs is what a controller sees at one step (spec/marp 3.0).
type Obs struct {
	Now     time.Duration
	IdlePct int // whole percent of the processors idle over the last second
	Pending int // jobs that wait for admission
	Running int // jobs with an admitted driver
	// Prog returns the progress of a job, 0..100; 100 once it has ended.
	Prog func(scheduler.JobID) float64
}

// Act is what a controller wants done (spec/marp 3.0).
type Act struct {
	MARP  float64       // the value to write, if Write
	Write bool          // false: MARP stays as it is
	Sleep time.Duration // before the next Step, beside the cost of an iteration
	// Resume says that the sleep is inside an iteration: the next Step continues
	// it with a fresh Obs, without a new processor sample.
	Resume bool
	Done   bool // the batch is over; Init starts the next
}

// A Controller changes MARP while a batch of jobs runs. It has no clock and does
// nothing itself: the caller writes what Act says and steps again after Act's
// sleep.
type Controller interface {
	// Init starts a batch with the value of MARP that was last written.
	Init(batch []scheduler.JobID, marp float64) Act
	// Track adds a job that came late, or, if on is false, removes one that left before it started.
	Track(j scheduler.JobID, on bool)
	// Step is one round of the loop, or the second half of one.
	Step(o Obs) Act
}

// loop is what the three controllers share: the value, the jobs whose slot will be taken back, and the write at the end
// of a round.
type loop struct {
	cfg     Config
	marp    float64
	tracked []jobID
	running int // as last refreshed, for CompatEarlyExit
}

func (l *loop) Init(batch []scheduler.JobID, marp float64) Act {
	l.marp, l.tracked, l.running = marp, slices.Clone(batch), 1
	return Act{Sleep: l.cfg.Quiet}
}

func (l *loop) Track(j scheduler.JobID, on bool) {
	if l.tracked = without(l.tracked, j); on {
		l.tracked = append(l.tracked, j)
	}
}

func without(jobs []jobID, j jobID) []jobID {
	return slices.DeleteFunc(jobs, func(o jobID) bool { return o == j })
}

// over reports whether the loop ends before this round (spec/marp 7.8, 7.12).
func (l *loop) over(o Obs) bool {
	if l.cfg.CompatEarlyExit {
		return l.running == 0
	}
	return o.Pending+o.Running == 0
}

// idle reports whether the processors idle, or would if only our jobs used them.
func (l *loop) idle(o Obs) bool { return o.IdlePct > l.cfg.IdleAbove || l.stalled(o) }

// stalled reports whether jobs wait while nothing runs: the last slot was taken back too early, or the limit is below
// one driver. The jobs then do not cause what the processors do, and with no progress to measure the estimate would
// never rise again. The scripts ended here (spec/marp 7.12); we raise MARP until a job starts.
func (l *loop) stalled(o Obs) bool {
	return o.Running == 0 && o.Pending > 0 && !l.cfg.CompatEarlyExit
}

func (l *loop) raised() float64 { return clamp(r3(l.marp + l.cfg.Inc)) }

// dropped returns the value without the slots of the jobs that are about to
// finish, and forgets those jobs (CBT 12-14, CBTwS 16-17).
func (l *loop) dropped(o Obs) float64 {
	before := len(l.tracked)
	l.tracked = slices.DeleteFunc(l.tracked, func(j jobID) bool { return ipart(o.Prog(j)) >= l.cfg.DropAt })
	if n := before - len(l.tracked); n > 0 {
		return clamp(r3(l.marp - l.cfg.Dec*float64(n)))
	}
	return l.marp
}

// write ends a round: a new value is written, and after an increase the loop
// sleeps (CBT 15-17). Decreases need no sleep.
func (l *loop) write(next float64) Act {
	if next == l.marp {
		return Act{}
	}
	act := Act{MARP: next, Write: true}
	if next > l.marp {
		act.Sleep = l.cfg.AfterIncrease
	}
	l.marp = next
	return act
}

// end resets MARP for the next batch.
func (l *loop) end() Act {
	act := Act{Done: true, MARP: l.cfg.Start, Write: l.marp != l.cfg.Start}
	l.marp = l.cfg.Start
	return act
}
