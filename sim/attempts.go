package sim

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

func (s *simulation) launch(d *drive.Step) {
	s.tries++
	n := d.Node
	a := Attempt{Task: d.Task, Node: n, Locality: d.Locality, Start: s.now, Try: s.tries, Second: d.Second}
	if d.Second {
		s.res.Second++
		s.raced[d.Task] = true
	}
	if st := s.cfg.Stragglers; st.Share > 0 && s.rng.Float64() < st.Share {
		a.Slow = st.Factor
	}
	if s.cfg.Speeds != nil {
		a.Slow = max(1, a.Slow) / s.cfg.Speeds[n]
	}
	s.running[n] = append(s.running[n], a)
	s.moved = s.now
	s.res.Launches++
	i := s.index(d.Task.Job)
	if d.Task.Kind == scheduler.Driver {
		s.drivers--
		start := s.cfg.DriverStart
		if up := s.jobs[i].StartUp; up > 0 {
			start = up
		}
		s.starts[i] = true
		s.phase(i, Phases.Starting, true)
		s.agenda.add(s.now+start, happening{what: ready, job: i, node: n, try: a.Try})
		return
	}
	s.active++
	s.res.Jobs[i].began(a)
	s.cfg.Model.Start(s.now, a, s.jobs[i])
	if s.cfg.Watch != nil {
		s.cfg.Watch(s.now, a, true)
	}
}

// began notes the first starts of a job.
func (r *JobResult) began(a Attempt) {
	if !r.started {
		r.FirstStart, r.started = a.Start, true
	}
	r.Attempts++
	if a.Task.Kind == scheduler.Reduce {
		if r.FirstRed == 0 {
			r.FirstRed = a.Start
		}
		return
	}
	if r.FirstMap == 0 {
		r.FirstMap = a.Start
	}
	if int(a.Locality) < len(r.Local) {
		r.Local[a.Locality]++
	}
}

// ready makes a job's tasks known, unless its driver has died meanwhile or an earlier driver has already done so.
func (s *simulation) ready(h happening) {
	i := h.job
	id := s.jobs[i].Spec.ID
	live := s.drive.View().Job(id)
	driver := scheduler.TaskID{Job: id, Kind: scheduler.Driver}
	if cur, ok := s.running[h.node].find(driver); !ok || cur.Try != h.try {
		return
	}
	s.startedUp(i)
	if live.Phase() != scheduler.Admitted {
		return
	}
	s.feed(scheduler.JobReady(id, nil))
	s.finishIfComplete(i)
}

// startedUp ends the start of a job's driver, if it has one: the driver is ready or has died, or its job has ended.
func (s *simulation) startedUp(i int32) {
	if s.starts[i] {
		delete(s.starts, i)
		s.phase(i, Phases.Starting, false)
	}
}

// phase tells a model that implements Phases that a job starts up or cleans up.
func (s *simulation) phase(i int32, what func(Phases, time.Duration, *Job, bool), on bool) {
	if p, ok := s.cfg.Model.(Phases); ok {
		what(p, s.now, s.jobs[i], on)
	}
}

// report feeds the values of the model's gauge.
func (s *simulation) report() {
	g := s.cfg.Model.(Gauge)
	s.feed(scheduler.CPUSample(topology.NoNode, g.IdlePercent(s.now)))
	for live := range s.drive.View().Jobs().All() {
		if live.Phase() == scheduler.Ready {
			s.feed(scheduler.Progress(live.ID(), g.Progress(s.now, s.jobs[s.index(live.ID())])))
		}
	}
	s.agenda.add(s.now+s.cfg.ReportEvery, happening{what: gauge})
}

// ended handles an attempt whose work is done. The master may learn of it later.
func (s *simulation) ended(a Attempt) {
	s.moved = s.now
	s.wake(a.Node)
	if s.cfg.ReportLate {
		s.late[a.Node] = append(s.late[a.Node], a)
		return
	}
	s.settle(a)
	s.reportNow(a.Node)
}

// reportNow makes the node ask for work at once if the cluster reports out of band.
func (s *simulation) reportNow(n topology.NodeID) {
	if s.cfg.Heartbeat > 0 && s.cfg.OutOfBand {
		s.offer(n)
	}
}

// settle tells the scheduler that an attempt has succeeded.
func (s *simulation) settle(a Attempt) {
	if !s.running[a.Node].removeTry(&a) {
		return // the node died meanwhile
	}
	i := s.index(a.Task.Job)
	j := s.jobs[i]
	s.account(i, a)
	s.logged(a, true)
	var in, out int64
	if a.Task.Kind == scheduler.Map {
		in, out = j.input(a.Task.Index), j.output(a.Task.Index)
	}
	s.feed(scheduler.TaskFinished(a.Task, a.Node, 0, in, out))
	s.stopRivals(a)
	s.afterMap(i, a)
	s.finishIfComplete(i)
	s.gotRoom(a.Node)
}

func (s *simulation) account(i int32, a Attempt) {
	held := s.now - a.Start
	s.active--
	s.res.Busy[a.Task.Kind] += held
	s.res.Jobs[i].Occupied += held
	if s.cfg.Watch != nil {
		s.cfg.Watch(s.now, a, false)
	}
}

// afterMap tells the model when the job's last map has ended.
func (s *simulation) afterMap(i int32, a Attempt) {
	if a.Task.Kind != scheduler.Map {
		return
	}
	if live := s.drive.View().Job(a.Task.Job); live != nil && live.Done(scheduler.Map) == live.Total(scheduler.Map) {
		s.res.Jobs[i].MapsDone = s.now
		s.cfg.Model.MapsDone(s.now, s.jobs[i])
	}
}

// finishIfComplete ends a job that has nothing left to do.
func (s *simulation) finishIfComplete(i int32) {
	id := s.jobs[i].Spec.ID
	live := s.drive.View().Job(id)
	if live == nil || live.Phase() != scheduler.Ready || !live.Complete() {
		return
	}
	if up := s.jobs[i].CleanUp; up > 0 {
		s.phase(i, Phases.Cleaning, true)
		s.agenda.add(s.now+up, happening{what: finish, job: i})
		return
	}
	s.finish(i)
}

// finish ends a job.
func (s *simulation) finish(i int32) {
	id := s.jobs[i].Spec.ID
	if s.jobs[i].CleanUp > 0 {
		s.phase(i, Phases.Cleaning, false)
	}
	s.feed(scheduler.JobFinished(id))
	s.res.Jobs[i].Finished = s.now
	s.left--
	if s.jobs[i].Spec.HasDriver {
		s.dropDriver(id)
	}
}

// dropDriver removes the driver's attempt, which the end of the job has ended.
func (s *simulation) dropDriver(id scheduler.JobID) {
	t := scheduler.TaskID{Job: id, Kind: scheduler.Driver}
	for n := range s.running {
		if _, ok := s.running[n].find(t); ok {
			s.running[n].remove(t)
			s.startedUp(s.index(id))
			s.gotRoom(topology.NodeID(n))
			return
		}
	}
}
