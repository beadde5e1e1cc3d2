package live

import (
	"fmt"

	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/sim"
)

// A Laboratory is a question that a simulator and a cluster answer.
type Laboratory struct {
	ID, Title, Source string
	Seconds           int // it takes about, on two cores
	// Experiment is the experiment of a document whose workload this is, scaled; "" is none.
	Experiment string

	Machines Machines
	Arms     []Arm
	// Jobs makes the workload; quick is a shorter one of the same shape.
	Jobs func(quick bool) []*sim.Job
	// Drawn, if not nil, makes the workload by an arrival sequence. Each repetition has a sequence of its own, so that
	// no lucky one is shown; Jobs makes the first.
	Drawn func(quick bool, sequence uint64) []*sim.Job
	// Measures are what is measured. The first ranks the arms.
	Measures []Measure
	// Published is what was published of the first measure, and Statements what of single arms and measures.
	Published  string
	Statements []Statement
	// Announced says that recurring jobs are announced before the first comes, to policies that plan.
	Announced bool
}

// An Arm is what is compared: an assignment policy and an admission policy, by name and parameters.
type Arm struct {
	Name              string
	Policy, Admission drive.Named
	// Quick says that the short form has it.
	Quick bool
}

// Repetition returns the laboratory as its n-th run has it, from 0.
func (l *Laboratory) Repetition(n int) *Laboratory {
	if l.Drawn == nil {
		return l
	}
	one := *l
	one.Jobs = func(quick bool) []*sim.Job { return l.Drawn(quick, uint64(n)+1) }
	return &one
}

// sequences returns which arrival sequences so many repetitions have.
func (l *Laboratory) sequences(repeat int) string {
	switch {
	case l.Drawn == nil:
		return ""
	case repeat == 1:
		return " Arrival sequence 1."
	}
	return fmt.Sprintf(" Arrival sequences 1 to %d, one for each repetition.", repeat)
}

// Find returns the laboratory of an id.
func Find(id string) (*Laboratory, error) {
	known := []string{}
	for _, l := range All {
		if l.ID == id {
			return l, nil
		}
		known = append(known, l.ID)
	}
	return nil, fmt.Errorf("there is no live laboratory %q (there are %v)", id, known)
}
