package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler"
)

// dumbMachine is the machine of spec/marp Appendix A: attempts in plain lists, their work counted down at the rate that each has got since
// something last changed. Times are seconds.
type dumbMachine struct {
	cfg      ContentionConfig
	now      float64
	run      []*dumbWork
	beside   int // jobs that start up or clean up
	done     map[scheduler.JobID]bool
	finished map[key]bool
}

type dumbWork struct {
	a          Attempt
	job        *Job
	begin      float64
	left, work float64
	over       bool
}

func (m *dumbMachine) works(w *dumbWork) bool {
	return !w.over && w.begin <= m.now+1e-9 && (w.a.Task.Kind == scheduler.Map || w.job.Spec.Maps == 0 || m.done[w.a.Task.Job] || w.left < w.work)
}

func (m *dumbMachine) count() (maps, reduces float64) {
	for _, w := range m.run {
		if m.works(w) && w.a.Task.Kind == scheduler.Map {
			maps++
		} else if m.works(w) {
			reduces++
		}
	}
	return maps, reduces
}

func (m *dumbMachine) rate(k scheduler.Kind) float64 {
	nm, kr := m.count()
	cpu, disk := min(1, m.cfg.Threads/(nm+0.5*kr+0.8*float64(m.beside)+0.4)), 1.0
	if kr > 0 {
		disk = min(1, m.cfg.Disk/(1+m.cfg.Beta*max(0, kr-1)+m.cfg.Gamma*nm/m.cfg.Threads)/kr)
	}
	if k == scheduler.Map {
		return cpu * disk
	}
	return min(cpu, disk)
}

// to moves the machine on, and returns what ended, with its time.
func (m *dumbMachine) to(at float64) (ended map[try]float64) {
	ended = map[try]float64{}
	for {
		next, what := at, -1
		for i, w := range m.run {
			switch end := m.now + w.left/m.rate(w.a.Task.Kind); {
			case w.over:
			case m.works(w) && end < next:
				next, what = end, i
			case !m.works(w) && w.begin > m.now && w.begin < next:
				next, what = w.begin, -1
			}
		}
		rates := [2]float64{m.rate(scheduler.Map), m.rate(scheduler.Reduce)}
		for _, w := range m.run {
			if m.works(w) {
				w.left -= (next - m.now) * rates[kindOf(w.a.Task)]
			}
		}
		m.now = next
		if what >= 0 {
			w := m.run[what]
			w.over, m.finished[keyOf(w.a)] = true, true
			ended[tryOf(w.a)] = next
		}
		if next == at {
			return ended
		}
	}
}

func (m *dumbMachine) idle() float64 {
	nm, kr := m.count()
	return 100 * (1 - min(m.cfg.Threads, nm+2.5*kr+float64(m.beside)+0.4)/m.cfg.Threads)
}

func (m *dumbMachine) progress(job *Job) float64 {
	var share [2]float64
	for _, w := range m.run {
		switch {
		case w.a.Task.Job != job.Spec.ID:
		case w.over:
			share[kindOf(w.a.Task)]++
		case m.works(w):
			share[kindOf(w.a.Task)] += 1 - w.left/w.work
		}
	}
	return 5 + 45*share[0]/max(1, float64(job.Spec.Maps)) + 45*share[1]/max(1, float64(job.Spec.Reduces))
}

// TestContentionAgainstReference: the machine of spec/marp Appendix A ends each attempt when the reference does, and is as idle and as far.
func TestContentionAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		cfg := DefaultContention()
		cfg.Noise, cfg.Threads, cfg.Latency = 0, float64(1+r.IntN(8)), time.Duration(r.IntN(3))*1500*time.Millisecond
		ref := &dumbMachine{cfg: cfg, done: map[scheduler.JobID]bool{}, finished: map[key]bool{}}
		m := NewContention(cfg, 1).(*contention)
		var jobs []*Job
		for id := range scheduler.JobID(3) {
			jobs = append(jobs, &Job{
				Spec: &scheduler.JobSpec{ID: id, Maps: r.Int32N(4), Reduces: 1 + r.Int32N(2)},
				Maps: []time.Duration{seconds(1 + 9*r.Float64()), seconds(4)}, Reduces: []time.Duration{seconds(1 + 19*r.Float64())},
			})
		}
		for clock, tried := time.Duration(0), uint32(0); clock < 100*time.Second; {
			contend(r, clock, m, ref, jobs, &tried)
			clock += time.Duration(r.Int64N(int64(6 * time.Second)))
			got := map[try]float64{}
			for at := m.Next(); at <= clock; at = m.Next() {
				if a, ok := m.End(at); ok {
					got[tryOf(a)] = at.Seconds()
				}
			}
			if want := ref.to(clock.Seconds()); !near(got, want) {
				t.Fatalf("up to %v %v ended, reference %v", clock, got, want)
			}
			if r.IntN(2) == 0 {
				continue // what is asked of a machine does not move it
			}
			if got, want := m.IdlePercent(clock), ref.idle(); math.Abs(got-want) > 1e-6 {
				t.Fatalf("at %v %g %% idle, reference %g", clock, got, want)
			}
			for _, j := range jobs {
				if got, want := m.Progress(clock, j), ref.progress(j); math.Abs(got-want) > 1e-4 {
					t.Fatalf("at %v job %v is %g %% done, reference %g", clock, j.Spec.ID, got, want)
				}
			}
		}
	})
}

func near(got, want map[try]float64) bool {
	for a, at := range want {
		if g, ok := got[a]; !ok || math.Abs(g-at) > 1e-5 {
			return false
		}
	}
	return len(got) == len(want)
}

// contend lets something happen to both machines: a task starts or is stopped, all maps of a job are done, a job starts up or has done so.
func contend(r *rand.Rand, now time.Duration, m *contention, ref *dumbMachine, jobs []*Job, tried *uint32) {
	job := jobs[r.IntN(len(jobs))]
	a := Attempt{Task: scheduler.TaskID{Job: job.Spec.ID}}
	if a.Task.Index = r.Int32N(max(1, job.Spec.Maps)); r.IntN(2) == 0 || job.Spec.Maps == 0 {
		a.Task = scheduler.TaskID{Job: job.Spec.ID, Kind: scheduler.Reduce, Index: r.Int32N(job.Spec.Reduces)}
	}
	there := slices.IndexFunc(ref.run, func(w *dumbWork) bool { return w.a.Task == a.Task && !w.over })
	switch what := r.IntN(10); {
	case what < 6 && there < 0 && !ref.finished[keyOf(a)]:
		*tried++
		a.Try = *tried
		work := job.length(a).Seconds()
		ref.run = append(ref.run, &dumbWork{a: a, job: job, begin: now.Seconds() + ref.cfg.Latency.Seconds(), left: work, work: work})
		m.Start(now, a, job)
	case what < 7 && there >= 0:
		a = ref.run[there].a
		ref.run = slices.Delete(ref.run, there, there+1)
		m.Stop(now, a)
	case what < 7 && there < 0:
		m.Stop(now, a) // was stopped, or has ended: nothing
	case what < 8 && !ref.done[job.Spec.ID]:
		ref.done[job.Spec.ID] = true
		m.MapsDone(now, job)
	case what < 9:
		m.Starting(now, job, true)
		ref.beside++
	case ref.beside > 0:
		m.Cleaning(now, job, false)
		ref.beside--
	}
}

// TestContentionMapsUndone: a reduce that starts once output of maps was lost waits until it is there again.
func TestContentionMapsUndone(t *testing.T) {
	cfg := DefaultContention()
	cfg.Latency, cfg.Noise = 0, 0
	m := NewContention(cfg, 1)
	job := &Job{Spec: &scheduler.JobSpec{Maps: 1, Reduces: 2}, Reduces: []time.Duration{10 * time.Second}}
	reduce := func(i int32) Attempt {
		return Attempt{Task: scheduler.TaskID{Kind: scheduler.Reduce, Index: i}, Try: uint32(i)}
	}
	m.MapsDone(0, job)
	m.MapsUndone(time.Second, job)
	m.Start(time.Second, reduce(0), job)
	m.Start(time.Second, reduce(1), job)
	m.End(m.Next())
	if _, ok := m.End(time.Minute); ok || m.Next() != Never {
		t.Error("a reduce ended without its maps")
	}
	m.Stop(time.Minute, reduce(1))
	m.MapsDone(time.Minute, job)
	at := m.Next()
	if a, ok := m.End(at); !ok || a.Task.Index != 0 || (at-70*time.Second).Abs() > time.Microsecond || m.Next() != Never {
		t.Errorf("%v ended at %v (%v), want the first reduce after its 10 s alone", a.Task, at, ok)
	}
}

// TestShareAgainstReference: a device serves its users as one does that divides each moment among a plain list of them.
func TestShareAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		each, count := 1+9*r.Float64(), float64(1+r.IntN(4))
		total := r.IntN(2) == 0
		s := share{rate: cores(each, count)}
		rate := func(n int) float64 { return each * min(1, count/float64(n)) }
		if total {
			s.rate, rate = equal(each), func(n int) float64 { return each / float64(n) }
		}
		type user struct {
			left float64
			what *step
		}
		var users []user
		tasks := make([]*deviceTask, 6)
		for i := range tasks {
			tasks[i] = &deviceTask{}
		}
		for clock := time.Duration(0); clock < 60*time.Second; {
			what := &step{task: tasks[r.IntN(len(tasks))]}
			if r.IntN(8) == 0 {
				s.remove(clock, what.task)
				users = slices.DeleteFunc(users, func(u user) bool { return u.what.task == what.task })
			} else {
				amount := 20 * r.Float64()
				s.add(clock, amount, what)
				users = append(users, user{amount, what})
			}
			until := clock + time.Duration(r.Int64N(int64(4*time.Second)))
			for at := clock.Seconds(); len(users) > 0; {
				first := 0
				for i := range users {
					if users[i].left < users[first].left {
						first = i
					}
				}
				end := at + users[first].left/rate(len(users))
				if math.Abs(s.next().Seconds()-end) > 1e-5 {
					t.Fatalf("the first of %d is done at %v, reference %g s", len(users), s.next(), end)
				}
				if end > until.Seconds() {
					for i := range users {
						users[i].left -= (until.Seconds() - at) * rate(len(users))
					}
					break
				}
				if st, ok := s.done(s.next() - time.Millisecond); ok {
					t.Fatalf("%p is done before its time", st)
				}
				st, ok := s.done(s.next())
				if !ok || st != users[first].what {
					t.Fatalf("%p is done (%v), reference %p", st, ok, users[first].what)
				}
				spent := users[first].left
				users = slices.Delete(users, first, first+1)
				for i := range users {
					users[i].left -= spent
				}
				at = end
			}
			clock = max(until, s.at)
		}
		if len(users) == 0 && s.next() != Never {
			t.Fatalf("nobody is served, and the next is done at %v", s.next())
		}
	})
}
