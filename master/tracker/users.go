package tracker

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// A user owns jobs. Jobs beyond the limit of running ones are held back: the policies do not hear of them before
// another has ended. The policies' state limits containers, as it knows what fits.
type user struct {
	name   string
	own    wire.Limits
	jobs   []*job          // jobs that have not ended, oldest first
	recent []time.Duration // when jobs came, in the last minute before the newest
}

// recently is the period in which submissions are counted.
const recently = time.Minute

// maxIdle is how many users are remembered at least before the idle ones are forgotten.
const maxIdle = 1024

// userNamed returns the user of that name, and adds them if they are new.
func (c *Tracker) userNamed(name string) *user {
	u := c.users[name]
	if u == nil {
		if len(c.users) >= c.usersMost {
			maps.DeleteFunc(c.users, func(_ string, u *user) bool {
				return len(u.jobs) == 0 && u.own == wire.Limits{} && c.ticked-u.newest() > recently
			})
			c.usersMost = 2*len(c.users) + maxIdle
		}
		u = &user{name: name}
		c.users[name] = u
	}
	return u
}

func (u *user) newest() time.Duration {
	if len(u.recent) == 0 {
		return -recently
	}
	return u.recent[len(u.recent)-1]
}

// limits returns the limits that hold for a user. The limits of all do not hold for administrators.
func (c *Tracker) limits(u *user) wire.Limits {
	all := wire.Limits{}
	if a := c.users[wire.AllUsers]; a != nil && (c.cfg.Exempt == nil || !c.cfg.Exempt(u.name)) {
		all = a.own
	}
	return u.own.Or(all)
}

// came counts a submission.
func (u *user) came(j *job) {
	u.jobs = append(u.jobs, j)
	u.recent = append(u.since(j.submitted), j.submitted)
}

// since returns the submissions of the minute before now.
func (u *user) since(now time.Duration) []time.Duration {
	i := slices.IndexFunc(u.recent, func(at time.Duration) bool { return now-at < recently })
	if i < 0 {
		return nil
	}
	return u.recent[i:]
}

// left removes a job that has ended.
func (u *user) left(j *job) {
	u.jobs = slices.DeleteFunc(u.jobs, func(o *job) bool { return o == j })
}

// count returns how many jobs of the user have a plan, have none, and how many the policies know.
func (u *user) count() (running, waiting, known int64) {
	for _, j := range u.jobs {
		if j.state == Running {
			running++
		} else {
			waiting++
		}
		if !j.held {
			known++
		}
	}
	return running, waiting, known
}

// checkUser refuses a submission beyond the limits of its user.
func (c *Tracker) checkUser(now time.Duration, name string) error {
	if name == wire.AllUsers {
		return wire.Errorf(wire.Invalid, "%q is no user's name: it stands for all", name)
	}
	u := c.userNamed(name)
	l := c.limits(u)
	if _, waiting, _ := u.count(); l.Waiting > 0 && waiting >= l.Waiting {
		return wire.Errorf(wire.Quota, "%s, the most they may have: wait until some have started, cancel some, or ask an administrator (millrace user limit)", jobsOf(waiting, name, "waits", "wait"))
	}
	if came := u.since(now); l.Submissions > 0 && int64(len(came)) >= l.Submissions {
		wait := came[len(came)-int(l.Submissions)] + recently - now
		return wire.Errorf(wire.Quota, "user %s has submitted %d jobs in the last minute, at most %d: try again in %s, or ask an administrator (millrace user limit)",
			name, len(came), l.Submissions, wait.Round(time.Second)+time.Second)
	}
	return nil
}

// start lets a new job begin, or holds it back.
func (c *Tracker) start(now time.Duration, j *job) {
	u := c.userNamed(j.spec.User)
	j.held = true
	if j.current() == nil {
		j.addStage(j.submitted)
	}
	if c.startHeld(now, u); j.held {
		c.decided(wire.Decision{At: int64(now), Do: "hold", Job: j.id, Why: wire.Clip(c.heldWhy(j), wire.MaxText)})
	}
}

// startHeld lets as many held jobs of a user begin as the limit allows, oldest first.
func (c *Tracker) startHeld(now time.Duration, u *user) {
	_, _, known := u.count()
	most := c.limits(u).Running
	for _, j := range u.jobs {
		if j.held && (most == 0 || known < most) {
			j.held = false
			c.begin(now, j)
			known++
		}
	}
}

// jobsOf says what the jobs of a user do: one of them, or many.
func jobsOf(n int64, user, does, do string) string {
	if n == 1 {
		return fmt.Sprintf("1 job of user %s %s", user, does)
	}
	return fmt.Sprintf("%d jobs of user %s %s", n, user, do)
}

// heldWhy returns the reason why a job is held back.
func (c *Tracker) heldWhy(j *job) string {
	u := c.userNamed(j.spec.User)
	_, _, known := u.count()
	return fmt.Sprintf("%s waits: %s, the most they may have (millrace user ls)", j.id, jobsOf(known, u.name, "runs or is about to", "run or are about to"))
}

// SetLimits changes the limits of a user, or of all. The change survives restarts.
func (c *Tracker) SetLimits(now time.Duration, r wire.LimitRequest) error {
	if r.User == "" || len(r.User) > wire.MaxName {
		return wire.Errorf(wire.Invalid, "a user's name of %d bytes: must be 1 to %d", len(r.User), wire.MaxName)
	}
	next := c.userNamed(r.User).own
	if err := next.Change(r.Changes); err != nil {
		return err
	}
	c.note(Record{At: now, Kind: Limited, Text: r.User, Limits: &next})
	c.tellLimits(now)
	for _, name := range slices.Sorted(maps.Keys(c.users)) {
		c.startHeld(now, c.users[name])
	}
	c.admit(now)
	c.offerAll(now)
	return nil
}

// tellLimits tells the policies how many containers users may have, where they know otherwise.
func (c *Tracker) tellLimits(now time.Duration) {
	for _, name := range slices.Sorted(maps.Keys(c.users)) {
		c.tellLimit(now, c.users[name])
	}
}

func (c *Tracker) tellLimit(now time.Duration, u *user) {
	if n := int32(c.limits(u).Containers); n != c.engine.View().UserLimit(u.name) && u.name != wire.AllUsers {
		c.feed(now, scheduler.UserLimit(u.name, n))
	}
}

// HistoryLimits returns the bytes of history that users may have, by user; wire.AllUsers stands for all.
func (c *Tracker) HistoryLimits() map[string]int64 {
	out := map[string]int64{}
	for name, u := range c.users {
		if u.own.History != 0 {
			out[name] = u.own.History
		}
	}
	return out
}

// Users returns what users with jobs or limits, and these others, have and may have.
func (c *Tracker) Users(now time.Duration, others iter.Seq[string]) []wire.UserStatus {
	names := slices.AppendSeq(slices.Collect(maps.Keys(c.users)), others)
	slices.Sort(names)
	names = slices.Compact(names)
	out := make([]wire.UserStatus, 0, len(names))
	for _, name := range names {
		u := c.users[name]
		if u == nil {
			u = &user{name: name}
		}
		running, waiting, _ := u.count()
		s := wire.UserStatus{User: u.name, Running: int(running), Waiting: int(waiting), Recent: len(u.since(now)), Limits: c.limits(u)}
		if name == wire.AllUsers {
			s.Limits = u.own
		}
		if g := c.engine.View().Group(scheduler.UserGroup, name); g != nil {
			s.Containers = int(g.Usage().Containers())
		}
		out = append(out, s)
	}
	return out
}
