package deadline

import (
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// literal checks every decision against the formulas applied to every job and
// every running task, as spec/deadline 3 and, where the policy is told so, 6 are written.
type literal struct {
	*Policy
	t *testing.T
}

func (l literal) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	d := l.Policy.Assign(now, n, v)
	if !d.OK {
		return d
	}
	_, ripe := scheduler.RipeFirst(v.KindOrder(n, l.cfg.Reduces.Share)) // on containers
	mine := l.rank(now, v.Job(d.Task.Job), d.Task.Kind, v)
	for j := range v.Jobs().All() {
		if !l.cfg.Reduces.Eligible(j, d.Task.Kind) || !v.Fits(n, j, d.Task.Kind) || ripe && j.Waits(d.Task.Kind) {
			continue
		}
		other := l.rank(now, j, d.Task.Kind, v)
		if other.state > mine.state || other.state == mine.state && other.value > mine.value+1e-6*math.Max(1, math.Abs(mine.value)) {
			l.t.Fatalf("at %v %v was chosen with %+v, but %v has %+v", now, d.Task, mine, j.ID(), other)
		}
		if other.state == NoData && mine.state == NoData && other.seq < mine.seq {
			l.t.Fatalf("at %v %v was chosen, but %v is older", now, d.Task, j.ID())
		}
	}
	if !l.cfg.Max && mine.state == Adjust && mine.value <= -1e-6 && l.lines[d.Task.Kind].goals > 0 {
		l.t.Fatalf("at %v %v was chosen with %+v under min", now, d.Task, mine)
	}
	return d
}

// rank is spec/deadline 3.1 to 3.5 from nothing.
func (l literal) rank(now time.Duration, j *scheduler.Job, k scheduler.Kind, v *scheduler.View) rank {
	t := now.Seconds()
	nm, sm, _ := j.Samples(scheduler.Map)
	nr, _, _ := j.Samples(scheduler.Reduce)
	mean := [2]float64{Mean(sm.Seconds(), nm), Mean(j.WorkSum(scheduler.Reduce).Seconds(), nr)}
	if nr == 0 {
		mean[1] = mean[0] * l.cfg.ReduceCostRatio
	}
	pending := l.population(now, j, k, mean[k], v).Pending()
	if k == scheduler.Map && !l.cfg.Staged {
		pending += l.population(now, j, scheduler.Reduce, mean[1], v).Pending()
	}
	goal, r := j.Spec().Deadline.Seconds(), rank{seq: j.Seq()}
	left := goal - t
	if kept := l.kept(j, k, mean[1], v); kept > 0 {
		left = max(left-kept, 1)
	}
	switch {
	case goal == 0:
		r.value = Deficit(0, j.Running(k))
	case t >= goal && nm+nr == 0:
		r.state, r.value = Undead, math.Inf(1)
	case t >= goal:
		r.state, r.value = Undead, Lateness(t, pending, j.Running(k), goal)
		if given := goal - j.Submitted().Seconds(); l.cfg.Relative && given > 0 {
			r.value /= given
		}
	case nm+nr == 0:
		r.state = NoData
	default:
		r.value = Deficit(Need(pending, left), j.Running(k))
	}
	return r
}

// kept is the time before the goal that the choices of spec/deadline 6.5 and 6.11 keep free.
func (l literal) kept(j *scheduler.Job, k scheduler.Kind, mean float64, v *scheduler.View) (kept float64) {
	if k == scheduler.Map && (l.cfg.Staged || l.cfg.TailReserve) {
		ahead := j.Pending(scheduler.Reduce)
		if _, ok := j.MapsDoneAt(); !ok {
			ahead += j.Running(scheduler.Reduce)
		}
		kept = ReducePhase(ahead, v.Total().Slots[scheduler.Reduce], mean)
	}
	if l.cfg.TailReserve {
		_, _, longest := j.Samples(k)
		kept += longest.Seconds()
	}
	return kept
}

func (l literal) population(now time.Duration, j *scheduler.Job, k scheduler.Kind, mean float64, v *scheduler.View) Population {
	p := Population{Mean: mean, Running: j.Running(k), NotStarted: j.Pending(k)}
	done, ok := j.MapsDoneAt()
	for a := range v.Attempts(j, k) {
		start := a.Start
		if k == scheduler.Reduce && !ok {
			start = now
		} else if k == scheduler.Reduce {
			start = max(start, done)
		}
		p.Left += Delta(mean, (now - start).Seconds(), l.cfg.ClampDelta)
	}
	return p
}

func TestDecisionsAgainstFormulas(t *testing.T) {
	for _, c := range []struct {
		info   *scheduler.Info
		params map[string]string
	}{
		{&MinInfo, nil},
		{&MaxInfo, nil},
		{&MinInfo, map[string]string{"reduce-mode": "staged", "undead-key": "relative"}},
		{&MaxInfo, map[string]string{"tail-reserve": "max", "reduce-cost-ratio": "3"}},
		{&MaxInfo, map[string]string{"clamp-delta": "false", "reduce-mode": "staged", "tail-reserve": "max"}},
	} {
		inner := schedulertest.Factory(t, c.info, c.params)
		wrap := func() scheduler.Policy { return literal{inner().(*Policy), t} }
		schedulertest.Suite(t, wrap, schedulertest.Promises{Quick: true})
	}
}
