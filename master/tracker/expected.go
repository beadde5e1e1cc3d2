package tracker

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// expected is a job that somebody has announced, or that was planned when it came, until it has ended. The journal has
// the announcement and the racks of its plan. Its input may lie there, so the plan stays as long as the racks are up.
type expected struct {
	spec  wire.JobSpec
	at    time.Duration
	id    scheduler.JobID // its id in plans: negative, so that no job has it
	job   wire.JobID      // the job that it has become; "" while it is expected
	taken bool            // its tasks are known: from here on the policy follows its plan, if it has one
	lost  bool            // the policy heard of its tasks before its racks were back
	racks [2][]string     // of maps and reduces, as planned last; empty: there is no plan
	why   string          // why it has so many racks
}

// planning is what is known of plans.
type planning struct {
	expected []*expected
	last     scheduler.JobID // the lowest id in use
	machines int             // workers that were up when jobs were last planned
	at       time.Duration   // when that was
}

const (
	// maxExpected bounds the announced jobs, and maxExpectedUser those of one user, so that nobody can take the places
	// of all.
	maxExpected, maxExpectedUser = 1_000, 200
	// planEvery is how often the tracker tries again to plan jobs without a plan: more may be known about them by now.
	planEvery = time.Minute
	// keepExpected is how late an announced job may come, and how far ahead it may be announced.
	keepExpected = 24 * time.Hour
)

// Expect announces jobs and plans them together with those already announced.
func (c *Tracker) Expect(now time.Duration, specs []wire.JobSpec) error {
	if len(c.plans.expected)+len(specs) > maxExpected {
		return wire.Errorf(wire.Quota, "%d jobs are announced already and %d more would be: at most %d (millrace scheduler plan drop)", len(c.plans.expected), len(specs), maxExpected)
	}
	of := map[string]int{}
	for _, e := range c.plans.expected {
		of[e.spec.User]++
	}
	for i := range specs {
		if of[specs[i].User]++; of[specs[i].User] > maxExpectedUser {
			return wire.Errorf(wire.Quota, "user %s would have %d announced jobs: at most %d (millrace scheduler plan drop)", specs[i].User, of[specs[i].User], maxExpectedUser)
		}
		if err := c.check(&specs[i]); err != nil {
			return wire.Errorf(wire.KindOf(err), "the announced job %q: %w", specs[i].Name, err)
		}
	}
	for i := range specs {
		c.note(Record{At: now, Kind: Expected, Spec: &specs[i]})
	}
	c.replan(now)
	return nil
}

// Drop withdraws the announcements of jobs of a name and user that have not come.
func (c *Tracker) Drop(now time.Duration, name, user string) error {
	for _, e := range c.plans.expected {
		if e.job == "" && e.spec.Name == name && e.spec.User == user {
			c.note(Record{At: now, Kind: Dropped, Spec: &wire.JobSpec{Name: name, User: user}})
			c.replan(now)
			return nil
		}
	}
	return wire.Errorf(wire.NotFound, "no job called %q of %s is announced (millrace scheduler plan ls)", name, user)
}

// Replan plans all expected jobs anew, wherever they were planned to run.
func (c *Tracker) Replan(now time.Duration) {
	for _, e := range c.plans.expected {
		if !e.taken {
			e.racks = [2][]string{}
		}
	}
	c.replan(now)
}

// replan asks the policy for a plan of all expected jobs. A job that has a plan keeps it while its racks are up.
func (c *Tracker) replan(now time.Duration) {
	c.plans.at, c.plans.machines = now, c.up()
	var specs []*scheduler.JobSpec
	byID := map[scheduler.JobID]*expected{}
	for _, e := range c.plans.expected {
		s := c.foreseen(now, e)
		back := c.rackIDs(e.racks[0], &s.MapRacks) && c.rackIDs(e.racks[1], &s.ReduceRacks)
		switch st := c.running(e); {
		case e.lost && st != nil && back && len(s.MapRacks) > 0: // the job goes on in its racks
			s.ID, s.Maps, s.Reduces = st.sid, st.total[0], st.total[1]
			specs, byID[s.ID], e.lost = append(specs, s), e, false
		case !e.taken && (back || now-c.resumedAt > c.cfg.Silence): // after a restart workers may still come
			specs, byID[e.id] = append(specs, s), e
		}
	}
	for _, p := range c.engine.Plan(now, specs) {
		e := byID[p.Job]
		if e == nil {
			continue
		}
		r := &PlannedRacks{c.rackNames(p.MapRacks), c.rackNames(p.ReduceRacks), p.Why}
		if !(slices.Equal(r.Maps, e.racks[0]) && slices.Equal(r.Reduces, e.racks[1])) {
			c.note(Record{At: e.at, Kind: Expected, Spec: &e.spec, Racks: r, Job: e.job})
		}
	}
}

// keepPlan records where the policy has planned a job that nobody announced, so that the job goes on there after a
// restart.
func (c *Tracker) keepPlan(st *stage) {
	p, ok := c.engine.Follows(st.sid)
	if !ok || st.n > 0 || len(c.plans.expected) >= maxExpected || slices.ContainsFunc(c.plans.expected, func(e *expected) bool { return e.job == st.job.id }) {
		return
	}
	c.note(Record{
		At: st.job.submitted, Kind: Expected, Spec: &st.job.spec, Job: st.job.id,
		Racks: &PlannedRacks{c.rackNames(p.MapRacks), c.rackNames(p.ReduceRacks), p.Why},
	})
}

// running returns the stage that an announced job is in, or nil if it has no tasks yet. Only first stages are planned.
func (c *Tracker) running(e *expected) *stage {
	if j := c.jobs[e.job]; j != nil && !j.state.Ended() {
		if st := j.current(); st != nil && st.n == 0 && st.plan != nil {
			return st
		}
	}
	return nil
}

// losePlans notes that a new policy knows no plans of running jobs.
func (c *Tracker) losePlans() {
	for _, e := range c.plans.expected {
		e.lost = e.taken
	}
}

// rackIDs looks up racks by name. It returns false if one of them has no worker.
func (c *Tracker) rackIDs(names []string, ids *[]topology.RackID) bool {
	for _, name := range names {
		r, known := c.racks[name]
		if !known || c.engine.View().RackTotal(r).Nodes == 0 {
			*ids = nil
			return false
		}
		*ids = append(*ids, r)
	}
	return true
}

// up returns how many workers are up.
func (c *Tracker) up() (n int) {
	for _, w := range c.nodes {
		if w.up {
			n++
		}
	}
	return n
}

// due returns when the job is to come.
func (e *expected) due() time.Duration {
	return e.at + time.Duration(e.spec.Expect.InMillis)*time.Millisecond
}

// foreseen returns an expected job as the policies see it.
func (c *Tracker) foreseen(now time.Duration, e *expected) *scheduler.JobSpec {
	s := e.spec
	c.recur(&s)
	c.expect(&s)
	return c.specOf(&stage{job: &job{spec: s, submitted: e.due()}, sid: e.id}, max(now, e.due()))
}

func (c *Tracker) rackNames(ids []topology.RackID) []string {
	out := make([]string, len(ids))
	for i, r := range ids {
		out[i] = c.topo.Topology().Rack(r).Name
	}
	return out
}

// planAgain drops announcements whose jobs did not come. It plans again if workers have come or gone, or if there are
// jobs without a plan.
func (c *Tracker) planAgain(now time.Duration) {
	none := false
	for _, e := range slices.Clone(c.plans.expected) {
		if e.job == "" && now-e.due() > keepExpected {
			c.note(Record{At: now, Kind: Dropped, Spec: &wire.JobSpec{Name: e.spec.Name, User: e.spec.User}})
			continue
		}
		none = none || !e.taken && len(e.racks[0]) == 0
	}
	if len(c.plans.expected) > 0 && c.engine.Plans() && (c.up() != c.plans.machines || none && now-c.plans.at >= planEvery) {
		c.replan(now)
	}
}

// Plans lists the announced jobs that have not ended, in the order of the announcements.
func (c *Tracker) Plans() wire.Plans {
	out := wire.Plans{Planner: c.engine.Plans(), Plans: []wire.Plan{}}
	for _, e := range c.plans.expected {
		p := wire.Plan{Name: e.spec.Name, User: e.spec.User, Job: e.job, Announced: e.at.Milliseconds(), MapRacks: e.racks[0], ReduceRacks: e.racks[1]}
		if len(e.racks[0]) > 0 {
			p.Reason = e.why // a plan outlives a policy that does not plan
		}
		switch {
		case !out.Planner:
			p.Why = "the policy in place does not plan: jobpacker and corral do (millrace scheduler set)"
		case len(e.racks[0]) > 0:
		case e.taken:
			p.Why = "it began without a plan"
			if why := c.missing(e); why != "" {
				p.Why += ": " + why
			}
		default:
			p.Why = cmp.Or(c.missing(e), "no rack has room for it")
		}
		out.Plans = append(out.Plans, p)
	}
	return out
}

// A Reader is an announced job with a plan: its inputs, and the racks in which its maps will read them.
type Reader struct {
	User   string
	Inputs []string
	Racks  []string
}

// Readers returns all of them.
func (c *Tracker) Readers() (out []Reader) {
	for _, e := range c.plans.expected {
		if len(e.racks[0]) > 0 {
			out = append(out, Reader{e.spec.User, e.spec.Inputs, e.racks[0]})
		}
	}
	return out
}

// missing returns what a plan would still need to know, or "" if nothing is missing.
func (c *Tracker) missing(e *expected) string {
	switch s := c.foreseen(e.at, e); {
	case c.up() == 0:
		return "no worker is up"
	case s.Maps == 0:
		return "nobody knows how many maps it has: give --expect-input, or put its input in place"
	case s.MapTime == 0 || s.Reduces > 0 && s.ReduceTime == 0:
		return "nobody knows how long its tasks take: give --expect-map-time and --expect-reduce-time, or run it once"
	case !s.Shuffle.Known:
		return "nobody knows what it shuffles: give --expect-shuffle, or run it once"
	}
	return ""
}

// applyExpected updates the list of announced jobs.
func (c *Tracker) applyExpected(r *Record) {
	list := &c.plans.expected
	c.out.Replanned = c.out.Replanned || len(*list) > 0 && r.Kind == JobEnded || r.Kind == Expected || r.Kind == Dropped
	switch r.Kind {
	case Expected:
		var e *expected
		for _, old := range *list {
			if old.job == r.Job && old.spec.Name == r.Spec.Name && old.spec.User == r.Spec.User { // announced or planned again
				e = old
			}
		}
		if e == nil {
			c.plans.last = min(c.plans.last, -1) - 1
			e = &expected{id: c.plans.last, job: r.Job, taken: r.Job != ""} // planned when it came, or announced
			*list = append(*list, e)
		}
		e.spec, e.at = *r.Spec, r.At
		if r.Racks != nil {
			e.racks, e.why = [2][]string{r.Racks.Maps, r.Racks.Reduces}, r.Racks.Why
		}
	case Dropped:
		*list = slices.DeleteFunc(*list, func(e *expected) bool {
			return e.job == "" && e.spec.Name == r.Spec.Name && e.spec.User == r.Spec.User
		})
	case Submitted:
		for _, e := range *list {
			if e.job == "" && e.spec.Name == r.Spec.Name && e.spec.User == r.Spec.User && r.At >= e.at {
				e.job = r.Job
				return
			}
		}
	case Planned:
		for _, e := range *list {
			e.taken = e.taken || e.job == r.Job
		}
	case JobEnded:
		*list = slices.DeleteFunc(*list, func(e *expected) bool { return e.job == r.Job })
	}
}
