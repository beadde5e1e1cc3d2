package tracker

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// expected is a job that somebody has announced, or that was planned when it came, until it has ended. The announcement and the racks of its plan are journalled: its
// input may lie there, so that the plan stays while the racks are up.
type expected struct {
	spec  wire.JobSpec
	at    time.Duration
	id    scheduler.JobID // what plans call it: negative, so that it is no job's
	job   wire.JobID      // that it has become; "" while it is expected
	taken bool            // its tasks are known: the policy follows its plan, or has none
	lost  bool            // the policy has heard of its tasks before its racks were back
	racks [2][]string     // of maps and reduces, as planned last; empty: there is no plan
	why   string          // it has so many racks
}

// planning is what is known of plans.
type planning struct {
	expected []*expected
	last     scheduler.JobID // the lowest id in use
	machines int             // that were up when it was planned last
	at       time.Duration   // when that was
}

const (
	// maxExpected bounds the announced jobs, maxExpectedUser those of one user: nobody may take the places of all.
	maxExpected, maxExpectedUser = 1_000, 200
	// planEvery is how often jobs without a plan are looked at again: what they are like may be known by now.
	planEvery = time.Minute
	// keepExpected is how long an announced job may take to come after its time, and how far ahead that may be.
	keepExpected = 24 * time.Hour
)

// Expect announces jobs that will come, and plans them with those that are expected already.
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

// Drop takes back the announcement of the jobs of a name and user that have not come.
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

// Replan plans all jobs that are expected anew, wherever they were planned to run.
func (c *Tracker) Replan(now time.Duration) {
	for _, e := range c.plans.expected {
		if !e.taken {
			e.racks = [2][]string{}
		}
	}
	c.replan(now)
}

// replan asks the policy for a plan of all jobs that are expected. Those that have one keep it, while their racks are up.
func (c *Tracker) replan(now time.Duration) {
	c.plans.at, c.plans.machines = now, c.up()
	var specs []*scheduler.JobSpec
	byID := map[scheduler.JobID]*expected{}
	for _, e := range c.plans.expected {
		s := c.foreseen(now, e)
		back := c.rackIDs(e.racks[0], &s.MapRacks) && c.rackIDs(e.racks[1], &s.ReduceRacks)
		switch st := c.running(e); {
		case e.lost && st != nil && back && len(s.MapRacks) > 0: // it goes on where it was
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

// keepPlan writes down where the policy has planned a job that nobody announced: after a restart it goes on there.
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

// running is the stage that an announced job is in, nil where none has tasks. Only first stages are planned.
func (c *Tracker) running(e *expected) *stage {
	if j := c.jobs[e.job]; j != nil && !j.state.Ended() {
		if st := j.current(); st != nil && st.n == 0 && st.plan != nil {
			return st
		}
	}
	return nil
}

// losePlans says that a new policy knows of no plan that running jobs have.
func (c *Tracker) losePlans() {
	for _, e := range c.plans.expected {
		e.lost = e.taken
	}
}

// rackIDs finds racks by name. It is false if one has no worker.
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

// up is how many workers are there.
func (c *Tracker) up() (n int) {
	for _, w := range c.nodes {
		if w.up {
			n++
		}
	}
	return n
}

// due is when it is to come.
func (e *expected) due() time.Duration {
	return e.at + time.Duration(e.spec.Expect.InMillis)*time.Millisecond
}

// foreseen is an expected job as the policies see it.
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

// planAgain forgets announcements that nobody has kept, and plans again if workers have come or gone, or if there are jobs
// without a plan.
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
			p.Reason = e.why // kept for a policy that plans, where the one in place does not
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

// A Reader is an announced job with a plan: where the maps will run that read what it reads.
type Reader struct {
	User   string
	Inputs []string
	Racks  []string
}

// Readers lists them.
func (c *Tracker) Readers() (out []Reader) {
	for _, e := range c.plans.expected {
		if len(e.racks[0]) > 0 {
			out = append(out, Reader{e.spec.User, e.spec.Inputs, e.racks[0]})
		}
	}
	return out
}

// missing is what would have to be known for a plan, "" if nothing is.
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

// applyExpected keeps the list of announced jobs.
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
