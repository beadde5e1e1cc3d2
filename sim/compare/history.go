package compare

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// History returns a run as a history. The watcher must have kept the spans of the run. The last attempt of a task
// counts as the one that gave its result.
func History(origin trace.Origin, topo *topology.Topology, res *sim.Result, w *Watcher) *trace.History {
	h := &trace.History{Origin: origin}
	for i := range res.Jobs {
		h.Jobs = append(h.Jobs, pastJob(&res.Jobs[i]))
	}
	last := map[scheduler.TaskID]uint32{}
	for _, s := range w.Ran {
		last[s.Task] = max(last[s.Task], s.Try)
	}
	for _, s := range w.Ran {
		a := trace.PastAttempt{
			Job: jobName(s.Task.Job), Kind: s.Task.Kind.String(), Index: s.Task.Index, Node: topo.Node(s.Node).Name,
			Start: s.Start, End: s.End, Lost: last[s.Task] != s.Try,
		}
		if s.Task.Kind == scheduler.Map {
			a.Locality = [...]string{"node", "rack", "remote"}[min(int(s.Locality), 2)]
		}
		h.Attempts = append(h.Attempts, a)
	}
	return h
}

func jobName(id scheduler.JobID) string { return fmt.Sprintf("j%d", int32(id)) }

func pastJob(j *sim.JobResult) trace.PastJob {
	s := j.Job.Spec
	p := trace.PastJob{
		ID: jobName(s.ID), Name: s.Name, User: s.User, Queue: s.Queue, Pool: s.Pool, Priority: int(s.Priority), Weight: s.Weight, Recurring: s.Recurring, Slowstart: s.Slowstart, ReduceCost: s.ReduceCostRatio, Submit: j.Submitted, Admitted: j.Admitted, Start: j.FirstStart, End: j.Finished,
		Deadline: s.Deadline, State: trace.JobDone, Maps: s.Maps, Reduces: s.Reduces,
		InputBytes: s.Input.Bytes, ShuffleBytes: s.Shuffle.Bytes, OutputBytes: s.Output.Bytes,
	}
	if j.Failed {
		p.State = trace.JobRejected
	}
	return p
}

// Replay makes a workload of a history. Tasks take as long as their attempts took, on a machine of speed 1; reduces
// count from the end of the last map. A map without a known place of its data may run anywhere, and the input of such a
// job was not known before, unless it recurs: the job made its input itself. Jobs without attempts become tasks as
// those of a trace do.
func Replay(h *trace.History, cfg sim.WorkloadConfig, rng *rand.Rand) []*sim.Job {
	made := sim.FromTrace(h.Trace(), cfg, rng)
	byJob := map[string][]trace.PastAttempt{}
	for _, a := range h.Attempts {
		if !a.Lost {
			byJob[a.Job] = append(byJob[a.Job], a)
		}
	}
	speeds := speedOf(h.Origin)
	for i, past := range h.Jobs {
		if runs := byJob[past.ID]; len(runs) > 0 {
			replayed(made[i], past, runs, speeds)
		}
		s := made[i].Spec
		s.Name, s.User, s.Queue, s.Deadline = cmp.Or(past.Name, past.ID), cmp.Or(past.User, s.User), past.Queue, past.Deadline
		s.Pool, s.Priority, s.Weight, s.Recurring = past.Pool, scheduler.Priority(past.Priority), past.Weight, past.Recurring
	}
	return made
}

// replayed gives a job the tasks and times that it had.
func replayed(j *sim.Job, past trace.PastJob, runs []trace.PastAttempt, speeds func(node string) float64) {
	var mapsDone time.Duration
	placed := false
	for _, a := range runs {
		if a.Kind == "map" {
			mapsDone = max(mapsDone, a.End)
			placed = placed || a.Locality != ""
		}
	}
	replicas := j.Spec.Splits
	j.Spec.Maps, j.Spec.Reduces = past.Maps, past.Reduces
	j.Maps, j.Reduces = make([]time.Duration, past.Maps), make([]time.Duration, past.Reduces)
	for _, a := range runs {
		if a.Kind == "map" {
			j.Maps[a.Index] = scaled(a.End-a.Start, speeds(a.Node))
		} else {
			// a reduce that did not wait for all maps, as in a graph of many stages, may have ended before the last
			j.Reduces[a.Index] = scaled(max(0, a.End-max(a.Start, mapsDone)), speeds(a.Node))
		}
	}
	j.Spec.Splits = scheduler.Splits{}
	for m := range past.Maps {
		if placed {
			part := past.InputBytes / int64(past.Maps)
			j.Spec.Splits.Add(part, slices.Clone(replicas.Of(m%int32(max(1, replicas.Len()))))...)
		}
	}
	if !placed && !past.Recurring {
		j.Spec.Input = scheduler.Size{}
	}
	j.Spec.Work = 0
	for _, d := range slices.Concat(j.Maps, j.Reduces) {
		j.Spec.Work += d
	}
}
