package tracker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// Status describes a job.
func (c *Tracker) Status(id wire.JobID) (wire.JobStatus, error) {
	j := c.jobs[id]
	if j == nil {
		return wire.JobStatus{}, c.unknown(id)
	}
	s := wire.JobStatus{
		Job: id, Name: j.spec.Name, User: j.spec.User, Queue: j.spec.Queue, State: j.state.Public(), Error: j.err,
		Submitted: j.submitted.Milliseconds(), Ended: j.endedAt.Milliseconds(), Attempts: j.tries, Retries: j.retries,
		Stage: len(j.stages), Stages: j.spec.Stages, Output: j.spec.Output, Counts: j.counts.Clone(), Bad: slices.Clone(j.bad), Deadline: j.deadline(),
	}
	for l, n := range j.near {
		if name := localityOf(scheduler.Locality(l)); n > 0 && name != "" {
			if s.Locality == nil {
				s.Locality = map[string]int{}
			}
			s.Locality[name] = n
		}
	}
	if st := j.current(); st != nil {
		s.LastError = st.lastError
		s.Committing = st.committing && !st.done
		s.Maps = wire.TaskTotals{Total: int(st.total[0]), Done: int(st.doneCount[0])}
		s.Reduces = wire.TaskTotals{Total: int(st.total[1]), Done: int(st.doneCount[1])}
		for a := range st.running {
			switch a.id.Kind {
			case wire.MapTask:
				s.Maps.Running++
				s.Maps.Progress += a.done
			case wire.ReduceTask:
				s.Reduces.Running++
				s.Reduces.Progress += a.done
			default:
				s.Driver = string(a.node.name)
			}
		}
	}
	return s, nil
}

// deadline returns when the job should end, in milliseconds of the cluster's age; 0 if it has no deadline.
func (j *job) deadline() int64 {
	if j.spec.Deadline <= 0 {
		return 0
	}
	return j.submitted.Milliseconds() + j.spec.Deadline
}

// HasEnded reports whether a job is over or unknown.
func (c *Tracker) HasEnded(id wire.JobID) bool {
	j := c.jobs[id]
	return j == nil || j.state.Ended()
}

// Jobs returns all known jobs, newest first.
func (c *Tracker) Jobs() []wire.JobStatus { return c.List(wire.JobsRequest{}) }

// List returns the jobs that r asks for, newest first.
func (c *Tracker) List(r wire.JobsRequest) []wire.JobStatus {
	var list []*job
	for _, j := range c.jobs {
		if !r.Active || !j.state.Ended() {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b *job) int { return cmp.Compare(b.num, a.num) })
	if r.Limit > 0 {
		list = list[:min(len(list), r.Limit)]
	}
	out := make([]wire.JobStatus, 0, len(list))
	for _, j := range list {
		if s, err := c.Status(j.id); err == nil {
			s.Counts = nil
			out = append(out, s)
		}
	}
	return out
}

// Why returns the reason why a job does not get more.
func (c *Tracker) Why(now time.Duration, id wire.JobID) (string, error) {
	j := c.jobs[id]
	if j == nil {
		return "", c.unknown(id)
	}
	st := j.current()
	switch {
	case j.state.Ended():
		return string(id) + " is " + j.state.String(), nil
	case now < c.graceEnd:
		return "the master has just restarted and waits for its workers to report", nil
	case c.pause != "":
		return "nothing is started: " + c.pause, nil
	case j.held:
		return c.heldWhy(j), nil
	case st.committing:
		return string(id) + " is giving its output its name", nil
	}
	why := append([]string{c.spell(c.engine.Explain(now, st.sid)) + c.notServing(now)}, c.Notes()...)
	if wait := c.waitsFor(now, st); wait != "" {
		why = slices.Insert(why, 0, wait)
	}
	return strings.Join(why, "; "), nil
}

// spell returns a reason with jobs named by their ids (job-12): names are often shared.
func (c *Tracker) spell(r scheduler.Reason) string {
	return r.TextWith(c.engine.View(), func(id scheduler.JobID) string {
		if st := c.stages[id]; st != nil {
			return string(st.job.id)
		}
		return id.String()
	})
}

// Settling reports whether the master took over so recently that a worker not yet heard need not be down.
func (c *Tracker) Settling(now time.Duration) bool { return now < c.resumedAt+c.cfg.Silence }

// Nodes returns the workers.
func (c *Tracker) Nodes(now time.Duration) []wire.NodeStatus {
	out := make([]wire.NodeStatus, 0, len(c.nodes))
	for _, n := range c.nodes {
		s := wire.NodeStatus{
			Node: n.name, Rack: n.rack, Addr: n.addr, State: "down", Capacity: n.capacity, Running: len(n.want), Machine: n.class, Speed: n.speed,
			Silent: (now - n.heard).Milliseconds(), Sick: n.sick, Isolation: n.isolation, Platform: n.runs.Platform, Lacks: n.runs.Lacks,
		}
		switch {
		case n.up && n.sick != "":
			s.State = "sick"
		case n.up && now < n.excluded:
			s.State, s.Sick = "excluded", c.excludedWhy(now, n)
		case n.up && (n.draining || n.drain):
			s.State = "draining"
		case n.up:
			s.State = "up"
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b wire.NodeStatus) int { return cmp.Compare(a.Node, b.Node) })
	return out
}
