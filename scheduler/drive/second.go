package drive

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A Rule says which running tasks get a second attempt. The first of the two to end
// counts; the owner stops the other. The rules are LATE and Lag.
type Rule interface {
	// Late returns attempts whose task should get a second one, the most urgent first: attempts of maps and reduces
	// whose task has none yet.
	Late(now time.Duration, v *scheduler.View, done Meter) []scheduler.Attempt
	// Validate refuses values that mean nothing.
	Validate() error
	// Most is how many second attempts may run at once when one of kind k is added.
	Most(v *scheduler.View, k scheduler.Kind) int
	// name puts the rule into the header of a log: a log must name its rule to be replayed.
	name(h *Header)
}

// second starts second attempts where the rule wants them and there is room.
func (d *Loop) second(now time.Duration, r *Round, do func(Step)) (err error) {
	if d.cfg.Meter == nil {
		return nil
	}
	v := d.View()
	for _, a := range d.cfg.Seconds.Late(now, v, d.ask) {
		if int(v.Seconds()) >= d.cfg.Seconds.Most(v, a.Task.Kind) {
			continue
		}
		n, ok := d.roomBeside(a, r)
		if !ok {
			continue
		}
		got := scheduler.Run(a.Task, 0, scheduler.Reason{Say: "a second attempt of a {kind} of {job}, which is late on {node}", Kind: a.Task.Kind, Job: a.Task.Job, Node: a.Node})
		got.Second = true
		if bad := d.engine.Launch(now, n, &got); bad != nil {
			err = join(err, bad)
			continue
		}
		do(launched(n, &got))
	}
	return err
}

// ask asks the meter and logs the answer, which is an input of the round.
func (d *Loop) ask(now time.Duration, a scheduler.Attempt) (float64, bool) {
	done, known := d.cfg.Meter(now, a)
	if d.line != nil {
		d.line.Asked = append(d.line.Asked, Progress{a.Task, a.Node, done, known})
	}
	return done, known
}

// roomBeside finds the first node of a round with room for a second attempt of a.
func (d *Loop) roomBeside(a scheduler.Attempt, r *Round) (topology.NodeID, bool) {
	v := d.View()
	j := v.Job(a.Task.Job)
	fits := func(n topology.NodeID) bool { return n != a.Node && v.Fits(n, j, a.Task.Kind) }
	if r.Nodes != nil {
		for _, n := range r.Nodes {
			if fits(n) {
				return n, true
			}
		}
		return topology.NoNode, false
	}
	for n := range topology.NodeID(v.Topology().NumNodes()) {
		if fits(n) {
			return n, true
		}
	}
	return topology.NoNode, false
}
