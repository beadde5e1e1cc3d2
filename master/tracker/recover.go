package tracker

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// Replay applies a record of an earlier master. Call it for every record, in order, before Resume.
func (c *Tracker) Replay(r *Record) { c.apply(r) }

// Resume continues the jobs that Replay has restored. Workers get some time to report what they still run and hold
// before their work is given to others.
func (c *Tracker) Resume(now time.Duration) {
	c.resumed, c.resumedAt = true, now
	all := make([]*job, 0, len(c.jobs))
	for _, j := range c.jobs {
		all = append(all, j)
	}
	slices.SortFunc(all, func(a, b *job) int { return cmp.Compare(a.num, b.num) })
	c.teach(now)
	c.losePlans()
	for _, j := range all {
		j.held = !j.state.Ended() && len(j.stages) == 0 // the records say only that it came
		j.written = j.lastTry
	}
	for _, j := range all {
		if j.state.Ended() {
			c.ended = append(c.ended, j.id)
			c.sweep(j) // the master before may have died before it did this
			continue
		}
		c.resumeJob(now, j)
	}
	slices.SortStableFunc(c.ended, func(a, b wire.JobID) int { return cmp.Compare(c.jobs[a].endedAt, c.jobs[b].endedAt) })
	c.forget()
	if c.unfinished() > 0 { // workers may still run something
		c.graceEnd, c.graceLeast = now+c.cfg.Grace, now+c.cfg.Grace/3
	}
	c.admit(now)
}

// resumeJob tells the policies about a job as if it had just come, and what of it is done.
func (c *Tracker) resumeJob(now time.Duration, j *job) {
	st := j.current()
	if st != nil && st.done && len(j.stages) == j.spec.Stages {
		// The master died before it recorded the end itself.
		c.endJob(now, j, Succeeded, "")
		return
	}
	if j.held {
		c.start(now, j)
		return
	}
	c.begin(now, j) // the policies are told when it really came
	if st = j.current(); st.plan != nil || st.n > 0 {
		c.feed(now, scheduler.JobAdmitted(st.sid))
	}
	if st.plan == nil {
		return
	}
	if st.doneCount == [2]int32{} {
		c.feed(now, scheduler.JobReady(st.sid, c.specOf(st, now)))
	} else {
		c.feed(now, scheduler.JobResumed(st.sid, c.specOf(st, now)))
	}
	for k, set := range [][]task{st.maps, st.reduces} {
		for i := range set {
			if t := &set[i]; t.try != 0 {
				id := scheduler.TaskID{Job: st.sid, Index: int32(i), Kind: scheduler.Kind(k)}
				c.feed(now, scheduler.Restored(id, t.node, t.at, time.Duration(t.millis)*time.Millisecond, st.read(id.Kind, t.in), t.out))
			}
		}
	}
	if st.complete() && !st.committing {
		c.startCommit(now, st)
	}
}

// adopt takes on an attempt that its worker runs but that this master did not start, or had given up. It returns false
// if nobody needs the attempt.
func (c *Tracker) adopt(now time.Duration, n *node, p *wire.Progress) bool {
	id := p.ID
	st := c.stageOf(id)
	if st == nil || n.kill[id] != "" {
		return false
	}
	if set := st.tasks(id.Kind); id.Kind != wire.DriverTask && (id.Index < 0 || int(id.Index) >= len(set) || set[id.Index].try != 0) {
		return false
	}
	if c.runsElsewhere(st, id) {
		return false
	}
	if id.Kind == wire.DriverTask {
		c.feed(now, scheduler.JobAdmitted(st.sid)) // refused if the job is already admitted
	}
	ran := min(p.Ran(), now-st.job.submitted)
	a := &attempt{id: id, st: st, node: n, start: now - ran, done: wire.Bounded(p.Done), seen: true, sent: true}
	if !c.feed(now, scheduler.Found(a.task(), n.id, ran)) {
		return false
	}
	c.countOld(st.job, id)
	c.tellLaunch(now, a, "it was found running")
	c.attach(a)
	switch id.Kind {
	case wire.DriverTask:
		c.out.Drivers = append(c.out.Drivers, id.Job)
	case wire.ReduceTask:
		c.letGo(now, st)
	}
	return true
}

// countOld counts an attempt that the master before began but did not live to record.
func (c *Tracker) countOld(j *job, id wire.AttemptID) {
	if id.Try > j.written && id.Try <= c.cfg.Epoch<<32 {
		j.tries++
	}
}

// endGrace gives up the work of workers that have not come back.
func (c *Tracker) endGrace(now time.Duration) {
	for _, st := range c.liveStages() {
		c.out.Drivers = append(c.out.Drivers, st.job.id) // drivers that no worker has reported may go
	}
	for _, n := range c.nodes {
		if n.up {
			continue
		}
		for _, st := range c.liveStages() {
			c.giveUpOn(now, st, n, "did not come back")
		}
	}
	c.planAgain(now) // a job that runs goes on in its racks
	c.offerAll(now)
}

// graceOver ends the grace early once every known worker has reported in full. A worker is not known if all its
// attempts were still running at the restart: such workers have a third of the time.
func (c *Tracker) graceOver(now time.Duration) {
	if c.graceEnd == 0 || now < c.graceLeast {
		return
	}
	for _, n := range c.nodes {
		if !n.up || n.full || n.told.more() {
			return
		}
	}
	c.graceEnd = 0
	c.endGrace(now)
}
