package hybrid

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// arrive puts a job in the queue of its class (spec/hybrid 3.2). A job that has
// run before, under another policy, stays where it ran.
func (p *Policy) arrive(j *scheduler.Job, v *scheduler.View) {
	r := &record{free: !p.cfg.Classify}
	p.records.Set(j, r)
	small, value := p.cfg.Classifier.Classify(j.Spec())
	if r.value = value; small {
		r.home = up
	}
	_, started := j.Started()
	if started {
		p.stay(j, r, v)
	}
	if !p.servable(j, r.home, v) {
		r.free = true
	}
	if r.home == up && !r.free && !started {
		p.unstarted.Set(j, math.Abs(value))
	}
}

// stay keeps a job on the class where its tasks are, or on both.
func (p *Policy) stay(j *scheduler.Job, r *record, v *scheduler.View) {
	var on [numClasses]bool
	for k := range scheduler.Driver {
		for a := range v.Attempts(j, k) {
			on[p.nodes[a.Node]] = true
		}
		for i := range j.Total(k) {
			if n := j.OutputNode(k, i); n != topology.NoNode {
				on[p.nodes[n]] = true
			}
		}
	}
	switch {
	case on[out] && on[up]:
		r.free = true
	case on[out]:
		r.home = out
	case on[up]:
		r.home = up
	}
}

// nodeChanged counts the nodes of each class. A class without nodes gives its jobs to the other class.
func (p *Policy) nodeChanged(n topology.NodeID, v *scheduler.View) {
	c, is := p.nodes[n], v.NodeState(n) == scheduler.NodeIsReady
	if p.isReady[n] != is {
		p.isReady[n] = is
		if is {
			p.ready[c]++
		} else {
			p.ready[c]--
		}
	}
	if is || p.ready[c] > 0 {
		return
	}
	for j := range v.Jobs().All() {
		if r := p.records.Of(j); r != nil && r.home == c {
			p.release(j, r, v)
		}
	}
}

// Notes implements scheduler.Noter. A cluster without machines has no notes: nothing runs.
func (p *Policy) Notes(*scheduler.View) []string {
	switch {
	case !p.cfg.Classify || (p.ready[up] > 0) == (p.ready[out] > 0):
		return nil
	case p.ready[up] == 0:
		return []string{fmt.Sprintf("hybrid has no machine of class %q: small jobs run beside the large ones, on all machines", p.cfg.Up)}
	}
	return []string{fmt.Sprintf("hybrid has only machines of class %q: large jobs run on them, too", p.cfg.Up)}
}

// checkBan releases a job that may use no node of its class.
func (p *Policy) checkBan(j *scheduler.Job, v *scheduler.View) {
	if r := p.records.Of(j); r != nil && !r.free && !p.servable(j, r.home, v) {
		p.release(j, r, v)
	}
}

// servable reports whether some node of class c may run tasks of j.
func (p *Policy) servable(j *scheduler.Job, c class, v *scheduler.View) bool {
	for n, of := range p.nodes {
		if id := topology.NodeID(n); of == c && v.NodeState(id) == scheduler.NodeIsReady && !j.Banned(id) {
			return true
		}
	}
	return false
}

// release lets a job run on both classes.
func (p *Policy) release(j *scheduler.Job, r *record, v *scheduler.View) {
	r.free = true
	p.unstarted.Remove(j)
	for _, q := range p.queues {
		q.Touch(j, v)
	}
}
