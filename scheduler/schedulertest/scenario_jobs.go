package schedulertest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// job submits a job. Its words, all optional:
//
//	maps= reduces= user= queue= pool= priority= weight= slowstart= deadline=60s (from now)
//	input= shuffle= output= (bytes) recurring map-time= reduce-time= work=
//	block=n1 or block=(n1,n2)   every map's replicas
//	blocks=(n1,n2,n3)           one node per map, in turn
//	split=64MiB                 input bytes of each map
//	map-slots= map-mb= map-cores= reduce-mb= reduce-cores= driver-mb=
func (s *scenario) job(w *words) error {
	names := w.plain()
	recurring := false
	for i := len(names) - 1; i > 0; i-- {
		if names[i] == "recurring" {
			recurring, names = true, append(names[:i], names[i+1:]...)
		}
	}
	if len(names) != 1 {
		return fmt.Errorf("job needs one name")
	}
	spec, err := s.jobSpec(names[0], w)
	if err != nil {
		return err
	}
	spec.Recurring = recurring
	s.jobs[spec.Name] = spec.ID
	s.feed(scheduler.JobSubmitted(spec))
	s.settle()
	return nil
}

func (s *scenario) jobSpec(name string, w *words) (*scheduler.JobSpec, error) {
	id := s.next
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "j")); err == nil && n >= int(s.next) {
		id = scheduler.JobID(n)
	}
	s.next = id + 1
	spec := &scheduler.JobSpec{
		ID: id, Name: name, User: w.text("user", ""), Queue: w.text("queue", ""), Pool: w.text("pool", ""),
		Priority: w.priority("priority"), Weight: w.number("weight", 0), Submit: s.now, Slowstart: w.number("slowstart", 0),
		Maps: int32(w.integer("maps", 0)), Reduces: int32(w.integer("reduces", 0)),
		Input: w.size("input"), Shuffle: w.size("shuffle"), Output: w.size("output"),
		MapTime: w.duration("map-time", 0), ReduceTime: w.duration("reduce-time", 0), Work: w.duration("work", 0),
		MapDemand:    scheduler.Demand{Slots: int32(w.integer("map-slots", 0)), VCores: int32(w.integer("map-cores", 0)), MemoryMB: int64(w.integer("map-mb", 0))},
		ReduceDemand: scheduler.Demand{VCores: int32(w.integer("reduce-cores", 0)), MemoryMB: int64(w.integer("reduce-mb", 0))},
		DriverDemand: scheduler.Demand{MemoryMB: int64(w.integer("driver-mb", 0))},
	}
	if d := w.duration("deadline", 0); d > 0 {
		spec.Deadline = s.now + d
	}
	spec.HasDriver = spec.DriverDemand.MemoryMB > 0
	return spec, s.splits(spec, w)
}

func (s *scenario) splits(spec *scheduler.JobSpec, w *words) error {
	same, turn, bytes := w.list("block"), w.list("blocks"), w.size("split").Bytes
	if len(same)+len(turn) == 0 && bytes == 0 {
		return nil
	}
	for i := range int(spec.Maps) {
		names := same
		if len(turn) > 0 {
			names = turn[i%len(turn) : i%len(turn)+1]
		}
		var on []topology.NodeID
		if len(names) > 0 {
			var err error
			if on, err = s.nodesNamed(names); err != nil {
				return err
			}
		}
		spec.Splits.Add(bytes, on...)
	}
	return nil
}

func (s *scenario) jobNamed(name string) (scheduler.JobID, error) {
	id, ok := s.jobs[name]
	if !ok {
		return scheduler.NoJob, fmt.Errorf("no job %s was ever submitted", name)
	}
	return id, nil
}

func (s *scenario) eachJob(w *words, f func(scheduler.JobID)) error {
	for _, name := range w.plain() {
		id, err := s.jobNamed(name)
		if err != nil {
			return err
		}
		f(id)
	}
	s.settle()
	return nil
}

func (s *scenario) ready(w *words) error {
	return s.eachJob(w, func(id scheduler.JobID) { s.feed(scheduler.JobReady(id, nil)) })
}

func (s *scenario) vanish(w *words) error {
	return s.eachJob(w, func(id scheduler.JobID) { s.feed(scheduler.JobVanished(id)) })
}

func (s *scenario) progress(w *words) error {
	percent := w.number("percent", 0)
	return s.eachJob(w, func(id scheduler.JobID) { s.feed(scheduler.Progress(id, percent)) })
}

func (s *scenario) why(w *words) error {
	return s.eachJob(w, func(id scheduler.JobID) {
		r := s.g.Explain(s.now, id)
		s.printf("%v: %s", r.Code, r.Text(s.g.View()))
	})
}

func (s *scenario) showJobs(*words) error {
	for j := range s.g.View().Jobs().All() {
		s.printf("%s: %v, maps %d pending %d running %d done, reduces %d pending %d running %d done", s.name(j.ID()), j.Phase(),
			j.Pending(scheduler.Map), j.Running(scheduler.Map), j.Done(scheduler.Map),
			j.Pending(scheduler.Reduce), j.Running(scheduler.Reduce), j.Done(scheduler.Reduce))
	}
	return nil
}

func (s *scenario) showQueues(*words) error {
	for q := range s.g.View().Groups(scheduler.QueueGroup) {
		u := q.Usage()
		s.printf("%s: %d map slots, %d reduce slots, %d jobs", q.Name(), u.Slots[scheduler.Map], u.Slots[scheduler.Reduce], q.Jobs().Len())
	}
	return nil
}

// taskNamed reads j1/map/0.
func (s *scenario) taskNamed(name string) (scheduler.TaskID, error) {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		return scheduler.TaskID{}, fmt.Errorf("%q is not like j1/map/0", name)
	}
	id, err := s.jobNamed(parts[0])
	if err != nil {
		return scheduler.TaskID{}, err
	}
	index, err := strconv.Atoi(parts[2])
	for k := range scheduler.Kind(scheduler.NumKinds) {
		if k.String() == parts[1] && err == nil {
			return scheduler.TaskID{Job: id, Kind: k, Index: int32(index)}, nil
		}
	}
	return scheduler.TaskID{}, fmt.Errorf("%q is not like j1/map/0", name)
}

func (s *scenario) taskName(t scheduler.TaskID) string {
	return fmt.Sprintf("%s/%v/%d", s.name(t.Job), t.Kind, t.Index)
}

const defaultTook = 10 * time.Second
