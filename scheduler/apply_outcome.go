package scheduler

import "time"

// finish ends attempt at with a result. The first attempt to finish makes its
// task done; a later one is only taken off the books.
func (s *State) finish(now time.Duration, j *Job, e *Event, at int32) {
	t, set := e.Task, &j.tasks[e.Task.Kind]
	length := e.Duration
	if length <= 0 {
		length = now - s.attempts.all[at].Start
	}
	first := set.state[t.Index] == TaskRunning
	s.release(now, j, at)
	if !first {
		return
	}
	set.running--
	s.settle(now, j, e, length)
}

// restore makes a pending task done that was already done before its job came here.
func (s *State) restore(now time.Duration, j *Job, e *Event) error {
	set := &j.tasks[e.Task.Kind]
	if st := set.state[e.Task.Index]; st != TaskPending || e.Task.Kind == Driver || !s.topo.Has(e.Node) {
		return stale(e, "the task is "+st.String()+", or has no place")
	}
	s.grow() // nobody may have heard of the node yet
	s.takePending(j, e.Task)
	s.settle(min(now, e.At), j, e, e.Duration)
	s.refresh(j)
	return nil
}

// settle makes a task done.
func (s *State) settle(now time.Duration, j *Job, e *Event, length time.Duration) {
	t, set := e.Task, &j.tasks[e.Task.Kind]
	set.state[t.Index], set.ref[t.Index] = TaskDone, int32(e.Node)
	set.done++
	set.sample(length, s.useful(now, j, t.Kind, length))
	share := s.share(j, s.topo.RackOf(e.Node))
	share.Done[t.Kind]++
	if t.Kind != Map {
		return
	}
	if j.moved == nil {
		j.moved = make([]mapBytes, set.total())
	}
	j.moved[t.Index] = mapBytes{e.InBytes, e.OutBytes}
	share.MapOutput += e.OutBytes
	j.sum.in += e.InBytes
	j.sum.out += e.OutBytes
	j.lastMap = max(j.lastMap, now)
	if set.done == set.total() {
		j.mapsDoneAt = j.lastMap
	}
}

func (t *taskSet) sample(length, useful time.Duration) {
	t.samples++
	t.sum += length
	t.max = max(t.max, length)
	t.work += useful
}

// useful is the part of a reduce's length after the last map finished.
func (s *State) useful(now time.Duration, j *Job, k Kind, length time.Duration) time.Duration {
	if k != Reduce || j.mapsDoneAt < 0 {
		return length
	}
	return max(0, min(length, now-j.mapsDoneAt))
}

// abort ends attempt at without a result. The task is pending again unless
// another attempt runs or has finished.
func (s *State) abort(now time.Duration, j *Job, e *Event, at int32) {
	t, set := e.Task, &j.tasks[e.Task.Kind]
	s.release(now, j, at)
	if set.state[t.Index] == TaskRunning && set.ref[t.Index] < 0 {
		set.running--
		s.putPending(j, t)
	}
}

// lose makes a finished task pending again because its output is gone.
func (s *State) lose(j *Job, e *Event) error {
	t, set := e.Task, &j.tasks[e.Task.Kind]
	if set.state[t.Index] != TaskDone {
		return stale(e, "the task is "+set.state[t.Index].String())
	}
	r := s.topo.RackOf(j.OutputNode(t.Kind, t.Index))
	share := s.share(j, r)
	share.Done[t.Kind]--
	if t.Kind == Map {
		was := j.moved[t.Index]
		share.MapOutput -= was.out
		j.sum.in -= was.in
		j.sum.out -= was.out
		j.mapsDoneAt = -1
	}
	set.done--
	s.putPending(j, t)
	s.refresh(j)
	return nil
}
