package examine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/scheduler"
)

// enough is how many situations with a broken promise end the search: more would tell nothing new.
const enough = 5

// lastDecisions is how many decisions before a breach a finding shows.
const lastDecisions = 8

// A Finding is a promise that breaks, in the smallest situation that was found for it.
type Finding struct {
	Promise   Promise
	Err       error
	Situation *Situation
	Log       []string // decisions, the last one nearest to the breach
}

// NewFinding returns the finding for what [Run] returned.
func NewFinding(s *Situation, log []string, err error) *Finding {
	return &Finding{promiseOf(err), err, s, log}
}

// String names the promise, what happened, and where.
func (f *Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "broken: %s\n  %v\n  in the smallest situation found (seed %d):\n%s", f.Promise, f.Err, f.Situation.Seed, f.Situation.describe("    "))
	if len(f.Log) > 0 {
		fmt.Fprintf(&b, "  last decisions:\n    %s\n", strings.Join(f.Log[max(0, len(f.Log)-lastDecisions):], "\n    "))
	}
	return b.String()
}

// Policy runs the policy through that many random situations: half of them with faults, some with only one node, some
// with limited users. It returns one finding for each promise that breaks, and stops after some situations in which one
// did.
//
// look, if not nil, is called with the number of each situation before it is tried.
func Policy(newPolicy func() scheduler.Policy, promises Promises, situations int, look func(i int)) []*Finding {
	var found []*Finding
	failed := 0
	for i := range situations {
		s := Draw(uint64(i), i%2 == 1)
		switch i % 8 {
		case 5:
			s.Racks, s.PerRack = 1, 1
		case 6, 7:
			s.Limit = 2 + int32(i%3)
		}
		s.settle()
		if look != nil {
			look(i)
		}
		f := Check(s, newPolicy, promises)
		if f == nil {
			continue
		}
		if failed++; failed > enough {
			break
		}
		if slices.ContainsFunc(found, func(g *Finding) bool { return g.Promise == f.Promise }) {
			continue
		}
		found = append(found, Smallest(f, newPolicy, promises))
	}
	return found
}

// Check runs the policy through one situation, twice, and returns what breaks, or nil.
func Check(s *Situation, newPolicy func() scheduler.Policy, promises Promises) *Finding {
	log, err := Run(s, newPolicy, nil, promises)
	if err != nil {
		return NewFinding(s, log, err)
	}
	again, err := Run(s, newPolicy, nil, promises)
	if err != nil {
		return NewFinding(s, again, err)
	}
	if i := Differ(log, again); i >= 0 {
		a, b := log[i:min(i+1, len(log))], again[i:min(i+1, len(again))]
		return &Finding{Same, broken(Same, "decision %d of two equal runs differs: %q, then %q", i, strings.Join(a, ""), strings.Join(b, "")), s, log[:i]}
	}
	return nil
}

// Run runs a policy, and an admission unless it is nil, through a situation. It returns the decisions, and what broke first.
func Run(s *Situation, newPolicy func() scheduler.Policy, a scheduler.Admission, promises Promises) (log []string, err error) {
	var w *world
	defer func() {
		if r := recover(); r != nil {
			err = broken(Sound, "it panics: %v", r)
		}
		if w != nil {
			log = w.log
		}
	}()
	if w, err = newWorld(s, newPolicy, a, promises); err != nil {
		return nil, err
	}
	err = w.run()
	if p, ok := w.g.Policy().(interface{ Err() error }); ok && p.Err() != nil { // a script's: it decides nothing from then on
		err = broken(Sound, "%w", p.Err())
	}
	return w.log, err
}

// Differ reports the first decision in which two runs differ, or -1.
func Differ(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}
