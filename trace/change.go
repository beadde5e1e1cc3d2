package trace

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Cut keeps the jobs that came in [from, to), at most most of them (0: all), with their attempts; times begin with
// from.
func (h *History) Cut(from, to time.Duration, most int) *History {
	out := &History{Origin: h.Origin}
	for _, j := range h.Jobs {
		if j.Submit >= from && j.Submit < to && (most == 0 || len(out.Jobs) < most) {
			out.Jobs = append(out.Jobs, j)
		}
	}
	out.adopt(h.Attempts)
	out.Origin.Periods = nil // their times are those of the whole history
	out.shift(-from)
	return out
}

// Sample keeps a share of the jobs, drawn one by one, with their attempts.
func (h *History) Sample(share float64, rng *rand.Rand) *History {
	out := &History{Origin: h.Origin}
	for _, j := range h.Jobs {
		if rng.Float64() < share {
			out.Jobs = append(out.Jobs, j)
		}
	}
	out.adopt(h.Attempts)
	return out
}

// adopt takes the attempts of its jobs.
func (h *History) adopt(all []PastAttempt) {
	mine := make(map[string]bool, len(h.Jobs))
	for i := range h.Jobs {
		mine[h.Jobs[i].ID] = true
	}
	for _, a := range all {
		if mine[a.Job] {
			h.Attempts = append(h.Attempts, a)
		}
	}
}

// Factors change a history; 1 leaves things as they are.
type Factors struct {
	Arrivals float64 // of the times at which jobs come: 0.5 doubles the load
	Tasks    float64 // of how long jobs and attempts then wait and take
	Bytes    float64 // of all sizes
}

// Validate refuses factors that make no sense.
func (f *Factors) Validate() error {
	for name, v := range map[string]float64{"arrivals": f.Arrivals, "tasks": f.Tasks, "bytes": f.Bytes} {
		if !(v > 0 && v <= 1e6) {
			return fmt.Errorf("the factor %g of %s is not above 0 and at most 1e6", v, name)
		}
	}
	return nil
}

// Scale returns the history with its times and sizes changed.
func (h *History) Scale(f Factors) (*History, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	out := &History{Origin: h.Origin, Jobs: slices.Clone(h.Jobs), Attempts: slices.Clone(h.Attempts)}
	out.Origin.Periods = slices.Clone(h.Origin.Periods)
	for i := range out.Origin.Periods {
		out.Origin.Periods[i].From = times(out.Origin.Periods[i].From, f.Arrivals)
	}
	came := make(map[string][2]time.Duration, len(h.Jobs)) // before and after
	for i := range out.Jobs {
		j := &out.Jobs[i]
		was := j.Submit
		j.Submit = times(was, f.Arrivals)
		came[j.ID] = [2]time.Duration{was, j.Submit}
		for _, t := range []*time.Duration{&j.Admitted, &j.Start, &j.End, &j.Deadline} {
			if *t != 0 {
				*t = j.Submit + times(*t-was, f.Tasks)
			}
		}
		scaleBytes(f.Bytes, &j.InputBytes, &j.ShuffleBytes, &j.OutputBytes)
		if j.Expect != nil {
			e := *j.Expect
			e.MapTime, e.ReduceTime = times(e.MapTime, f.Tasks), times(e.ReduceTime, f.Tasks)
			scaleBytes(f.Bytes, &e.InputBytes, &e.ShuffleBytes, &e.OutputBytes)
			j.Expect = &e
		}
	}
	for i := range out.Attempts {
		a := &out.Attempts[i]
		c := came[a.Job]
		a.Start, a.End = c[1]+times(a.Start-c[0], f.Tasks), c[1]+times(a.End-c[0], f.Tasks)
	}
	out.sort()
	return out, out.validate()
}

func scaleBytes(by float64, sizes ...*int64) {
	for _, b := range sizes {
		*b = int64(min(math.Round(float64(*b)*by), float64(maxBytes)))
	}
}

func times(d time.Duration, f float64) time.Duration {
	return time.Duration(min(math.Round(float64(d)*f), float64(2*maxTime)))
}

// Anonymise returns the history with ids and names of jobs, users, queues, pools and machines replaced by numbers in the order in
// which they come. Times, sizes and who belongs to whom stay.
func (h *History) Anonymise() *History {
	out := &History{Origin: h.Origin, Jobs: slices.Clone(h.Jobs), Attempts: slices.Clone(h.Attempts)}
	alias := aliases{}
	for i := range out.Jobs {
		j := &out.Jobs[i]
		j.ID, j.Name, j.User, j.Queue, j.Pool = alias.of("job", j.ID), alias.of("name", j.Name), alias.of("user", j.User), alias.of("queue", j.Queue), alias.of("pool", j.Pool)
	}
	out.Origin.Machines, out.Origin.Links = slices.Clone(h.Origin.Machines), slices.Clone(h.Origin.Links)
	for i := range out.Origin.Machines {
		m := &out.Origin.Machines[i]
		m.Name, m.Rack, m.Class = alias.of("node", m.Name), alias.of("rack", m.Rack), alias.of("class", m.Class)
	}
	for i := range out.Origin.Links {
		out.Origin.Links[i].Rack = alias.of("rack", out.Origin.Links[i].Rack)
	}
	out.Origin.Periods = slices.Clone(h.Origin.Periods)
	for i := range out.Origin.Periods { // parameters name queues and users
		out.Origin.Periods[i].Params, out.Origin.Periods[i].AdmissionParams = nil, nil
	}
	for i := range out.Attempts {
		a := &out.Attempts[i]
		a.Job, a.Node = alias.of("job", a.Job), alias.of("node", a.Node)
	}
	return out
}

// aliases are the numbers of names, by what the names are of.
type aliases map[string]map[string]string

func (a aliases) of(what, name string) string {
	if name == "" {
		return ""
	}
	known := a[what]
	if known == nil {
		known = map[string]string{}
		a[what] = known
	}
	alias := cmp.Or(known[name], fmt.Sprint(what, len(known)+1))
	known[name] = alias
	return alias
}
