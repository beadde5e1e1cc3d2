package tracker

import (
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// A Tally counts what the policies have decided since the master started.
type Tally struct {
	Launched, Seconds, Stopped, Forgotten, Admitted, Rejected int64
	Broken                                                    int64         // rules broken by policies
	LastBroken                                                string        // what the last was
	BrokenAt                                                  time.Duration // when that was
}

// Tally returns the counts.
func (c *Tracker) Tally() Tally { return c.tally }

// rejected is a job that the admission policy rejects, and why.
type rejected struct {
	st  *stage
	why string
}

// broken counts and reports a broken rule, whether a policy or this package broke it.
func (c *Tracker) broken(now time.Duration, err error) {
	c.tally.Broken++
	c.tally.LastBroken, c.tally.BrokenAt = err.Error(), now
	c.out.Broken = append(c.out.Broken, err)
}

// round asks the policies and carries out what they decide. A broken rule is counted and reported; what the round had
// decided stands.
func (c *Tracker) round(now time.Duration, r drive.Round) {
	admitted := c.tally.Admitted
	if err := c.engine.Round(now, r, func(s drive.Step) { c.carryOut(now, &s) }); err != nil {
		c.broken(now, err)
	}
	turned, placed := c.rejected, c.placed
	c.rejected, c.placed = nil, nil
	for _, st := range slices.Compact(placed) {
		c.letGo(now, st) // the round is over: the policy may be asked
	}
	for _, t := range turned {
		c.failJob(now, t.st.job, "rejected by the admission policy: "+t.why)
	}
	if c.tally.Admitted > admitted && r.Parts&drive.Offer == 0 {
		c.offerAll(now)
	}
}

func (c *Tracker) carryOut(now time.Duration, s *drive.Step) {
	st := c.stages[s.Task.Job]
	if st == nil {
		return
	}
	why := c.decide(now, st, s)
	switch s.Do {
	case drive.Launch:
		c.tally.Launched++
		if s.Second {
			c.tally.Seconds++
		}
		c.launch(now, c.nodes[s.Node], s.Task, s.Second, why)
	case drive.Stop:
		c.tally.Stopped++
		c.stopTask(now, s, why)
	case drive.Forget:
		c.tally.Forgotten++
		c.forgetResult(now, st, wireKind[s.Task.Kind], s.Task.Index, "the policy wants it run again")
	case drive.Start:
		c.tally.Admitted++
		c.tell(now, wire.PastAdmitted, wire.AttemptID{Job: st.job.id, Stage: st.n}, nil, why)
	case drive.Reject:
		c.tally.Rejected++
		c.rejected = append(c.rejected, rejected{st, why})
	}
}

// stopTask ends the attempt of a task on a node. The policies already know.
func (c *Tracker) stopTask(now time.Duration, s *drive.Step, why string) {
	if a := c.attemptOf(s.Task, s.Node); a != nil {
		c.drop(a, why)
		c.tellEnd(now, wire.PastStopped, a, why, nil)
	}
}

// attemptOf returns the attempt of a task that should run on a node, or nil.
func (c *Tracker) attemptOf(t scheduler.TaskID, n topology.NodeID) *attempt {
	for _, a := range c.nodes[n].want {
		if a.st.sid == t.Job && a.task() == t {
			return a
		}
	}
	return nil
}

// progress returns how far an attempt has come, as its worker has reported.
func (c *Tracker) progress(_ time.Duration, at scheduler.Attempt) (float64, bool) {
	a := c.attemptOf(at.Task, at.Node)
	if a == nil {
		return 0, false
	}
	return a.done, true
}

// admit lets waiting jobs start their drivers.
func (c *Tracker) admit(now time.Duration) {
	if c.resumed && c.pause == "" {
		c.round(now, drive.Round{Parts: drive.Admit})
	}
}

// offerAll offers every node's room if there is something to run.
func (c *Tracker) offerAll(now time.Duration) {
	if c.resumed && now >= c.graceEnd && c.pause == "" {
		c.round(now, drive.Round{Parts: drive.Offer})
	}
}

// offer asks the policies what to run on a node that may have room.
func (c *Tracker) offer(now time.Duration, n *node) {
	if c.resumed && now >= c.graceEnd && c.pause == "" {
		c.round(now, drive.Round{Parts: drive.Offer, Nodes: []topology.NodeID{n.id}})
	}
}
