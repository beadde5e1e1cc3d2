package nas

import (
	"cmp"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// threshold is the fraction of done maps from which reduces of j may start: the
// adaptive one (spec/nas 3.7), or TMin where only MTS is on (spec/nas 3.13).
func (p *Policy) threshold(est *estimate) float64 {
	if p.cfg.Mechanisms == "mts" || p.cfg.TMin == p.cfg.TMax {
		return p.cfg.TMin
	}
	sMin, sMax := p.est.bounds()
	return CompletionThreshold(est.shuffle, sMin, sMax, p.cfg.TMin, p.cfg.TMax, p.cfg.LogScale)
}

// eligible reports whether a reduce of j may start on n: it is in E (spec/nas 3.8, line
// 3).
func (p *Policy) eligible(j *job, n topology.NodeID, v *view) bool {
	return j.MapProgress() >= p.threshold(p.est.of(j))-slack && v.Fits(n, j, scheduler.Reduce) && p.rule.AllowsReduce(v, n, j, scheduler.Needy{})
}

// fairReduce takes the first eligible job, as fair does (spec/nas 3.13, MTS).
func (p *Policy) fairReduce(n topology.NodeID, v *view) scheduler.Decision {
	for i := range p.shares.Len(scheduler.Reduce) {
		line := p.shares.At(scheduler.Reduce, i)
		for at := range line.Len() {
			if j := line.At(at); p.eligible(j, n, v) {
				return runReduce(j, v, belowShare(line, j))
			}
		}
	}
	return noReduce(n)
}

func belowShare(line fair.Line, j *job) scheduler.Reason {
	if line.Group == nil {
		return scheduler.Reason{Say: "{job} is farthest below its share: it holds {a}", Job: j.ID(), A: int64(j.Held())}
	}
	return scheduler.Reason{Say: "{group} is farthest below its share: it holds {a}", Job: j.ID(), Group: line.Group, A: int64(line.Group.Held())}
}

func noReduce(n topology.NodeID) scheduler.Decision {
	return scheduler.Idle(scheduler.Reason{Code: scheduler.ForSlowstart, Say: "no job has done enough maps to start a reduce on {node}", Node: n})
}

func runReduce(j *job, v *view, r scheduler.Reason) scheduler.Decision {
	t, _ := v.PickReduce(j)
	return scheduler.Run(t, scheduler.Anywhere, r)
}

// A choice is an eligible job as CA-RTS ranks it.
type choice struct {
	job     *job
	class   Class
	reached bool // it has all the reduces that belong in this rack
	delayed bool // it has a reduce that CR-RTS held back
	done    bool // all its maps are done
	nowhere bool // no map output is known: no rack is better than another
	shuffle float64
}

func (p *Policy) choice(j *job, r topology.RackID) choice {
	est, share := p.est.of(j), j.InRack(r)
	scheduled := share.Running[scheduler.Reduce] + share.Done[scheduler.Reduce]
	_, all := p.est.outputIn(j, r)
	return choice{
		job: j, class: p.est.class(est), shuffle: est.shuffle, delayed: est.delayed > 0, done: j.Pending(scheduler.Map)+j.Running(scheduler.Map) == 0,
		nowhere: all <= 0,
		reached: scheduled >= ReduceNum(j.Total(scheduler.Reduce), p.est.portion(j, r)),
	}
}

// category numbers the six of line 5 of spec/nas 3.8, best first.
func (c *choice) category() int {
	if c.reached {
		return 3 + int(c.class) // light, medium, heavy
	}
	return int(Heavy - c.class) // heavy, medium, light
}

// before returns a negative number if c is launched before o (spec/nas 3.8, lines 5 and 6; with delayedFirst the order
// of the text, spec/nas 6.9).
func (c *choice) before(o *choice, delayedFirst bool) int {
	state := cmp.Or(first(c.delayed, o.delayed), first(c.done, o.done))
	category := cmp.Compare(c.category(), o.category())
	if delayedFirst {
		state, category = category, state
	}
	size := cmp.Compare(o.shuffle, c.shuffle)
	if c.reached {
		size = -size
	}
	return cmp.Or(category, state, size, cmp.Compare(c.job.Seq(), o.job.Seq()))
}
