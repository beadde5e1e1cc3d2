package scheduler

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/topology"
)

// A LineKind says what a line of a decision log is about.
type LineKind uint8

// The kinds of line.
const (
	LineNode  LineKind = iota // a machine became known: Name, Rack, Class
	LineEvent                 // something happened: Event
	LineAdmit                 // the admission policy was asked: Admitted
	LineOffer                 // a node had room: Node, Launched, Reason
	LineTick                  // the policies did their periodic work
	LineKill                  // the policy was asked for victims: Victim, if it named one
)

// A LogLine is one thing that a driver told its policies, or asked them, and the answer.
type LogLine struct {
	Kind     LineKind
	At       time.Duration
	Event    Event           `json:",omitzero"`
	Node     topology.NodeID `json:",omitzero"`
	Name     string          `json:",omitempty"`
	Rack     string          `json:",omitempty"`
	Class    string          `json:",omitempty"`
	Admitted []AdmitDecision `json:",omitempty"`
	Launched []Decision      `json:",omitempty"`
	Victim   *Victim         `json:",omitempty"`
	Reason   Reason          `json:",omitzero"`
}

// A Recorder is an Engine that writes down everything it is told and everything it decides, so that
// the same policy, asked again in the same way, can be seen to decide the same.
type Recorder struct {
	*Engine
	Log func(l LogLine) // nil writes nothing
}

func (r *Recorder) log(l LogLine) {
	if r.Log != nil {
		r.Log(l)
	}
}

// NodeKnown writes down a machine that was added to the topology.
func (r *Recorder) NodeKnown(now time.Duration, n topology.NodeID, name, rack, class string) {
	r.log(LogLine{Kind: LineNode, At: now, Node: n, Name: name, Rack: rack, Class: class})
}

// Feed is Engine.Feed.
func (r *Recorder) Feed(now time.Duration, e Event) error {
	err := r.Engine.Feed(now, e)
	if err == nil {
		r.log(LogLine{Kind: LineEvent, At: now, Event: e})
	}
	return err
}

// NodeLost is Engine.NodeLost.
func (r *Recorder) NodeLost(now time.Duration, n topology.NodeID, outputs bool) error {
	return r.Engine.NodeLost(now, n, outputs, func(e Event) { r.log(LogLine{Kind: LineEvent, At: now, Event: e}) })
}

// Admit is Engine.Admit.
func (r *Recorder) Admit(now time.Duration, each func(AdmitDecision)) (Reason, error) {
	var all []AdmitDecision
	reason, err := r.Engine.Admit(now, func(d AdmitDecision) { all = append(all, d) })
	r.log(LogLine{Kind: LineAdmit, At: now, Admitted: all, Reason: reason})
	for _, d := range all {
		each(d)
	}
	return reason, err
}

// Offer is Engine.Offer.
func (r *Recorder) Offer(now time.Duration, n topology.NodeID, each func(Decision)) (Reason, error) {
	var all []Decision
	reason, err := r.Engine.Offer(now, n, func(d Decision) { all = append(all, d) })
	r.log(LogLine{Kind: LineOffer, At: now, Node: n, Launched: all, Reason: reason})
	for _, d := range all {
		each(d)
	}
	return reason, err
}

// Tick is Engine.Tick.
func (r *Recorder) Tick(now time.Duration) (time.Duration, bool) {
	next, ok := r.Engine.Tick(now)
	r.log(LogLine{Kind: LineTick, At: now})
	return next, ok
}

// Kill asks the policy for a victim, if it is one that names any.
func (r *Recorder) Kill(now time.Duration) (Victim, bool) {
	k, is := r.Policy().(Killer)
	if !is {
		return Victim{}, false
	}
	v, ok := k.Kill(now, r.View())
	l := LogLine{Kind: LineKill, At: now}
	if ok {
		l.Victim = &v
	}
	r.log(l)
	return v, ok
}

// ReplayLog asks policies again what a log says others were asked, and returns how they differ: nil
// if they decide the same, line by line.
func ReplayLog(cfg Config, p Policy, a Admission, lines []LogLine) error {
	b := topology.NewBuilder()
	state, err := NewState(b.Topology(), cfg)
	if err != nil {
		return err
	}
	racks := map[string]topology.RackID{}
	e := &Recorder{Engine: NewEngine(state, p, a)}
	for i := range lines {
		if err := replayLine(b, racks, e, &lines[i]); err != nil {
			return fmt.Errorf("line %d at %v: %w", i+1, lines[i].At, err)
		}
	}
	return nil
}

func replayLine(b *topology.Builder, racks map[string]topology.RackID, e *Recorder, l *LogLine) error {
	switch l.Kind {
	case LineNode:
		rack, ok := racks[l.Rack]
		if !ok {
			var err error
			if rack, err = b.AddRack(topology.Rack{Name: l.Rack}); err != nil {
				return err
			}
			racks[l.Rack] = rack
		}
		_, err := b.AddNode(topology.Node{Name: l.Name, Rack: rack, Class: l.Class})
		return err
	case LineEvent:
		return e.Feed(l.At, l.Event)
	case LineAdmit:
		var got []AdmitDecision
		_, err := e.Admit(l.At, func(d AdmitDecision) { got = append(got, d) })
		return differ(len(got), len(l.Admitted), err, func(i int) (any, any) {
			g, w := got[i], l.Admitted[i]
			g.Reason, w.Reason = Reason{}, Reason{}
			return g, w
		})
	case LineOffer:
		var got []Decision
		_, err := e.Offer(l.At, l.Node, func(d Decision) { got = append(got, d) })
		return differ(len(got), len(l.Launched), err, func(i int) (any, any) {
			g, w := got[i], l.Launched[i]
			g.Reason, w.Reason = Reason{}, Reason{}
			return g, w
		})
	case LineTick:
		e.Tick(l.At)
	case LineKill:
		v, ok := e.Kill(l.At)
		if ok != (l.Victim != nil) || ok && (v.Task != l.Victim.Task || v.Node != l.Victim.Node) {
			return fmt.Errorf("kills %v (%v), the log says %v", v, ok, l.Victim)
		}
	}
	return nil
}

// differ compares decisions; pair gives the i-th of both sides, without their reasons, which point
// into the state they were made of.
func differ(got, want int, err error, pair func(i int) (any, any)) error {
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("decides %d things, the log says %d", got, want)
	}
	for i := range got {
		if g, w := pair(i); g != w {
			return fmt.Errorf("decides %v, the log says %v", g, w)
		}
	}
	return nil
}
