package scheduler

// A Demand is the room one task takes. Slots and containers are one unit: a
// high-memory task of spec/capacity 3.6 takes several.
type Demand struct {
	Slots    int32 // slots or containers; 0 means 1
	VCores   int32 // 0 means the default of Config
	MemoryMB int64 // MB (2^20 bytes); 0 means the default of Config
}

func (d Demand) or(unit Demand) Demand {
	if d.Slots <= 0 {
		d.Slots = max(unit.Slots, 1)
	}
	if d.VCores <= 0 {
		d.VCores = unit.VCores
	}
	if d.MemoryMB <= 0 {
		d.MemoryMB = unit.MemoryMB
	}
	return d
}

// A Capacity is the room of one node. Slots (map and reduce apart), a pool of
// equal containers, and vcores with memory are three ways to say it; a task
// must fit every one that is set. A dimension that is zero does not limit,
// except that a node with slots of one kind only runs tasks of that kind only.
// A node with nothing set runs nothing.
type Capacity struct {
	MapSlots    int32
	ReduceSlots int32
	Containers  int32 // shared by maps, reduces and drivers
	VCores      int32
	MemoryMB    int64
}

// Slotted reports whether map and reduce slots are counted apart.
func (c *Capacity) Slotted() bool { return c.MapSlots > 0 || c.ReduceSlots > 0 }

// Slots returns how many slots the node has for kind k: its slots of that
// kind, or its containers, or how often unit fits vcores and memory.
func (c *Capacity) Slots(k Kind, unit Demand) int32 {
	switch {
	case c.Slotted() && k == Map:
		return c.MapSlots
	case c.Slotted() && k == Reduce:
		return c.ReduceSlots
	case c.Slotted():
		return 0
	case c.Containers > 0:
		return c.Containers
	}
	return c.units(unit, 0, 0)
}

// units returns how often unit fits beside what is used; 0 if neither vcores
// nor memory is set.
func (c *Capacity) units(unit Demand, usedCores int32, usedMB int64) int32 {
	n := int64(-1)
	if c.VCores > 0 && unit.VCores > 0 {
		n = int64((c.VCores - usedCores) / unit.VCores)
	}
	if c.MemoryMB > 0 && unit.MemoryMB > 0 {
		if m := (c.MemoryMB - usedMB) / unit.MemoryMB; n < 0 || m < n {
			n = m
		}
	}
	return int32(max(n, 0))
}

// A Usage counts what is held: by a job, user, queue, pool, node, rack or the
// whole cluster.
type Usage struct {
	Tasks    [NumKinds]int32 // running attempts
	Slots    [NumKinds]int32 // slots or containers they hold
	VCores   int32
	MemoryMB int64
}

// Containers returns the slots or containers held by all kinds together.
func (u *Usage) Containers() int32 { return u.Slots[Map] + u.Slots[Reduce] + u.Slots[Driver] }

// Work returns the slots or containers held by maps and reduces.
func (u *Usage) Work() int32 { return u.Slots[Map] + u.Slots[Reduce] }

func (u *Usage) add(k Kind, d Demand) {
	u.Tasks[k]++
	u.Slots[k] += d.Slots
	u.VCores += d.VCores
	u.MemoryMB += d.MemoryMB
}

func (u *Usage) sub(k Kind, d Demand) {
	u.Tasks[k]--
	u.Slots[k] -= d.Slots
	u.VCores -= d.VCores
	u.MemoryMB -= d.MemoryMB
}

// fits reports whether a task of kind k and demand d fits beside u.
func (c *Capacity) fits(u *Usage, k Kind, d Demand) bool {
	switch {
	case c.Slotted():
		if k == Map && u.Slots[Map]+d.Slots > c.MapSlots || k == Reduce && u.Slots[Reduce]+d.Slots > c.ReduceSlots {
			return false
		}
	case c.Containers > 0:
		if u.Containers()+d.Slots > c.Containers {
			return false
		}
	case c.VCores <= 0 && c.MemoryMB <= 0:
		return false
	}
	return (c.VCores <= 0 || u.VCores+d.VCores <= c.VCores) &&
		(c.MemoryMB <= 0 || u.MemoryMB+d.MemoryMB <= c.MemoryMB)
}

// free returns how many tasks of kind k with the default demand still fit.
func (c *Capacity) free(u *Usage, k Kind, unit Demand) int32 {
	switch {
	case c.Slotted() && k == Map:
		return max(c.MapSlots-u.Slots[Map], 0)
	case c.Slotted() && k == Reduce:
		return max(c.ReduceSlots-u.Slots[Reduce], 0)
	case c.Slotted():
		return 0
	case c.Containers > 0:
		return max(c.Containers-u.Containers(), 0)
	}
	return c.units(unit, u.VCores, u.MemoryMB)
}
