package drive

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A LineKind says what a line of a decision log is about.
type LineKind uint8

// The kinds of line.
const (
	LineNode     LineKind = iota // a machine, its class or another rack became known: Node, Name, Rack, Class, NIC, Uplink, Optical
	LineEvent                    // something happened: Event
	LineRound                    // a round was asked for: Round, Asked, and the answer, Steps
	LinePolicies                 // these policies decide from here on: Policy, Admission
	LinePlan                     // a policy was asked to plan: Expected, and the answer, Plans
	LineGate                     // a policy was asked whether a shuffle may go: Gate, which has the answer
)

// A Line is one thing that the owner of a cluster told its Loop, or asked it, and the
// answer.
type Line struct {
	Kind  LineKind
	At    time.Duration
	Event scheduler.Event `json:",omitzero"`
	Node  topology.NodeID `json:",omitzero"`
	Name  string          `json:",omitempty"`
	Rack  string          `json:",omitempty"`
	Class string          `json:",omitempty"`
	NIC   topology.Rate   `json:",omitempty"`
	// Uplink is the uplink of the machine's rack.
	Uplink topology.Rate `json:",omitempty"`
	// Optical joins the racks.
	Optical topology.OCS `json:",omitzero"`
	Round   Round        `json:",omitzero"`
	Asked   []Progress   `json:",omitempty"`
	Steps   []Step       `json:",omitempty"`

	Policy    Named `json:",omitzero"`
	Admission Named `json:",omitzero"`

	Expected []*scheduler.JobSpec  `json:",omitempty"`
	Plans    []scheduler.Placement `json:",omitempty"`
	Gate     Gate                  `json:",omitzero"`
}

// Clone returns a copy that no later round changes.
func (l *Line) Clone() Line {
	c := *l
	c.Round.Nodes, c.Asked, c.Steps = slices.Clone(l.Round.Nodes), append([]Progress(nil), l.Asked...), append([]Step(nil), l.Steps...)
	return c
}

// A Gate asks whether map output may go from one rack to another, and has the answer.
type Gate struct {
	Job   scheduler.JobID
	From  topology.RackID
	To    topology.RackID
	Avail int64
	Open  bool
}

// Progress is how far an attempt was when a round asked.
type Progress struct {
	Task  scheduler.TaskID
	Node  topology.NodeID
	Done  float64
	Known bool
}

// Replay asks policies again what a log says others were asked, through a Loop with the same rules. It returns nil if
// they decide the same, line by line, and otherwise how they differ. Meter and Log of cfg are not used: the log has
// what the meter said.
func Replay(state scheduler.Config, cfg Config, p scheduler.Policy, a scheduler.Admission, lines []Line) error {
	r := replay{topo: topology.NewBuilder(), racks: map[string]topology.RackID{}}
	s, err := scheduler.NewState(r.topo.Topology(), state)
	if err != nil {
		return err
	}
	cfg.Log, cfg.Meter = nil, r.meter
	r.d = New(scheduler.NewEngine(s, p, a), cfg)
	for i := range lines {
		if err := r.take(&lines[i]); err != nil {
			return fmt.Errorf("line %d at %v: %w", i+1, lines[i].At, err)
		}
	}
	return nil
}

type replay struct {
	d     *Loop
	topo  *topology.Builder
	racks map[string]topology.RackID
	asked []Progress // what the meter said and is not yet used
}

// meter returns the answers of the log.
func (r *replay) meter(_ time.Duration, a scheduler.Attempt) (float64, bool) {
	for i, p := range r.asked {
		if p.Task == a.Task && p.Node == a.Node {
			r.asked = append(r.asked[:i:i], r.asked[i+1:]...)
			return p.Done, p.Known
		}
	}
	return 0, false
}

func (r *replay) take(l *Line) error {
	switch l.Kind {
	case LineNode:
		return r.node(l)
	case LineEvent:
		return r.d.Feed(l.At, l.Event)
	case LinePolicies:
		return nil // Replay has one policy; Verify changes them
	case LinePlan:
		return samePlans(r.d.Plan(l.At, l.Expected), l.Plans)
	case LineGate:
		g := l.Gate
		if open := r.d.Release(l.At, g.Job, g.From, g.To, g.Avail); open != g.Open {
			return fmt.Errorf("map output of %v may go from rack %d to rack %d: %v, the log says %v", g.Job, g.From, g.To, open, g.Open)
		}
		return nil
	}
	r.asked = l.Asked
	var want []Step
	for _, s := range l.Steps {
		if s.Do != Rest {
			want = append(want, s)
		}
	}
	var got []Step
	// A policy that broke a rule breaks it again; the decisions are compared.
	_ = r.d.Round(l.At, l.Round, func(s Step) { got = append(got, s) })
	return differ(got, want)
}

func (r *replay) node(l *Line) error {
	rack, ok := r.racks[l.Rack]
	if !ok {
		var err error
		if rack, err = r.topo.AddRack(topology.Rack{Name: l.Rack, Uplink: l.Uplink}); err != nil {
			return err
		}
		r.racks[l.Rack] = rack
	}
	if err := r.topo.SetOCS(l.Optical); err != nil {
		return err
	}
	if n, known := r.topo.Topology().NodeByName(l.Name); known {
		return errors.Join(r.topo.SetClass(n, l.Class), r.topo.SetRack(n, rack))
	}
	_, err := r.topo.AddNode(topology.Node{Name: l.Name, Rack: rack, Class: l.Class, NIC: l.NIC})
	return err
}

// differ compares decisions.
func differ(got, want []Step) error {
	for i := range min(len(got), len(want)) {
		if !got[i].same(&want[i]) {
			return fmt.Errorf("step %d is %v %v on node %d, the log says %v %v on node %d", i+1, got[i].Do, got[i].Task, got[i].Node, want[i].Do, want[i].Task, want[i].Node)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("decides %d things, the log says %d", len(got), len(want))
	}
	return nil
}
