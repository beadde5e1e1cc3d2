package tracker

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// Snapshot returns the shortest list of records that brings a new tracker to the state of this one: it replaces all
// records so far. Snapshot changes nothing. The records share with the tracker only what never changes, so another
// goroutine may write them.
func (c *Tracker) Snapshot(now time.Duration) []Record {
	all := make([]*job, 0, len(c.jobs))
	for _, j := range c.jobs {
		all = append(all, j)
	}
	slices.SortFunc(all, func(a, b *job) int { return cmp.Compare(a.num, b.num) })
	out := make([]Record, 0, 1+2*len(all))
	out = append(out, Record{At: now, Kind: Numbered, First: int(c.lastJob)})
	for _, name := range slices.Sorted(maps.Keys(c.users)) {
		if l := c.users[name].own; l != (wire.Limits{}) {
			out = append(out, Record{At: now, Kind: Limited, Text: name, Limits: &l})
		}
	}
	if c.script != nil {
		out = append(out, Record{At: now, Kind: Scripted, Policy: c.script})
	}
	for _, n := range c.nodes {
		if n.drain {
			out = append(out, Record{At: now, Kind: Drained, Task: &TaskRecord{Node: n.name, Rack: n.rack}})
		}
	}
	var before *job
	for _, j := range all {
		out = c.snapshotExpected(out, j.id) // so that the job finds its announcement
		out = c.snapshotJob(appendText(out, j.submitted, before, &j.spec), j)
		before = j
	}
	out = c.snapshotExpected(out, "")
	return out
}

// snapshotExpected adds the announcement that has become the job id, or, if id is empty, those that have become no job.
func (c *Tracker) snapshotExpected(out []Record, id wire.JobID) []Record {
	for _, e := range c.plans.expected {
		if e.job == id {
			spec := e.spec // a new announcement changes it
			out = append(out, Record{At: e.at, Kind: Expected, Spec: &spec, Racks: &PlannedRacks{e.racks[0], e.racks[1], e.why}})
		}
	}
	return out
}

func (c *Tracker) snapshotJob(out []Record, j *job) []Record {
	out = append(out, Record{At: j.submitted, Kind: Submitted, Job: j.id, Spec: &j.spec})
	if j.noted > 0 && !j.state.Ended() {
		out = append(out, Record{At: j.submitted, Kind: Begun, Job: j.id, Tries: j.noted, Try: j.lastTry})
	}
	last := (*stage)(nil)
	for _, st := range j.stages {
		if !st.kept {
			continue // begun, but no record mentions it
		}
		last = st
		// A stage that is over may have been shrunk or not: the snapshot treats it as shrunk.
		if st.done || j.state.Ended() {
			out = append(out, c.stageSum(st))
		} else {
			out = c.snapshotStage(out, st)
		}
		if st.committing {
			out = append(out, Record{At: st.since, Kind: Committed, Job: j.id, Stage: st.n})
		}
		if st.done {
			out = append(out, Record{At: st.doneAt, Kind: StageDone, Job: j.id, Stage: st.n, Lesson: st.lesson})
		}
	}
	if last != nil && (len(j.counts) > 0 || last.skipped > 0) {
		out = append(out, Record{At: last.since, Kind: Carried, Job: j.id, Stage: last.n, Counts: j.counts.Clone(), Bad: slices.Clone(j.bad), Tries: last.skipped})
	}
	if j.state.Ended() {
		out = append(out, Record{At: j.endedAt, Kind: JobEnded, Job: j.id, State: j.state, Text: j.err, Tries: j.tries})
	}
	return out
}

// stageSum returns all that is kept of a stage that is over.
func (c *Tracker) stageSum(st *stage) Record {
	r := Record{
		At: st.since, Kind: StageSum, Job: st.job.id, Stage: st.n,
		Sums: &StageSums{Total: st.total, Done: st.doneCount},
	}
	if st.plan != nil {
		r.Plan = &wire.StagePlan{Reducers: st.plan.Reducers, Parts: st.plan.Parts, Name: st.plan.Name, Work: st.plan.Work}
	}
	return r
}

// snapshotStage adds a running stage: its plan, or the parts of it that have come, and what is done.
func (c *Tracker) snapshotStage(out []Record, st *stage) []Record {
	part := func(try uint64, t *splitTable) {
		pieces, counts := t.pieces()
		first := 0
		for i, packed := range pieces {
			out = append(out, Record{At: st.since, Kind: PlanPart, Job: st.job.id, Stage: st.n, Try: try, First: first, Packed: packed})
			first += counts[i]
		}
	}
	if st.plan == nil {
		if st.draft != nil {
			part(st.draft.try, &st.draft.splits)
		}
		return out
	}
	const any = 1 // any try will do if the parts and the plan agree
	part(any, &st.plan.splits)
	head := st.plan.StagePlan
	out = append(out, Record{At: st.since, Kind: Planned, Job: st.job.id, Stage: st.n, Plan: &head, Try: any})
	out = c.snapshotTasks(out, st, wire.MapTask, func(entry func(int32, uint64, *task, bool)) {
		for _, ch := range st.changes {
			t := &st.maps[ch.index]
			entry(ch.index, ch.try, t, ch.try != 0 && ch.try == t.try)
		}
	})
	return c.snapshotTasks(out, st, wire.ReduceTask, func(entry func(int32, uint64, *task, bool)) {
		for i := range st.reduces {
			switch t := &st.reduces[i]; {
			case t.try != 0:
				entry(int32(i), t.try, t, true)
			case t.counted: // the job has its counters, whichever attempt it was
				entry(int32(i), any, t, false)
			}
		}
	})
}

// snapshotTasks packs the tasks that each yields into bounded records.
func (c *Tracker) snapshotTasks(out []Record, st *stage, kind wire.TaskKind, each func(func(int32, uint64, *task, bool))) []Record {
	p := taskPacker{c: c}
	flush := func() {
		out = append(out, Record{At: st.since, Kind: TasksDone, Job: st.job.id, Stage: st.n, Task: &TaskRecord{Kind: kind}, Packed: p.take()})
	}
	each(func(index int32, try uint64, t *task, counts bool) {
		if p.entry(index, try, t, counts); len(p.entries) > pieceBytes {
			flush()
		}
	})
	if p.n > 0 {
		flush()
	}
	return out
}
