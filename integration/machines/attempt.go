package machines

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// An attempt pretends to be user code.
type attempt struct {
	b    *workerBox
	life int
	l    wire.Launch

	// For a reduce: its position in the list of outputs, what it has fetched, and from whom it may fetch the rest.
	next  int
	all   bool
	have  map[int32]uint64
	want  map[int32]wire.MapOutput
	node  map[int32]wire.NodeName
	tried map[int32]int

	sent int // for a driver: how many splits the master has
}

func (a *attempt) length() time.Duration {
	w := a.b.w
	d := w.between(50*time.Millisecond, 2*time.Second)
	if w.chance(0.05) {
		d *= 10 // a straggler
	}
	return d
}

// outcome is how user code ends, if it ends badly.
func (a *attempt) outcome() *wire.Ended {
	w, id := a.b.w, a.l.ID
	switch {
	case a.l.Spec.Name == "poison" && id.Kind == wire.MapTask && id.Index == 0:
		return &wire.Ended{ID: id, Error: "poison"}
	case !w.calm() && w.chance(w.cfg.TaskFails) && a.l.Number < 2:
		return &wire.Ended{ID: id, Error: "bad luck"}
	case !w.calm() && w.chance(w.cfg.TaskLost):
		return &wire.Ended{ID: id, Lost: true, Error: "the machine's fault"}
	}
	return nil
}

func (a *attempt) endMap() {
	if !a.b.running(a.life, a.l.ID) {
		return
	}
	if bad := a.outcome(); bad != nil {
		a.b.end(*bad)
		return
	}
	if a.b.disk[a.l.ID] {
		a.b.w.fail("%s ran twice on %s", a.l.ID, a.b.name)
	}
	a.b.disk[a.l.ID] = true
	a.b.end(wire.Ended{ID: a.l.ID, OK: true, Millis: 100, OutBytes: 1, Counts: wire.Counts{"g": {"maps": 1}}})
}

// shuffle asks for map outputs and fetches them until all are there.
func (a *attempt) shuffle() {
	if !a.b.running(a.life, a.l.ID) {
		return
	}
	if a.want == nil {
		a.want = map[int32]wire.MapOutput{}
	}
	w, ref := a.b.w, wire.StageRef{Job: a.l.ID.Job, Stage: a.l.ID.Stage}
	answered := false
	w.call(a.b, func(m *masterBox) (func(), bool) {
		resp := m.core.Outputs(wire.OutputsRequest{StageRef: ref, From: a.next})
		epoch := w.epoch
		return func() {
			if answered || !a.b.running(a.life, a.l.ID) {
				return
			}
			answered = true
			a.take(resp, epoch)
		}, false
	})
	w.after(800*time.Millisecond, func() {
		if !answered {
			answered = true
			a.next = 0 // there may be a new master
			a.shuffle()
		}
	})
}

func (a *attempt) take(r wire.OutputsResponse, epoch uint64) {
	w := a.b.w
	if r.Gone {
		w.after(500*time.Millisecond, a.shuffle) // the worker will be told to stop
		return
	}
	for _, o := range r.Changes {
		if o.Lost {
			delete(a.want, o.Map)
			continue
		}
		if a.have[o.Map] == 0 {
			a.want[o.Map] = o
		}
	}
	a.next, a.all = r.Next, r.All
	a.fetch()
	if a.all && len(a.want) == 0 {
		w.after(a.length(), a.endReduce)
		return
	}
	w.after(w.between(100*time.Millisecond, 400*time.Millisecond), func() {
		if w.epoch != epoch {
			a.next = 0
		}
		a.shuffle()
	})
}

// fetch tries every output that is known and not yet fetched.
func (a *attempt) fetch() {
	w := a.b.w
	for m := range int32(1000) {
		o, ok := a.want[m]
		if !ok {
			continue
		}
		id := wire.AttemptID{Job: a.l.ID.Job, Stage: a.l.ID.Stage, Kind: wire.MapTask, Index: m, Try: o.Try}
		reached := false
		for _, src := range w.workers {
			if src.name == o.Node && src.alive && !src.cut && !a.b.cut && src.addr() == o.Addr {
				reached = true
				if src.disk[id] {
					a.have[m] = o.Try
				}
			}
		}
		if a.have[m] != 0 {
			delete(a.want, m)
			continue
		}
		if a.tried[m]++; a.tried[m]%3 == 0 {
			a.b.core.BadFetch(wire.BadFetch{Map: id, By: a.l.ID, Why: fmt.Sprintf("%s does not have it", o.Node), Addr: o.Addr, Unreached: !reached})
		}
	}
}

func (a *attempt) endReduce() {
	if !a.b.running(a.life, a.l.ID) {
		return
	}
	if bad := a.outcome(); bad != nil {
		a.b.end(*bad)
		return
	}
	p := make(part, len(a.have))
	for m, try := range a.have {
		p[m] = try
	}
	id := a.l.ID
	a.b.w.parts[partKey{wire.StageRef{Job: id.Job, Stage: id.Stage}, id.Index, id.Try}] = p
	a.b.end(wire.Ended{ID: id, OK: true, Millis: 100, Counts: wire.Counts{"g": {"reduces": 1}}})
}

// drive acts as the job's driver: it asks what to do, again and again.
func (a *attempt) drive() {
	if !a.b.running(a.life, a.l.ID) {
		return
	}
	w := a.b.w
	answered := false
	w.call(a.b, func(m *masterBox) (func(), bool) {
		step := m.core.DriverStep(a.l.ID)
		return func() {
			if answered || !a.b.running(a.life, a.l.ID) {
				return
			}
			answered = true
			a.step(step)
		}, false
	})
	w.after(time.Second, func() {
		if !answered {
			answered = true
			a.drive()
		}
	})
}

func (a *attempt) step(s wire.DriverStep) {
	w := a.b.w
	switch s.Do {
	case "stop":
		a.b.end(wire.Ended{ID: a.l.ID, OK: true})
		return
	case "plan":
		plan := &wire.StagePlan{Reducers: int32(w.cfg.ReducesPerJob)}
		for i := range w.cfg.MapsPerJob {
			host := w.workers[(i*7)%len(w.workers)].name
			plan.Splits = append(plan.Splits, wire.Split{Ranges: []wire.Range{{Path: "x", Offset: int64(i), Length: 1}}, Hosts: []string{string(host)}})
		}
		a.plan(plan)
	case "commit":
		a.commit(s)
	}
	w.after(w.between(50*time.Millisecond, 300*time.Millisecond), a.drive)
}

// plan sends a plan; for every second job in parts, one with each step.
func (a *attempt) plan(p *wire.StagePlan) {
	w, id := a.b.w, a.l.ID
	var part *wire.PlanPart
	if id.Job[len(id.Job)-1]%2 == 0 {
		total := len(p.Splits)
		if a.sent < total {
			end := min(a.sent+3, total)
			part = &wire.PlanPart{First: a.sent, Total: total, Splits: p.Splits[a.sent:end]}
		}
		p.Splits, p.Parts = nil, total
	}
	w.call(a.b, func(m *masterBox) (func(), bool) {
		var next int
		var err error // a replaced driver is told to stop
		if part != nil {
			next, err = m.core.PlanPart(w.now, id, part)
		} else {
			next, err = m.core.Plan(w.now, id, p)
		}
		return func() {
			if err == nil {
				a.sent = next
			}
		}, false
	})
}

// commit gives the output its name, once: a second time must name the same.
func (a *attempt) commit(s wire.DriverStep) {
	w, ref := a.b.w, wire.StageRef{Job: a.l.ID.Job, Stage: a.l.ID.Stage}
	for i, try := range s.Winners {
		p, ok := w.parts[partKey{ref, int32(i), try}]
		if !ok || len(p) != w.cfg.MapsPerJob {
			w.fail("%v commits part %d of attempt %d, which has %d maps", ref, i, try, len(p))
		}
	}
	names := fmt.Sprint(s.Winners)
	if old, ok := w.committed[ref]; ok && old != names {
		w.fail("%v was committed with %s, now with %s", ref, old, names)
	}
	w.committed[ref] = names
	w.call(a.b, func(m *masterBox) (func(), bool) {
		_ = m.core.Commit(w.now, a.l.ID, "") // as above
		return func() {}, false
	})
}
