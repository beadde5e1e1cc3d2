package examine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/scheduler"
)

func (s *Situation) clone() *Situation {
	c := *s
	c.Jobs = slices.Clone(s.Jobs)
	for i, j := range c.Jobs {
		one := *j
		c.Jobs[i] = &one
	}
	return &c
}

// drop removes jobs; those behind them move up, since a job's number is its place in the list.
func (s *Situation) drop(from, to int) {
	s.Jobs = slices.Delete(s.Jobs, from, to)
	for i, j := range s.Jobs {
		j.ID = scheduler.JobID(i)
	}
}

type fault struct {
	chance *float64
	what   string
}

func (f *Faults) all() []fault {
	return []fault{
		{&f.Fail, "attempts fail"},
		{&f.Refuse, "attempts are refused"},
		{&f.Vanish, "jobs vanish"},
		{&f.Lose, "nodes die"},
		{&f.Drain, "nodes drain"},
		{&f.Stale, "reports come late or twice"},
	}
}

// describe describes the situation in lines that begin with indent.
func (s *Situation) describe(indent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s, each with %s\n", indent, human.Many(int64(s.nodes()), "node")+" in "+human.Many(int64(s.Racks), "rack"), placesOf(s.Node))
	for _, j := range s.Jobs {
		fmt.Fprintf(&b, "%sat %v: %s\n", indent, j.Submit, describeJob(j))
	}
	for _, f := range s.Faults.all() {
		if *f.chance > 0 {
			fmt.Fprintf(&b, "%s%s (chance %g)\n", indent, f.what, *f.chance)
		}
	}
	if s.Limit > 0 {
		fmt.Fprintf(&b, "%salice and bob may hold %s each\n", indent, human.Many(int64(s.Limit), "container"))
	}
	if s.Replace {
		fmt.Fprintf(&b, "%sa fresh policy takes over half-way\n", indent)
	}
	return b.String()
}

func describeJob(j *scheduler.JobSpec) string {
	say := []string{fmt.Sprintf("%v, %s, %s", j.ID, human.Many(int64(j.Maps), "map"), human.Many(int64(j.Reduces), "reduce"))}
	add := func(yes bool, format string, args ...any) {
		if yes {
			say = append(say, fmt.Sprintf(format, args...))
		}
	}
	add(j.HasDriver, "with a driver")
	add(j.Splits.Len() > 0, "its input on nodes %v", j.Splits.Replicas)
	add(j.User != "", "user %s", j.User)
	add(j.Queue != "", "queue %s", j.Queue)
	add(j.Pool != "", "pool %s", j.Pool)
	add(j.Name != "", "name %s", j.Name)
	add(j.Priority != scheduler.Normal, "priority %v", j.Priority)
	add(j.Weight != 0, "weight %g", j.Weight)
	add(j.Deadline != 0, "deadline at %v", j.Deadline)
	add(j.Slowstart != 0, "slow start %g", j.Slowstart)
	add(j.Recurring, "recurring")
	add(j.MapTime != 0, "sizes and times known")
	add(j.MapDemand != scheduler.Demand{}, "maps that need %+v", j.MapDemand)
	return strings.Join(say, ", ")
}

func placesOf(c scheduler.Capacity) string {
	var say []string
	for _, p := range []struct {
		n    int64
		what string
	}{
		{int64(c.Containers), "container"},
		{int64(c.MapSlots), "map slot"},
		{int64(c.ReduceSlots), "reduce slot"},
		{int64(c.VCores), "vcore"},
		{c.MemoryMB, "MB"},
	} {
		switch {
		case p.what == "MB" && p.n > 0:
			say = append(say, fmt.Sprintf("%d MB", p.n))
		case p.n > 0:
			say = append(say, human.Many(int64(p.n), p.what))
		}
	}
	return strings.Join(say, ", ")
}
