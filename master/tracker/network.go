package tracker

import (
	"maps"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/netmon"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A flow is what a node sent to a peer for one purpose.
type flow struct {
	peer wire.NodeName
	what string
}

// countNet handles what a worker has sent since it started. Counts are totals, so that a lost report loses none.
func (c *Tracker) countNet(n *node, counts []wire.NetBytes) {
	for _, b := range counts {
		to := c.byName[b.Peer]
		if to == nil {
			to = c.byAddr[string(b.Peer)]
		}
		if to == nil {
			continue // the master, a client or a node not known yet: the next total includes it
		}
		key := flow{b.Peer, b.What}
		if _, known := n.flows[key]; !known && !n.fresh {
			n.flows[key] = b.Sent // nobody knows how much of it an earlier master counted
			continue
		}
		more := b.Sent - n.flows[key]
		if more <= 0 {
			continue
		}
		n.flows[key] = b.Sent
		if to != n {
			n.sent[b.What] += more
		}
		if b.What == wire.CircuitTraffic {
			c.monitor.Circuit(n.id, to.id, more)
		} else {
			c.monitor.Count(n.id, to.id, more)
		}
	}
}

// maxFlows bounds the flows that one worker may report.
const maxFlows = 20_000

// watchNet ends an interval of the network monitor and tells the policies what has changed.
func (c *Tracker) watchNet(now time.Duration) {
	if c.watched != 0 && now-c.watched < c.cfg.Monitor.Interval {
		return
	}
	c.watched = now
	c.monitor.Sample(now)
	v := c.engine.View()
	for r, rack := range c.monitor.Racks() {
		if old := v.Net(r); old.Up != rack.Up || old.Down != rack.Down || old.Congested != rack.Congested {
			c.feed(now, scheduler.NetSample(r, rack.Up, rack.Down, rack.Congested))
		}
	}
}

// Net describes the network.
func (c *Tracker) Net(now time.Duration) wire.NetStatus {
	topo := c.topo.Topology()
	sum := c.monitor.Summary()
	out := wire.NetStatus{
		CrossRack: sum.CrossRack, InRack: sum.InRack, Episodes: sum.Episodes, CongestedMillis: sum.Congested.Milliseconds(),
		Threshold: c.cfg.Monitor.Threshold,
	}
	for r, rack := range c.monitor.Racks() {
		at := topo.Rack(r)
		row := wire.NetRack{
			Rack: at.Name, NetLink: link(rack.Link), Uplink: float64(at.Uplink), Downlink: float64(at.Downlink), Congested: rack.Congested,
			Episodes: rack.Episodes, CongestedMillis: rack.Total.Milliseconds(),
		}
		for to := range c.monitor.Racks() {
			row.To = append(row.To, c.monitor.Sent(r, to))
		}
		out.Racks = append(out.Racks, row)
	}
	c.circuits(now, &out)
	for _, n := range c.nodes {
		out.Nodes = append(out.Nodes, wire.NetNode{
			Node: n.name, Rack: n.rack, NetLink: link(c.monitor.Node(n.id)), NIC: float64(topo.Node(n.id).NIC), Sent: maps.Clone(n.sent),
			Idle: n.idle, CPUMillis: n.cpu, Up: n.up,
		})
	}
	return out
}

// circuits adds the racks between which the optical switch had circuits when their workers last reported, and when
// circuits are next matched.
func (c *Tracker) circuits(now time.Duration, out *wire.NetStatus) {
	o := c.cfg.Links.Optical
	interval := o.Interval
	if !o.Present() || interval <= 0 {
		return
	}
	out.CircuitMillis, out.DarkMillis, out.CircuitRate, out.CircuitThreshold = interval.Milliseconds(), o.Reconfig.Milliseconds(), float64(o.Rate), o.Threshold
	last := map[string]*node{} // by rack: the node whose report counts
	for _, n := range c.nodes {
		if !n.up || n.rematch == 0 {
			continue
		}
		next := n.rematch - now
		if next <= 0 {
			next = interval - (now-n.rematch)%interval
		}
		out.RematchMillis = next.Milliseconds()
		if old := last[n.rack]; old == nil || n.rematch > old.rematch {
			last[n.rack] = n
		}
	}
	for i := range out.Racks {
		if n := last[out.Racks[i].Rack]; n != nil {
			out.Racks[i].Circuit = n.circuit
		}
	}
}

func link(l netmon.Link) wire.NetLink {
	return wire.NetLink{UpShare: l.Up, DownShare: l.Down, UpBytes: l.UpBytes, DownBytes: l.DownBytes}
}

// rackNamed returns the rack of that name, with the links configured for it.
func (c *Tracker) rackNamed(name string) topology.RackID {
	r, ok := c.racks[name]
	if ok {
		return r
	}
	r, err := c.topo.AddRack(c.cfg.Links.Rack(name))
	if err != nil {
		r = 0 // no rack can have this name; the first rack stands in for it
	}
	c.racks[name] = r
	return r
}
