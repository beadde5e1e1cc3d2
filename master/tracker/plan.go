package tracker

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A plan is what the driver decided. The Splits of the embedded plan are empty: they are in the table.
type plan struct {
	wire.StagePlan
	splits splitTable
}

// A draft is a plan of which not all splits have come.
type draft struct {
	try    uint64 // try of the driver that sends it
	splits splitTable
}

// maxPacked bounds the splits of one message and maxBounds the partition bounds of a plan, in bytes: both
// together, a third longer as text, must fit into a record of the journal, which takes 8 MiB.
const (
	maxPacked = 3 << 20
	maxBounds = 2 << 20
)

// Plan accepts a driver's plan. It ignores a second one, of a restarted driver: the first counts. If the splits came by
// PlanPart, this is the end of the plan: Plan returns how many splits it has, and if that is below p.Parts, the driver
// must send the rest first.
func (c *Tracker) Plan(now time.Duration, id wire.AttemptID, p *wire.StagePlan) (next int, err error) {
	st := c.driven(id)
	if st == nil {
		return 0, wire.Errorf(wire.Stale, "%s: %s", id, c.whyStopped(id))
	}
	total := max(len(p.Splits), p.Parts)
	if st.plan != nil {
		return total, nil
	}
	if err := c.checkPlan(now, st, total, p); err != nil {
		return 0, err
	}
	head := *p
	head.Splits, head.Parts = nil, total
	r := Record{At: now, Kind: Planned, Job: id.Job, Stage: id.Stage, Plan: &head, Try: id.Try}
	if p.Parts == 0 {
		if r.Packed = (&splitTable{}).encode(p.Splits); len(r.Packed) > maxPacked {
			return 0, wire.Errorf(wire.TooLarge, "%d splits take %d bytes, at most %d at once: send the plan in parts", total, len(r.Packed), maxPacked)
		}
	} else if have := st.drafted(id.Try); have < total {
		return have, nil
	}
	c.planAgain(now) // the policy must know where an announced job belongs before it hears of its tasks
	c.note(r)
	if st.plan == nil {
		return 0, wire.Errorf(wire.Invalid, "%s: a plan of %d splits, of which %d came", id, total, st.drafted(id.Try))
	}
	c.feed(now, scheduler.JobReady(st.sid, c.specOf(st, now)))
	c.keepPlan(st)
	c.changed(st.job)
	if st.complete() { // nothing to do
		c.startCommit(now, st)
		return total, nil
	}
	c.offerAll(now)
	return total, nil
}

// PlanPart accepts some splits of a plan that is too long for one message and returns how many it has. The driver goes
// on from there, even if messages were lost or the master was restarted.
func (c *Tracker) PlanPart(now time.Duration, id wire.AttemptID, p *wire.PlanPart) (next int, err error) {
	st := c.driven(id)
	if st == nil {
		return 0, wire.Errorf(wire.Stale, "%s: %s", id, c.whyStopped(id))
	}
	if st.plan != nil {
		return p.Total, nil
	}
	if err := c.checkPlan(now, st, p.Total, &wire.StagePlan{}); err != nil {
		return 0, err
	}
	have := st.drafted(id.Try)
	if p.First != have || len(p.Splits) == 0 {
		return have, nil
	}
	if have+len(p.Splits) > p.Total {
		return 0, wire.Errorf(wire.Invalid, "%s: splits %d to %d of %d", id, p.First, p.First+len(p.Splits)-1, p.Total)
	}
	var t splitTable
	if have > 0 {
		t = st.draft.splits
	}
	packed := t.encode(p.Splits)
	if len(packed) > maxPacked {
		return 0, wire.Errorf(wire.TooLarge, "%d splits take %d bytes, at most %d at once: send fewer", len(p.Splits), len(packed), maxPacked)
	}
	if len(t.data)+len(packed) > c.cfg.MaxPlan {
		why := fmt.Sprintf("the plan takes more than %d bytes: use fewer, larger files", c.cfg.MaxPlan)
		c.failJob(now, st.job, why)
		return 0, wire.Errorf(wire.Invalid, "%s", why)
	}
	c.note(Record{At: now, Kind: PlanPart, Job: id.Job, Stage: id.Stage, Try: id.Try, First: p.First, Packed: packed})
	if next = st.drafted(id.Try); next == have {
		return 0, wire.Errorf(wire.Invalid, "%s: a split from %d on is not one", id, p.First)
	}
	return next, nil
}

// checkPlan fails a job whose plan exceeds the limits.
func (c *Tracker) checkPlan(now time.Duration, st *stage, splits int, p *wire.StagePlan) error {
	bounds := 0
	for _, b := range p.Bounds {
		bounds += len(b) + 1
	}
	why := ""
	switch {
	case splits < 0 || splits > c.cfg.MaxTasks || p.Reducers < 0 || int(p.Reducers) > c.cfg.MaxTasks:
		why = fmt.Sprintf("%d maps and %d reduces: at most %d of each", splits, p.Reducers, c.cfg.MaxTasks)
	case len(p.Name) > wire.MaxName || len(p.Work) > wire.MaxPath:
		why = fmt.Sprintf("a plan with a name of %d and a path of %d bytes: at most %d and %d", len(p.Name), len(p.Work), wire.MaxName, wire.MaxPath)
	case bounds > maxBounds:
		why = fmt.Sprintf("the bounds of %d partitions take %d bytes: at most %d; use fewer reduces", len(p.Bounds)+1, bounds, maxBounds)
	default:
		return nil
	}
	c.failJob(now, st.job, why)
	return wire.Errorf(wire.Invalid, "%s", why)
}

// drafted returns how many splits a driver has sent.
func (st *stage) drafted(try uint64) int {
	if st.draft == nil || st.draft.try != try {
		return 0
	}
	return st.draft.splits.len()
}

// applyPart adds to the draft. The first part of another driver begins a new one.
func (st *stage) applyPart(r *Record) {
	if st.plan != nil {
		return
	}
	if st.draft == nil || st.draft.try != r.Try {
		st.draft = &draft{try: r.Try}
	}
	if st.draft.splits.len() == r.First {
		// A part that is not understood does not count; the driver is told how far it has come.
		_ = st.draft.splits.add(r.Packed)
	}
}

// applyPlanned completes the plan. Its splits are in the record, as first journalled or as packed, or in the draft.
func (st *stage) applyPlanned(r *Record) {
	if st.plan != nil {
		return
	}
	p := &plan{StagePlan: *r.Plan}
	packed := r.Packed
	if len(r.Plan.Splits) > 0 {
		packed, p.Parts = p.splits.encode(r.Plan.Splits), len(r.Plan.Splits)
	}
	switch {
	case packed != nil:
		if p.splits.add(packed) != nil {
			return
		}
	case st.draft != nil && st.draft.try == r.Try:
		p.splits = st.draft.splits
	}
	if p.splits.len() != p.Parts {
		return // the driver plans again
	}
	p.Splits = nil
	p.splits.settle()
	st.setPlan(p)
}

func (st *stage) setPlan(p *plan) {
	st.plan, st.draft = p, nil
	st.total = [2]int32{int32(p.splits.len()), p.Reducers}
	st.maps, st.reduces = make([]task, st.total[0]), make([]task, st.total[1])
}

// shrink frees what only a running stage needs.
func (st *stage) shrink() {
	st.maps, st.reduces, st.changes, st.draft, st.fetch, st.fails, st.away, st.blames, st.rerun = nil, nil, nil, nil, nil, nil, nil, nil, nil
	st.outlets = nil
	if st.plan != nil {
		st.plan = &plan{StagePlan: wire.StagePlan{Reducers: st.plan.Reducers, Parts: st.plan.Parts, Name: st.plan.Name, Work: st.plan.Work}}
	}
}

// placesOf returns where the input of each map lies, as the policies want to know it. It leaves out nodes that have
// never been heard from.
func (c *Tracker) placesOf(t *splitTable) (out scheduler.Splits) {
	ids := make([]topology.NodeID, len(t.names)) // the node's id plus 1; -1: no such node; 0: not looked up
	out.Bytes, out.Ends = make([]int64, 0, t.len()), make([]int32, 0, t.len())
	t.each(func(bytes int64, hosts []uint64) {
		for _, h := range hosts {
			if ids[h] == 0 {
				ids[h] = -1
				if n := c.byName[wire.NodeName(t.names[h])]; n != nil {
					ids[h] = n.id + 1
				}
			}
			if ids[h] > 0 {
				out.Replicas = append(out.Replicas, ids[h]-1)
			}
		}
		out.Bytes, out.Ends = append(out.Bytes, bytes), append(out.Ends, int32(len(out.Replicas)))
	})
	out.Replicas = trim(out.Replicas)
	return out
}
