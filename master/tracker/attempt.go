package tracker

import (
	"fmt"
	"math"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// An attempt is one try of a task that should be running.
type attempt struct {
	id     wire.AttemptID
	st     *stage
	node   *node
	start  time.Duration
	number int     // of this try among those of its task, from 0; of a driver: how many have failed
	done   float64 // 0 to 1, as reported
	seen   bool    // its worker has reported it
	sent   bool    // an answer to its worker has listed it
	second bool
	noted  int64 // number of records made before it
}

func (a *attempt) task() scheduler.TaskID {
	return scheduler.TaskID{Job: a.st.sid, Index: a.id.Index, Kind: schedKind(a.id.Kind)}
}

func schedKind(k wire.TaskKind) scheduler.Kind {
	switch k {
	case wire.MapTask:
		return scheduler.Map
	case wire.ReduceTask:
		return scheduler.Reduce
	}
	return scheduler.Driver
}

var wireKind = [scheduler.NumKinds]wire.TaskKind{wire.MapTask, wire.ReduceTask, wire.DriverTask}

// launch records an attempt that the policies have decided on.
func (c *Tracker) launch(now time.Duration, n *node, t scheduler.TaskID, second bool, why string) {
	st := c.stages[t.Job]
	c.lastTry++
	a := &attempt{
		id: wire.AttemptID{Job: st.job.id, Stage: st.n, Kind: wireKind[t.Kind], Index: t.Index, Try: c.lastTry},
		st: st, node: n, start: now, second: second, number: st.driverFails, noted: c.noted,
	}
	if set := st.tasks(a.id.Kind); set != nil {
		a.number = int(set[t.Index].tries)
		set[t.Index].tries++
	}
	st.job.tries++
	c.tellLaunch(now, a, why)
	c.attach(a)
	c.wake(n)
	if a.id.Kind == wire.ReduceTask {
		c.placed = append(c.placed, st)
	}
}

func (c *Tracker) attach(a *attempt) {
	a.node.want[a.id] = a
	a.st.running[a] = true
	a.st.count(a, 1)
}

// detach removes an attempt from the tracker's books; the caller tells the policies.
func (c *Tracker) detach(a *attempt) {
	delete(a.node.want, a.id)
	if a.st.running[a] {
		delete(a.st.running, a)
		a.st.count(a, -1)
	}
}

// count updates the number of running attempts of a task and of its kind.
func (st *stage) count(a *attempt, n int8) {
	if set := st.tasks(a.id.Kind); int(a.id.Index) < len(set) {
		set[a.id.Index].live += uint8(n)
		st.busy[kindIndex(a.id.Kind)] += int32(n)
	}
}

// attempts returns how many attempts of a map or reduce run.
func (st *stage) attempts(id wire.AttemptID) int {
	set := st.tasks(id.Kind)
	if int(id.Index) >= len(set) {
		return 0
	}
	return int(set[id.Index].live)
}

// drop is detach for an attempt that may still run. It tells the worker to stop it.
func (c *Tracker) drop(a *attempt, why string) {
	c.detach(a)
	if a.seen || a.sent {
		a.node.kill[a.id] = why
		c.wake(a.node)
	}
}

// stop ends an attempt and lets its task wait again.
func (c *Tracker) stop(now time.Duration, a *attempt, why string) {
	c.drop(a, why)
	c.tellEnd(now, wire.PastStopped, a, why, nil)
	c.feed(now, scheduler.TaskKilled(a.task(), a.node.id))
}

// lost handles an attempt that ended without a result.
func (c *Tracker) lost(now time.Duration, a *attempt, why string) {
	a.st.lastError = why
	c.detach(a)
	c.tellEnd(now, wire.PastLost, a, why, nil)
	c.feed(now, scheduler.TaskKilled(a.task(), a.node.id))
}

// takeEnd handles the end of one attempt. The first good result of a task counts, whichever attempt brings it.
func (c *Tracker) takeEnd(now time.Duration, n *node, e *wire.Ended) {
	c.runsNoMore(n, e.ID)
	a := n.want[e.ID]
	st := c.stageOf(e.ID)
	if st == nil {
		if a != nil {
			c.detach(a)
		}
		return
	}
	if e.ID.Kind == wire.DriverTask {
		c.driverEnded(now, st, a, e)
		return
	}
	set := st.tasks(e.ID.Kind)
	if e.ID.Index < 0 || int(e.ID.Index) >= len(set) {
		return
	}
	switch {
	case e.OK && set[e.ID.Index].try == 0:
		if err := st.job.counts.CheckSum(e.Counts); err != nil {
			c.failJob(now, st.job, fmt.Sprintf("counters: %v", err))
			return
		}
		if e.ID.Kind == wire.ReduceTask && e.Sum != st.sum {
			c.readOther(now, st, a)
			return
		}
		c.taskDone(now, n, st, a, e)
	case a == nil:
	case e.OK:
		c.lost(now, a, e.Error)
	case e.Lost:
		c.machineFailed(now, n, a, e)
	default:
		c.taskFailed(now, n, a, e)
	}
}

// taskDone makes a result count and stops the task's other attempts.
func (c *Tracker) taskDone(now time.Duration, n *node, st *stage, a *attempt, e *wire.Ended) {
	id := e.ID
	t := scheduler.TaskID{Job: st.sid, Index: id.Index, Kind: schedKind(id.Kind)}
	took := time.Duration(e.Millis) * time.Millisecond
	done := scheduler.TaskFinished(t, n.id, took, st.read(t.Kind, e.InBytes), e.OutBytes)
	if a != nil {
		c.detach(a)
	} else {
		c.countOld(st.job, id)
		c.feed(now, scheduler.Launched(t, n.id, scheduler.Anywhere, c.runsElsewhere(st, id)))
	}
	c.note(Record{At: now, Kind: TaskDone, Job: id.Job, Stage: id.Stage, Tries: st.job.tries, Try: c.lastTry, Task: &TaskRecord{
		Kind: id.Kind, Index: id.Index, Try: id.Try, Node: n.name, Rack: n.rack, Millis: e.Millis,
		In: e.InBytes, Out: e.OutBytes, Sum: e.Sum, Counts: e.Counts, Skipped: e.Skipped, Bad: e.Bad[:min(len(e.Bad), wire.MaxBad)],
	}})
	if !c.feed(now, done) {
		c.feed(now, scheduler.Restored(t, n.id, now, took, st.read(t.Kind, e.InBytes), e.OutBytes))
	}
	if st.attempts(id) > 0 {
		for other := range st.running {
			if other.id.Kind == id.Kind && other.id.Index == id.Index {
				c.stop(now, other, "another attempt was faster")
			}
		}
	}
	if st.skipped > st.job.spec.Bad {
		c.failJob(now, st.job, fmt.Sprintf("%d bad records, more than the %d that may be skipped", st.skipped, st.job.spec.Bad))
		return
	}
	if id.Kind == wire.MapTask {
		delete(st.fetch, id.Index)
		c.reread(now, st, id.Index)
		c.letGo(now, st)
	}
	c.changed(st.job)
	c.afterProgress(now, st, id.Kind)
}

func (c *Tracker) runsElsewhere(st *stage, id wire.AttemptID) bool {
	if id.Kind != wire.DriverTask {
		return st.attempts(id) > 0
	}
	for other := range st.running {
		if other.id.Kind == id.Kind {
			return true
		}
	}
	return false
}

// afterProgress starts what a finished task makes possible: the first reduces, those that wait for the last map, or the
// commit. What the maps in between make possible waits for the next Tick: with many workers, the master would otherwise
// spend most of its time asking about all of them at the end of each map.
func (c *Tracker) afterProgress(now time.Duration, st *stage, kind wire.TaskKind) {
	if st.complete() {
		c.startCommit(now, st)
		return
	}
	j := c.engine.View().Job(st.sid)
	if kind != wire.MapTask || j == nil || j.Pending(scheduler.Reduce) == 0 || !j.ReduceReady() {
		return
	}
	if first := !st.ready; first || st.doneCount[0] == st.total[0] {
		st.ready = true
		c.offerAll(now)
	}
}

// taskFailed counts a failure that is the job's fault.
func (c *Tracker) taskFailed(now time.Duration, n *node, a *attempt, e *wire.Ended) {
	if !e.Final && c.spared(now, a, e.Error) {
		return
	}
	st, t := a.st, &a.st.tasks(a.id.Kind)[a.id.Index]
	t.failures++
	st.lastError = e.Error
	c.detach(a)
	c.tellEnd(now, wire.PastFailed, a, e.Error, e)
	c.feed(now, scheduler.TaskFailed(a.task(), n.id))
	if e.Final || int(t.failures) >= c.attemptsOf(st.job) {
		tries := ""
		if t.failures > 1 {
			tries = fmt.Sprintf(" failed %d times; the last", t.failures)
		}
		c.failJob(now, st.job, fmt.Sprintf("%s %d%s: %s", a.id.Kind, a.id.Index, tries, e.Error))
		return
	}
	st.job.retries++
	c.avoid(now, st, n, 3)
	c.changed(st.job)
	c.offerAll(now)
}

// machineFailed handles an attempt that its worker could not run, for want of a working disk, say. That is not the
// job's fault, and the task runs elsewhere. But a task that fails so again and again ends its job, with the reason.
func (c *Tracker) machineFailed(now time.Duration, n *node, a *attempt, e *wire.Ended) {
	if c.spared(now, a, e.Error) {
		return
	}
	st, losses := a.st, 0
	c.lost(now, a, e.Error)
	if set := st.tasks(a.id.Kind); set != nil {
		set[a.id.Index].losses++
		losses = int(set[a.id.Index].losses)
	} else {
		st.driverLosses++
		losses = st.driverLosses
	}
	if losses >= min(lossFactor*c.attemptsOf(st.job), math.MaxUint8) {
		c.failJob(now, st.job, fmt.Sprintf("%s %d could not be run %d times, by the machines' fault; the last, on node %s: %s", a.id.Kind, a.id.Index, losses, n.name, e.Error))
		return
	}
	c.avoid(now, st, n, 1)
	c.changed(st.job)
}

// lossFactor is how many times more often a task's attempts may be lost by the machines' fault than fail by the job's.
const lossFactor = 4

// loseOutput runs a finished map again because its output is gone.
func (c *Tracker) loseOutput(now time.Duration, st *stage, index int32, why string) {
	if st == nil || int(index) >= len(st.maps) || st.maps[index].try == 0 {
		return
	}
	c.forgetResult(now, st, wire.MapTask, index, why)
	c.feed(now, scheduler.TaskLost(scheduler.TaskID{Job: st.sid, Index: index}))
}

// forgetResult discards the result of a finished map or reduce; the caller tells the policies.
func (c *Tracker) forgetResult(now time.Duration, st *stage, kind wire.TaskKind, index int32, why string) {
	set := st.tasks(kind)
	if int(index) >= len(set) || set[index].try == 0 {
		return
	}
	st.lastError = why
	c.note(Record{
		At: now, Kind: TaskLost, Job: st.job.id, Stage: st.n, Text: why,
		Task: &TaskRecord{Kind: kind, Index: index, Try: set[index].try},
	})
	if kind == wire.MapTask {
		delete(st.fetch, index)
		delete(st.away, index)
	}
	c.changed(st.job)
}
