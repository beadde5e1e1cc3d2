package tracker

import (
	"maps"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

// An outlet is what reduces of one rack may fetch of a stage's map output, under a policy that holds shuffles back. The
// reduces of a rack share it: what has been let go for one is let go for those that come later.
type outlet struct {
	list []change // let go, in that order
	seen int      // changes of the stage that were looked at
	held map[topology.RackID]*waiting
}

// waiting is output of one rack that is held back.
type waiting struct {
	list  []change
	bytes int64
}

// letGo asks the policy about the output that it holds back of a stage: when a map has finished, a reduce is placed, and
// once in a heartbeat.
func (c *Tracker) letGo(now time.Duration, st *stage) {
	if st.outlets == nil && !c.engine.Gated() || st.total[1] == 0 {
		return
	}
	racks := map[topology.RackID]int{}
	for a := range st.running {
		if a.id.Kind == wire.ReduceTask {
			racks[c.racks[a.node.rack]]++
		}
	}
	more := false
	for _, dst := range slices.Sorted(maps.Keys(racks)) {
		o := st.outletFor(dst)
		before := len(o.list)
		c.look(st, dst, o)
		for _, src := range slices.Sorted(maps.Keys(o.held)) {
			w := o.held[src]
			avail := int64(float64(w.bytes) * float64(racks[dst]) / float64(st.total[1]))
			if !c.engine.Release(now, st.sid, src, dst, avail) {
				continue
			}
			for _, ch := range w.list {
				ch.circuit = c.cfg.Links.Optical.Elephant(avail)
				o.list = append(o.list, ch)
			}
			delete(o.held, src)
		}
		more = more || len(o.list) > before
	}
	if more {
		c.changed(st.job)
	}
}

// outletFor is the outlet of a rack. What its reduces may know already, from before the policy held anything, comes first.
func (st *stage) outletFor(dst topology.RackID) *outlet {
	if st.outlets == nil {
		st.outlets = map[topology.RackID]*outlet{}
	}
	o := st.outlets[dst]
	if o == nil {
		o = &outlet{list: slices.Clone(st.changes[:st.told]), seen: st.told, held: map[topology.RackID]*waiting{}}
		st.outlets[dst] = o
	}
	return o
}

// look sorts what has become known into what needs no leave, of the rack itself and losses, and what waits for it.
func (c *Tracker) look(st *stage, dst topology.RackID, o *outlet) {
	for ; o.seen < len(st.changes); o.seen++ {
		ch := st.changes[o.seen]
		t := &st.maps[ch.index]
		if ch.try != t.try || ch.try == 0 { // lost, or made again since: it must not come after what took its place
			o.drop(st, ch.index)
			o.list = append(o.list, ch)
			continue
		}
		src := c.racks[c.nodes[t.node].rack]
		if src == dst {
			o.list = append(o.list, ch)
			continue
		}
		w := o.held[src]
		if w == nil {
			w = &waiting{}
			o.held[src] = w
		}
		w.list, w.bytes = append(w.list, ch), w.bytes+t.out
	}
}

// drop forgets the output of a map that is gone.
func (o *outlet) drop(st *stage, index int32) {
	for src, w := range o.held {
		was := len(w.list)
		w.list = slices.DeleteFunc(w.list, func(ch change) bool { return ch.index == index })
		if len(w.list) < was {
			w.bytes = 0
			for _, ch := range w.list {
				w.bytes += st.maps[ch.index].out
			}
		}
		if len(w.list) == 0 {
			delete(o.held, src)
		}
	}
}

// outletAt is the outlet of a worker's rack, nil if its reduces may fetch everything.
func (st *stage) outletAt(n *node, racks map[string]topology.RackID) *outlet {
	if n == nil {
		return nil
	}
	return st.outlets[racks[n.rack]]
}

// Outputs lists where the outputs of a stage's maps are that a worker's reduces may fetch: the changes from the From-th on.
func (c *Tracker) Outputs(r wire.OutputsRequest) wire.OutputsResponse {
	st := c.stageOf(wire.AttemptID{Job: r.Job, Stage: r.Stage})
	if st == nil || st.plan == nil {
		return wire.OutputsResponse{Gone: true, Epoch: c.cfg.Epoch}
	}
	list, whole := st.changes, true
	o := st.outletAt(c.byName[r.Node], c.racks)
	if o != nil {
		list, whole = o.list, o.seen == len(st.changes) && len(o.held) == 0
	}
	if r.Epoch != 0 && r.Epoch != c.cfg.Epoch {
		r.From = 0 // the master before may have let them go in another order
	}
	const page = 10_000
	from := min(max(r.From, 0), len(list))
	to := min(from+page, len(list))
	if o == nil {
		st.told = max(st.told, to)
	}
	resp := wire.OutputsResponse{Epoch: c.cfg.Epoch, Next: to, All: whole && to == len(list) && int(st.doneCount[0]) == len(st.maps)}
	for _, ch := range list[from:to] {
		t := &st.maps[ch.index]
		out := wire.MapOutput{Map: ch.index, Try: ch.try, Lost: ch.try == 0 || ch.try != t.try, Circuit: ch.circuit}
		if !out.Lost {
			n := c.nodes[t.node]
			if n.addr == "" { // after a restart: where it is we know when it has reported
				resp.Next, resp.All = from+len(resp.Changes), false
				break
			}
			out.Node, out.Rack, out.Addr, out.Sum = n.name, n.rack, n.addr, t.sum
		}
		resp.Changes = append(resp.Changes, out)
	}
	return resp
}
