package drive

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A Part is one thing that a round may do. A round does its parts in the order given here.
type Part uint8

// The parts of a round.
const (
	Tick   Part = 1 << iota // the policies do their periodic work that is due
	Kill                    // what the policy wants ended ends
	Second                  // slow tasks get a second attempt
	Admit                   // waiting jobs may start
	Offer                   // nodes with room get work
	Unlock                  // a deadlock is broken

	All = Tick | Kill | Second | Admit | Offer | Unlock
)

// A Round is what the owner of a cluster asks of a Loop.
type Round struct {
	Parts Part
	// Nodes are those that may get work, in this order. nil means every node, as long
	// as there is work.
	Nodes []topology.NodeID `json:",omitempty"`
	// Most bounds the launches that Offer gives one node; 0 means as many as fit.
	Most int `json:",omitempty"`
}

// Round does the parts asked for and hands every decision to do, in order. It returns
// the rules that policies have broken, joined; each wraps scheduler.ErrPolicy. A broken
// rule ends the part it was broken in, for the node it was broken on, and nothing else.
func (d *Loop) Round(now time.Duration, r Round, do func(Step)) error {
	if d.cfg.Log == nil {
		return d.round(now, &r, do)
	}
	l := &d.spare // it has only these fields set
	l.Kind, l.At, l.Round, l.Asked, l.Steps = LineRound, now, r, l.Asked[:0], l.Steps[:0]
	d.line, d.taker = l, do
	err := d.round(now, &r, d.noting)
	d.line = nil
	d.log(l)
	return err
}

func (d *Loop) round(now time.Duration, r *Round, do func(Step)) error {
	var err error
	if r.Parts&Tick != 0 {
		d.next, d.ticks = d.engine.Tick(now)
	}
	if r.Parts&Kill != 0 {
		err = d.engine.Kill(now, func(v scheduler.Victim) { do(ended(&v)) })
	}
	if r.Parts&Second != 0 && d.cfg.Seconds != nil {
		err = join(err, d.second(now, r, do))
	}
	if r.Parts&Admit != 0 {
		why, bad := d.engine.Admit(now, func(a scheduler.AdmitDecision) { do(judged(&a)) })
		d.rest(topology.NoNode, why)
		err = join(err, bad)
	}
	if r.Parts&Offer != 0 {
		if d.cfg.Spread {
			err = join(err, d.engine.PlaceDrivers(now, func(n topology.NodeID, a scheduler.Decision) { do(launched(n, &a)) }))
		}
		err = join(err, d.offer(now, r, do))
	}
	if r.Parts&Unlock != 0 {
		err = join(err, d.unlock(now, r, do))
	}
	return err
}

func join(a, b error) error {
	if a == nil {
		return b
	}
	return errors.Join(a, b)
}

// offer asks the policy what to run on each node.
func (d *Loop) offer(now time.Duration, r *Round, do func(Step)) (err error) {
	if r.Nodes != nil {
		for _, n := range r.Nodes {
			err = join(err, d.give(now, n, r.Most, do))
		}
		return err
	}
	for n := range topology.NodeID(d.View().Topology().NumNodes()) {
		if !d.WorkLeft() {
			return err
		}
		err = join(err, d.give(now, n, r.Most, do))
	}
	return err
}

func (d *Loop) give(now time.Duration, n topology.NodeID, most int, do func(Step)) error {
	why, err := d.engine.Give(now, n, most, func(a scheduler.Decision) { do(launched(n, &a)) })
	d.rest(n, why)
	return err
}

// rest logs why a node or the admission gets no more.
func (d *Loop) rest(n topology.NodeID, why scheduler.Reason) {
	if d.line != nil {
		d.line.Steps = append(d.line.Steps, Step{Do: Rest, Node: n, Reason: why})
	}
}

// unlock ends what locks up the cluster.
func (d *Loop) unlock(now time.Duration, r *Round, do func(Step)) error {
	victim, found := scheduler.Deadlock(d.View())
	if !found || victim.Node == topology.NoNode {
		return nil
	}
	if err := d.engine.End(now, victim); err != nil {
		return fmt.Errorf("break a deadlock: %w", err)
	}
	do(ended(&victim))
	if !d.cfg.Refill {
		return nil
	}
	return join(d.refill(now, victim.Node, do), d.offer(now, r, do))
}

// refill gives room on n to the oldest job with a map that fits there.
func (d *Loop) refill(now time.Duration, n topology.NodeID, do func(Step)) error {
	v := d.View()
	for j := range v.Pending(scheduler.Map).All() {
		t, near, ok := v.PickMap(j, n, scheduler.Remote)
		if !ok || !v.Fits(n, j, scheduler.Map) {
			continue
		}
		got := scheduler.Run(t, near, scheduler.Reason{Say: "{job} gets the room that a deadlock held", Job: j.ID()})
		if err := d.engine.Launch(now, n, &got); err != nil {
			return err
		}
		do(launched(n, &got))
		return nil
	}
	return nil
}
