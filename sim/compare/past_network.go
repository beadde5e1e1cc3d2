package compare

import (
	"errors"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// HasLinks reports whether a history says how fast every rack's link was, so that a replay can simulate the network.
func HasLinks(o trace.Origin) bool {
	return o.Racks > 0 && len(o.Links) == o.Racks && len(o.Machines) == o.Nodes
}

// OverNetwork makes the replays move their data over the links of a topology. The least time that the network took is
// subtracted from the times of tasks, and the replay's network adds its own.
func (p *Past) OverNetwork(t *topology.Topology) { p.links = t }

// slowest returns the rate of the slowest link between two racks, and of the slowest card.
func slowest(t *topology.Topology) (uplink, nic topology.Rate) {
	for r := range topology.RackID(t.NumRacks()) {
		at := t.Rack(r)
		for _, rate := range []topology.Rate{at.Uplink, at.Down()} {
			if uplink == 0 || rate > 0 && rate < uplink {
				uplink = rate
			}
		}
	}
	for n := range topology.NodeID(t.NumNodes()) {
		if rate := t.Node(n).NIC; nic == 0 || rate > 0 && rate < nic {
			nic = rate
		}
	}
	if nic > 0 && (uplink == 0 || nic < uplink) {
		uplink = nic
	}
	return uplink, nic
}

// takeOff reduces each task's time to what it would be on a network without limits. It subtracts reads of maps that
// were not beside their data, and what a reduce had to fetch after the last map: all of its share if it began after
// that.
func takeOff(h *trace.History, jobs []*sim.Job, t *topology.Topology) {
	uplink, nic := slowest(t)
	at, last := map[string]int{}, map[string]time.Duration{}
	for i := range h.Jobs {
		at[h.Jobs[i].ID] = i
	}
	for _, a := range h.Attempts {
		if a.Kind == "map" && !a.Lost {
			last[a.Job] = max(last[a.Job], a.End)
		}
	}
	speeds := speedOf(h.Origin)
	for _, a := range h.Attempts {
		i := at[a.Job]
		past, j := &h.Jobs[i], jobs[i]
		less := func(d *time.Duration, by time.Duration) { *d = max(0, *d-scaled(by, speeds(a.Node))) } // scaled as the times are
		switch {
		case a.Lost:
		case a.Kind == "map" && a.Locality == "remote":
			less(&j.Maps[a.Index], uplink.Time(past.InputBytes/int64(past.Maps)))
		case a.Kind == "map" && a.Locality == "rack":
			less(&j.Maps[a.Index], nic.Time(past.InputBytes/int64(past.Maps)))
		case a.Kind == "reduce":
			bytes := past.ShuffleBytes / int64(max(past.Reduces, 1))
			if a.Start < last[a.Job] {
				bytes /= int64(max(past.Maps, 1)) // the last map's
			}
			less(&j.Reduces[a.Index], uplink.Time(bytes*int64(t.NumRacks()-1)/int64(t.NumRacks())))
		}
	}
}

// machines returns the cluster of a history that lists its machines.
func machines(o trace.Origin) (*topology.Topology, []scheduler.Capacity, error) {
	b, racks, room := topology.NewBuilder(), map[string]topology.RackID{}, []scheduler.Capacity(nil)
	links := map[string]trace.Link{}
	for _, l := range o.Links {
		links[l.Rack] = l
	}
	for _, m := range o.Machines {
		r, ok := racks[m.Rack]
		if !ok {
			l, err := links[m.Rack], error(nil)
			if r, err = b.AddRack(topology.Rack{Name: m.Rack, Uplink: topology.Rate(l.Up), Downlink: topology.Rate(l.Down)}); err != nil {
				return nil, nil, err
			}
			racks[m.Rack] = r
		}
		if _, err := b.AddNode(topology.Node{Name: m.Name, Rack: r, Class: m.Class, NIC: topology.Rate(m.NIC)}); err != nil {
			return nil, nil, err
		}
		if m.Room < 1 {
			return nil, nil, errors.New("machine " + m.Name + " has no room")
		}
		room = append(room, scheduler.Capacity{Containers: int32(m.Room)})
	}
	if s := o.Optical; s != nil {
		if err := b.SetOCS(topology.OCS{Rate: topology.Rate(s.Rate), Interval: s.Interval, Reconfig: s.Dark, Threshold: s.Threshold}); err != nil {
			return nil, nil, err
		}
	}
	return b.Topology(), room, nil
}
