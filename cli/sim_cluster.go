package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// fault returns an error that names the key of the file to blame, with the line of the key or of the part that contains
// it.
func (o *simOptions) fault(key string, err error) error {
	for at := key; ; {
		if line, ok := o.keys[at]; ok {
			return fmt.Errorf("%s:%d: %s: %w", o.file, line, key, err)
		}
		i := strings.LastIndexAny(at, ".[")
		if i < 0 {
			return fmt.Errorf("%s: %s: %w", o.file, key, err)
		}
		at = at[:i]
	}
}

// takeClasses takes the number of nodes from the classes.
func (o *simOptions) takeClasses(racksGiven bool) error {
	classes := o.more.Classes
	if classes == nil {
		return errors.Join(o.checkSlots(), o.takeFlows())
	}
	for _, other := range []string{"nodes", "map_slots", "reduce_slots"} {
		if _, both := o.keys[other]; both {
			return o.fault(other, errors.New("the file has classes, too; give one of them"))
		}
	}
	if o.more.Racks == nil && !racksGiven {
		o.racks = 1
	}
	o.nodes = 0
	for i := range classes {
		field, err := classes[i].check(o.rackNames(), maxSimNodes)
		if err != nil {
			return o.fault(fmt.Sprintf("classes[%d]%s", i, field), err)
		}
		if room := o.capacityOf(&classes[i]); room.Slots(scheduler.Map, o.unit()) < 1 {
			return o.fault(fmt.Sprintf("classes[%d]", i), fmt.Errorf("a machine of class %q has no room for a map", classes[i].Name))
		}
		o.nodes += classes[i].Count
	}
	return o.takeFlows()
}

// takeFlows parses whether a reduce has a flow from each rack or from each node.
func (o *simOptions) takeFlows() error {
	switch f := o.more.Flows; {
	case f == nil || *f == "rack":
	case *f == "node":
		o.network.byNode = true
	default:
		return o.fault("flows", fmt.Errorf("%q: write rack or node", *f))
	}
	return nil
}

// checkSlots refuses invalid slots.
func (o *simOptions) checkSlots() error {
	f := &o.more
	if (f.MapSlots == nil) != (f.ReduceSlots == nil) {
		return o.fault(o.sayer("map_slots", "reduce_slots"), errors.New("map_slots and reduce_slots go together"))
	}
	if f.MapSlots == nil {
		return nil
	}
	if m, r := *f.MapSlots, *f.ReduceSlots; m < 1 || r < 0 || m > maxRoom || r > maxRoom {
		return o.fault("map_slots", fmt.Errorf("%d maps and %d reduces at once: a machine runs 1 to %d maps and up to as many reduces", m, r, maxRoom))
	}
	if _, both := o.keys["containers"]; both {
		return o.fault("containers", errors.New("the file has map_slots, too; give one of them"))
	}
	return nil
}

func (o *simOptions) rackNames() (out []string) {
	for i := range min(max(o.racks, 0), maxSimNodes) {
		out = append(out, rackName(i))
	}
	return out
}

// capacity returns the room of a machine if there are no classes.
func (o *simOptions) capacity() scheduler.Capacity {
	if o.more.MapSlots != nil {
		return scheduler.Capacity{MapSlots: *o.more.MapSlots, ReduceSlots: *o.more.ReduceSlots}
	}
	return scheduler.Capacity{Containers: int32(o.containers)}
}

// capacityOf returns the room of a machine of a class.
func (o *simOptions) capacityOf(c *describedClass) scheduler.Capacity {
	if c.kinds() == 0 {
		return scheduler.Capacity{Containers: int32(o.containers)}
	}
	return scheduler.Capacity{Containers: c.Containers, MapSlots: c.MapSlots, ReduceSlots: c.ReduceSlots, VCores: c.VCores, MemoryMB: c.ContainerMemory}
}

// unit returns what a task asks for.
func (o *simOptions) unit() scheduler.Demand {
	d := scheduler.DefaultConfig().Unit
	if f := o.more.Demand; f != nil {
		d.Slots, d.VCores, d.MemoryMB = cmp.Or(f.Slots, d.Slots), cmp.Or(f.VCores, d.VCores), cmp.Or(f.Memory, d.MemoryMB)
	}
	return d
}

// places returns how many tasks a machine runs at once.
func (o *simOptions) places(c scheduler.Capacity) int {
	if c.Slotted() {
		return int(c.MapSlots) + int(c.ReduceSlots)
	}
	return int(c.Slots(scheduler.Map, o.unit()))
}

// room returns how many tasks the cluster runs at once.
func (o *simOptions) room() (n int) {
	if o.more.Classes == nil {
		return o.nodes * o.places(o.capacity())
	}
	for i := range o.more.Classes {
		c := &o.more.Classes[i]
		n += c.Count * o.places(o.capacityOf(c))
	}
	return n
}

// power returns how many containers at full speed equal the cluster.
func (o *simOptions) power() int {
	if !o.slowed() {
		return o.room()
	}
	sum := 0.0
	for i := range o.more.Classes {
		c := &o.more.Classes[i]
		sum += float64(c.Count*o.places(o.capacityOf(c))) * cmp.Or(c.Speed, 1)
	}
	return max(1, int(sum))
}

// topology makes the machines and their links. The optical switch of circuit has the published interval, dark time and
// threshold (spec/jobpacker 3.14).
func (o *simOptions) topology() (*topology.Topology, error) {
	n := &o.network
	b := topology.NewBuilder()
	for range o.racks {
		if _, err := b.AddRack(topology.Rack{Uplink: topology.Gbps(n.uplink)}); err != nil {
			return nil, err
		}
	}
	filled := make([]bool, o.racks)
	for _, m := range o.machines() {
		filled[m.rack] = true
		if _, err := b.AddNode(topology.Node{Rack: m.rack, Class: m.class, NIC: topology.Gbps(n.nic)}); err != nil {
			return nil, err
		}
	}
	if i := slices.Index(filled, false); i >= 0 {
		return nil, o.fault("racks", fmt.Errorf("no class has a machine in %s", rackName(i)))
	}
	err := o.setOptical(b)
	return b.Topology(), err
}

func (o *simOptions) setOptical(b *topology.Builder) error {
	switch f := o.more.Optical; {
	case f != nil && o.network.circuit > 0:
		return o.fault("optical", errors.New("the file has circuit, too; give one of them"))
	case f != nil && !o.network.on():
		return o.fault("optical", errors.New("it needs an uplink, the Gb/s of a rack's link"))
	case f != nil:
		var ocs topology.OCS
		if key, err := f.read(&ocs); err != nil {
			return o.fault("optical"+key, err)
		}
		return b.SetOCS(ocs)
	case o.network.circuit > 0:
		return b.SetOCS(topology.OCS{Rate: topology.Gbps(o.network.circuit), Interval: time.Second, Reconfig: 10 * time.Millisecond, Threshold: 1_125_000_000})
	}
	return nil
}

// machine is a node to be made.
type machine struct {
	rack  topology.RackID
	class string
}

// machines returns the nodes, rack by rack or, with classes, class by class over their racks in turn as on a live
// cluster.
func (o *simOptions) machines() (out []machine) {
	if o.more.Classes == nil {
		for i := range o.nodes {
			out = append(out, machine{rack: topology.RackID(i / (o.nodes / o.racks))})
		}
		return out
	}
	byName := map[string]topology.RackID{}
	for i, name := range o.rackNames() {
		byName[name] = topology.RackID(i)
	}
	turn := 0
	for i := range o.more.Classes {
		c := &o.more.Classes[i]
		for range c.Count {
			m := machine{class: c.Name}
			if len(c.In) > 0 {
				m.rack = byName[c.In[len(out)%len(c.In)]]
			} else {
				m.rack = topology.RackID(turn % o.racks)
				turn++
			}
			out = append(out, m)
		}
	}
	return out
}
