package tracker

import (
	"maps"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

// An outlet is the map output of a stage that reduces of one rack may fetch, under a policy that holds shuffles back.
// The reduces of a rack share it: what one may fetch, those that come later may fetch, too.
type outlet struct {
	list []change // released, in that order
	seen int      // changes of the stage that look has seen
	held map[topology.RackID]*waiting
}

// waiting is the output on one rack that is held back.
type waiting struct {
	list  []change
	bytes int64
}

// letGo asks the policy to release the output of a stage that it holds back: when a map has finished, when a reduce is
// placed, and once in a heartbeat.
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

// outletFor returns the outlet of a rack. It begins with what reduces may already know, from before the policy held
// anything back.
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

// look sorts new changes into those that need no release (losses, and output of the rack itself) and those that wait
// for one.
func (c *Tracker) look(st *stage, dst topology.RackID, o *outlet) {
	for ; o.seen < len(st.changes); o.seen++ {
		ch := st.changes[o.seen]
		t := &st.maps[ch.index]
		if ch.try != t.try || ch.try == 0 { // lost, or made again since: it must not follow its replacement
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

// drop removes the output of a map that is gone.
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

// outletAt returns the outlet of a worker's rack, or nil if its reduces may fetch everything.
func (st *stage) outletAt(n *node, racks map[string]topology.RackID) *outlet {
	if n == nil {
		return nil
	}
	return st.outlets[racks[n.rack]]
}

// Outputs returns where the map output is that a worker's reduces may fetch: the changes from number From on.
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
		r.From = 0 // an earlier master may have released them in another order
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
			if n.addr == "" { // after a restart: its address is unknown until it reports
				resp.Next, resp.All = from+len(resp.Changes), false
				break
			}
			out.Node, out.Rack, out.Addr, out.Sum = n.name, n.rack, n.addr, t.sum
		}
		resp.Changes = append(resp.Changes, out)
	}
	return resp
}
