package examine

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// A Promise is what a policy is held to.
type Promise string

// What every policy promises, and what it may claim beyond that.
const (
	Ends     Promise = "every job ends"
	Once     Promise = "no task runs twice at once, nor after it is done"
	Places   Promise = "no place is given twice"
	Standing Promise = "nothing starts on a node that is dead or draining"
	Allowed  Promise = "it decides only what may be"
	Reasons  Promise = "every answer has a reason"
	Same     Promise = "the same situation gives the same decisions"
	Sound    Promise = "it makes no mistake of its own"
	Limited  Promise = "nobody goes beyond their limit"
	Busy     Promise = "no place stays free while a task fits it" // only for policies that claim it
)

// Promises are what a policy claims beyond what every policy must keep.
type Promises struct {
	// WorkConserving: no place stays free while a runnable task fits it. Where
	// maps and reduces share containers, reduces may be held while maps wait.
	WorkConserving bool
	// HoldsReduces limits WorkConserving to maps: the policy has its own rule
	// for when reduces may start.
	HoldsReduces bool
	// StartsSecond: the policy may launch second attempts.
	StartsSecond bool
	// Patience is how long a job may rest in total, beside the time its tasks take, without being starved. 0 means ten
	// minutes.
	Patience time.Duration
	// PerTask is how long the policy may hold back each single task: delay
	// scheduling waits anew for every map.
	PerTask time.Duration
	// Quick skips schedulertest's ten thousand nodes, for further variants of a policy that has passed the whole suite.
	Quick bool
	// Limits, if not nil, is called after every step and reports a limit of the
	// policy's own that was exceeded.
	Limits func(v *scheduler.View) error
}

func (p *Promises) patience() time.Duration {
	if p.Patience > 0 {
		return p.Patience
	}
	return 10 * time.Minute
}

// A breach is an error that says which promise broke.
type breach struct {
	promise Promise
	err     error
}

func (b *breach) Error() string { return b.err.Error() }
func (b *breach) Unwrap() error { return b.err }

func broken(p Promise, format string, args ...any) error {
	return &breach{p, fmt.Errorf(format, args...)}
}

// promiseOf returns the promise that an error breaks. What the engine refuses must not happen.
func promiseOf(err error) Promise {
	if b, ok := errors.AsType[*breach](err); ok {
		return b.promise
	}
	return Allowed
}
