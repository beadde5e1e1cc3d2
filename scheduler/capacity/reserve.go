package capacity

import (
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A reservation keeps the free slots of one node and kind for a job whose tasks
// need more than are free (spec/capacity 3.6). They count as occupied.
type reservation struct {
	job   *job
	slots int32
}

// fits reports whether a task of j fits n: by the room of the node and, with
// memory scheduling, by the memory of its slots.
func (p *Policy) fits(n topology.NodeID, j *job, k scheduler.Kind, v *scheduler.View) bool {
	if !v.Fits(n, j, k) {
		return false
	}
	c := v.Capacity(n)
	return !p.cfg.Memory.on() || !c.Slotted() || j.Demand(k).MemoryMB <= p.freeMB(n, k, v)
}

// freeMB returns the memory of n's slots of kind k that no running task takes.
func (p *Policy) freeMB(n topology.NodeID, k scheduler.Kind, v *scheduler.View) int64 {
	c := v.Capacity(n)
	free := p.cfg.Memory.SlotMB[k] * int64(c.Slots(k, scheduler.Demand{}))
	for a := range v.RunningOn(n) {
		if j := v.Job(a.Task.Job); a.Task.Kind == k && j != nil {
			free -= j.Demand(k).MemoryMB
		}
	}
	return free
}

// freeSlots returns how many slots a reservation of n keeps.
func (p *Policy) freeSlots(n topology.NodeID, k scheduler.Kind, v *scheduler.View) int32 {
	free := v.FreeSlots(n, k)
	if c := v.Capacity(n); p.cfg.Memory.on() && c.Slotted() {
		free = min(free, int32(max(0, p.freeMB(n, k, v)/p.cfg.Memory.SlotMB[k])))
	}
	return free
}

// reserve keeps the free slots of n for j, if its tasks need several slots, it
// has more pending tasks than reserved nodes, and n can ever hold one. Where
// kinds share containers only maps reserve.
func (p *Policy) reserve(n topology.NodeID, j *job, k scheduler.Kind, v *scheduler.View) bool {
	s := p.seat(j)
	if p.slotsOf(j, k) <= 1 || j.Banned(n) || j.AtLimit(k) || j.Pending(k) <= s.reserved[k] || p.shared && k != scheduler.Map || !p.canHold(n, j, k, v) {
		return false
	}
	for len(p.kept) <= int(n) {
		p.kept = append(p.kept, [kinds]reservation{})
	}
	r := &p.kept[n][k]
	*r = reservation{job: j, slots: p.freeSlots(n, k, v)}
	s.reserved[k]++
	charge(s.leaf, j.User().Slot(), k, r.slots)
	return true
}

// unreserve gives the slots of n back.
func (p *Policy) unreserve(n topology.NodeID, k scheduler.Kind) {
	r := &p.kept[n][k]
	s := p.seat(r.job)
	charge(s.leaf, r.job.User().Slot(), k, -r.slots)
	s.reserved[k]--
	*r = reservation{}
}

// release ends the reservations of a node that goes away.
func (p *Policy) release(n topology.NodeID) {
	for k := range scheduler.Driver {
		if int(n) < len(p.kept) && p.kept[n][k].job != nil {
			p.unreserve(n, k)
		}
	}
}

// releaseAll ends the reservations of a job.
func (p *Policy) releaseAll(j *job) {
	for k := range scheduler.Driver {
		for n := 0; p.seat(j).reserved[k] > 0 && n < len(p.kept); n++ {
			if p.kept[n][k].job == j {
				p.unreserve(topology.NodeID(n), k)
			}
		}
	}
}

// canHold reports whether a task of j would fit n if everything on it ended that can end by itself. Drivers, and
// reduces that wait for maps, may need the very place that would be kept.
func (p *Policy) canHold(n topology.NodeID, j *job, k scheduler.Kind, v *scheduler.View) bool {
	var slots, all, cores int32
	var memory, kindMB int64
	for a := range v.RunningOn(n) {
		o := v.Job(a.Task.Job)
		if o == nil || !waits(o, a.Task.Kind) {
			continue
		}
		d := o.Demand(a.Task.Kind)
		all += d.Slots
		cores += d.VCores
		memory += d.MemoryMB
		if a.Task.Kind == k {
			slots += d.Slots
			kindMB += d.MemoryMB
		}
	}
	c, d := v.Capacity(n), j.Demand(k)
	switch {
	case c.Slotted() && slots+d.Slots > c.Slots(k, d),
		!c.Slotted() && c.Containers > 0 && all+d.Slots > c.Containers,
		c.VCores > 0 && cores+d.VCores > c.VCores,
		c.MemoryMB > 0 && memory+d.MemoryMB > c.MemoryMB,
		p.cfg.Memory.on() && c.Slotted() && kindMB+d.MemoryMB > p.cfg.Memory.SlotMB[k]*int64(c.Slots(k, d)):
		return false
	}
	return true
}

// waits reports whether running tasks of kind k of j may wait for others.
func waits(j *job, k scheduler.Kind) bool {
	if k == scheduler.Reduce {
		_, done := j.MapsDoneAt()
		return !done
	}
	return k == scheduler.Driver
}

// serveReserved is line 1 of pick (spec/capacity 3.5): a reserved node serves only its job, whatever
// the locality, or stays reserved. done is false when no job has reserved n, or
// the job can no longer use it.
func (p *Policy) serveReserved(n topology.NodeID, k scheduler.Kind, v *scheduler.View) (d scheduler.Decision, done bool) {
	if int(n) >= len(p.kept) {
		return d, false
	}
	if p.shared && k != scheduler.Map && p.kept[n][scheduler.Map].job != nil {
		return scheduler.Idle(p.reservedFor(n, scheduler.Map)), true
	}
	j := p.kept[n][k].job
	if j == nil {
		return d, false
	}
	p.unreserve(n, k)
	q := p.seat(j).leaf
	if !p.seat(j).listed[k] || !p.allowed(q, j, k) {
		return d, false
	}
	if p.fits(n, j, k, v) {
		t, near, ok := v.PickTask(j, n, k)
		return scheduler.Run(t, near, scheduler.Reason{Say: "{job} had reserved {node}", Job: j.ID(), Node: n}), ok
	}
	if p.reserve(n, j, k, v) {
		return scheduler.Idle(p.reservedFor(n, k)), true
	}
	return d, false
}

func (p *Policy) reservedFor(n topology.NodeID, k scheduler.Kind) scheduler.Reason {
	r := &p.kept[n][k]
	return scheduler.Reason{
		Code: scheduler.NoRoom, Say: "{node} keeps {a} free {kind} slots for {job}, whose tasks need {b}", Node: n, Kind: k, Job: r.job.ID(),
		A: int64(r.slots), B: int64(p.slotsOf(r.job, k)),
	}
}
