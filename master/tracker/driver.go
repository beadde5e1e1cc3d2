package tracker

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
)

// DriverStep returns what a driver should do next. "wait" means nothing yet: ask again when the job is among
// [Output.Drivers].
func (c *Tracker) DriverStep(id wire.AttemptID) wire.DriverStep {
	st := c.driven(id)
	switch {
	case st == nil && c.graceEnd > 0 && c.stageOf(id) != nil:
		return wire.DriverStep{Do: "wait"} // its worker has not yet reported that it runs
	case st == nil:
		j := c.jobs[id.Job]
		return wire.DriverStep{Do: "stop", Why: c.whyStopped(id), Abort: j != nil && (j.state == Failed || j.state == Cancelled)}
	case st.plan == nil:
		return wire.DriverStep{Do: "plan"}
	case st.committing:
		return wire.DriverStep{Do: "commit", Winners: st.winners(), Info: c.info(st)}
	}
	return wire.DriverStep{Do: "wait"}
}

func (c *Tracker) whyStopped(id wire.AttemptID) string {
	if j := c.jobs[id.Job]; j != nil && j.state.Ended() {
		return fmt.Sprintf("the job is %s: %s", j.state, j.err)
	}
	return "another driver runs"
}

// driven returns the stage that an attempt drives, or nil if it drives none (or no longer does).
func (c *Tracker) driven(id wire.AttemptID) *stage {
	if a := c.driverOf(id); a != nil {
		return a.st
	}
	return nil
}

// driverOf returns the running driver with that id, or nil.
func (c *Tracker) driverOf(id wire.AttemptID) *attempt {
	st := c.stageOf(id)
	if st == nil || id.Kind != wire.DriverTask {
		return nil
	}
	for a := range st.running {
		if a.id == id {
			return a
		}
	}
	return nil
}

// winners returns the attempts whose parts are the output.
func (st *stage) winners() []uint64 {
	set := st.reduces
	if len(set) == 0 {
		set = st.maps
	}
	out := make([]uint64, len(set))
	for i := range set {
		out[i] = set[i].try
	}
	return out
}

func (c *Tracker) info(st *stage) *wire.StageInfo {
	i := &wire.StageInfo{Spec: st.job.spec}
	if st.plan != nil {
		i.Maps, i.Reducers, i.Bounds, i.Work = st.total[0], st.plan.Reducers, st.plan.Bounds, st.plan.Work
	}
	return i
}

// StageInfo returns what attempts of a stage have in common.
func (c *Tracker) StageInfo(ref wire.StageRef) (wire.StageInfo, error) {
	j := c.jobs[ref.Job]
	if j == nil || ref.Stage < 0 || ref.Stage >= len(j.stages) {
		return wire.StageInfo{}, c.unknown(ref.Job)
	}
	return *c.info(j.stages[ref.Stage]), nil
}

// startCommit lets the driver give the output its name. From here on the job can only succeed, or fail in its commit.
func (c *Tracker) startCommit(now time.Duration, st *stage) {
	if st.committing {
		return
	}
	c.note(Record{At: now, Kind: Committed, Job: st.job.id, Stage: st.n})
	c.out.Drivers = append(c.out.Drivers, st.job.id)
	c.changed(st.job)
}

// Commit handles a driver's report that the output has its name, or why it has not.
func (c *Tracker) Commit(now time.Duration, id wire.AttemptID, problem string) error {
	driver := c.driverOf(id)
	if driver == nil || !driver.st.committing {
		return wire.Errorf(wire.Stale, "%s: %s", id, c.whyStopped(id))
	}
	st := driver.st
	if problem != "" && c.pause != "" {
		return nil // it is told to commit once more
	}
	if problem != "" {
		c.failJob(now, st.job, "commit: "+problem)
		return nil
	}
	c.note(Record{At: now, Kind: StageDone, Job: id.Job, Stage: id.Stage, Lesson: c.lessonOf(st)})
	if st.n+1 == st.job.spec.Stages {
		st.job.committed = id
		c.endJob(now, st.job, Succeeded, "")
		return nil
	}
	c.closeStage(now, st, Succeeded, "")
	c.begin(now, st.job)
	c.goOn(now, st.job.current(), driver.node)
	c.changed(st.job)
	c.admit(now)
	c.offerAll(now)
	return nil
}

// goOn moves a job into its next stage. The job was admitted and does not queue again. The next driver gets the
// container of the last one, which is offered to nobody else in between.
func (c *Tracker) goOn(now time.Duration, next *stage, n *node) {
	c.feed(now, scheduler.JobAdmitted(next.sid))
	c.tell(now, wire.PastAdmitted, wire.AttemptID{Job: next.job.id, Stage: next.n}, nil, "")
	v, t := c.engine.View(), scheduler.TaskID{Job: next.sid, Kind: scheduler.Driver}
	if c.pause != "" || v.NodeState(n.id) != scheduler.NodeIsReady || !v.Fits(n.id, v.Job(next.sid), scheduler.Driver) {
		return
	}
	if c.feed(now, scheduler.Launched(t, n.id, scheduler.Anywhere, false)) {
		c.tally.Launched++
		why := c.decide(now, next, &drive.Step{Do: drive.Launch, Task: t, Node: n.id, Reason: scheduler.Reason{Say: "the driver of {job}'s stage before was there", Job: next.sid}})
		c.launch(now, n, t, false, why)
	}
}

// driverEnded handles the end of a driver. A driver that ends before its stage does is tried again.
func (c *Tracker) driverEnded(now time.Duration, st *stage, a *attempt, e *wire.Ended) {
	if a == nil {
		return
	}
	if e.Lost {
		c.machineFailed(now, a.node, a, e)
		return
	}
	if !e.Final && c.spared(now, a, e.Error) {
		return
	}
	c.detach(a)
	c.tellEnd(now, wire.PastFailed, a, e.Error, e)
	c.feed(now, scheduler.TaskFailed(a.task(), a.node.id))
	st.driverFails++
	st.lastError = e.Error
	if e.Final || st.driverFails >= c.attemptsOf(st.job) {
		why := e.Error
		if st.driverFails > 1 {
			why = fmt.Sprintf("the driver failed %d times; the last: %s", st.driverFails, e.Error)
		}
		c.failJob(now, st.job, why)
		return
	}
	st.job.retries++
	c.changed(st.job)
	c.offerAll(now)
}

func (c *Tracker) attemptsOf(j *job) int {
	if j.spec.Attempts > 0 {
		return j.spec.Attempts
	}
	return c.cfg.Attempts
}
