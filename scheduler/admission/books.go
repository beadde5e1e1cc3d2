package admission

import (
	"github.com/millrace/millrace/scheduler"
)

// room is an amount in both units a MARP can be measured in.
type room struct{ mb, slots int64 }

func (r room) in(memory bool) int64 {
	if memory {
		return r.mb
	}
	return r.slots
}

func (r *room) add(o room, sign int64) {
	r.mb += sign * o.mb
	r.slots += sign * o.slots
}

func roomOf(j *scheduler.Job, k scheduler.Kind) room {
	d := j.Demand(k)
	return room{mb: d.MemoryMB, slots: int64(d.Slots)}
}

func driverRoom(j *scheduler.Job) room {
	if !j.Spec().HasDriver {
		return room{}
	}
	return roomOf(j, scheduler.Driver)
}

// stuckRoom returns what j can hold while none of its maps runs: its driver and so many reduces.
func stuckRoom(j *scheduler.Job, reduces int32) room {
	r, one := driverRoom(j), roomOf(j, scheduler.Reduce)
	n := int64(reduces)
	return room{mb: r.mb + n*one.mb, slots: r.slots + n*one.slots}
}

// books counts what admitted jobs can hold without finishing a map.
type books struct {
	in   []bool // by job slot: admitted
	held []room // by job slot
	late []bool // by job slot: its plan waits, so its reduces hold nothing
	sum  room
	jobs int // admitted and unfinished
	idle int // those of them whose plan waits
}

func (b *books) observe(e scheduler.Event, v *scheduler.View) {
	j := v.Job(e.Job)
	if j == nil {
		return
	}
	for len(b.in) <= j.Slot() {
		b.in, b.held = append(b.in, false), append(b.held, room{})
		b.late = append(b.late, false)
	}
	switch p := j.Phase(); {
	case p == scheduler.Waiting || p == scheduler.Ended:
		b.delay(j.Slot(), false)
		b.set(j.Slot(), false, room{})
	case e.Kind == scheduler.EvJobAdmitted || e.Kind == scheduler.EvJobReady:
		b.delay(j.Slot(), false)
		b.set(j.Slot(), true, stuckRoom(j, j.Spec().Reduces))
	}
}

func (b *books) set(slot int, in bool, held room) {
	if b.in[slot] != in {
		b.in[slot] = in
		if in {
			b.jobs++
		} else {
			b.jobs--
		}
	}
	b.sum.add(b.held[slot], -1)
	b.held[slot] = held
	b.sum.add(held, 1)
}

// delay notes that the plan of an admitted job waits, or no longer does.
func (b *books) delay(slot int, on bool) {
	if b.late[slot] != on {
		b.late[slot] = on
		if on {
			b.idle++
		} else {
			b.idle--
		}
	}
}

func (b *books) has(j *scheduler.Job) bool { return j.Slot() < len(b.in) && b.in[j.Slot()] }
