package drive

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Config says what a Loop does beside asking the policies.
type Config struct {
	// Seconds is the rule that starts second attempts; nil starts none.
	Seconds Rule
	// Meter says how far running attempts have come. Seconds needs it.
	Meter Meter
	// Refill gives the room that a broken deadlock frees to a map at once. Without it the policy may give the room back
	// to the reduce that held it. A policy that counts on nodes which a job may not use would do so for ever. The
	// published experiments leave the room to the policy.
	Refill bool
	// Spread places drivers evenly over the nodes before any node is offered work. Without it a driver goes to the node
	// that asks first, as in the published experiments: their nodes ask at different times, while a master asks for all
	// at once.
	Spread bool
	// Log, if set, is called with every line of the decision log. It must not call back. The line belongs to the loop:
	// to keep it, Clone it.
	Log func(l *Line)
}

// A Meter says how far a running attempt has come, 0 to 1; known is false if that is unknown.
type Meter func(now time.Duration, a scheduler.Attempt) (done float64, known bool)

// A Loop runs rounds over one engine. One goroutine uses it.
type Loop struct {
	engine *scheduler.Engine
	cfg    Config
	line   *Line         // the round under way, if it is logged: then it points to spare
	spare  Line          // reused: it is large, and there are millions of rounds
	event  Line          // the last event that was logged, reused for the same reason
	taker  func(Step)    // gets the steps of that round
	noting func(Step)    // logs a step, then passes it on
	next   time.Duration // when the policies want their next tick
	ticks  bool          // they want one
}

// New returns a Loop around an engine. The caller must feed the engine only through it.
func New(e *scheduler.Engine, cfg Config) *Loop {
	d := &Loop{engine: e, cfg: cfg}
	d.noting = func(s Step) {
		d.line.Steps = append(d.line.Steps, s)
		d.taker(s)
	}
	return d
}

// View returns what the policies see.
func (d *Loop) View() *scheduler.View { return d.engine.View() }

// Explain returns why a job is not getting more.
func (d *Loop) Explain(now time.Duration, id scheduler.JobID) scheduler.Reason {
	return d.engine.Explain(now, id)
}

// Notes returns what the cluster lacks for the policies.
func (d *Loop) Notes() []string { return d.engine.Notes() }

// Figures returns the figures that the policies show.
func (d *Loop) Figures(now time.Duration) []scheduler.Figure { return d.engine.Figures(now) }

// SetPolicy replaces the policy while jobs run.
func (d *Loop) SetPolicy(now time.Duration, p scheduler.Policy) { d.engine.SetPolicy(now, p) }

// SetAdmission replaces the admission policy while jobs wait.
func (d *Loop) SetAdmission(now time.Duration, a scheduler.Admission) {
	d.engine.SetAdmission(now, a)
}

// NextTick returns when the policies want their periodic work done next, as of the last
// round with Tick; ok is false if they want none.
func (d *Loop) NextTick() (at time.Duration, ok bool) { return d.next, d.ticks }

// WorkLeft reports whether some task or driver waits for room.
func (d *Loop) WorkLeft() bool {
	v := d.engine.View()
	return v.Runnable(scheduler.Map).Len() > 0 || v.Pending(scheduler.Reduce).Len() > 0 || d.engine.DriversWait()
}

// NodeKnown logs a machine that was added to the topology, or whose class has changed.
func (d *Loop) NodeKnown(now time.Duration, n topology.NodeID) {
	t := d.View().Topology()
	node, rack := t.Node(n), t.Rack(t.RackOf(n))
	d.log(&Line{Kind: LineNode, At: now, Node: n, Name: node.Name, Rack: rack.Name, Class: node.Class, NIC: node.NIC, Uplink: rack.Uplink, Optical: t.OCS()})
}

// Feed tells state and policies of an event. An error means that the state refused it and nobody saw it.
func (d *Loop) Feed(now time.Duration, e scheduler.Event) error {
	err := d.engine.Feed(now, e)
	if err == nil && d.cfg.Log != nil { // a line is large
		d.event.Kind, d.event.At, d.event.Event = LineEvent, now, e
		d.log(&d.event)
	}
	return err
}

// NodeLost removes a dead node from the books, as Engine.NodeLost does.
func (d *Loop) NodeLost(now time.Duration, n topology.NodeID, outputs bool, each func(scheduler.Event)) error {
	return d.engine.NodeLost(now, n, outputs, func(e scheduler.Event) {
		d.log(&Line{Kind: LineEvent, At: now, Event: e})
		if each != nil {
			each(e)
		}
	})
}

func (d *Loop) log(l *Line) {
	if d.cfg.Log != nil {
		d.cfg.Log(l)
	}
}
