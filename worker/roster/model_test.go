package roster

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/internal/wire"
)

// A model is the dumbest worker: a list of attempts in order of arrival, and nothing that is counted along.
type model struct {
	cap        wire.Capacity
	list       []*attempt // waiting and started ones
	ended      map[wire.AttemptID]wire.Ended
	held       map[wire.AttemptID]bool
	specs      map[wire.StageRef]*wire.JobSpec
	bad        []badFetch
	seq, last  uint64
	epoch      uint64
	full       bool
	fullSince  uint64
	drain      bool
	sick       string
	nextTry    uint64
	everyKnown []wire.AttemptID
}

type attempt struct {
	wire.Launch
	started bool
	killed  string
	done    float64
}

func stageOf(id wire.AttemptID) wire.StageRef { return wire.StageRef{Job: id.Job, Stage: id.Stage} }

func (m *model) find(id wire.AttemptID) *attempt {
	for _, a := range m.list {
		if a.ID == id {
			return a
		}
	}
	return nil
}

func (m *model) remove(a *attempt) {
	m.list = slices.DeleteFunc(m.list, func(b *attempt) bool { return a == b })
}

// start is the rule of room: in order of arrival, what fits beside all that has started; and if nothing has, anything.
func (m *model) start() (out []wire.Launch) {
	for _, a := range m.list {
		if a.started {
			continue
		}
		var mapping, reduces, all, cores int32
		var memory int64
		for _, b := range m.list {
			if b.started || a == b {
				all, cores, memory = all+1, cores+max(b.VCores, 1), memory+max(b.MemoryMB, 1)
				switch b.ID.Kind {
				case wire.MapTask:
					mapping++
				case wire.ReduceTask:
					reduces++
				}
			}
		}
		fits := all <= m.cap.Containers || cores <= m.cap.VCores && memory <= m.cap.MemoryMB
		if m.cap.MapSlots+m.cap.ReduceSlots > 0 {
			fits = a.ID.Kind == wire.MapTask && mapping <= m.cap.MapSlots || a.ID.Kind == wire.ReduceTask && reduces <= m.cap.ReduceSlots || a.ID.Kind == wire.DriverTask
		}
		if !fits && all > 1 {
			return out
		}
		a.started = true
		out = append(out, a.Launch)
	}
	return out
}

func (m *model) answer(a *wire.Answer) (out Effects) {
	if a.Epoch < m.epoch || a.Epoch == m.epoch && a.Seq <= m.last {
		return out
	}
	if m.fullSince > 0 && a.Seq >= m.fullSince {
		m.full, m.fullSince = false, 0
	}
	m.epoch, m.last = a.Epoch, a.Seq
	if a.Full {
		m.full, m.fullSince = true, 0
	}
	m.bad = slices.DeleteFunc(m.bad, func(b badFetch) bool { return b.seq > 0 && b.seq <= a.Seq })
	for _, id := range a.Ended {
		delete(m.ended, id)
	}
	for _, k := range a.Kill {
		switch r := m.find(k.ID); {
		case r == nil || r.killed != "":
		case r.started:
			r.killed = k.Why
			out.Stop = append(out.Stop, k)
		default:
			m.remove(r)
			m.ended[k.ID] = wire.Ended{ID: k.ID, Lost: true, Error: k.Why}
		}
	}
	for _, ref := range a.Drop {
		delete(m.specs, ref)
		for id := range m.held {
			if stageOf(id) == ref {
				delete(m.held, id)
			}
		}
		out.Drop = append(out.Drop, ref)
	}
	for _, l := range a.Launch {
		if l.Spec != nil {
			m.specs[stageOf(l.ID)] = l.Spec
		}
		l.Spec = m.specs[stageOf(l.ID)]
		if _, over := m.ended[l.ID]; over || m.find(l.ID) != nil {
			continue
		}
		if l.Spec == nil {
			m.ended[l.ID] = wire.Ended{ID: l.ID, Lost: true, Error: "the worker was not told what job this is"}
			continue
		}
		m.list = append(m.list, &attempt{Launch: l})
	}
	out.Start = m.start()
	return out
}

func (m *model) end(e wire.Ended) (out Effects) {
	a := m.find(e.ID)
	if a == nil || !a.started {
		return out
	}
	m.remove(a)
	if a.killed != "" && !e.OK {
		e.Lost, e.Error = true, a.killed
	}
	m.ended[e.ID] = e
	ref := stageOf(e.ID)
	if m.specs[ref] != nil && e.OK && e.ID.Kind == wire.MapTask {
		m.held[e.ID] = true
	}
	if m.specs[ref] == nil && !slices.ContainsFunc(m.list, func(b *attempt) bool { return stageOf(b.ID) == ref }) {
		out.Drop = []wire.StageRef{ref}
	}
	out.Start = m.start()
	return out
}

// report says what a report has to tell, in the words of what it tells of.
func (m *model) report() *wire.Report {
	m.seq++
	r := &wire.Report{
		Node: "n1", Session: "s", Seq: m.seq, Capacity: m.cap, Idle: -1, Draining: m.drain, Sick: m.sick, Full: m.full, Fresh: m.epoch == 0,
	}
	for _, a := range m.list {
		r.Running = append(r.Running, wire.Progress{ID: a.ID, Done: a.done})
	}
	slices.SortFunc(r.Running, func(a, b wire.Progress) int { return cmp.Compare(a.ID.Try, b.ID.Try) })
	for _, e := range m.ended {
		r.Ended = append(r.Ended, e)
	}
	slices.SortFunc(r.Ended, func(a, b wire.Ended) int { return cmp.Compare(a.ID.Try, b.ID.Try) })
	for i := range m.bad {
		r.BadFetch = append(r.BadFetch, m.bad[i].BadFetch)
		m.bad[i].seq = cmp.Or(m.bad[i].seq, m.seq)
	}
	for _, ref := range stages {
		used := m.specs[ref] != nil
		for id := range m.held {
			used = used || stageOf(id) == ref
		}
		for _, a := range m.list {
			used = used && stageOf(a.ID) != ref
		}
		if used {
			r.Stages = append(r.Stages, ref)
		}
	}
	if m.full {
		var ids []wire.AttemptID
		for id := range m.held {
			ids = append(ids, id)
		}
		r.Held, m.fullSince = wire.PackHeld(ids), cmp.Or(m.fullSince, m.seq)
	}
	return r
}

var (
	stages     = []wire.StageRef{{Job: "job-1"}, {Job: "job-1", Stage: 1}, {Job: "job-2"}, {Job: "job-2", Stage: 1}}
	capacities = []wire.Capacity{{Containers: 3}, {MapSlots: 2, ReduceSlots: 1}, {MapSlots: 2}, {ReduceSlots: 2}, {VCores: 4, MemoryMB: 1000}}
)

func (m *model) anyID(t *rapid.T, what string) wire.AttemptID {
	return rapid.SampledFrom(m.everyKnown).Draw(t, what)
}

// launch draws an attempt: mostly a new one, whose stage may or may not be known.
func (m *model) launch(t *rapid.T) wire.Launch {
	ref := rapid.SampledFrom(stages).Draw(t, "stage")
	l := wire.Launch{VCores: rapid.Int32Range(0, 2).Draw(t, "cores"), MemoryMB: rapid.SampledFrom([]int64{0, 300, 600}).Draw(t, "memory")}
	if rapid.IntRange(0, 4).Draw(t, "again") == 0 {
		l.ID = m.anyID(t, "of")
	} else {
		m.nextTry++
		kind := rapid.SampledFrom([]wire.TaskKind{wire.MapTask, wire.MapTask, wire.ReduceTask, wire.DriverTask}).Draw(t, "kind")
		l.ID = wire.AttemptID{Job: ref.Job, Stage: ref.Stage, Kind: kind, Index: int32(m.nextTry % 5), Try: m.nextTry}
		m.everyKnown = append(m.everyKnown, l.ID)
	}
	if rapid.Bool().Draw(t, "with spec") {
		l.Spec = &wire.JobSpec{Name: fmt.Sprint(m.nextTry)}
	}
	return l
}

func (m *model) drawAnswer(t *rapid.T) *wire.Answer {
	few := func(what string) int { return rapid.IntRange(0, 3).Draw(t, what) }
	a := &wire.Answer{Epoch: m.epoch, Seq: rapid.Uint64Range(m.last, m.seq).Draw(t, "seq"), Full: few("full") == 3}
	switch few("epoch") {
	case 0:
		a.Epoch = max(a.Epoch, 1) - 1
	case 1:
		a.Epoch++
	}
	for range few("kills") {
		a.Kill = append(a.Kill, wire.Kill{ID: m.anyID(t, "killed"), Why: fmt.Sprintf("reason %d", m.seq)})
	}
	for range few("acknowledged") {
		a.Ended = append(a.Ended, m.anyID(t, "acknowledged one"))
	}
	for range few("launches") {
		a.Launch = append(a.Launch, m.launch(t))
	}
	if few("drop") >= 2 {
		a.Drop = []wire.StageRef{rapid.SampledFrom(stages).Draw(t, "dropped")}
	}
	return a
}

// TestAsTheModel: whatever the master says, in whatever order, and however attempts end, a worker starts, stops, drops and
// tells what the dumbest worker does, of any kind of capacity.
func TestAsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{
			cap: rapid.SampledFrom(capacities).Draw(t, "capacity"), ended: map[wire.AttemptID]wire.Ended{}, held: map[wire.AttemptID]bool{},
			specs: map[wire.StageRef]*wire.JobSpec{}, full: true, everyKnown: []wire.AttemptID{launchOf(999).ID},
		}
		for i, ref := range stages {
			id := wire.AttemptID{Job: ref.Job, Stage: ref.Stage, Kind: wire.MapTask, Try: 1000 + uint64(i)}
			m.held[id] = true
			m.everyKnown = append(m.everyKnown, id)
		}
		c := New(Config{Node: "n1", Session: "s", Capacity: m.cap, Held: slices.Collect(maps.Keys(m.held))})
		same := func(what string, got, want any) {
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s:\n%+v, the model says\n%+v", what, got, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"answer": func(t *rapid.T) {
				a := m.drawAnswer(t)
				same("an answer", c.Answer(a), m.answer(a))
			},
			"end": func(t *rapid.T) {
				e := wire.Ended{ID: m.anyID(t, "ended"), OK: rapid.Bool().Draw(t, "ok"), Error: "its own"}
				same("an end", c.Ended(e), m.end(e))
			},
			"progress": func(t *rapid.T) {
				id := m.anyID(t, "of")
				c.Progress(id, 0.5)
				if a := m.find(id); a != nil {
					a.done = 0.5
				}
			},
			"bad": func(t *rapid.T) {
				b := wire.BadFetch{Map: m.anyID(t, "map")}
				c.BadFetch(b)
				m.bad = append(m.bad, badFetch{BadFetch: b})
			},
			"lost": func(t *rapid.T) {
				id := m.anyID(t, "lost")
				c.LostOutput(id)
				if m.held[id] {
					delete(m.held, id)
					m.full, m.fullSince = true, 0
				}
			},
			"drain": func(*rapid.T) { m.drain = !m.drain; c.Drain(m.drain) },
			"sick":  func(*rapid.T) { m.sick = fmt.Sprint(m.seq); c.SetSick(m.sick) },
			"": func(*rapid.T) {
				same("news", c.News(), m.full || len(m.ended)+len(m.bad) > 0)
				same("a report", c.Report(), m.report())
				same("the number", c.Busy(), len(m.list))
			},
		})
	})
}

// TestBadFetchesAreBounded: however much a reduce complains, a report stays small.
func TestBadFetchesAreBounded(t *testing.T) {
	c := newCore()
	for range 3000 {
		c.BadFetch(wire.BadFetch{})
	}
	if n := len(c.Report().BadFetch); n != 1000 {
		t.Errorf("%d told", n)
	}
}
