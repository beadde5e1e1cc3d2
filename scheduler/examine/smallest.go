package examine

import (
	"reflect"

	"github.com/millrace/millrace/scheduler"
)

// maxTrials bounds how many situations Smallest runs.
const maxTrials = 2000

// Smallest removes from the situation of a finding what the finding does not need: jobs, tasks, nodes, faults, and what
// jobs say of themselves. The same promise must break in what is left, from which no single step can remove more.
func Smallest(f *Finding, newPolicy func() scheduler.Policy, promises Promises) *Finding {
	trials := 0
	for again := true; again; {
		again = false
		for _, smaller := range f.Situation.reductions() {
			if trials++; trials > maxTrials {
				return f
			}
			if g := Check(smaller, newPolicy, promises); g != nil && g.Promise == f.Promise {
				f, again = g, true
				break
			}
		}
	}
	return f
}

// reductions returns the situations that are a step smaller, the larger steps first.
func (s *Situation) reductions() (out []*Situation) {
	change := func(do func(*Situation)) {
		c := s.clone()
		do(c)
		c.settle()
		out = append(out, c)
	}
	if s.Racks > 1 { // nodes first: each costs a heartbeat a second
		change(func(c *Situation) { c.Racks = 1 })
		change(func(c *Situation) { c.Racks-- })
	}
	if s.PerRack > 1 {
		change(func(c *Situation) { c.PerRack = 1 })
		change(func(c *Situation) { c.PerRack-- })
	}
	for size := len(s.Jobs) / 2; size > 0; size /= 2 {
		for from := 0; from < len(s.Jobs); from += size {
			change(func(c *Situation) { c.drop(from, min(from+size, len(c.Jobs))) })
		}
	}
	if s.Replace {
		change(func(c *Situation) { c.Replace = false })
	}
	if s.Limit > 0 {
		change(func(c *Situation) { c.Limit = 0 })
	}
	out = append(out, s.calmer()...)
	for i := range s.Jobs {
		out = append(out, s.plainer(i)...)
	}
	return out
}

// calmer returns the situations with one kind of fault less.
func (s *Situation) calmer() (out []*Situation) {
	if s.Faults == (Faults{}) {
		return nil
	}
	none := s.clone()
	none.Faults = Faults{}
	out = append(out, none)
	for i := range len(s.Faults.all()) {
		c := s.clone()
		if p := c.Faults.all()[i]; *p.chance > 0 {
			*p.chance = 0
			out = append(out, c)
		}
	}
	return out
}

// plainer returns the situations in which job i has fewer tasks, or says less of itself.
func (s *Situation) plainer(i int) (out []*Situation) {
	try := func(do func(*scheduler.JobSpec)) {
		c := s.clone()
		do(c.Jobs[i])
		out = append(out, c)
	}
	j := s.Jobs[i]
	if j.Splits.Len() > 0 {
		try(func(j *scheduler.JobSpec) { j.Splits = scheduler.Splits{} })
	}
	for _, n := range []int32{0, j.Maps / 2, j.Maps - 1} {
		if n >= 0 && n < j.Maps && j.Splits.Len() == 0 {
			try(func(j *scheduler.JobSpec) { j.Maps = n })
		}
	}
	for _, n := range []int32{0, j.Reduces - 1} {
		if n >= 0 && n < j.Reduces {
			try(func(j *scheduler.JobSpec) { j.Reduces = n })
		}
	}
	if j.HasDriver {
		try(func(j *scheduler.JobSpec) { j.HasDriver = false })
	}
	plain := scheduler.JobSpec{ID: j.ID, Submit: j.Submit, Maps: j.Maps, Reduces: j.Reduces, HasDriver: j.HasDriver, Splits: j.Splits}
	if !reflect.DeepEqual(&plain, j) {
		try(func(j *scheduler.JobSpec) { *j = plain })
	}
	if j.Submit > 0 {
		try(func(j *scheduler.JobSpec) { j.Submit = 0 })
	}
	return out
}
