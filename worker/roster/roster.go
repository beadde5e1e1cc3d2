// Package roster makes a worker's decisions: which attempts run, which wait for room, which have ended without
// the master's confirmation, and what map output is kept. It is a state machine like the master's. Answers of
// the master and ends of attempts go in, and things to start and stop come out. It can make a report at any
// time. It has no effects itself; worker is the loop around it.
//
// A report is the whole truth, so losing one costs only time. An answer of a lower epoch than the highest seen
// comes from a replaced master and is not obeyed. An answer that is not newer than the last one is ignored.
package roster

import (
	"cmp"
	"maps"
	"slices"

	"github.com/millrace/millrace/internal/wire"
)

// Config is what does not change during a worker's life.
type Config struct {
	Node     wire.NodeName
	Session  string // new at each start
	Rack     string
	Addr     string
	Machine  string
	Speed    float64 // 0: no machine is emulated
	Capacity wire.Capacity
	Held     []wire.AttemptID // map output found on disk
	// Isolation is how users' code is isolated.
	Isolation string
	// Platform is what programs can run here, such as linux/amd64.
	Platform string
	// Lacks lists the interpreters that programs commonly need and this machine does not have.
	Lacks []string
	// HeldAtOnce is how many map outputs one report lists; 0 means 200,000, which take about a megabyte.
	HeldAtOnce int
}

// A Roster is the state of one worker.
type Roster struct {
	cfg      Config
	seq      uint64
	epoch    uint64          // highest seen
	last     uint64          // seq of the last answer obeyed
	full     bool            // the master must be told what is held
	fullSeq  uint64          // the first report of the current stretch; 0: none yet
	from, to *wire.HeldPlace // the stretch: after from, up to to
	draining bool
	sick     string

	running map[wire.AttemptID]*run
	waiting []wire.Launch // in order of arrival
	ended   map[wire.AttemptID]wire.Ended
	held    map[wire.AttemptID]bool
	stages  map[wire.StageRef]int // number of held outputs of each
	bad     []badFetch
	used    wire.Capacity
	specs   map[wire.StageRef]*wire.JobSpec
}

// A badFetch is kept until a report with it has been answered.
type badFetch struct {
	wire.BadFetch
	seq uint64 // of the first report with it; 0: none yet
}

type run struct {
	launch  wire.Launch
	started bool
	killed  string
	done    float64
}

// Effects is what the worker must do.
type Effects struct {
	Start []wire.Launch // each with its Spec
	Stop  []wire.Kill
	Drop  []wire.StageRef // stages whose map output must be removed
}

// New returns a roster without attempts.
func New(cfg Config) *Roster {
	c := &Roster{
		cfg: cfg, full: true, running: map[wire.AttemptID]*run{}, ended: map[wire.AttemptID]wire.Ended{},
		held: map[wire.AttemptID]bool{}, stages: map[wire.StageRef]int{}, specs: map[wire.StageRef]*wire.JobSpec{},
	}
	for _, id := range cfg.Held {
		c.hold(id)
	}
	c.cfg.Held = nil
	if c.cfg.HeldAtOnce == 0 {
		c.cfg.HeldAtOnce = 200_000
	}
	return c
}

// Report returns the present state. Each report has a higher number than the one before.
func (c *Roster) Report() *wire.Report {
	c.seq++
	r := &wire.Report{
		Node: c.cfg.Node, Session: c.cfg.Session, Seq: c.seq, Rack: c.cfg.Rack, Addr: c.cfg.Addr, Machine: c.cfg.Machine, Speed: c.cfg.Speed,
		Capacity: c.cfg.Capacity, Idle: -1, Draining: c.draining, Sick: c.sick, Full: c.full, Isolation: c.cfg.Isolation,
		Fresh: c.epoch == 0, Platform: c.cfg.Platform, Lacks: c.cfg.Lacks,
	}
	for i := range c.bad {
		r.BadFetch = append(r.BadFetch, c.bad[i].BadFetch)
		if c.bad[i].seq == 0 {
			c.bad[i].seq = c.seq
		}
	}
	for _, id := range sorted(c.running) {
		r.Running = append(r.Running, wire.Progress{ID: id, Done: c.running[id].done})
	}
	for _, id := range sorted(c.ended) {
		r.Ended = append(r.Ended, c.ended[id])
	}
	r.Stages = c.kept()
	if c.full {
		c.tellHeld(r)
	}
	return r
}

// tellHeld adds to a report the held outputs of the current stretch. The first report of a stretch fixes where
// it ends, since any of its reports may reach the master.
func (c *Roster) tellHeld(r *wire.Report) {
	var ids []wire.AttemptID
	for id := range c.held {
		if wire.PlaceOf(id).Between(c.from, c.to) {
			ids = append(ids, id)
		}
	}
	if c.fullSeq == 0 {
		c.fullSeq = c.seq
		if most := c.cfg.HeldAtOnce; len(ids) > most {
			wire.SortHeld(ids)
			end := wire.PlaceOf(ids[most-1])
			for most < len(ids) && wire.PlaceOf(ids[most]) == end {
				most++ // two attempts of one map
			}
			c.to, ids = &end, ids[:most]
		}
	}
	r.Held, r.HeldFrom, r.HeldTo = wire.PackHeld(ids), c.from, c.to
}

// heldTold moves on to the next stretch.
func (c *Roster) heldTold() {
	c.full, c.fullSeq, c.from, c.to = c.to != nil, 0, c.to, nil
}

func (c *Roster) hold(id wire.AttemptID) {
	if !c.held[id] {
		c.held[id] = true
		c.stages[wire.StageRef{Job: id.Job, Stage: id.Stage}]++
	}
}

func (c *Roster) unhold(id wire.AttemptID) {
	if !c.held[id] {
		return
	}
	delete(c.held, id)
	ref := wire.StageRef{Job: id.Job, Stage: id.Stage}
	if c.stages[ref]--; c.stages[ref] == 0 {
		delete(c.stages, ref)
	}
}

// kept lists the stages that use space here and of which nothing runs.
func (c *Roster) kept() []wire.StageRef {
	refs := map[wire.StageRef]bool{}
	for ref := range c.stages {
		refs[ref] = true
	}
	for ref := range c.specs {
		refs[ref] = true
	}
	for id := range c.running {
		delete(refs, wire.StageRef{Job: id.Job, Stage: id.Stage})
	}
	return slices.SortedFunc(maps.Keys(refs), func(a, b wire.StageRef) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Stage, b.Stage))
	})
}

func sorted[V any](m map[wire.AttemptID]V) []wire.AttemptID {
	return slices.SortedFunc(maps.Keys(m), func(a, b wire.AttemptID) int { return cmp.Compare(a.Try, b.Try) })
}

// News reports whether the master should soon be told of a change.
func (c *Roster) News() bool { return len(c.ended)+len(c.bad) > 0 || c.full }

// Answer handles an answer of the master.
func (c *Roster) Answer(a *wire.Answer) Effects {
	var out Effects
	if a.Epoch < c.epoch || a.Epoch == c.epoch && a.Seq <= c.last {
		return out
	}
	if c.fullSeq != 0 && a.Seq >= c.fullSeq {
		c.heldTold()
	}
	c.epoch, c.last = a.Epoch, a.Seq
	if a.Full {
		c.wantFull()
	}
	c.bad = slices.DeleteFunc(c.bad, func(b badFetch) bool { return b.seq != 0 && b.seq <= a.Seq })
	for _, id := range a.Ended {
		delete(c.ended, id)
	}
	for _, k := range a.Kill {
		c.kill(k, &out)
	}
	for _, ref := range a.Drop {
		c.drop(ref, &out)
	}
	for _, l := range a.Launch {
		c.take(l)
	}
	c.start(&out)
	return out
}

func (c *Roster) wantFull() { c.full, c.fullSeq, c.from, c.to = true, 0, nil, nil }

// take queues an attempt unless it is known already.
func (c *Roster) take(l wire.Launch) {
	ref := wire.StageRef{Job: l.ID.Job, Stage: l.ID.Stage}
	if l.Spec != nil {
		c.specs[ref] = l.Spec
	}
	if _, over := c.ended[l.ID]; over || c.running[l.ID] != nil {
		return
	}
	if l.Spec = c.specs[ref]; l.Spec == nil {
		c.ended[l.ID] = wire.Ended{ID: l.ID, Lost: true, Error: "the worker was not told what job this is"}
		return
	}
	c.running[l.ID] = &run{launch: l}
	c.waiting = append(c.waiting, l)
}

// start starts waiting attempts in order while there is room.
func (c *Roster) start(out *Effects) {
	for len(c.waiting) > 0 {
		l := c.waiting[0]
		r := c.running[l.ID]
		if r == nil { // killed while it waited
			c.waiting = c.waiting[1:]
			continue
		}
		if !c.fits(l) && c.busy() {
			return
		}
		c.waiting = c.waiting[1:]
		r.started = true
		c.use(l, 1)
		out.Start = append(out.Start, l)
	}
}

func (c *Roster) busy() bool {
	for _, r := range c.running {
		if r.started {
			return true
		}
	}
	return false
}

// demand returns the room that an attempt takes, in this worker's kind of capacity.
func (c *Roster) demand(l wire.Launch) wire.Capacity {
	have, d := c.cfg.Capacity, wire.Capacity{}
	switch {
	case have.MapSlots+have.ReduceSlots > 0 && l.ID.Kind == wire.ReduceTask:
		d.ReduceSlots = 1
	case have.MapSlots+have.ReduceSlots > 0 && l.ID.Kind == wire.MapTask:
		d.MapSlots = 1
	case have.MapSlots+have.ReduceSlots > 0: // a driver takes no slot
	case have.Containers > 0:
		d.Containers = 1
	default:
		d.VCores, d.MemoryMB = max(l.VCores, 1), max(l.MemoryMB, 1)
	}
	return d
}

func (c *Roster) use(l wire.Launch, sign int32) {
	d := c.demand(l)
	c.used.MapSlots += sign * d.MapSlots
	c.used.ReduceSlots += sign * d.ReduceSlots
	c.used.Containers += sign * d.Containers
	c.used.VCores += sign * d.VCores
	c.used.MemoryMB += int64(sign) * d.MemoryMB
}

func (c *Roster) fits(l wire.Launch) bool {
	d, u, h := c.demand(l), c.used, c.cfg.Capacity
	ok := func(want, used, have int64) bool { return want == 0 || used+want <= have }
	return ok(int64(d.MapSlots), int64(u.MapSlots), int64(h.MapSlots)) &&
		ok(int64(d.ReduceSlots), int64(u.ReduceSlots), int64(h.ReduceSlots)) &&
		ok(int64(d.Containers), int64(u.Containers), int64(h.Containers)) &&
		ok(int64(d.VCores), int64(u.VCores), int64(h.VCores)) && ok(d.MemoryMB, u.MemoryMB, h.MemoryMB)
}

func (c *Roster) kill(k wire.Kill, out *Effects) {
	r := c.running[k.ID]
	if r == nil || r.killed != "" {
		return
	}
	if !r.started {
		delete(c.running, k.ID)
		c.ended[k.ID] = wire.Ended{ID: k.ID, Lost: true, Error: k.Why}
		return
	}
	r.killed = k.Why
	out.Stop = append(out.Stop, k)
}

// drop forgets the map output of a stage.
func (c *Roster) drop(ref wire.StageRef, out *Effects) {
	for id := range c.held {
		if id.Job == ref.Job && id.Stage == ref.Stage {
			c.unhold(id)
		}
	}
	delete(c.specs, ref)
	out.Drop = append(out.Drop, ref)
}

// Ended handles the end of an attempt that was started. A killed attempt is lost, not failed, unless it had
// succeeded before. If the stage was dropped meanwhile, its last attempt may have written since, so the stage
// is dropped again.
func (c *Roster) Ended(e wire.Ended) Effects {
	var out Effects
	r := c.running[e.ID]
	if r == nil || !r.started {
		return out
	}
	delete(c.running, e.ID)
	c.use(r.launch, -1)
	if r.killed != "" && !e.OK {
		e.Lost, e.Error = true, r.killed
	}
	ref := wire.StageRef{Job: e.ID.Job, Stage: e.ID.Stage}
	switch dropped := c.specs[ref] == nil; {
	case dropped && !c.runs(ref):
		out.Drop = append(out.Drop, ref)
	case !dropped && e.OK && e.ID.Kind == wire.MapTask:
		c.hold(e.ID)
	}
	c.ended[e.ID] = e
	c.start(&out)
	return out
}

// runs reports whether an attempt of a stage runs or waits.
func (c *Roster) runs(ref wire.StageRef) bool {
	for id := range c.running {
		if id.Job == ref.Job && id.Stage == ref.Stage {
			return true
		}
	}
	return false
}

// Progress records how far an attempt has come, 0 to 1.
func (c *Roster) Progress(id wire.AttemptID, done float64) {
	if r := c.running[id]; r != nil {
		r.done = done
	}
}

// BadFetch records map output that a reduce here could not fetch.
func (c *Roster) BadFetch(b wire.BadFetch) {
	if len(c.bad) < 1000 { // more would say the same
		c.bad = append(c.bad, badFetch{BadFetch: b})
	}
}

// LostOutput records that map output is no longer on disk. The next report lists what is.
func (c *Roster) LostOutput(id wire.AttemptID) {
	if c.held[id] {
		c.unhold(id)
		c.wantFull()
	}
}

// Drain says whether this worker should get no new attempts.
func (c *Roster) Drain(on bool) { c.draining = on }

// SetSick says why this worker can run nothing; empty means that it can.
func (c *Roster) SetSick(why string) { c.sick = why }

// Busy returns how many attempts run or wait.
func (c *Roster) Busy() int { return len(c.running) }

// Epoch returns the highest epoch of a master seen.
func (c *Roster) Epoch() uint64 { return c.epoch }
