package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// speculate starts second attempts of tasks that are expected to end last, where everything of
// their kind has been started and there is room on another node. It follows LATE: by the time
// left, not by the progress made, and only for those slower than their siblings.
func (c *Core) speculate(now time.Duration) {
	s := c.cfg.Speculation
	if s.Off || now < c.graceEnd {
		return
	}
	total, second := 0, 0
	for _, st := range c.stages {
		total += len(st.running)
		second += st.seconds
	}
	room := max(1, int(s.Share*float64(total))) - second
	for _, st := range c.liveStages() {
		for _, a := range c.laggards(now, st) {
			if room <= 0 {
				return
			}
			if c.second(now, a) {
				room--
			}
		}
	}
}

// laggards lists slow attempts, the one expected to end last first.
func (c *Core) laggards(now time.Duration, st *stage) []*attempt {
	j := c.engine.View().Job(st.sid)
	if j == nil || st.committing {
		return nil
	}
	type late struct {
		a    *attempt
		left time.Duration
	}
	var out []late
	for a := range st.running {
		k := schedKind(a.id.Kind)
		if a.id.Kind == wire.DriverTask || a.speculative || j.Pending(k) > 0 || now-a.start < c.cfg.Speculation.After {
			continue
		}
		n, sum, _ := j.Samples(k)
		if n == 0 || st.attempts(a.id) > 1 {
			continue
		}
		mean := sum / time.Duration(n)
		left := timeLeft(now-a.start, a.done)
		if float64(now-a.start+left) > c.cfg.Speculation.Slower*float64(mean) && left > mean {
			out = append(out, late{a, left})
		}
	}
	slices.SortFunc(out, func(a, b late) int {
		return cmp.Or(cmp.Compare(b.left, a.left), cmp.Compare(a.a.id.Try, b.a.id.Try))
	})
	list := make([]*attempt, len(out))
	for i := range out {
		list[i] = out[i].a
	}
	return list
}

// timeLeft assumes that an attempt goes on as it did so far; one without progress is taken to
// be at a hundredth.
func timeLeft(age time.Duration, done float64) time.Duration {
	done = max(done, 0.01)
	return time.Duration(float64(age) * (1 - done) / done)
}

// second starts another attempt of a's task on the first node that has room.
func (c *Core) second(now time.Duration, a *attempt) bool {
	v := c.engine.View()
	j := v.Job(a.st.sid)
	t := a.task()
	for _, n := range c.nodes {
		if n == a.node || !n.takes(now) || n.draining || !v.Fits(n.id, j, t.Kind) {
			continue
		}
		if c.feed(now, scheduler.Launched(t, n.id, v.LocalityOf(j, t, n.id), true)) {
			c.launch(now, n, t, true)
			return true
		}
	}
	return false
}
