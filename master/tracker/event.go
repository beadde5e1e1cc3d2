package tracker

import (
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// An Event is something worth telling that is not journalled: the master can learn it again, or does not need it after
// a restart.
type Event struct {
	ID wire.AttemptID // only Job and Stage if a job was admitted
	wire.PastEvent
}

// tell adds an event to the output.
func (c *Tracker) tell(now time.Duration, kind wire.PastKind, id wire.AttemptID, n *node, text string) *Event {
	e := Event{ID: id, PastEvent: wire.PastEvent{
		At: int64(now), Kind: kind, Stage: id.Stage, Task: id.Kind, Index: id.Index, Try: id.Try, Text: wire.Clip(text, wire.MaxText),
	}}
	if n != nil {
		e.Node = n.name
	}
	c.out.Events = append(c.out.Events, e)
	return &c.out.Events[len(c.out.Events)-1]
}

// tellLaunch tells where an attempt was started, and why.
func (c *Tracker) tellLaunch(now time.Duration, a *attempt, why string) {
	e := c.tell(now, wire.PastLaunched, a.id, a.node, why)
	e.Number, e.Second = a.number, a.second
	if a.id.Kind == wire.MapTask {
		if j := c.engine.View().Job(a.st.sid); j != nil {
			near := c.engine.View().LocalityOf(j, a.task(), a.node.id)
			e.Locality = localityOf(near)
			if !a.second {
				a.st.job.near[near]++
			}
		}
	}
}

// tellEnd tells how an attempt ended whose result does not count.
func (c *Tracker) tellEnd(now time.Duration, kind wire.PastKind, a *attempt, why string, end *wire.Ended) {
	e := c.tell(now, kind, a.id, a.node, why)
	e.Number = a.number
	if e.Millis = (now - a.start).Milliseconds(); end != nil {
		e.Millis, e.In, e.Out, e.Counts = end.Millis, end.InBytes, end.OutBytes, end.Counts
	}
}

func localityOf(l scheduler.Locality) string {
	switch l {
	case scheduler.NodeLocal:
		return "node"
	case scheduler.RackLocal:
		return "rack"
	case scheduler.Remote:
		return "remote"
	}
	return "" // its input lies nowhere in particular
}
