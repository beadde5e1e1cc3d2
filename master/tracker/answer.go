package tracker

import (
	"cmp"
	"slices"

	"github.com/millrace/millrace/internal/wire"
)

// AnswerTo returns what a worker should do now. It repeats launches until the worker reports them. The answer may go
// out at once: it does not acknowledge ends that are not durable, and starts no drivers of jobs that are not. Other
// attempts may start before the records they follow from are durable: after a crash the next master adopts or stops
// them.
func (c *Tracker) AnswerTo(name wire.NodeName, durable int64) wire.Answer {
	n := c.byName[name]
	if n == nil {
		return wire.Answer{Epoch: c.cfg.Epoch, Full: true}
	}
	n.woken = false
	ans := wire.Answer{Epoch: c.cfg.Epoch, Seq: n.seq, Drop: n.drops, Full: n.full}
	n.drops = nil
	n.acks = slices.DeleteFunc(n.acks, func(a ack) bool {
		if a.noted <= durable {
			ans.Ended = append(ans.Ended, a.id)
		}
		return a.noted <= durable
	})
	for _, a := range sortedAttempts(n.want) {
		if !a.seen && (a.id.Kind != wire.DriverTask || a.noted <= durable) {
			ans.Launch = append(ans.Launch, c.launchOf(n, a))
		}
	}
	for id, why := range n.kill {
		ans.Kill = append(ans.Kill, wire.Kill{ID: id, Why: why})
	}
	slices.SortFunc(ans.Kill, func(a, b wire.Kill) int { return cmp.Compare(a.ID.Try, b.ID.Try) })
	return ans
}

func (c *Tracker) launchOf(n *node, a *attempt) wire.Launch {
	s := &a.st.job.spec
	room := demand(map[wire.TaskKind]wire.Demand{wire.ReduceTask: s.Reduce, wire.DriverTask: s.Driver}[a.id.Kind], wire.Demand{VCores: s.VCores, MemoryMB: s.MemoryMB})
	l := wire.Launch{ID: a.id, Number: a.number, VCores: room.VCores, MemoryMB: room.MemoryMB}
	ref := wire.StageRef{Job: a.id.Job, Stage: a.id.Stage}
	if !n.knows[ref] {
		l.Spec = &a.st.job.spec
	}
	a.sent = true
	if a.id.Kind == wire.MapTask {
		l.Split = a.st.plan.splits.get(a.id.Index)
	}
	return l
}
